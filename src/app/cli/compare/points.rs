//! Compared runs as the points of a sweep whose axes are the settings that differ, for its pictures and its table.

use super::{
    super::sweep::results::numbers,
    ComparedRun, TRAIN_LOSS,
    tables::{ComparedRow, rows},
};
use crate::{
    cli::prelude::*,
    experiments::{
        run_table::Difference,
        series::NumberSeries,
        sweep::{
            results::{AxisKind, MadeRun, NumberId, ResultAxis, ResultPoint, SweepResults, SweepRun},
            series::RunSeries,
        },
    },
    labs::headline::{Headline, common},
};

/// Values of a setting that are this many times apart lie on a logarithmic axis.
const LOG_FROM: f64 = 30.0;

/// A point a run, or, folded, a point for all runs that differ in nothing but the seed.
pub fn from_runs(runs: &[ComparedRun], names: &[String], differences: &[Difference], is_folded: bool) -> SweepResults {
    let rows = rows(runs, names, is_folded);
    let axes: Vec<(ResultAxis, &Difference)> =
        differences.iter().filter(|d| !(is_folded && d.key == "seed")).map(|d| (axis(d), d)).collect();
    let point = |row: &ComparedRow| {
        let value = |(_, d): &(ResultAxis, &Difference)| d.values.get(row.runs[0]).cloned().unwrap_or_default();
        let values: Vec<String> = axes.iter().map(value).collect();
        let place = |((axis, _), text): (&(ResultAxis, &Difference), &String)| axis.kind.place(text, text.parse().ok());
        ResultPoint { places: axes.iter().zip(&values).map(place).collect(), values }
    };
    let made = |(i, run): (usize, &ComparedRun)| SweepRun {
        point: rows.iter().position(|row| row.runs.contains(&i)).unwrap_or(0),
        seed: run.row.seed,
        made: Some(MadeRun {
            path: run.row.path.clone(),
            state: run.row.state.clone(),
            state_label: run.row.state_label(),
        }),
        refusal: None,
    };
    let series: Vec<Option<Arc<RunSeries>>> = runs.iter().map(|run| Some(Arc::new(series_of(run)))).collect();
    let of_lab = runs.first().and_then(|run| labs::find(&run.row.lab)).map_or(&[][..], |lab| lab.headlines);
    let headlines: &'static [Headline] = if of_lab.is_empty() { &[common::LOSS] } else { of_lab };
    let with_most = rows.iter().max_by_key(|row| row.runs.len()).map_or(&[][..], |row| &row.runs);
    SweepResults {
        lab: runs.first().map_or_else(String::new, |run| run.row.lab.clone()),
        points: rows.iter().map(point).collect(),
        names: rows.iter().map(|row| row.name.clone()).collect(),
        seeds: with_most.iter().map(|i| runs[*i].row.seed).collect(),
        runs: runs.iter().enumerate().map(made).collect(),
        numbers: numbers(headlines, &series),
        axes: axes.into_iter().map(|(axis, _)| axis).collect(),
        every: 1,
        ..SweepResults::default()
    }
}

/// A setting that differs; of numbers, where every run has one.
fn axis(difference: &Difference) -> ResultAxis {
    let numbers: Vec<f64> = difference.values.iter().filter_map(|v| v.parse().ok()).collect();
    let kind = if numbers.len() == difference.values.len() {
        let [low, high] = numbers.iter().fold([f64::INFINITY, 0.0], |[low, high], v| [v.min(low), v.max(high)]);
        AxisKind::Numbers { is_log: low > 0.0 && high / low >= LOG_FROM }
    } else {
        AxisKind::Words(distinct(difference.values.iter().cloned()))
    };
    ResultAxis { key: difference.key.clone(), kind }
}

/// The run's numbers, by the keys of sweeps.
fn series_of(run: &ComparedRun) -> RunSeries {
    let number = |number: &NumberSeries| {
        let key = if number.key == TRAIN_LOSS { channels::LOSS_TRAIN } else { &number.key };
        let means = number.points.iter().map(|[step, mean, _]| (*step as u64, *mean)).collect();
        (NumberId { key: key.to_owned(), group: number.group.clone() }, Arc::new(means))
    };
    RunSeries { numbers: run.series.iter().map(number).collect(), terms: Some(run.row.terms()), every: 1 }
}
