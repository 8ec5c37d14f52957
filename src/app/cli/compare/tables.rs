//! The tables of compared runs: differing settings and headline numbers, by run or, over seeds, by settings.

use super::{
    super::summary::{cell_at, spread_legend, step_suffix},
    ComparedRun, first_but_for_seed, heading, headline_of,
};
use crate::{
    cli::prelude::*,
    experiments::{run_table::Difference, seeds::SeedSummary},
    labs::headline::{Headline, common},
    ui::comparison::folded_name,
};

/// Lines of cells, the first of them the head.
pub type TextTable = Vec<Vec<String>>;

/// The first columns of numbers.
const COLUMNS: [&str; 3] = ["run", "variant", "step"];

/// The name of a row, and the indices of its runs.
pub struct ComparedRow {
    pub name: String,
    pub runs: Vec<usize>,
}

/// A row for each run, or, folded, for all runs that differ in nothing but the seed.
pub fn rows(runs: &[ComparedRun], names: &[String], is_folded: bool) -> Vec<ComparedRow> {
    let like: Vec<usize> = (0..runs.len()).map(|i| if is_folded { first_but_for_seed(runs, i) } else { i }).collect();
    let row = |first: usize| {
        let members: Vec<usize> = (0..runs.len()).filter(|i| like[*i] == first).collect();
        let name = match members.len() {
            1 => names[first].clone(),
            seeds => folded_name(&names[first], seeds),
        };
        ComparedRow { name, runs: members }
    };
    distinct(like.iter().copied()).into_iter().map(row).collect()
}

/// The settings that differ, a column each.
pub fn settings(rows: &[ComparedRow], differing: &[Difference]) -> TextTable {
    let head = std::iter::once("run".to_owned()).chain(differing.iter().map(|d| d.key.clone())).collect();
    let line = |row: &ComparedRow| {
        let value = |d: &Difference| distinct(row.runs.iter().map(|i| d.values[*i].as_str())).join(", ");
        std::iter::once(row.name.clone()).chain(differing.iter().map(value)).collect()
    };
    std::iter::once(head).chain(rows.iter().map(line)).collect()
}

pub fn as_csv(table: &TextTable) -> String {
    let mut out = Table::new(table.iter().take(1).flatten());
    table.iter().skip(1).for_each(|row| out.row(row));
    out.finish()
}

/// The headline numbers, and what other programs logged: a line for each row and group of variants.
pub struct Numbers {
    headings: Vec<String>,
    lines: Vec<NumberLine>,
}

struct NumberLine {
    name: String,
    variant: String,
    numbers: Vec<Option<ComparedNumber>>,
}

struct ComparedNumber {
    headline: &'static Headline,
    summary: SeedSummary,
    step: u64,
}

impl NumberLine {
    fn step(&self) -> Option<u64> {
        self.numbers.iter().flatten().map(|number| number.step).max()
    }

    /// The step of a number, if it differs from the line's.
    fn other_step(&self, number: &ComparedNumber) -> Option<u64> {
        Some(number.step).filter(|at| Some(*at) != self.step())
    }
}

impl Numbers {
    pub fn new(rows: &[ComparedRow], runs: &[ComparedRun]) -> Self {
        let declared = distinct(runs.iter().flat_map(|run| run.row.headlines.keys()));
        let logged = runs.iter().filter(|run| run.row.lab == FOREIGN).flat_map(|run| &run.series);
        let logged: BTreeSet<&str> =
            logged.map(|number| number.key.as_str()).filter(|key| !declared.contains(key)).collect();
        let keys: Vec<&str> = declared.into_iter().chain(logged).collect();
        let mut lines = vec![];
        for row in rows {
            let members: Vec<&ComparedRun> = row.runs.iter().map(|i| &runs[*i]).collect();
            for loss in members.iter().take(1).flat_map(|run| &run.row.losses) {
                let numbers = keys.iter().map(|key| number_of(&members, key, &loss.group)).collect();
                lines.push(NumberLine { name: row.name.clone(), variant: loss.label.clone(), numbers });
            }
        }
        Self { headings: keys.iter().map(|key| heading(runs, key)).collect(), lines }
    }

