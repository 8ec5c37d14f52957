//! The ledger as a page shows it: a card per paper and a row per claim with all its texts, which are computed once and
//! owned.

use std::{collections::BTreeMap, path::PathBuf};

use super::{
    claim::Claim,
    criterion::{Region, Statistic, Verdict},
    curve::EffectPoint,
    ledger::{ClaimStanding, Judgement, Ledger, LedgerRow, Paper, Problem},
    result::{ResultProvenance, short_hash},
    rule::Rule,
    statistics::Outcome,
};
use crate::{
    config::counted,
    experiments::{
        permalink::{LinkSelection, Permalink},
        short_number::{p_label, short},
        sweep::results::SweepProcess,
    },
};

#[derive(Debug, Clone, PartialEq)]
pub struct PaperEntry {
    pub id: String,
    pub title: String,
    pub source: String,
    pub claims: Vec<ClaimEntry>,
}

/// A claim with its standing and the texts that its rule gives for runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimEntry {
    pub claim: Claim,
    pub standing: ClaimStanding,
    /// The version and machine that made the stored result.
    pub made: Option<ResultProvenance>,
    /// Effect and verdict of the same rule with other seeds.
    pub replication: Option<String>,
    /// Places where the stored result parts from its rule or its numbers, a sentence each.
    pub problems: Vec<String>,
    /// Seeds whose runs failed or have no number.
    pub missing: Vec<u64>,
    /// The seed with which the rule begins.
    pub first_seed: Option<u64>,
    /// The hash of the current rule, and that of the rule when the runs were made.
    pub hash: String,
    pub run_hash: Option<String>,
    /// True if the stored result has the [terms](Claim::term_hashes) of the claim, and the names of those that were
    /// recorded after its runs.
    pub has_terms: bool,
    pub late_terms: Vec<String>,
    /// The lab of the rule's base, and the link that opens it with the settings of the first run.
    pub lab: String,
    pub link: Option<String>,
    /// The id of the paper, and its title and source.
    pub paper: String,
    pub paper_title: String,
}

/// The state by which claims are counted and chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClaimState {
    Stands,
    DoesNotStand,
    CannotBeTold,
    /// The stored result belongs to an older rule, so it is not a verdict.
    Outdated,
    NotRun,
    Needs,
    Open,
}

impl ClaimState {
    pub const ALL: [Self; 7] =
        [Self::Stands, Self::DoesNotStand, Self::CannotBeTold, Self::Outdated, Self::NotRun, Self::Needs, Self::Open];

    /// The standing in a phrase: "does not stand".
    pub fn label(self) -> &'static str {
        match self {
            Self::Stands => Verdict::Stands.label(),
            Self::DoesNotStand => Verdict::DoesNotStand.label(),
            Self::CannotBeTold => Verdict::CannotBeTold.label(),
            Self::Outdated => "outdated",
            Self::NotRun => "not run",
            Self::Needs => "needs data or hardware",
            Self::Open => "no rule yet",
        }
    }

    /// The state in which a verdict puts a claim.
    fn judged(judged: &Judgement) -> Self {
        match judged.verdict {
            _ if judged.is_rule_changed => Self::Outdated,
            Verdict::Stands => Self::Stands,
            Verdict::DoesNotStand => Self::DoesNotStand,
            Verdict::CannotBeTold => Self::CannotBeTold,
        }
    }
}

/// The margin at both ends of an axis, as a share of the plotted range.
const MARGIN: f64 = 0.08;

impl Judgement {
    /// The seeds whose values lie on the scale of the effect: of a ratio of spreads none, as one seed has no spread.
    pub fn dots(&self, rule: &Rule) -> &[(u64, f64)] {
        if rule.statistic == Statistic::SpreadRatio { &[] } else { &self.values }
    }

    /// For example "seed 7: 0.002, seed 8: 0.0021".
    pub fn values_label(&self) -> String {
        self.values.iter().map(|(seed, value)| format!("seed {seed}: {}", short(*value))).collect::<Vec<_>>().join(", ")
    }

    /// The ends of an axis with seeds, interval, the region in which the claim stands and the paper's number; `None` where
    /// there is none of them.
    pub fn extent(&self, rule: &Rule) -> Option<(f64, f64)> {
        let interval = self.outcome.map(|outcome| [outcome.interval.0, outcome.interval.1]);
        let marks = [rule.stands.above, rule.stands.below, rule.published_on_scale()].into_iter().flatten();
        padded_range(self.dots(rule).iter().map(|(_, value)| *value).chain(interval.into_iter().flatten()).chain(marks))
    }

