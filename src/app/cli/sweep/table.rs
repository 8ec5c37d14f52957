//! The table of a sweep: a row for each point, with its headline numbers as mean and standard deviation over seeds. It
//! does not depend on where or in which order the runs were made.

use super::{
    super::summary,
    folder::{SweepFolder, TaskState},
};
use crate::{
    cli::prelude::*,
    experiments::{
        run_terms::RunTerms,
        seeds::SeedSummary,
        sweep::{
            exponent,
            results::{BEST_RULE, best_within_spread},
        },
    },
    labs::headline::{Better, Headline},
};

const TABLE_FILE: &str = "table.csv";

/// A headline number of one group of variants.
pub struct Column {
    pub headline: &'static Headline,
    pub key: String,
    pub group: String,
    /// For example "held-out loss (nats), coupled".
    pub heading: String,
}

impl Column {
    /// The number of a run: the mean over its own seeds.
    pub fn value(&self, run: &RunRow) -> Option<f64> {
        run.headlines.group(&self.key, &self.group).map(|group| group.mean)
    }
}

/// A row of the table: one point of the sweep.
pub struct PointRow {
    /// The value that the point has on each axis of the sweep.
    pub values: Vec<String>,
    pub finished: usize,
    /// The summary of each column over the runs.
    pub numbers: Vec<Option<SeedSummary>>,
}

pub struct SweepTable {
    pub axes: Vec<String>,
    pub columns: Vec<Column>,
    pub rows: Vec<PointRow>,
    pub seeds: usize,
    /// The column that ranks points, with its best rows, whose seeds tell nothing apart, or why none is marked.
    pub best: Option<(usize, Result<Vec<usize>, &'static str>)>,
    /// The exponents of the objective along the only axis, by column.
    exponents: Vec<(usize, SeedSummary)>,
}

impl SweepTable {
    pub fn new(folder: &SweepFolder, states: &[TaskState]) -> Self {
        let sweep = &folder.sweep;
        let columns = columns(states.iter().filter_map(TaskState::finished));
        let row = |(point, config)| {
            let runs: Vec<&RunRow> =
                states.iter().filter(|s| s.task.point == point).filter_map(TaskState::finished).collect();
            let number = |column: &Column| {
                SeedSummary::new(&runs.iter().filter_map(|run| column.value(run)).collect::<Vec<_>>())
            };
            PointRow {
                values: sweep.axes.iter().map(|axis| sweep.value(config, axis)).collect(),
                finished: runs.len(),
                numbers: columns.iter().map(number).collect(),
            }
        };
        let rows: Vec<PointRow> = sweep.points.iter().enumerate().map(row).collect();
        let axes = sweep.axes.iter().map(|axis| axis.key.clone()).collect();
        let mut table = Self { axes, columns, rows, seeds: sweep.seeds.len(), best: None, exponents: vec![] };
        table.best = table.best(folder);
        table.exponents = table.exponents(folder, states);
        table
    }

    /// The power-law exponents of the objective along the sweep's only axis, one per group; a seed is included once all
    /// of its runs have finished.
    fn exponents(&self, folder: &SweepFolder, states: &[TaskState]) -> Vec<(usize, SeedSummary)> {
        let sweep = &folder.sweep;
        let (Some(objective), [axis]) = (&sweep.objective, sweep.axes.as_slice()) else { return vec![] };
        let place = |point: usize| sweep.points.get(point)?.get(&axis.key)?.as_f64();
        let fit = |(i, column): (usize, &Column)| {
            let of_seed = |seed: &u64| {
                let runs = states.iter().filter(|s| s.task.seed == *seed);
                let value = |s: &TaskState| Some((place(s.task.point)?, column.value(s.finished()?)?));
                runs.map(value).collect::<Option<Vec<_>>>()
            };
            let seeds: Vec<Vec<(f64, f64)>> = sweep.seeds.iter().filter_map(of_seed).collect();
            Some((i, exponent::over_seeds(&seeds)?))
        };
        self.columns.iter().enumerate().filter(|(_, c)| c.key == objective.key).filter_map(fit).collect()
    }

    fn best(&self, folder: &SweepFolder) -> Option<(usize, Result<Vec<usize>, &'static str>)> {
        let objective = folder.sweep.objective.as_ref()?;
        let column = self.columns.iter().position(|c| objective.is_number(&c.key, &c.group))?;
        let better = folder.sweep.lab.headline(&objective.key).map(|h| h.better).filter(|b| *b != Better::Neither)?;
        let number = |(i, row): (usize, &PointRow)| row.numbers[column].as_ref().map(|n| (i, n.mean, n.sd));
        Some((column, best_within_spread(better, self.rows.iter().enumerate().filter_map(number))))
    }

    pub fn is_best(&self, row: usize) -> bool {
        matches!(&self.best, Some((_, Ok(best))) if best.contains(&row))
    }

