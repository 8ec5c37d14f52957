//! Replications: the runs of a claim made again with other seeds, whose verdict stands beside the first one.

use super::{
    claim::ClaimError,
    ledger::{Ledger, LedgerRow, NamedText},
    result::ClaimResult,
};

/// A claim's row with its first result, and with its replication in place of it.
pub(super) struct Replication<'a> {
    pub first: &'a LedgerRow<'a>,
    pub again: &'a LedgerRow<'a>,
    pub result: &'a ClaimResult,
}

impl Ledger {
    /// These claims with replications, each given as the text of its file.
    pub fn with_replications(mut self, texts: &[NamedText]) -> Result<Self, ClaimError> {
        for (id, text) in texts {
            self.replications.insert(id.clone(), ClaimResult::parse_from("replications", id, text)?);
        }
        Ok(self)
    }

    /// The claims with their replications in place of the first results, by which the replications are judged: Holm's correction
    /// then counts them, and the first results of all other rules of a paper.
    pub fn replicated(&self) -> Self {
        let mut replicated = Self { replications: Default::default(), ..self.clone() };
        replicated.results.extend(self.replications.clone());
        replicated.apart.extend(self.replications.keys().cloned());
        replicated
    }

    /// The replications of claims that have a first result, in the order of the claims; `first` and `again` are the rows of this
    /// ledger and of the [replicated](Ledger::replicated) one.
    pub(super) fn replications_of<'a>(
        &'a self,
        first: &'a [LedgerRow<'a>],
        again: &'a [LedgerRow<'a>],
    ) -> impl Iterator<Item = Replication<'a>> {
        first.iter().zip(again).filter_map(|(first, again)| {
            first.standing.judgement()?;
            Some(Replication { first, again, result: self.replications.get(&first.claim.id)? })
        })
    }

    /// Places where replications part from their rules and numbers, or have seeds of the first runs, a sentence each.
    pub(super) fn replication_problems(&self) -> Vec<String> {
        let replicated = self.replicated();
        let is_meant = |id: &str| self.replications.contains_key(id);
        let problems = replicated.problems_of(&replicated.rows()).into_iter();
        let mut found: Vec<String> = problems
            .filter(|problem| is_meant(&problem.claim))
            .map(|problem| format!("the replication of {}: {}", problem.claim, problem.words))
            .collect();
        for (id, result) in &self.replications {
            let first = self.results.get(id).map_or(&[][..], |first| &first.seeds);
            let is_shared = |seed: u64| first.iter().any(|numbers| numbers.seed == seed);
            if let Some(shared) = result.seeds.iter().map(|numbers| numbers.seed).find(|seed| is_shared(*seed)) {
                found.push(format!("the replication of {id}: the first runs had the seed {shared} too"));
            }
            let rule = self.claims().find(|(_, claim)| claim.id == *id).and_then(|(_, claim)| claim.rule.as_ref());
            let lowest = result.all_seeds().first().copied();
            let problem = rule.zip(lowest).and_then(|(rule, lowest)| rule.seeds_problem(lowest, result));
            found.extend(problem.map(|words| format!("the replication of {id}: {words}")));
        }
        found
    }
}

