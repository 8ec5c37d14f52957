//! Losses and headline numbers of a run over its steps, by variant, mean over seeds. It does not know how they are drawn.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::Path,
};

use crate::{
    analysis::statistics::mean_sd,
    labs::{self, headline::points_of},
    store::{Reader, StoreError},
    telemetry::{Event, RunInfo, channels},
};

/// Key of the training loss, which is no headline number.
pub const TRAIN_LOSS: &str = "train_loss";

/// One number of one group of variants at one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub step: u64,
    /// Mean over seeds.
    pub mean: f64,
    /// Standard deviation over seeds; 0 of one.
    pub sd: f64,
}

/// By key, then by group in the order of the run's variants.
pub type Series = BTreeMap<String, Vec<(String, Vec<Point>)>>;

/// Reads a run folder through.
///
/// # Errors
/// If it is no run folder, or the system refuses to read it.
pub fn read(folder: &Path) -> Result<Series, StoreError> {
    let reader = Reader::open(folder)?;
    let Some(info) = reader.info() else { return Ok(Series::new()) };
    let lab = labs::find(&info.lab);
    // By key, group and step, a value a seed; what comes again for a step takes the place of what was there.
    let mut values: HashMap<(String, usize), BTreeMap<u64, f64>> = HashMap::new();
    let wanted = lab.map(labs::headline::Reading::measurements).unwrap_or_default();
    reader.only(wanted).read_through(|event| {
        for point in lab.map(|lab| points_of(lab, &event)).unwrap_or_default() {
            values.entry((point.key, point.variant)).or_default().insert(point.step, point.value);
        }
        if let Event::Step(stats) = &event {
            for (_, loss) in stats.scalars.iter().filter(|(c, _)| c.as_str() == channels::LOSS_TRAIN) {
                values.entry((TRAIN_LOSS.to_owned(), stats.variant)).or_default().insert(stats.step, *loss);
            }
        }
    })?;
    Ok(gathered(&info, &values))
}

fn gathered(info: &RunInfo, values: &HashMap<(String, usize), BTreeMap<u64, f64>>) -> Series {
    let mut series = Series::new();
    let keys: BTreeSet<&String> = values.keys().map(|(key, _)| key).collect();
    for key in keys {
        for group in &info.groups() {
            let mut by_step: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
            let members = (0..info.variants.len()).filter(|i| info.variants[*i].group == **group);
            for (step, value) in members.filter_map(|i| values.get(&(key.clone(), i))).flatten() {
                by_step.entry(*step).or_default().push(*value);
            }
            let point = |(step, values): (u64, Vec<f64>)| {
                let (mean, sd) = mean_sd(&values);
                Point { step, mean, sd }
            };
            if !by_step.is_empty() {
                let points = by_step.into_iter().map(point).collect();
                series.entry(key.clone()).or_default().push(((*group).to_owned(), points));
            }
        }
    }
    series
}
