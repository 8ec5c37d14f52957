//! Every number of a run over its steps, by group of variants: headline numbers and all other scalars.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use super::{
    headline_values::{HeadlineReader, headline_points, partner},
    headlines,
    seeds::over_seeds,
};
use crate::{
    labs::{self, Lab, headline::Source},
    store::{Damage, StoreError},
    telemetry::{Event, RunInfo, StepStats},
};

/// The values of one number over steps, one list per seed.
type SeedCurves = Vec<Vec<(u64, f64)>>;

/// One number of one group of a run's variants.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberSeries {
    /// The key of a headline number, or the channel of a scalar.
    pub key: String,
    pub group: String,
    /// Step, mean and standard deviation over the run's seeds, by rising step.
    pub points: Vec<[f64; 3]>,
}

/// The values by step, for each key and variant. A later value for a step replaces the earlier one.
type Values = BTreeMap<(String, usize), BTreeMap<u64, f64>>;

/// Takes a run's events and keeps its numbers.
struct SeriesReader {
    lab: Option<&'static Lab>,
    /// Selects the scalar channels that are kept in addition to the headline numbers.
    keeps: fn(&str) -> bool,
    values: Values,
    /// Seconds of training by step.
    times: BTreeMap<u64, f64>,
}

/// The description of a run folder, and its numbers over steps.
pub struct RunNumbers {
    pub info: Arc<RunInfo>,
    pub numbers: Vec<NumberSeries>,
    /// Seconds of training that the run had taken, by rising step.
    pub times: Vec<(u64, f64)>,
    /// The parts of the record that could not be read.
    pub damage: Damage,
}

impl SeriesReader {
    fn event(&mut self, event: &Event) {
        for point in self.lab.map(|lab| headline_points(lab, event)).unwrap_or_default() {
            self.values.entry((point.key, point.variant)).or_default().insert(point.step, point.value);
        }
        if let Event::Step(stats) = event {
            self.scalars(stats);
            if stats.wall_secs.is_finite() {
                self.times.insert(stats.step, stats.wall_secs);
            }
        }
    }

    /// Scalars that no headline number already represents.
    fn scalars(&mut self, stats: &StepStats) {
        let headlines = self.lab.map_or(&[][..], |lab| lab.headlines);
        let has_headline = |channel: &str| {
            headlines.iter().any(|h| matches!(h.source, Source::Scalar { channel: c, .. } if c == channel))
        };
        for (channel, value) in &stats.scalars {
            let channel = channel.as_str();
            if (self.keeps)(channel) && !has_headline(channel) {
                self.values.entry((channel.to_owned(), stats.variant)).or_default().insert(stats.step, *value);
            }
        }
    }

    /// Headline numbers that compare a variant with the run's first of the same seed, at steps that both have.
    fn difference_from_first(&mut self, lab: &Lab, info: &RunInfo) {
        for headline in lab.headlines {
            let Source::DifferenceFromFirst { channel } = headline.source else { continue };
            // the scalar itself may be under the key of a headline number
            let is_itself = |source: Source| match source {
                Source::Scalar { channel: c, value } => c == channel && value(2.0) == 2.0,
                _ => false,
            };
            let plain = lab.headlines.iter().find(|h| is_itself(h.source)).map_or(channel, |h| h.id);
            for v in 0..info.variants.len() {
                let values_of = |v: usize| self.values.get(&(plain.to_owned(), v));
                let reference = partner(&info.variants, v).and_then(values_of);
                let (Some(own), Some(reference)) = (values_of(v), reference) else { continue };
                let less = own.iter().filter_map(|(step, x)| Some((*step, x - reference.get(step)?)));
                let less: BTreeMap<u64, f64> = less.collect();
                self.values.insert((headline.id.to_owned(), v), less);
            }
        }
    }

    /// The numbers over the run's own seeds, by key, then by group in the order of the run's variants.
    fn finish(mut self, info: &RunInfo) -> Vec<NumberSeries> {
        if let Some(lab) = self.lab {
            self.difference_from_first(lab, info);
        }
        let groups = info.groups();
        let mut seeds: BTreeMap<(String, usize), SeedCurves> = BTreeMap::new();
        for ((key, variant), points) in self.values {
            let group = info.variants.get(variant).and_then(|v| groups.iter().position(|g| **g == v.group));
            if let Some(group) = group {
                seeds.entry((key, group)).or_default().push(points.into_iter().collect());
            }
        }
        let series = |((key, group), seeds): ((String, usize), SeedCurves)| NumberSeries {
            key,
            group: groups[group].to_string(),
            points: over_seeds(&seeds.iter().map(Vec::as_slice).collect::<Vec<_>>()),
        };
        seeds.into_iter().map(series).collect()
    }
}

/// Returns every `every`-th point, and always the last one.
pub fn every_nth<T: Copy>(points: &[T], every: usize) -> impl Iterator<Item = T> {
    let last = points.len().saturating_sub(1);
    points.iter().enumerate().filter(move |(i, _)| i % every == 0 || *i == last).map(|(_, point)| *point)
}

/// Reads what a run folder is, its headline numbers, and the scalars whose channels `keeps` wants.
pub fn read(folder: &Path, keeps: fn(&str) -> bool) -> Result<RunNumbers, StoreError> {
    let (reader, info) = headlines::open(folder)?;
    let lab = labs::find(&info.lab);
    let mut series = SeriesReader { lab, keeps, values: Values::new(), times: BTreeMap::new() };
    let wanted = lab.map(HeadlineReader::measurements).unwrap_or_default();
    let damage = reader.only(wanted).read_through(|event| series.event(&event))?;
    let times = std::mem::take(&mut series.times).into_iter().collect();
    let numbers = series.finish(&info);
    Ok(RunNumbers { info, numbers, times, damage })
}