impl Replication<'_> {
    /// True if the numbers give the verdict of those of the first runs, also where the runs do not test the claim.
    pub fn has_same_verdict(&self) -> bool {
        let verdict = |row: &LedgerRow| row.standing.judgement().map(|judged| judged.numbers_verdict);
        verdict(self.first) == verdict(self.again)
    }

    /// Whether both verdicts are the same, and where they are not, whether the intervals overlap.
    pub fn agreement(&self) -> &'static str {
        let outcome = |row: &LedgerRow| row.standing.judgement().and_then(|judged| judged.outcome);
        let outcomes = outcome(self.first).zip(outcome(self.again));
        let overlaps = outcomes.is_some_and(|(a, b)| a.interval.0 <= b.interval.1 && b.interval.0 <= a.interval.1);
        match (self.has_same_verdict(), overlaps) {
            (true, true) => "yes",
            (true, false) => "yes, though the intervals part",
            (false, true) => "no, though the intervals overlap",
            (false, false) => "no",
        }
    }

    /// The reasons why its verdict is not that of its interval: its runs do not test the claim, or the correction decides.
    pub fn reasons(&self) -> Vec<String> {
        let judged = self.again.claim.rule.as_ref().zip(self.again.standing.judgement());
        let Some((rule, judged)) = judged else { return vec![] };
        let alone = judged.voided_label().map(|words| format!("by its numbers alone: {words}"));
        alone.into_iter().chain(judged.deciding_correction_label(rule)).collect()
    }

    /// "-0.49 [-0.52, -0.46] nats, stands, at our scale; 8 seeds", with the [reasons](Self::reasons).
    pub fn label(&self) -> String {
        let (effect, seeds) = (self.again.effect_label(), self.again.seeds_label());
        let verdict = self.again.standing.verdict_label(self.again.claim.tier);
        let label = format!("{effect}, {verdict}; {seeds} seeds");
        std::iter::once(label).chain(self.reasons()).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::claims::small_ledger::{ledger_with, result};

    /// A ledger whose X1 has seeds 7 to 9, and a replication with these seeds and numbers.
    fn replicated(seeds: &[u64], numbers: &[f64]) -> Ledger {
        let mut ledger = ledger_with(&result(&[0.002, 0.0021, 0.0019]));
        let mut again = result(numbers);
        again.seeds.iter_mut().zip(seeds).for_each(|(numbers, seed)| numbers.seed = *seed);
        let again = ledger.judged(&again.with_digest());
        ledger.replications.insert("X1".to_owned(), again);
        ledger
    }

    fn agreement(ledger: &Ledger) -> &'static str {
        let (first, replicated) = (ledger.rows(), ledger.replicated());
        let again = replicated.rows();
        ledger.replications_of(&first, &again).map(|replication| replication.agreement()).next().unwrap()
    }

    #[test]
    fn a_replication_moves_no_verdict_and_is_compared() {
        let first = ledger_with(&result(&[0.002, 0.0021, 0.0019]));
        let ledger = replicated(&[100, 101, 102], &[0.0021, 0.002, 0.0019]);
        assert_eq!(ledger.problems(), Vec::<String>::new());
        assert_eq!(first.rows()[0].standing, ledger.rows()[0].standing);
        assert_eq!(agreement(&ledger), "yes");
        let other = replicated(&[100, 101, 102], &[0.5, 0.51, 0.49]);
        assert_eq!((other.problems(), agreement(&other)), (vec![], "no"));
        let wide = replicated(&[100, 101, 102], &[0.5, -0.5, 0.0]);
        assert_eq!((wide.problems(), agreement(&wide)), (vec![], "no, though the intervals overlap"));
    }

    #[test]
    fn a_replication_with_seeds_of_the_first_runs_is_a_problem() {
        let problems = replicated(&[9, 10, 11], &[0.0021, 0.002, 0.0019]).problems();
        assert_eq!(problems, ["the replication of X1: the first runs had the seed 9 too"]);
    }

    /// A verdict could be picked among seeds that are left out.
    #[test]
    fn a_replication_with_chosen_seeds_is_a_problem() {
        for (seeds, numbers) in [([100, 102, 103], vec![0.0021, 0.002, 0.0019]), ([100, 101, 102], vec![0.002, 0.0019])]
        {
            let problems = replicated(&seeds, &numbers).problems();
            let words = "the replication of X1: its seeds are not 3 in a row from 100 on, as the rule asks";
            assert_eq!(problems, [words], "{seeds:?}");
        }
    }

    /// The interval of A6's replication lies within the bound, and Holm's correction alone leaves its verdict open.
    #[test]
    fn a_replication_says_where_the_correction_decides() {
        let ledger = replicated(&[100, 101, 102], &[0.005, 0.006, 0.0075]);
        let label = ledger.entries()[0].claims[0].replication.clone().unwrap();
        let reason = "after Holm's correction for the paper's 2 rules, above 0.05, so that it cannot be told; p was ";
        assert!(label.contains(", cannot be told, at our scale; 3 seeds; p ") && label.contains(reason), "{label}");
        let page = ledger.results_markdown();
        let (_, section) = page.split_once("## Run again with other seeds").unwrap();
        assert!(section.contains("\n- X1: p ") && section.contains(reason), "{section}");
        let decided = replicated(&[100, 101, 102], &[0.0021, 0.002, 0.0019]);
        assert!(decided.entries()[0].claims[0].replication.as_ref().unwrap().ends_with("; 3 seeds"));
    }

    /// Two claims that their runs do not test have one verdict, whatever their numbers give.
    #[test]
    fn verdicts_of_numbers_are_compared() {
        let mut ledger = replicated(&[100, 101, 102], &[0.5, 0.51, 0.49]);
        ledger.papers[0].file.claims[0].untested = Some("no gate could open".to_owned());
        assert_eq!(agreement(&ledger), "no");
        let label = ledger.entries()[0].claims[0].replication.clone().unwrap();
        assert!(label.contains("; by its numbers alone: does not stand; the reason "), "{label}");
    }

    #[test]
    fn edited_numbers_of_a_replication_are_a_problem() {
        let mut ledger = replicated(&[100, 101, 102], &[0.0021, 0.002, 0.0019]);
        ledger.replications.get_mut("X1").unwrap().seeds[0].points[0].number = 0.5;
        let problems = ledger.problems();
        let is_of_replication = |words: &String| words.starts_with("the replication of X1: ");
        assert!(!problems.is_empty() && problems.iter().all(is_of_replication), "{problems:?}");
    }

    #[test]
    fn a_replication_that_is_no_result_is_refused_by_its_file() {
        let text = ("X1".to_owned(), "{}".to_owned());
        let refused = ledger_with(&result(&[0.1, 0.2, 0.3])).with_replications(&[text]).unwrap_err().to_string();
        assert!(refused.starts_with("claims/replications/X1.json cannot be read: "), "{refused}");
    }
}
