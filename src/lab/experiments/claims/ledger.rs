//! The ledger: the claims of all papers with their results. Verdicts are made here, from the stored numbers.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use super::{
    claim::{Claim, ClaimError, PaperFile, TestLocation, Tier, time_label},
    criterion::Verdict,
    curve::{EffectPoint, ROUNDING},
    result::ClaimResult,
    rule::Rule,
    statistics::{self, Outcome},
};
use crate::analysis::multiple_testing::holm;

include!(concat!(env!("OUT_DIR"), "/claims.rs"));

/// The stem of a file's name, and the file's text.
pub type NamedText = (String, String);

/// True if this program was built with a claim of this id.
pub fn is_claim(id: &str) -> bool {
    static IDS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let files = PAPERS.iter().filter_map(|(paper, text)| PaperFile::parse(paper, text).ok());
        files.flat_map(|file| file.claims).map(|claim| claim.id).collect()
    });
    let starts_as_id = id.starts_with(|c: char| c.is_ascii_uppercase()) && id.len() > 1;
    starts_as_id && IDS.contains(id)
}

/// A paper by the stem of its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Paper {
    pub id: String,
    pub file: PaperFile,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    pub papers: Vec<Paper>,
    /// The stored results, keyed by the claim's id.
    pub results: BTreeMap<String, ClaimResult>,
    /// Results of the same rules with other seeds, keyed by the claim's id: they stand beside the first ones and move no verdict.
    pub replications: BTreeMap<String, ClaimResult>,
    /// The claims whose results were given apart from the stored ones, and may have other seeds than their rules ask for.
    pub(super) apart: BTreeSet<String>,
}

/// A claim's answer, as the stored numbers give it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The verdict that is shown: a claim that is [`untested`](Claim::untested) cannot be told, whatever its numbers give.
    pub verdict: Verdict,
    /// The verdict of the numbers alone, which the stored result keeps.
    pub numbers_verdict: Verdict,
    /// `None` where fewer seeds have a number than the rule asks for.
    pub outcome: Option<Outcome>,
    /// Corrected for the number of rules of the paper; `None` where the values of the seeds do not differ.
    pub p: Option<f64>,
    /// The number of rules of the paper.
    pub rules: usize,
    /// Each seed with its value on the scale of the effect.
    pub values: Vec<(u64, f64)>,
    /// The effect over the steps of the runs, where it was kept.
    pub curve: Vec<EffectPoint>,
    /// The effect at each size; or the numbers over the setting, or the field, along which it is a slope or a rank correlation.
    pub along_axis: Vec<EffectPoint>,
    /// True if the rule is not the one by which the runs were made.
    pub is_rule_changed: bool,
    /// True if the claim is [`untested`](Claim::untested), and the reason was recorded after the runs or not at all.
    pub is_reason_late: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ClaimStanding {
    /// The claim cannot be decided here.
    Needs(String),
    /// The claim has no rule yet.
    Open(String),
    /// A test in this repository checks the claim.
    Held(TestLocation),
    /// The claim has a rule but no runs, which would take this many hours on two cores.
    NotRun {
        hours: Option<f64>,
    },
    Judged(Judgement),
}

#[derive(Debug, Clone, PartialEq)]
pub struct LedgerRow<'a> {
    pub paper: &'a Paper,
    pub claim: &'a Claim,
    pub standing: ClaimStanding,
}

impl ClaimStanding {
    /// The standing in a phrase: "stands", "needs a GPU", "not run: needs about 5 hours of two cores".
    pub fn label(&self) -> String {
        match self {
            Self::Needs(what) => format!("needs {what}"),
            Self::Open(_) => "no rule yet".to_owned(),
            Self::Held(_) => "stands, held by a test".to_owned(),
            Self::NotRun { hours: None } => "not run".to_owned(),
            Self::NotRun { hours: Some(hours) } => format!("not run: needs {}", time_label(*hours)),
            Self::Judged(judged) if judged.is_rule_changed => "outdated: rule changed after the run".to_owned(),
            Self::Judged(judged) => judged.verdict.label().to_owned(),
        }
    }

    /// The standing with the scale of the runs of a verdict: "stands, at our scale".
    pub fn verdict_label(&self, tier: Tier) -> String {
        match self {
            Self::Judged(judged) if !judged.is_rule_changed => {
                format!("{}, {}", judged.verdict.label(), tier.scale_label())
            }
            other => other.label(),
        }
    }

    pub fn judgement(&self) -> Option<&Judgement> {
        match self {
            Self::Judged(judged) => Some(judged),
            _ => None,
        }
    }
}