    /// The curves of effects over steps and over the setting that varies, without curves of fewer than two points.
    pub fn curves<'a>(&'a self, rule: &'a Rule) -> Vec<EffectCurve<'a>> {
        let bounds = [rule.stands.above, rule.stands.below].into_iter().flatten();
        let turns = rule.side_changes_label(&self.curve);
        let over_steps = padded_range(ends_of(&self.curve).chain(bounds.clone())).map(|ends| EffectCurve {
            points: &self.curve,
            setting: None,
            quantity: rule.statistic.label().to_owned(),
            ends,
            region: Some(&rule.stands),
            label: format!("over steps: {turns}"),
            caption: format!("Over steps, each with the interval of that step alone: {turns}."),
        });
        // an effect at a size may lie where the claim stands; the numbers along which a slope runs are not effects
        let is_of_sizes = rule.sizes.is_some();
        let ends = padded_range(ends_of(&self.along_axis).chain(bounds.filter(|_| is_of_sizes)));
        let over_setting = rule.axis().zip(ends).map(|(axis, ends)| {
            let sides = rule.sides_label(&self.along_axis).map_or(String::new(), |sides| format!(": {sides}"));
            let intervals = match is_of_sizes {
                true => "each with the interval of that size alone; the largest is judged",
                false => "mean of the seeds with the interval of each value alone",
            };
            EffectCurve {
                points: &self.along_axis,
                setting: Some(axis),
                quantity: match (is_of_sizes, &rule.beside) {
                    (true, _) => rule.statistic.label().to_owned(),
                    (false, None) => rule.read.clone(),
                    (false, Some(beside)) => format!("{} beside {beside}", rule.read),
                },
                ends,
                region: is_of_sizes.then_some(&rule.stands),
                label: format!("over {axis}: {}", rule.points_label(&self.along_axis)),
                caption: format!("Over {axis}, {intervals}{sides}."),
            }
        });
        over_steps.into_iter().chain(over_setting).filter(|curve| curve.points.len() > 1).collect()
    }

    /// "0.0004 [0.0003, 0.0004] nats, stands if below 0.01; p 1.2e-5 against the bound, after Holm's correction for the paper's 22
    /// rules"; `None` without an outcome.
    pub fn effect_label(&self, rule: &Rule) -> Option<String> {
        let (effect, correction) = (self.outcome.as_ref()?.label(rule), self.correction_label(rule)?);
        Some(format!("{effect}, stands if {}; {correction}", rule.stands.label()))
    }

    /// The corrected p, and whether it is the correction by which the claim cannot be told: "p 0.07 against the bound, after Holm's
    /// correction for the paper's 22 rules, above 0.05, so that it cannot be told; .."; or why there is no p.
    fn correction_label(&self, rule: &Rule) -> Option<String> {
        let outcome = self.outcome?;
        let Some(p) = self.p.map(p_label) else {
            return Some("no p value: the values of the seeds do not differ".to_owned());
        };
        let rules = counted(self.rules, "rule");
        let reason = self.is_undecided_by_correction(rule).then(|| {
            let (error, before) = (short(1.0 - rule.confidence), p_label(outcome.p()));
            format!(", above {error}, so that it cannot be told; p was {before} before it, and the interval is not corrected")
        });
        let family = format!("after Holm's correction for the paper's {rules}");
        Some(format!("p {p} against the bound, {family}{}", reason.unwrap_or_default()))
    }

    /// [`Self::correction_label`] where the correction decides the verdict, or there is no p.
    pub(super) fn deciding_correction_label(&self, rule: &Rule) -> Option<String> {
        let needs_words = self.p.is_none() || self.is_undecided_by_correction(rule);
        self.correction_label(rule).filter(|_| needs_words && !self.is_rule_changed)
    }

    /// The verdict of its numbers, where a reason why its runs do not test the claim takes it: "stands; the reason was recorded after
    /// the runs".
    pub fn voided_label(&self) -> Option<String> {
        let is_voided = self.verdict != self.numbers_verdict && !self.is_rule_changed;
        let when = if self.is_reason_late { "after" } else { "with" };
        is_voided.then(|| format!("{}; the reason was recorded {when} the runs", self.numbers_verdict.label()))
    }

    /// The reason why it has no effect: "2 of 8 seeds have a number"; `None` where as many have one as the rule asks for.
    pub fn lacking_seeds_label(&self, rule: &Rule) -> Option<String> {
        let seeds = self.values.len();
        ((seeds as u64) < rule.seeds).then(|| format!("{seeds} of {} seeds have a number", rule.seeds))
    }

