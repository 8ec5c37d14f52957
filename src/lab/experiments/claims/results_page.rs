//! The page `docs/results.md`: the results of the claims' runs, one per line.

use std::fmt::Write as _;

use super::{
    ledger::{Judgement, Ledger, LedgerRow, Paper},
    replication::Replication,
    result::ClaimResult,
    rule::Rule,
    table::markdown_table,
};
use crate::experiments::short_number::{p_label, short};

const INTRO: &str = "# Results

What runs have said of the [claims of the papers](claims.md): the effect with its interval, and by what it was made. This page is
made from `claims/results`, which keeps the number of every seed: `UPDATE_SNAPSHOTS=1 cargo test --test tidy claims`. What was measured
and is no claim's stands in [measurements.md](measurements.md), with its commands; how fast a training step is in
[performance.md](performance.md).

    orrery claims show A2           # rule, numbers of each seed, what would refute it
    orrery claims run A2 --first-seed 100 --results again       # the same with other seeds, kept apart

An effect is on the scale of its rule: a difference (of losses in nats per token, where nothing else is said), a ratio (*times*), a
share, a correlation. Its unit follows where the numbers that the rule reads have one. The paper's number stands beside it where there
is one on this scale. A verdict says whether the runs were of the paper's size or of ours. p is corrected
by Holm's method for all rules of its paper, and there is none where the values of the seeds do not differ: the value that they share
decides, unless it is the bound itself. An interval is not corrected, and the lines below a table say where the correction is why
a claim cannot be told, or that its runs do not test it, with the verdict that its numbers alone give. They also say how the
interval of each step, or size, alone lies: within the bound of the rule, beyond or across it. Minutes are those of training, all
runs together, on the machine that is named; several results may be of the same runs. The commit of a result that was made outside
of a checkout was not recorded, and is not made up afterwards: `git log` of its file tells the commit before which it was made.
";

const NOT_RUN: &str = "
## Not run yet

Rules without a result, each with what its runs take. Rules that ask for the same runs share them and their hours.
";

const REPLICATIONS: &str = "
## Run again with other seeds

Results of the same rules with as many other seeds, kept in `claims/replications`: `orrery claims run A2 --first-seed 100 --results
claims/replications`. On 29 November 2026 these were all claims whose first runs had taken less than eight minutes, so that none was
chosen by its verdict. A replication moves no verdict. It is judged as the first result was, by Holm's correction over the
replications of a paper and the first results of its other rules; verdicts are compared as the numbers give them. The lines below the
table say where the correction is why a claim cannot be told again, and what the numbers give where the runs do not test it.
";

/// Most values of a setting that are written out.
const MAX_VALUES: usize = 8;

/// A result with its claim's row, rule and judgement.
struct ResultLine<'a> {
    row: &'a LedgerRow<'a>,
    rule: &'a Rule,
    judged: &'a Judgement,
    result: &'a ClaimResult,
}

impl Ledger {
    /// The page `docs/results.md`.
    pub fn results_markdown(&self) -> String {
        let rows = self.rows();
        let lines: Vec<ResultLine> = rows.iter().filter_map(|row| self.line(row)).collect();
        let with_interval = lines.iter().filter(|line| line.judged.outcome.is_some()).count();
        let (all, results) = (rows.len(), lines.len());
        let mut text =
            format!("{INTRO}\n{results} of {all} claims have a result of runs, {with_interval} of them an interval.\n");
        for paper in &self.papers {
            let of_paper: Vec<&ResultLine> = lines.iter().filter(|line| line.row.paper.id == paper.id).collect();
            if !of_paper.is_empty() {
                paper_section(paper, &of_paper, &mut text);
            }
        }
        let replicated = self.replicated();
        let again = replicated.rows();
        text.push_str(&replication_section(&self.replications_of(&rows, &again).collect::<Vec<_>>()));
        text.push_str(&not_run_section(&rows));
        text
    }

    fn line<'a>(&'a self, row: &'a LedgerRow<'a>) -> Option<ResultLine<'a>> {
        let (rule, judged) = (row.claim.rule.as_ref()?, row.standing.judgement()?);
        Some(ResultLine { row, rule, judged, result: self.results.get(&row.claim.id)? })
    }
}

/// The replications beside the first results; empty if there is none.
fn replication_section(replications: &[Replication]) -> String {
    let head = ["", "claim", "effect [95%]", "again", "verdict", "again", "same verdict", "seeds", "made by"];
    let cells = |replication: &Replication| {
        let Replication { first, again, result } = replication;
        [
            first.claim.id.clone(),
            first.claim.title.clone(),
            first.effect_label(),
            again.effect_label(),
            first.standing.label(),
            again.standing.label(),
            replication.agreement().to_owned(),
            again.seeds_label(),
            result.made.label(),
        ]
    };
    if replications.is_empty() {
        return String::new();
    }
    let same = replications.iter().filter(|replication| replication.has_same_verdict()).count();
    let count = format!("{same} of {} have the verdict of the first runs.\n", replications.len());
    let reasons = |replication: &Replication| -> String {
        let id = &replication.first.claim.id;
        replication.reasons().into_iter().map(|words| format!("- {id}: {words}.\n")).collect()
    };
    let reasons: String = replications.iter().map(reasons).collect();
    let reasons = if reasons.is_empty() { reasons } else { format!("\n{reasons}") };
    let table = markdown_table(head, replications.iter().map(cells));
    format!("{REPLICATIONS}\n{count}\n{table}{reasons}")
}