    /// The table as text, with rounded numbers.
    pub fn text(&self) -> TextTable {
        let head = COLUMNS.map(str::to_owned).into_iter().chain(self.headings.iter().cloned()).collect();
        let line = |line: &NumberLine| {
            let cell = |n: &ComparedNumber| cell_at(n.headline, Some(&n.summary), line.other_step(n));
            let own = [line.name.clone(), line.variant.clone(), optional_field(line.step())];
            let cells = line.numbers.iter().map(|number| number.as_ref().map_or(String::new(), cell));
            own.into_iter().chain(cells).collect()
        };
        std::iter::once(head).chain(self.lines.iter().map(line)).collect()
    }

    /// The meaning of the spreads in [`Self::text`].
    pub fn legend(&self) -> Option<String> {
        let numbers = self.lines.iter().flat_map(|line| line.numbers.iter().flatten());
        spread_legend(numbers.map(|number| (number.headline, &number.summary)))
    }

    /// With all digits, for a program. A number that some line has of several seeds is followed by its standard
    /// deviation.
    pub fn csv(&self) -> String {
        let is_of_seeds = |number: &ComparedNumber| number.summary.sd.is_some();
        let has_spread = |i: usize| self.lines.iter().filter_map(|line| line.numbers[i].as_ref()).any(is_of_seeds);
        let spread: Vec<bool> = (0..self.headings.len()).map(has_spread).collect();
        let mut head = COLUMNS.map(str::to_owned).to_vec();
        for (heading, has_spread) in self.headings.iter().zip(&spread) {
            head.push(heading.clone());
            head.extend(has_spread.then(|| format!("{heading}, sd")));
        }
        let mut out = Table::new(&head);
        for line in &self.lines {
            let mut cells = vec![line.name.clone(), line.variant.clone(), optional_field(line.step())];
            for (number, has_spread) in line.numbers.iter().zip(&spread) {
                let mean = |n: &ComparedNumber| format!("{}{}", n.summary.mean, step_suffix(line.other_step(n)));
                let sd = || optional_field(number.as_ref().and_then(|n| n.summary.sd));
                cells.push(number.as_ref().map_or(String::new(), mean));
                cells.extend(has_spread.then(sd));
            }
            out.row(&cells);
        }
        out.finish()
    }
}

/// A number of a group of variants over runs, at the newest step at which one of them has it.
fn number_of(runs: &[&ComparedRun], key: &str, group: &str) -> Option<ComparedNumber> {
    let found: Vec<(u64, SeedSummary)> = runs.iter().filter_map(|run| last_of(run, key, group)).collect();
    let step = found.iter().map(|(step, _)| *step).max()?;
    let of_step: Vec<&SeedSummary> = found.iter().filter(|(at, _)| *at == step).map(|(_, summary)| summary).collect();
    let summary = match of_step.as_slice() {
        [one] => (*one).clone(),
        seeds => SeedSummary::new(&seeds.iter().map(|seed| seed.mean).collect::<Vec<_>>())?,
    };
    // a number that no lab declares is formatted like a loss
    let headline = runs.iter().find_map(|run| headline_of(&run.row, key)).unwrap_or(&common::LOSS);
    Some(ComparedNumber { headline, summary, step })
}

/// The last value of a headline number, or of one that another program logged, with its step.
fn last_of(run: &ComparedRun, key: &str, group: &str) -> Option<(u64, SeedSummary)> {
    if let Some(summary) = run.row.headlines.group(key, group) {
        return Some((run.row.headlines.step(key, group)?, summary));
    }
    // they are sorted by key
    let first = run.series.partition_point(|number| number.key.as_str() < key);
    let of_key = run.series[first..].iter().take_while(|number| number.key == key);
    let number = of_key.filter(|_| run.row.lab == FOREIGN).find(|number| number.group == group)?;
    let [step, mean, _] = *number.points.last()?;
    Some((step as u64, SeedSummary::new(&[mean])?))
}
