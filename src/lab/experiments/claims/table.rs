//! The ledger as tables of text with one row per claim, and the page `docs/claims.md`.

use std::{cmp::Ordering, fmt::Write as _};

use super::{
    curve::EffectPoint,
    entry::ClaimState,
    ledger::{ClaimStanding, Ledger, LedgerRow, Paper},
    result::short_hash,
    rule::Rule,
    statistics::Outcome,
};
use crate::{config::counted, experiments::short_number::short, files::sha256};

const INTRO: &str = "# The ledger of claims

Every claim of the five papers that an experiment could support or contradict, and what others report of their models
(*disputes*). This page is made from `claims/`:
`UPDATE_SNAPSHOTS=1 cargo test --test tidy claims`.

    orrery claims                   # this table; --paper, --verdict
    orrery claims show A2           # a claim: quote, rule, numbers, verdict, and what would refute it
    orrery claims run A2            # makes its runs and writes claims/results/A2.json; several ids, or a paper for all of its rules
    orrery claims check             # recomputes every verdict from the stored numbers; exit code 1 if one, or this page, differs

A claim *stands* where the 95% interval of its effect over seeds lies where its rule says, *does not stand* where it lies outside,
and *cannot be told* otherwise, after Holm's correction for all rules of its paper. Equivalence means that the interval lies inside a
margin (two one-sided tests); a difference that is not significant is not enough. Rules were fixed before the runs, except those of
A19, A20b, B36 and C12, whose other readings say what had been seen; of B9 and D7 the paper's number, by which nothing is decided, was
corrected afterwards. A rule that is edited later says so. A claim that its runs do not test (`untested`: its premise is not met,
its runs end where all still learn fast and the paper compares the ends of learning, a floor or a ceiling hides any difference, or
no run could decide) *cannot be told*, whatever their numbers give: the reason is said beside it, and results.md has the
verdict that the numbers give. Every such reason here was written after the runs.

A verdict holds at the scale of its tier: *exact* is the paper's own experiment at its own size, or mathematics, which has none;
*scaled* is the same with a smaller model or less text, or with settings of ours where the paper gives none; *proxy* is another one
that bears on it. Failed runs are not counted. Mathematical claims and counts are checked by a test in this repository, which `orrery
claims show` names. A star marks the twenty of most interest.