/// The rules that have no result, each with what its runs take; empty if all have one.
fn not_run_section(rows: &[LedgerRow]) -> String {
    let is_left = |row: &&LedgerRow| row.claim.rule.is_some() && row.standing.judgement().is_none();
    let line = |row: &LedgerRow| {
        let claim = row.claim;
        let needs = claim.needs.as_ref().map(|needs| format!("needs {needs}"));
        let takes: Vec<String> = needs.into_iter().chain(claim.time_label()).collect();
        let takes = if takes.is_empty() { "not timed".to_owned() } else { takes.join("; ") };
        format!("- {}, {}: {takes}.\n", claim.id, claim.title)
    };
    let lines: String = rows.iter().filter(is_left).map(line).collect();
    if lines.is_empty() { lines } else { format!("{NOT_RUN}\n{lines}") }
}

fn paper_section(paper: &Paper, lines: &[&ResultLine], text: &mut String) {
    let head = ["", "claim", "effect [95%]", "the paper", "verdict", "p", "seeds", "minutes", "made by"];
    let cells = |line: &&ResultLine| {
        let ResultLine { row, rule, judged, result } = line;
        [
            row.claim.id.clone(),
            row.claim.title.clone(),
            row.effect_label(),
            rule.published_on_scale().map_or(String::new(), short),
            row.standing.verdict_label(row.claim.tier),
            judged.p.map_or(String::new(), p_label),
            row.seeds_label(),
            short(result.made.minutes),
            result.made.label(),
        ]
    };
    let table = markdown_table(head, lines.iter().map(cells));
    // writing to a string does not fail
    let _ = write!(text, "\n## {}\n\n{table}", paper.file.title);
    let curves: Vec<String> = lines.iter().flat_map(|line| line.curve_lines()).collect();
    if !curves.is_empty() {
        let _ = write!(text, "\n{}", curves.concat());
    }
}

impl ResultLine<'_> {
    /// Lines on runs that do not test the claim, a correction that decides, a p that is not there, an interval that turns over
    /// steps, and few values of a setting.
    fn curve_lines(&self) -> Vec<String> {
        let (id, mut lines) = (&self.row.claim.id, vec![]);
        let untested = self.row.claim.untested.as_ref().filter(|_| !self.judged.is_rule_changed);
        let alone = self.judged.voided_label();
        let alone = alone.map_or(String::new(), |words| format!(" By its numbers alone: {words}."));
        lines.extend(untested.map(|why| format!("- {id}: not tested: {why}.{alone}\n")));
        let correction = self.judged.deciding_correction_label(self.rule);
        lines.extend(correction.map(|words| format!("- {id}: {words}.\n")));
        let turns = self.rule.side_changes_label(&self.judged.curve);
        if turns.contains(';') {
            lines.push(format!("- {id} over steps: {turns}.\n"));
        }
        let values = &self.judged.along_axis;
        if let (Some(axis), 2..=MAX_VALUES) = (self.rule.axis(), values.len()) {
            lines.push(format!("- {id} over `{axis}`: {}.\n", self.rule.points_label(values)));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use crate::experiments::claims::small_ledger::{ledger, ledger_with, result};

    #[test]
    fn a_result_has_a_line_with_its_machine() {
        let page = ledger_with(&result(&[0.002, 0.0021, 0.0019])).results_markdown();
        let line = page.lines().find(|line| line.starts_with("| X1 |")).unwrap();
        assert!(line.starts_with("| X1 | the gate stays shut | 0.002 ["), "{line}");
        assert!(line.contains(" | stands, at our scale | "), "{line}");
        assert!(line.ends_with(" | 3 | 3.5 | Orrery 0 (commit not recorded), 2 cores of c |"), "{line}");
        assert!(page.contains("1 of 3 claims have a result of runs, 1 of them an interval."), "{page}");
        assert!(!page.contains("| X2 |"), "it was not run");
        let (_, not_run) = page.split_once("## Not run yet").unwrap();
        assert!(not_run.contains("- X2, it is cheaper: about 5 hours of two cores.\n"), "{page}");
        assert!(!not_run.contains("X1,") && !not_run.contains("X12"), "one has a result, the other no rule: {page}");
    }

    #[test]
    fn a_ledger_without_results_has_no_table() {
        let page = ledger().results_markdown();
        assert!(page.contains("0 of 3 claims") && !page.contains("| --- |"), "{page}");
    }
}