    /// True where its numbers alone decide the claim, but not after Holm's correction.
    fn is_undecided_by_correction(&self, rule: &Rule) -> bool {
        let is_decided_alone = |outcome: Outcome| outcome.p() <= 1.0 - rule.confidence;
        self.numbers_verdict == Verdict::CannotBeTold && self.outcome.is_some_and(is_decided_alone)
    }
}

/// The effects of a claim along an axis, as charts have them.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectCurve<'a> {
    /// The points of the curve, at least two.
    pub points: &'a [EffectPoint],
    /// The setting along which they run; `None` over steps.
    pub setting: Option<&'a str>,
    /// The quantity on the axis of effects: "paired difference".
    pub quantity: String,
    pub ends: (f64, f64),
    /// The region in which the claim stands, where it is one of these effects.
    pub region: Option<&'a Region>,
    /// A description of it: "over steps: from step 0 within the bound".
    pub label: String,
    /// A sentence beside the chart.
    pub caption: String,
}

fn ends_of(points: &[EffectPoint]) -> impl Iterator<Item = f64> {
    points.iter().flat_map(|point| [point.interval.0, point.interval.1])
}

/// The range of the finite values, with room at both ends; `None` without a value.
fn padded_range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.filter(|value| value.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    // a single value lies in the middle of the range
    let room = if low < high { MARGIN * (high - low) } else { Some(low.abs()).filter(|v| *v > 0.0).unwrap_or(1.0) };
    (low <= high).then_some((low - room, high + room))
}

impl ClaimStanding {
    pub fn state(&self) -> ClaimState {
        match self {
            Self::Needs(_) => ClaimState::Needs,
            Self::Open(_) => ClaimState::Open,
            Self::Held(_) => ClaimState::Stands,
            Self::NotRun { .. } => ClaimState::NotRun,
            Self::Judged(judged) => ClaimState::judged(judged),
        }
    }
}

impl ClaimEntry {
    fn new(row: &LedgerRow, ledger: &Ledger, problems: &[Problem], replications: &BTreeMap<String, String>) -> Self {
        let (claim, result) = (row.claim, ledger.results.get(&row.claim.id));
        let own = problems.iter().filter(|problem| problem.claim == claim.id);
        let first = claim.rule.as_ref().and_then(|rule| rule.first_run().ok());
        Self {
            claim: claim.clone(),
            standing: row.standing.clone(),
            made: result.map(|result| result.made.clone()),
            replication: replications.get(&claim.id).cloned(),
            problems: own.map(|problem| problem.words.clone()).collect(),
            missing: result.map(|result| result.missing.clone()).unwrap_or_default(),
            hash: claim.rule.as_ref().map(|rule| rule.hash()).unwrap_or_default(),
            run_hash: result.map(|result| result.rule.clone()),
            has_terms: result.is_some_and(|result| !result.terms.is_empty()),
            late_terms: result.map(|result| result.late_terms.clone()).unwrap_or_default(),
            first_seed: first.as_ref().map(|config| config.seed),
            lab: first.as_ref().map(|config| config.lab.clone()).unwrap_or_default(),
            link: first.map(|config| {
                let (restrictions, selection) = (Default::default(), LinkSelection::default());
                Permalink { config, restrictions, step: None, views: vec![], selection }.to_string()
            }),
            paper: row.paper.id.clone(),
            paper_title: format!("{} {}", row.paper.file.title, row.paper.file.source),
        }
    }

    pub fn state(&self) -> ClaimState {
        self.standing.state()
    }

    /// "stands, at our scale"; of a result of another rule only that it is outdated.
    pub fn verdict_label(&self) -> String {
        self.standing.verdict_label(self.claim.tier)
    }