impl Ledger {
    /// Parses the texts of files, each with its stem.
    pub fn new(papers: &[NamedText], results: &[NamedText]) -> Result<Self, ClaimError> {
        let paper = |(id, text): &NamedText| Ok(Paper { id: id.clone(), file: PaperFile::parse(id, text)? });
        let result = |(id, text): &NamedText| Ok((id.clone(), ClaimResult::parse(id, text)?));
        let ledger = Self {
            papers: papers.iter().map(paper).collect::<Result<_, ClaimError>>()?,
            results: results.iter().map(result).collect::<Result<_, ClaimError>>()?,
            ..Self::default()
        };
        let mut ids: Vec<&str> = ledger.claims().map(|(_, claim)| claim.id.as_str()).collect();
        ids.sort_unstable();
        match ids.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(ClaimError::Claim { id: pair[0].to_owned(), why: "is there twice".to_owned() }),
            None => Ok(ledger),
        }
    }

    /// The claims and results that this program was built with.
    pub fn built_in() -> Result<Self, ClaimError> {
        let named = |files: &[(&str, &str)]| -> Vec<NamedText> {
            files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
        };
        Self::new(&named(PAPERS), &named(RESULTS))?.with_replications(&named(REPLICATIONS))
    }

    /// These claims with newer results in place of stored ones. They move Holm's correction of the others, whose verdicts are made
    /// again. Replications are left out: they are of the stored ones.
    pub fn with_results(mut self, newer: &[NamedText]) -> Result<Self, ClaimError> {
        if newer.is_empty() {
            return Ok(self);
        }
        self.replications.clear();
        for (id, text) in newer {
            self.results.insert(id.clone(), ClaimResult::parse(id, text)?);
        }
        let is_newer = |id: &String| newer.iter().any(|(newer, _)| newer == id);
        let judged = self.results.keys().cloned().zip(self.rejudged().into_iter().map(|(_, now)| now));
        let others: Vec<(String, ClaimResult)> = judged.filter(|(id, _)| !is_newer(id)).collect();
        self.results.extend(others);
        Ok(self)
    }

    /// [`Self::with_results`] of results that may have other seeds than their rules ask for, as they lie in a folder of their own.
    pub fn with_results_apart(self, newer: &[NamedText]) -> Result<Self, ClaimError> {
        let mut ledger = self.with_results(newer)?;
        ledger.apart.extend(newer.iter().map(|(id, _)| id.clone()));
        Ok(ledger)
    }

    /// These claims with the terms that they have now in each result without terms, and if `renews_texts` in place of texts that
    /// were edited since they were recorded. The result says that they came after its runs.
    pub fn with_late_terms(mut self, renews_texts: bool) -> Self {
        for claim in self.papers.iter().flat_map(|paper| &paper.file.claims) {
            for results in [&mut self.results, &mut self.replications] {
                if let Some(result) = results.get_mut(&claim.id) {
                    *result = result.clone().with_late_terms(claim, renews_texts);
                }
            }
        }
        self
    }

    /// Every claim with its paper, in the order of the files.
    pub fn claims(&self) -> impl Iterator<Item = (&Paper, &Claim)> {
        self.papers.iter().flat_map(|paper| paper.file.claims.iter().map(move |claim| (paper, claim)))
    }

    pub fn rows(&self) -> Vec<LedgerRow<'_>> {
        self.papers.iter().flat_map(|paper| self.rows_of(paper)).collect()
    }

    fn rows_of<'a>(&'a self, paper: &'a Paper) -> Vec<LedgerRow<'a>> {
        let family = self.family(paper, None);
        let standing = |claim: &Claim| -> ClaimStanding {
            if let Some(held) = &claim.held {
                return ClaimStanding::Held(held.clone());
            }
            let ruled = family.iter().find(|ruled| ruled.claim.id == claim.id);
            match (ruled, self.results.get(&claim.id), &claim.needs) {
                (Some(ruled), Some(result), _) => ClaimStanding::Judged(ruled.judgement(result)),
                (_, _, Some(needs)) => ClaimStanding::Needs(needs.clone()),
                (Some(_), None, None) => ClaimStanding::NotRun { hours: claim.hours },
                (None, _, None) => ClaimStanding::Open(claim.open.clone().unwrap_or_default()),
            }
        };
        paper.file.claims.iter().map(|claim| LedgerRow { paper, claim, standing: standing(claim) }).collect()
    }

    /// The rules of a paper with the outcomes of their stored numbers, or of those that are given for one, and with the p values
    /// of all corrected together.
    fn family<'a>(&self, paper: &'a Paper, given: Option<&ClaimResult>) -> Vec<RuleOutcome<'a>> {
        let result =
            |claim: &Claim| given.filter(|given| given.claim == claim.id).or_else(|| self.results.get(&claim.id));
        let ruled = paper.file.claims.iter().filter_map(|claim| {
            let rule = claim.rule.as_ref()?;
            let outcome = result(claim).and_then(|result| statistics::outcome(rule, &result.seeds));
            // a rule without runs counts with p = 1, so that the family of tests is fixed before the runs
            let p = outcome.as_ref().map_or(1.0, Outcome::p);
            Some(RuleOutcome { claim, rule, outcome, p, rules: 0 })
        });
        let mut family: Vec<RuleOutcome> = ruled.collect();
        let raw: Vec<f64> = family.iter().map(|ruled| ruled.p).collect();
        family.iter_mut().zip(holm(&raw)).for_each(|(ruled, p)| (ruled.p, ruled.rules) = (p, raw.len()));
        family
    }

    /// The judgement of a result in place of the stored one of its claim; `None` if its claim has no rule.
    pub fn judge(&self, result: &ClaimResult) -> Option<Judgement> {
        let (paper, _) = self.claims().find(|(_, claim)| claim.id == result.claim)?;
        let family = self.family(paper, Some(result));
        family.iter().find(|ruled| ruled.claim.id == result.claim).map(|ruled| ruled.judgement(result))
    }

    /// The result with the verdict that its numbers give now.
    pub fn judged(&self, result: &ClaimResult) -> ClaimResult {
        result.judged(self.judge(result).as_ref())
    }

    /// Every result with the verdict that its numbers give now, beside the stored one.
    pub fn rejudged(&self) -> Vec<(&ClaimResult, ClaimResult)> {
        let rows = self.rows();
        self.results.values().map(|result| (result, result.judged(judgement(&rows, &result.claim)))).collect()
    }

    /// Places where results and rules part, a sentence each; empty if all is as it should be.
    pub fn problems(&self) -> Vec<String> {
        let found = self.problems_of(&self.rows()).into_iter();
        let mut problems: Vec<String> = found.map(|Problem { claim, words }| format!("{claim}: {words}")).collect();
        problems.extend(self.replication_problems());
        problems
    }

    /// The problems of existing rows, by claim.
    pub(super) fn problems_of(&self, rows: &[LedgerRow]) -> Vec<Problem> {
        let mut found = vec![];
        for (id, stored) in &self.results {
            let mut report = |words: String| found.push(Problem { claim: id.clone(), words });
            let Some((_, claim)) = self.claims().find(|(_, claim)| claim.id == *id) else {
                report("there is a result, and no such claim".to_owned());
                continue;
            };
            let edited = stored.edited_terms(claim);
            if !edited.is_empty() {
                report(format!("its terms were edited since they were recorded: {}", edited.join(", ")));
            }
            let Some(rule) = &claim.rule else {
                report("there is a result, and no rule".to_owned());
                continue;
            };
            if stored.claim != *id {
                report(format!("the result names the claim {}", stored.claim));
            }
            if stored.rule != rule.hash() {
                report("rule changed after the run".to_owned());
            }
            if let Some(words) = stored.digest_problem() {
                report(words.to_owned());
            }
            let first = rule.first_run().ok().filter(|_| !self.apart.contains(id)).map(|config| config.seed);
            if let Some(words) = first.and_then(|first| rule.seeds_problem(first, stored)) {
                report(words);
            }
            if let Some(words) = rule.curve_problem(&stored.curve, &stored.seeds) {
                report(words);
            }
            let now = stored.judged(judgement(rows, &stored.claim));
            let (was, is) = (stored.verdict.label(), now.verdict.label());
            let says = format!("the result says \u{201c}{was}\u{201d}, its numbers \u{201c}{is}\u{201d}");
            let has_own_p = is_same(now.p, stored.p);
            if !has_own_p && !stored.is_changed(rule) && has_same_effect(&now, stored) {
                let verdict = if was == is { String::new() } else { format!("; {says}") };
                report(format!("p after Holm's correction {}{verdict}", self.p_cause(id)));
                continue;
            }
            if was != is {
                report(says);
            }
            if !has_own_p || !has_same_effect(&now, stored) {
                report("effect, interval or p are not those of its numbers".to_owned());
            }
        }
        found
    }

    /// The reason why the corrected p of a claim changed though its own numbers did not: "changed, because A2 did".
    fn p_cause(&self, id: &str) -> String {
        let of_paper = self.papers.iter().find(|paper| paper.file.claims.iter().any(|claim| claim.id == id));
        let claims = of_paper.map_or(&[][..], |paper| &paper.file.claims);
        let ids = |is_meant: &dyn Fn(&Rule, Option<&ClaimResult>) -> bool| -> Vec<&str> {
            let is_meant =
                |claim: &&Claim| claim.rule.as_ref().is_some_and(|r| is_meant(r, self.results.get(&claim.id)));
            claims.iter().filter(is_meant).map(|claim| claim.id.as_str()).collect()
        };
        let changed = ids(&|rule, result| result.is_some_and(|result| result.is_changed(rule)));
        let lacking = ids(&|_, result| result.is_none());
        match (changed.is_empty(), lacking.is_empty()) {
            (false, _) => format!("changed, because {} did", changed.join(", ")),
            (true, false) => {
                let lacking = lacking.join(", ");
                format!("is not the stored one: a result of its paper is new or missing (there is none of {lacking})")
            }
            (true, true) => "is not the stored one: a result of its paper is new".to_owned(),
        }
    }
}

