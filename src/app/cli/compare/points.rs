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
    let differing = differences.iter().filter(|d| !(is_folded && d.key == "seed"));
    let settings: Vec<DifferingSetting<'_>> = differing.map(|d| DifferingSetting::new(runs, d)).collect();
    let point = |row: &ComparedRow| {
        let first = row.runs[0];
        let value = |setting: &DifferingSetting<'_>| setting.texts.get(first).cloned().unwrap_or_default();
        let values: Vec<String> = settings.iter().map(value).collect();
        let place = |(setting, text): (&DifferingSetting<'_>, &String)| {
            setting.axis.kind.position(text, setting.numbers.get(first).copied().flatten())
        };
        ResultPoint { places: settings.iter().zip(&values).map(place).collect(), values }
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
        axes: settings.into_iter().map(|setting| setting.axis).collect(),
        every: 1,
        ..SweepResults::default()
    }
}

/// A setting that differs, with the value of each run.
struct DifferingSetting<'d> {
    /// An axis of numbers, where every run has one.
    axis: ResultAxis,
    texts: &'d [String],
    /// The last number where the setting was changed while the run trained.
    numbers: Vec<Option<f64>>,
}

impl<'d> DifferingSetting<'d> {
    fn new(runs: &[ComparedRun], difference: &'d Difference) -> Self {
        let last = |run: &ComparedRun| run.row.changed_in_training.get(&difference.key)?.as_f64();
        let number = |(run, text): (&ComparedRun, &String)| text.parse::<f64>().ok().or_else(|| last(run));
        let numbers: Vec<Option<f64>> = runs.iter().zip(&difference.values).map(number).collect();
        let kind = if numbers.iter().all(Option::is_some) {
            let known = numbers.iter().flatten();
            let [low, high] = known.fold([f64::INFINITY, 0.0], |[low, high], v| [v.min(low), v.max(high)]);
            AxisKind::Numbers { is_log: low > 0.0 && high / low >= LOG_FROM }
        } else {
            AxisKind::Words(distinct(difference.values.iter().cloned()))
        };
        Self { axis: ResultAxis { key: difference.key.clone(), kind }, texts: &difference.values, numbers }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::run_table::differences;

    #[test]
    fn a_setting_changed_in_training_stays_on_an_axis_of_numbers() {
        let rate = |value: f64| BTreeMap::from([("train.lr".to_owned(), Value::Float(value))]);
        let run = |changed_in_training| {
            let row = RunRow { settings: rate(0.001), changed_in_training, ..RunRow::default() };
            ComparedRun { row, series: vec![], times: vec![] }
        };
        let runs = [run(BTreeMap::new()), run(rate(0.0005))];
        let rows: Vec<&RunRow> = runs.iter().map(|run| &run.row).collect();
        let results = from_runs(&runs, &["steady", "halved"].map(String::from), &differences(&rows), false);
        assert_eq!(results.axes[0].kind, AxisKind::Numbers { is_log: false });
        assert_eq!(results.points.iter().map(|point| point.places[0]).collect::<Vec<_>>(), [0.001, 0.0005]);
        assert_eq!([0, 1].map(|point| results.value_label(point, 0)), ["0.001", "0.001 \u{2192} 0.0005"]);
        assert!(results.axis_title(0).ends_with(" (last value)"), "{}", results.axis_title(0));
    }
}