    /// Returns every known fact about the claim except the quoted text, each with its name. If its runs do not test the
    /// claim, the reason comes first.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let claim = &self.claim;
        let mut facts: Vec<(&'static str, String)> = vec![];
        facts.extend(claim.untested.clone().map(|why| ("not tested", why)));
        facts.push(("verdict", self.verdict_label()));
        let judged = self.standing.judgement();
        let alone = judged.and_then(Judgement::voided_label);
        facts.extend(alone.map(|words| ("by its numbers alone", words)));
        if let Some(rule) = &claim.rule {
            let effect = judged.filter(|judged| !judged.is_rule_changed).and_then(|judged| {
                let lacking = || judged.lacking_seeds_label(rule).map(|words| format!("none: {words}"));
                judged.effect_label(rule).or_else(lacking)
            });
            facts.extend(effect.map(|words| ("effect", words)));
            facts.push(("rule", format!("{}; {} seeds of {}", rule.sentence(), rule.seeds, rule.base)));
        }
        match &self.standing {
            ClaimStanding::Held(held) => facts.push(("held by", format!("the test {} in {}", held.test, held.file))),
            ClaimStanding::Open(why) => facts.push(("a rule would take", why.clone())),
            // the verdict says it of what was not run
            ClaimStanding::NotRun { .. } | ClaimStanding::Judged(_) => {}
            ClaimStanding::Needs(_) => facts.extend(claim.time_label().map(|time| ("time", time))),
        }
        facts.extend(claim.needs.clone().map(|needs| ("needs", needs)));
        let readings = [("other reading", &claim.counter), ("what would refute it", &claim.turns)];
        facts
            .extend(readings.into_iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name, text.clone())));
        facts.extend(judged.map(|judged| ("seeds", self.seeds_label(judged))));
        facts.extend(self.replication.clone().map(|label| ("with other seeds", label)));
        if let Some(made) = &self.made {
            facts.push(("made by", format!("{}, {} minutes", made.label(), short(made.minutes))));
            facts.push(("edited since", self.edits_label()));
        }
        facts
    }

    /// "10: 7 to 16; without a number (not counted): 3", and where they are others than the rule's: "the rule asks 8, from 1
    /// on".
    fn seeds_label(&self, judged: &Judgement) -> String {
        let seeds: Vec<u64> = judged.values.iter().map(|(seed, _)| *seed).collect();
        let ends = match (seeds.first(), seeds.last()) {
            (Some(first), Some(last)) if first != last => format!(": {first} to {last}"),
            (Some(first), _) => format!(": {first}"),
            _ => String::new(),
        };
        let missing: Vec<String> = self.missing.iter().map(ToString::to_string).collect();
        let missing = match missing.is_empty() {
            true => String::new(),
            false => format!("; without a number (not counted): {}", missing.join(", ")),
        };
        let all = || seeds.iter().chain(&self.missing);
        let rule = self.claim.rule.as_ref().zip(self.first_seed);
        let rule = rule.filter(|(rule, first)| rule.seeds != all().count() as u64 || Some(first) != all().min());
        let rule =
            rule.map_or(String::new(), |(rule, first)| format!("; the rule asks {}, from {first} on", rule.seeds));
        format!("{}{ends}{missing}{rule}", seeds.len())
    }

    /// Says whether rule, terms and numbers are those of the verdict that is stored.
    fn edits_label(&self) -> String {
        let (now, then) = (short_hash(&self.hash), self.run_hash.as_deref().map_or("", short_hash));
        let edits = match self.problems.is_empty() {
            true if self.has_terms => format!("neither the rule ({now}), its terms nor the numbers"),
            true => format!("neither the rule ({now}) nor the numbers"),
            false if now == then => self.problems.join("; "),
            false => format!("{} (rule {then} then, {now} now)", self.problems.join("; ")),
        };
        let late = match (self.has_terms, self.late_terms.as_slice()) {
            (false, _) => "; its terms were not recorded with the runs".to_owned(),
            (true, []) => String::new(),
            (true, names) => format!("; recorded after the runs: {}", names.join(", ")),
        };
        format!("{edits}{late}")
    }

    /// The command that decides it, where it has a rule.
    pub fn command(&self) -> Option<String> {
        self.claim.rule.as_ref().map(|_| format!("orrery claims run {}", self.claim.id))
    }
}

impl Ledger {
    /// The claim of one of these rows, which are all.
    pub fn entry(&self, row: &LedgerRow, rows: &[LedgerRow]) -> ClaimEntry {
        ClaimEntry::new(row, self, &self.problems_of(rows), &self.replication_labels(rows))
    }

    /// Effect and verdict of each replication, keyed by the claim's id.
    fn replication_labels(&self, rows: &[LedgerRow]) -> BTreeMap<String, String> {
        let replicated = self.replicated();
        let again = replicated.rows();
        self.replications_of(rows, &again).map(|found| (found.first.claim.id.clone(), found.label())).collect()
    }

