//! Every number of a sweep's runs over their steps: read once, and again when a run has changed.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::super::run_series;
use crate::{
    labs::{
        headline::series::NumberSeries,
        sweep::results::{NumberId, Series, thinned},
    },
    store::{StoreError, run_index::Stamp},
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
    pub fn read(&self, folder: &Path, runs: usize) -> Arc<RunSeries> {
        let stamp = Stamp::read(folder);
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(folder).cloned();
        if let Some((_, kept)) = known.filter(|(at, _)| *at == stamp) {
            return kept;
        }
        let most = (MOST_POINTS / USUAL_NUMBERS / runs.max(1)).max(LEAST_POINTS);
        let read = Arc::new(read(folder, most).unwrap_or_default());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(folder.to_owned(), (stamp, Arc::clone(&read)));
        read
    }
}

fn read(folder: &Path, most: usize) -> Result<RunSeries, StoreError> {
    let (info, numbers) = run_series::read(folder, |_| true)?;
    let mut series = RunSeries { every: 1, ..RunSeries::default() };
    for NumberSeries { key, group, points } in numbers {
        let means = points.into_iter().map(|[step, mean, _]| (step as u64, mean)).collect();
        let (kept, every) = thinned(means, most);
        series.every = series.every.max(every);
        series.numbers.push((NumberId { key, group }, Arc::new(kept)));
    }
    let label = |group: &str| {
        let members: Vec<_> = info.variants.iter().filter(|v| v.group == group).collect();
        match members.as_slice() {
            [one] => one.label.clone(),
            _ => group.to_owned(),
        }
    };
    series.groups = info.groups().iter().map(|group| (group.to_string(), label(group))).collect();
    Ok(series)
}