The hash of a rule covers its own lines. The terms of a claim are `quote`, `tier`, `turns`, `untested`, and `settings`: lab, seed
and each setting of the rule's first run that differs from the default of its lab, whether the rule or its preset sets it. `orrery
claims run` stores a digest of each with the result. `orrery claims check` and the claim's card name those that were edited since;
the exit code is 1 then, as for an edited rule, and for seeds that are not the rule's. `check --write` records the terms of a
result that has none, and with `--terms` those again whose texts were edited; the result then names those that were recorded after
its runs. Edited settings are recorded by `orrery claims run` alone: with them the runs would have had other numbers. A setting
that equals its default is not covered, so that one that a later version adds is no edit; a default that changes is seen in the
listings of `cargo test --test tidy labs`.

A result keeps the values of its seeds at up to 24 steps, where its rule reads numbers along the run, so that it can be seen whether the
verdict turns; the interval of each step stands for that step alone. A rule that names sizes (`sizes = { key = \"model.d_model\", values
= [64, 128, 256] }`) is judged at the largest, and shows the effect at each beside where the claim stands.

[results.md](results.md) has what was made of runs: effects, seeds, minutes, machines. The page *Claims* of the window, beside
*Runs*, has the same rows as this one: a click unfolds quote, picture, rule and counter-reading, opens the lab with the rule's
settings, or begins the runs of all seeds, whose verdict fills in as they end. The tables below omit quotations, other readings and
refutations; the digest above each table covers them.

Runs are a sweep in `sweeps`, shared by the rules that ask for the same ones; what has ended is not made again. `--on slurm` makes
them on a cluster; the same command without it then reads them. Other seeds stand beside the first ones and move no verdict, or are
kept apart:

    orrery claims run A2 --first-seed 100 --results claims/replications   # `orrery claims show A2` has both
    orrery claims run A2 --first-seed 100 --results again
    orrery claims show A2 --results again   # with these results in place of those that are stored; list and check too
    orrery claims list --from mine          # a folder of claims of your own, with `results` in it

A result that is made where there is no folder of claims is written to `claims/results` there, and read from there.
";

impl Outcome {
    /// The effect by a rule, with its unit where that is known: "-0.0004 [-0.002, 0.001] nats".
    pub fn label(&self, rule: &Rule) -> String {
        format!("{} {}", with_interval(self.effect, self.interval), rule.unit()).trim_end().to_owned()
    }
}

impl EffectPoint {
    /// For example "64: -0.0004 [-0.002, 0.001]".
    pub fn label(&self) -> String {
        self.label_at(&short(self.at))
    }

    /// The effect with a label for the place: "step 64: -0.0004 [-0.002, 0.001]".
    pub fn label_at(&self, place: &str) -> String {
        format!("{place}: {}", with_interval(self.effect, self.interval))
    }
}

fn with_interval(effect: f64, (low, high): (f64, f64)) -> String {
    format!("{} [{}, {}]", short(effect), short(low), short(high))
}

impl LedgerRow<'_> {
    /// "-0.0004 [-0.002, 0.001] nats"; empty without an outcome.
    pub fn effect_label(&self) -> String {
        let outcome = self.standing.judgement().and_then(|judged| judged.outcome);
        self.claim.rule.as_ref().zip(outcome).map_or(String::new(), |(rule, outcome)| outcome.label(rule))
    }

    /// Where the effect must lie for the claim to stand; empty without a rule.
    pub fn region_label(&self) -> String {
        self.claim.rule.as_ref().map_or(String::new(), |rule| rule.stands.label())
    }

    /// Seeds that have a value; "5 of 8" or "60, the rule asks 8" where that are fewer or more than the rule asks for. Empty
    /// without runs.
    pub fn seeds_label(&self) -> String {
        let (Some(judged), Some(rule)) = (self.standing.judgement(), &self.claim.rule) else { return String::new() };
        let seeds = judged.values.len();
        match (seeds as u64).cmp(&rule.seeds) {
            Ordering::Less => format!("{seeds} of {}", rule.seeds),
            Ordering::Equal => seeds.to_string(),
            Ordering::Greater => format!("{seeds}, the rule asks {}", rule.seeds),
        }
    }

    /// "stands, at our scale"; where there is no rule, what one would take, and where runs do not test the claim, why.
    pub fn verdict_label(&self) -> String {
        let words = self.standing.verdict_label(self.claim.tier);
        match (&self.standing, &self.claim.untested) {
            (ClaimStanding::Open(why), _) => format!("{words}: it takes {why}"),
            (ClaimStanding::Judged(judged), Some(why)) if !judged.is_rule_changed => format!("{words}: {why}"),
            _ => words,
        }
    }
}

/// A line of a table in Markdown.
fn table_line<const N: usize>(cells: [String; N]) -> String {
    format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
}

/// A table in Markdown, its head included.
pub(super) fn markdown_table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    [head.map(str::to_owned), head.map(|_| "---".to_owned())].into_iter().chain(rows).map(table_line).collect()
}

/// "120 claims: 40 stand, 12 do not stand, 20 cannot be told; 30 not run, 10 need data or hardware, 8 have no rule yet".
pub fn summary(rows: &[LedgerRow]) -> String {
    let count = |state: ClaimState| rows.iter().filter(|row| row.standing.state() == state).count();
    let outdated = match count(ClaimState::Outdated) {
        0 => String::new(),
        n => format!(", {n} outdated"),
    };
    format!(
        "{}: {} stand, {} do not stand, {} cannot be told{outdated}; {} not run, {} need data or hardware, {} have no rule yet",
        counted(rows.len(), "claim"),
        count(ClaimState::Stands),
        count(ClaimState::DoesNotStand),
        count(ClaimState::CannotBeTold),
        count(ClaimState::NotRun),
        count(ClaimState::Needs),
        count(ClaimState::Open),
    )
}

/// The first digits of a digest of the texts that the tables leave out, so that an edited quotation changes the page.
fn words_digest(paper: &Paper) -> String {
    let claims = paper.file.claims.iter();
    let words = claims.map(|c| [c.id.as_str(), c.wording(), c.counter.as_str(), c.turns.as_str()].join("\n"));
    short_hash(&sha256(&words.collect::<Vec<_>>().join("\n"))).to_owned()
}

impl Ledger {
    /// The pages that are made from the ledger, by their names in `docs`.
    pub fn pages(&self) -> [(&'static str, String); 2] {
        [("claims.md", self.markdown()), ("results.md", self.results_markdown())]
    }

    pub fn summary(&self) -> String {
        summary(&self.rows())
    }

    /// The page `docs/claims.md`.
    pub fn markdown(&self) -> String {
        let (mut text, rows) = (format!("{INTRO}\n{}.\n", self.summary()), self.rows());
        for paper in &self.papers {
            // writing to a string does not fail
            let _ = write!(
                text,
                "\n## {}\n\n{}; `claims/{}.toml`; digest of its words {}.\n\n\
                 | | claim | place | the paper | tier | verdict | effect [95%] | seeds |\n\
                 | --- | --- | --- | --- | --- | --- | --- | --- |\n",
                paper.file.title,
                paper.file.source,
                paper.id,
                words_digest(paper)
            );
            for row in rows.iter().filter(|row| row.paper.id == paper.id) {
                let claim = row.claim;
                let star = if claim.starred { " ★" } else { "" };
                let cells = [
                    format!("{}{star}", claim.id),
                    claim.title.clone(),
                    claim.place.clone(),
                    claim.number.clone(),
                    claim.tier.label().to_owned(),
                    row.verdict_label(),
                    row.effect_label(),
                    row.seeds_label(),
                ];
                text.push_str(&table_line(cells));
            }
        }
        text
    }
}