    /// All papers with their claims, each verdict made from its numbers.
    pub fn entries(&self) -> Vec<PaperEntry> {
        let rows = self.rows();
        let (problems, replications) = (self.problems_of(&rows), self.replication_labels(&rows));
        let entry = |row: &LedgerRow| ClaimEntry::new(row, self, &problems, &replications);
        let entries = |id: &str| rows.iter().filter(|row| row.paper.id == id).map(entry).collect();
        let paper = |paper: &Paper| PaperEntry {
            id: paper.id.clone(),
            title: paper.file.title.clone(),
            source: paper.file.source.clone(),
            claims: entries(&paper.id),
        };
        self.papers.iter().map(paper).collect()
    }
}

/// The runs that a rule asks for as their folder has them, and what they say so far.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimRuns {
    pub folder: PathBuf,
    pub total: usize,
    pub finished: usize,
    pub running: usize,
    pub failed: usize,
    pub process: SweepProcess,
    /// The seeds that have ended, judged as a stored result would be.
    pub judged: Judgement,
}

impl ClaimRuns {
    /// The state that they give the claim; `None` while some have yet to end.
    pub fn state(&self) -> Option<ClaimState> {
        let is_over = !self.process.is_alive() && self.finished + self.failed == self.total;
        (is_over || self.finished == self.total).then(|| ClaimState::judged(&self.judged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        experiments::{
            claims::{
                result::ClaimResult,
                small_ledger::{ledger_with, result},
            },
            permalink::Link,
        },
        labs::LABS,
    };

    /// The claims with a result of X1, or of another rule of it.
    fn entries(is_rule_changed: bool) -> Vec<ClaimEntry> {
        let result = result(&[0.001, 0.002, 0.003]);
        let rule = if is_rule_changed { "another".to_owned() } else { result.rule.clone() };
        ledger_with(&ClaimResult { rule, ..result }).entries().remove(0).claims
    }

    #[test]
    fn a_result_of_an_edited_rule_is_no_verdict() {
        let claims = entries(true);
        assert_eq!(claims[0].state(), ClaimState::Outdated);
        assert_eq!(claims[0].verdict_label(), "outdated: rule changed after the run");
        let claims = entries(false);
        assert_ne!(claims[0].state(), ClaimState::Outdated);
        assert!(claims[0].verdict_label().ends_with(", at our scale"), "{}", claims[0].verdict_label());
        assert_eq!((claims[2].state(), claims[2].verdict_label().as_str()), (ClaimState::Needs, "needs a GPU"));
    }

    /// Equal values have a picture as well, as the caption below it says.
    #[test]
    fn a_range_holds_a_single_value() {
        assert_eq!(padded_range([0.0, 0.0].into_iter()), Some((-1.0, 1.0)));
        assert_eq!(padded_range([2.0].into_iter()), Some((0.0, 4.0)));
        assert_eq!(padded_range(std::iter::empty()), None);
    }

    /// A fact of the card of X1.
    fn fact(ledger: &Ledger, name: &str) -> Option<String> {
        let facts = ledger.entries().remove(0).claims.remove(0).facts();
        facts.into_iter().find(|(of, _)| *of == name).map(|(_, text)| text)
    }

    /// A rule fixes its seeds before the runs, so a result with more or other seeds says so.
    #[test]
    fn seeds_that_the_rule_does_not_ask_for_are_reported() {
        let ledger = ledger_with(&result(&[0.001, 0.002, 0.003, 0.002, 0.001]));
        assert_eq!(fact(&ledger, "seeds").as_deref(), Some("5: 7 to 11; the rule asks 3, from 7 on"));
        assert_eq!(ledger.rows()[0].seeds_label(), "5, the rule asks 3");
    }

    #[test]
    fn too_few_seeds_are_the_reason_of_no_effect() {
        let few = ledger_with(&result(&[0.001, 0.002]));
        assert_eq!(fact(&few, "effect").as_deref(), Some("none: 2 of 3 seeds have a number"));
        let all = fact(&ledger_with(&result(&[0.001, 0.002, 0.003])), "effect").unwrap();
        assert!(all.starts_with("0.002 ["), "{all}");
    }

    #[test]
    fn the_link_of_a_claim_has_the_settings_of_its_rule() {
        let claims = entries(false);
        let link = Link::parse(claims[0].link.as_deref().unwrap(), LABS).unwrap().unwrap();
        let Link::Page(page) = link else { panic!("a page") };
        assert_eq!((page.config.lab.as_str(), page.config.preset.as_str()), ("fast_slow", "fast_slow_needed"));
        assert_eq!(page.config.get("train.steps").map(ToString::to_string), Some("40".to_owned()));
        assert_eq!(claims[2].link, None);
    }
}
