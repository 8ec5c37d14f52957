//! Every number of a sweep's runs over their steps: read once, and again when a run has changed.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::results::{NumberId, Series, downsampled};
use crate::{
    experiments::{
        run_terms::RunTerms,
        series::{self, NumberSeries, RunNumbers},
    },
    store::{StoreError, run_index::Stamp},
};

/// Points of a sweep that are kept in memory, over all its runs and numbers.
const MAX_POINTS: usize = 6_000_000;
/// Numbers that a run usually has.
const TYPICAL_NUMBERS: usize = 12;
/// Points that a series keeps, however many runs there are.
const MIN_POINTS: usize = 64;

/// Every number that a run has recorded.
#[derive(Debug, Default)]
pub struct RunSeries {
    /// The numbers with their series, in no particular order.
    pub numbers: Vec<(NumberId, Series)>,
    /// The terms in which they are named; `None` where the folder cannot be read.
    pub terms: Option<RunTerms>,
    /// The stride at which steps are kept; 1 keeps all.
    pub every: usize,
}

/// Series that were read from runs, valid until a run changes.
#[derive(Debug, Default)]
pub struct SeriesCache(Mutex<HashMap<PathBuf, (Stamp, Arc<RunSeries>)>>);

impl SeriesCache {
    /// The series of one of `runs` runs; an unreadable folder yields an empty one, and its row says so.
    pub fn read(&self, folder: &Path, runs: usize) -> Arc<RunSeries> {
        let stamp = Stamp::read(folder);
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(folder).cloned();
        if let Some((_, kept)) = known.filter(|(at, _)| *at == stamp) {
            return kept;
        }
        let most = (MAX_POINTS / TYPICAL_NUMBERS / runs.max(1)).max(MIN_POINTS);
        let read = Arc::new(read(folder, most).unwrap_or_default());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(folder.to_owned(), (stamp, Arc::clone(&read)));
        read
    }
}

fn read(folder: &Path, most: usize) -> Result<RunSeries, StoreError> {
    let RunNumbers { info, numbers, .. } = series::read(folder, |_| true)?;
    let mut series = RunSeries { every: 1, terms: Some(RunTerms::from(info.as_ref())), ..RunSeries::default() };
    for NumberSeries { key, group, points } in numbers {
        let means: Vec<(u64, f64)> = points.into_iter().map(|[step, mean, _]| (step as u64, mean)).collect();
        let (kept, every) = downsampled(&means, most);
        series.every = series.every.max(every);
        series.numbers.push((NumberId { key, group }, Arc::new(kept)));
    }
    Ok(series)
}