/// A difference between a result and the rule of its claim.
pub(super) struct Problem {
    pub claim: String,
    pub words: String,
}

/// A claim's rule with the outcome of its numbers.
struct RuleOutcome<'a> {
    claim: &'a Claim,
    rule: &'a Rule,
    outcome: Option<Outcome>,
    /// Corrected for all rules of the paper; 1 without an outcome.
    p: f64,
    /// The number of rules of the paper.
    rules: usize,
}

impl RuleOutcome<'_> {
    /// The judgement of the result whose outcome this is.
    fn judgement(&self, result: &ClaimResult) -> Judgement {
        let Self { claim, rule, outcome, .. } = *self;
        let value = |seed| statistics::value(rule, seed);
        let numbers_verdict = outcome.map_or(Verdict::CannotBeTold, |outcome| outcome.verdict(self.p, rule.confidence));
        Judgement {
            verdict: if claim.untested.is_some() { Verdict::CannotBeTold } else { numbers_verdict },
            numbers_verdict,
            outcome,
            p: outcome.filter(Outcome::has_spread).map(|_| self.p),
            rules: self.rules,
            values: result.seeds.iter().filter_map(|seed| Some((seed.seed, value(seed)?))).collect(),
            curve: rule.effects(result),
            along_axis: rule.effects_along_axis(&result.seeds),
            is_rule_changed: rule.hash() != result.rule,
            is_reason_late: result.is_reason_late(claim),
        }
    }
}

