//! The effect of a sweep's axes on the numbers of its table: the slices and the heat map of its page, as SVG.

use super::{
    super::sweep::{
        folder::{SweepFolder, TaskState},
        table::{Column, SweepTable},
    },
    page::escaped,
    pictures::svg_address,
};
use crate::{
    cli::prelude::*,
    experiments::sweep::results::{Number, NumberId, ResultAxis, SweepResults, SweepRun},
    ui::sweep_pictures::{PictureChoices, Prepared, axis_figures},
};

/// The maximum number of metrics that are drawn; the table lists all of them.
const MAX_COLUMNS: usize = 6;

/// Figures of the objective first, then of the other numbers.
pub fn write_axis_figures(
    out: &mut String,
    folder: &SweepFolder,
    states: &[TaskState],
    table: &SweepTable,
    theme: &Theme,
) {
    let mut shown: Vec<usize> = (0..table.columns.len()).collect();
    if let Some((objective, _)) = &table.best {
        shown.sort_by_key(|i| i != objective);
    }
    let left_out = shown.len().saturating_sub(MAX_COLUMNS);
    shown.truncate(MAX_COLUMNS);
    if shown.is_empty() {
        return;
    }
    let more = if left_out > 0 { format!(" {left_out} more numbers are only in the table.") } else { String::new() };
    let _ =
        writeln!(out, "<h2>What the axes do</h2>\n<p class=\"note\">Of finished runs.{more}</p>\n<div class=\"grid\">");
    let results = Arc::new(results(folder, states, table));
    for number in shown {
        let choices = PictureChoices {
            number,
            others: vec![],
            step: results.last_step(),
            brush: Default::default(),
            is_dark: theme.dark,
        };
        let prepared = Prepared::new(&results, choices);
        for figure in axis_figures(&prepared) {
            let Some(svg) = figure.svg(&prepared, theme) else { continue };
            let about = escaped(&format!("{}, {}", table.columns[number].heading, figure.about(&results)));
            let image = format!("<img alt=\"{about}\" src=\"{}\">", svg_address(&svg));
            let _ = writeln!(out, "<figure>{image}<figcaption>{about}</figcaption></figure>");
        }
    }
    out.push_str("</div>\n");
}

/// The numbers of the table as the pictures take them: each finished run's, at its end.
fn results(folder: &SweepFolder, states: &[TaskState], table: &SweepTable) -> SweepResults {
    let sweep = &folder.sweep;
    let (axes, points) = ResultAxis::from_sweep(sweep);
    let run =
        |state: &TaskState| SweepRun { point: state.task.point, seed: state.task.seed, made: None, refusal: None };
    let last = |state: &TaskState, column: &Column| -> Vec<(u64, f64)> {
        let found = state.finished().and_then(|row| Some((row.steps, column.value(row)?)));
        found.into_iter().collect()
    };
    let number = |column: &Column| Number {
        id: NumberId { key: column.key.clone(), group: column.group.clone() },
        heading: column.heading.clone(),
        better: column.headline.better,
        digits: Some(column.headline.digits),
        is_paired: column.headline.is_paired(),
        series: states.iter().map(|state| Arc::new(last(state, column))).collect(),
    };
    SweepResults {
        name: folder.name(),
        lab: sweep.lab.id.to_owned(),
        axes,
        points,
        seeds: sweep.seeds.clone(),
        runs: states.iter().map(run).collect(),
        numbers: table.columns.iter().map(number).collect(),
        every: 1,
        ..SweepResults::default()
    }
}
