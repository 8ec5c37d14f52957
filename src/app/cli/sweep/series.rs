//! Every number of a run over its steps, by group of variants: headline numbers, and scalars that are none. Read once, and
//! again when a run has changed. It does not know how they are drawn.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    analysis::statistics::mean_sd,
    labs::{
        Lab,
        headline::{Reading, Source, points_of},
        sweep::results::{NumberId, Series, thinned},
    },
    store::{Reader, StoreError, run_index::Stamp},
    telemetry::{Event, RunInfo, StepStats},
};

/// Points of a sweep that are kept in memory, over all its runs and numbers.
const MOST_POINTS: usize = 6_000_000;
/// Numbers that a run usually has.
const USUAL_NUMBERS: usize = 12;
/// However many runs there are, a series keeps so many points.
const LEAST_POINTS: usize = 64;

/// What a run has recorded.
#[derive(Debug, Default)]
pub struct RunSeries {
    /// In no order.
    pub numbers: Vec<(NumberId, Series)>,
    /// What a legend calls each group, in the order of the run's variants.
    pub groups: Vec<(String, String)>,
    /// Every so-manieth step is kept; 1: all.
    pub every: usize,
}

/// What was read of runs, until they change.
#[derive(Debug, Default)]
pub struct SeriesCache(Mutex<HashMap<PathBuf, (Stamp, Arc<RunSeries>)>>);

impl SeriesCache {
    /// Of one of `runs` runs; an empty one where its folder cannot be read, which its row says.
    pub fn read(&self, lab: &'static Lab, folder: &Path, runs: usize) -> Arc<RunSeries> {
        let stamp = Stamp::of(folder);
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(folder).cloned();
        if let Some((_, kept)) = known.filter(|(at, _)| *at == stamp) {
            return kept;
        }
        let most = (MOST_POINTS / USUAL_NUMBERS / runs.max(1)).max(LEAST_POINTS);
        let read = Arc::new(read(lab, folder, most).unwrap_or_default());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(folder.to_owned(), (stamp, Arc::clone(&read)));
        read
    }
}

/// By key and variant: a value a step. What comes again for a step takes the place of what was there.
type Values = HashMap<(String, usize), BTreeMap<u64, f64>>;

fn read(lab: &'static Lab, folder: &Path, most: usize) -> Result<RunSeries, StoreError> {
    let reader = Reader::open(folder)?;
    let Some(info) = reader.info() else { return Ok(RunSeries::default()) };
    let mut values = Values::new();
    reader.only(Reading::measurements(lab)).read_through(|event| {
        for point in points_of(lab, &event) {
            values.entry((point.key, point.variant)).or_default().insert(point.step, point.value);
        }
        if let Event::Step(stats) = &event {
            scalars(lab, stats, &mut values);
        }
    })?;
    beside_first(lab, &info, &mut values);
    Ok(by_group(&info, values, most))
}

/// Scalars that no headline number stands for.
fn scalars(lab: &'static Lab, stats: &StepStats, values: &mut Values) {
    for (channel, value) in &stats.scalars {
        let is_channel = |source: Source| matches!(source, Source::Scalar { channel: c, .. } if c == channel.as_str());
        if !lab.headlines.iter().any(|h| is_channel(h.source)) {
            let key = (channel.as_str().to_owned(), stats.variant);
            values.entry(key).or_default().insert(stats.step, *value);
        }
    }
}

/// Headline numbers that compare a variant with the run's first of the same seed, at steps that both have.
fn beside_first(lab: &'static Lab, info: &RunInfo, values: &mut Values) {
    for headline in lab.headlines {
        let Source::BesideFirst { channel } = headline.source else { continue };
        // the scalar itself may stand under the key of a headline number
        let is_itself = |source: Source| match source {
            Source::Scalar { channel: c, value } => c == channel && value(2.0) == 2.0,
            _ => false,
        };
        let plain = lab.headlines.iter().find(|h| is_itself(h.source)).map_or(channel, |h| h.id);
        let Some(first) = info.variants.first() else { continue };
        for (v, variant) in info.variants.iter().enumerate().filter(|(_, v)| v.group != first.group) {
            let partner = info.variants.iter().position(|o| o.group == first.group && o.seed == variant.seed);
            let of = |v: usize| values.get(&(plain.to_owned(), v));
            let (Some(own), Some(reference)) = (of(v), partner.and_then(of)) else { continue };
            let less = own.iter().filter_map(|(step, x)| Some((*step, x - reference.get(step)?)));
            let less: BTreeMap<u64, f64> = less.collect();
            values.insert((headline.id.to_owned(), v), less);
        }
    }
}

/// The mean over a run's own seeds at each step.
fn by_group(info: &RunInfo, values: Values, most: usize) -> RunSeries {
    let mut series = RunSeries { every: 1, ..RunSeries::default() };
    let groups = info.groups();
    let mut by_step: HashMap<(String, usize), BTreeMap<u64, Vec<f64>>> = HashMap::new();
    for ((key, variant), points) in values {
        let Some(group) = info.variants.get(variant).and_then(|v| groups.iter().position(|g| **g == v.group)) else {
            continue;
        };
        let here = by_step.entry((key, group)).or_default();
        points.into_iter().for_each(|(step, value)| here.entry(step).or_default().push(value));
    }
    for ((key, group), points) in by_step {
        let means = points.into_iter().map(|(step, values)| (step, mean_sd(&values).0)).collect();
        let (kept, every) = thinned(means, most);
        series.every = series.every.max(every);
        series.numbers.push((NumberId { key, group: groups[group].to_string() }, Arc::new(kept)));
    }
    let label = |group: &str| {
        let members: Vec<_> = info.variants.iter().filter(|v| v.group == group).collect();
        match members.as_slice() {
            [one] => one.label.clone(),
            _ => group.to_owned(),
        }
    };
    series.groups = groups.iter().map(|group| (group.to_string(), label(group))).collect();
    series
}