impl Outcome {
    /// Returns false if the values of the seeds differ only by rounding. A t test then has no spread to divide by and gives no
    /// p, so that their common value decides. A count has an interval and a p even then.
    fn has_spread(&self) -> bool {
        !is_same(Some(self.interval.0), Some(self.interval.1))
    }
}

impl Rule {
    /// The way in which the seeds of a result, those without a number among them, are not what the rule asks for, from this one on;
    /// `None` if they are. A verdict could be picked among seeds that are left out.
    pub(super) fn seeds_problem(&self, first: u64, result: &ClaimResult) -> Option<String> {
        let asked = first..first.saturating_add(self.seeds);
        let words = || format!("its seeds are not {} in a row from {first} on, as the rule asks", self.seeds);
        (!result.all_seeds().into_iter().eq(asked)).then(words)
    }
}

/// The judgement in the row of a claim.
fn judgement<'a>(rows: &'a [LedgerRow], claim: &str) -> Option<&'a Judgement> {
    rows.iter().find(|row| row.claim.id == claim)?.standing.judgement()
}

impl ClaimResult {
    /// Its seeds in order, with those that have no number.
    pub(super) fn all_seeds(&self) -> Vec<u64> {
        let with_number = self.seeds.iter().map(|numbers| numbers.seed);
        let mut seeds: Vec<u64> = with_number.chain(self.missing.iter().copied()).collect();
        seeds.sort_unstable();
        seeds
    }

    /// True if its numbers were edited, or its rule.
    fn is_changed(&self, rule: &Rule) -> bool {
        self.rule != rule.hash() || self.digest_problem().is_some()
    }

    /// This with the verdict that its numbers have in a judgement; without one the claim is undecided.
    fn judged(&self, judged: Option<&Judgement>) -> Self {
        let outcome = judged.and_then(|judged| judged.outcome);
        // JSON has finite numbers alone: a result with an infinite interval could not be read again
        let is_finite = |value: &f64| value.is_finite();
        Self {
            verdict: judged.map_or(Verdict::CannotBeTold, |judged| judged.numbers_verdict),
            effect: outcome.map(|o| o.effect).filter(is_finite),
            interval: outcome.map(|o| o.interval).filter(|(low, high)| is_finite(low) && is_finite(high)),
            p: judged.and_then(|judged| judged.p).filter(is_finite),
            ..self.clone()
        }
    }
}

fn has_same_effect(a: &ClaimResult, b: &ClaimResult) -> bool {
    let numbers = |r: &ClaimResult| [r.effect, r.interval.map(|i| i.0), r.interval.map(|i| i.1)];
    numbers(a).into_iter().zip(numbers(b)).all(|(a, b)| is_same(a, b))
}

fn is_same(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= ROUNDING * a.abs().max(b.abs()).max(ROUNDING),
        (a, b) => a.is_none() && b.is_none(),
    }
}

#[cfg(test)]
mod tests;