    /// The meaning of this mark at the best rows, or why no row has it.
    pub fn best_legend(&self, mark: char) -> Option<String> {
        let (column, best) = self.best.as_ref()?;
        match best {
            Err(why) => Some((*why).to_owned()),
            Ok(best) if best.is_empty() => None,
            Ok(best) => {
                let rule = if best.len() > 1 { format!(". {BEST_RULE}") } else { String::new() };
                Some(format!("{mark} best by {}{rule}", self.columns[*column].heading))
            }
        }
    }

    pub fn to_text(&self) -> String {
        let mut lines = vec![["point".to_owned()].into_iter().chain(self.axes.clone()).collect::<Vec<String>>()];
        lines[0].push("runs".to_owned());
        lines[0].extend(self.columns.iter().map(|c| c.heading.clone()));
        for (i, row) in self.rows.iter().enumerate() {
            let mark = if self.is_best(i) { "*" } else { "" };
            let mut line = vec![format!("{}{mark}", i + 1)];
            line.extend(row.values.clone());
            line.push(format!("{}/{}", row.finished, self.seeds));
            line.extend(row.numbers.iter().zip(&self.columns).map(|(n, c)| summary::cell(c.headline, n.as_ref())));
            lines.push(line);
        }
        let mut words = summary::laid_out(&lines, |column| column == 0);
        words.extend(self.spread_legend());
        words.extend(self.best_legend('*'));
        for (column, SeedSummary { mean, interval, seeds, .. }) in &self.exponents {
            let (heading, axis) = (&self.columns[*column].heading, &self.axes[0]);
            let spread = interval
                .map_or("one seed".to_owned(), |(low, high)| format!("95% {low:.3} to {high:.3}, {seeds} seeds"));
            words.push(format!("{heading}: goes as {axis} to the power {mean:.3} ({spread})"));
        }
        words.join("\n")
    }

    /// The meaning of the spreads in its cells.
    pub fn spread_legend(&self) -> Option<String> {
        let cells = self.rows.iter().flat_map(|row| row.numbers.iter().zip(&self.columns));
        summary::spread_legend(cells.filter_map(|(number, column)| Some((column.headline, number.as_ref()?))))
    }

    /// Writes it as CSV; returns where.
    pub fn write(&self, folder: &SweepFolder) -> Result<PathBuf, Failure> {
        let path = folder.path.join(TABLE_FILE);
        output::write(&path, self.csv().as_bytes(), &[])?;
        Ok(path)
    }

    fn csv(&self) -> String {
        // a difference has the interval that the text shows
        let of_column = |c: &Column| {
            let spreads: &[&str] =
                if c.headline.is_paired() { &[", sd", ", 95% low", ", 95% high"] } else { &[", sd"] };
            let of_heading = |what: &&str| format!("{}{what}", c.heading);
            [""].iter().chain(spreads).map(of_heading).collect::<Vec<_>>()
        };
        let mut head = vec!["point".to_owned()];
        head.extend(self.axes.clone());
        head.extend(["finished".to_owned(), "seeds".to_owned()]);
        head.extend(self.columns.iter().flat_map(of_column));
        let mut out = Table::new(&head);
        for (i, row) in self.rows.iter().enumerate() {
            let mut line = vec![(i + 1).to_string()];
            line.extend(row.values.clone());
            line.extend([row.finished.to_string(), self.seeds.to_string()]);
            for (number, column) in row.numbers.iter().zip(&self.columns) {
                let number = number.as_ref();
                line.extend([number.map(|n| n.mean), number.and_then(|n| n.sd)].map(optional_field));
                if column.headline.is_paired() {
                    let interval = number.and_then(|n| n.interval);
                    line.extend([interval.map(|i| i.0), interval.map(|i| i.1)].map(optional_field));
                }
            }
            out.row(&line);
        }
        out.finish()
    }
}

/// The columns of all runs together, in the lab's order.
fn columns<'a>(runs: impl Iterator<Item = &'a RunRow>) -> Vec<Column> {
    let runs: Vec<&RunRow> = runs.collect();
    let terms = RunTerms::shared(runs.iter().map(|run| run.terms()));
    let mut columns: Vec<Column> = vec![];
    for run in &runs {
        for key in run.headlines.keys() {
            let Some(headline) = run.headline_of(key) else { continue };
            for loss in run.losses.iter().filter(|l| run.headlines.group(key, &l.group).is_some()) {
                let column = Column {
                    headline,
                    key: key.to_owned(),
                    group: loss.group.clone(),
                    heading: format!("{}{}", terms.heading(headline, key), terms.group_suffix(&loss.group)),
                };
                if !columns.iter().any(|c| c.key == column.key && c.group == column.group) {
                    columns.push(column);
                }
            }
        }
    }
    columns
}
