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
    ///
    /// # Errors
    /// If one is no result.
    pub fn with_replications(mut self, texts: &[NamedText]) -> Result<Self, ClaimError> {
        for (id, text) in texts {
            let result =
                serde_json::from_str(text).map_err(|source| ClaimError::Replication { claim: id.clone(), source })?;
            self.replications.insert(id.clone(), result);
        }
        Ok(self)
    }

    /// The claims with their replications in place of the first results, by which the replications are judged: Holm's correction
    /// then counts them, and the first results of all other rules of a paper.
    pub fn replicated(&self) -> Self {
        let mut replicated = Self { replications: Default::default(), ..self.clone() };
        replicated.results.extend(self.replications.clone());
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
            .filter(|problem| is_meant(&problem.claim) && !problem.is_text_edit)
            .map(|problem| format!("the replication of {}: {}", problem.claim, problem.words))
            .collect();
        for (id, result) in &self.replications {
            let first = self.results.get(id).map_or(&[][..], |first| &first.seeds);
            let is_shared = |seed: u64| first.iter().any(|numbers| numbers.seed == seed);
            if let Some(shared) = result.seeds.iter().map(|numbers| numbers.seed).find(|seed| is_shared(*seed)) {
                found.push(format!("the replication of {id}: the first runs had the seed {shared} too"));
            }
        }
        found
    }
}

impl Replication<'_> {
    /// True if the verdict is that of the first runs.
    pub fn has_same_verdict(&self) -> bool {
        let verdict = |row: &LedgerRow| row.standing.judgement().map(|judged| judged.verdict);
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

    /// "-0.49 [-0.52, -0.46] nats, stands, at our scale".
    pub fn label(&self) -> String {
        let (effect, seeds) = (self.again.effect_label(), self.again.seeds_label());
        format!("{effect}, {}; {seeds} seeds", self.again.standing.verdict_label(self.again.claim.tier))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::claims::small_ledger::{ledger_with, result};

    /// A ledger whose X1 has seeds 0 to 2, and a replication with these seeds and numbers.
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
        let problems = replicated(&[100, 2, 101], &[0.0021, 0.002, 0.0019]).problems();
        assert_eq!(problems, ["the replication of X1: the first runs had the seed 2 too"]);
    }

    #[test]
    fn edited_numbers_of_a_replication_are_a_problem() {
        let mut ledger = replicated(&[100, 101, 102], &[0.0021, 0.002, 0.0019]);
        ledger.replications.get_mut("X1").unwrap().seeds[0].points[0].number = 0.5;
        let problems = ledger.problems();
        assert!(
            !problems.is_empty() && problems.iter().all(|p| p.starts_with("the replication of X1: ")),
            "{problems:?}"
        );
    }

    #[test]
    fn a_replication_that_is_no_result_is_refused_by_its_file() {
        let text = ("X1".to_owned(), "{}".to_owned());
        let refused = ledger_with(&result(&[0.1, 0.2, 0.3])).with_replications(&[text]).unwrap_err().to_string();
        assert!(refused.starts_with("claims/replications/X1.json cannot be read: "), "{refused}");
    }
}
