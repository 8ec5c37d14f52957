//! The weights of the past: copies taken as training goes, in memory and in the run's folder, each within a budget. The
//! older they are, the wider they stand.
//!
//! Which steps are kept follows from the plan and the sizes alone, never from a clock.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::store::{StoreError, VariantWeights, snapshots};

/// Bytes of memory that copies may take.
const MEMORY: u64 = 256 << 20;
/// Bytes of a run's folder that they may take.
const DISK: u64 = 64 << 20;
/// The most steps that are kept, however small the models are.
const MAX_SNAPSHOTS: u64 = 96;

/// The weights by variant; `None` for one that had not begun.
pub(super) type Snapshot = Vec<Option<Arc<VariantWeights>>>;

/// The source of the weights of a step.
#[derive(Clone)]
pub(super) enum Source {
    Memory(Snapshot),
    /// A file in the run's folder.
    Disk {
        run: PathBuf,
        path: PathBuf,
    },
}

/// The number of steps that fit in a budget, and the interval at which one is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SnapshotInterval {
    max_count: usize,
    every: u64,
}

impl SnapshotInterval {
    /// `None` where not even two fit: the first and one more.
    fn new(budget: u64, bytes: u64, steps: u64) -> Option<Self> {
        let most = (budget / bytes.max(1)).min(MAX_SNAPSHOTS);
        // Twice as many are taken as are kept, so that the newest half stands closer than the older one.
        (most >= 2).then(|| Self { max_count: most as usize, every: steps.div_ceil(2 * most).max(1) })
    }
}

/// The copies of one run.
pub(super) struct Snapshots {
    memory: Option<SnapshotInterval>,
    disk: Option<SnapshotInterval>,
    in_memory: BTreeMap<u64, Snapshot>,
    on_disk: BTreeMap<u64, PathBuf>,
    run: Option<PathBuf>,
}

impl Snapshots {
    /// The snapshots of a run of so many steps whose weights take so many bytes. `is_asked`: true if the run may
    /// receive questions; otherwise only the folder has copies, for replays.
    pub fn new(bytes: u64, steps: u64, is_asked: bool) -> Self {
        let memory = SnapshotInterval::new(MEMORY, bytes, steps).filter(|_| is_asked);
        let disk = SnapshotInterval::new(DISK, bytes, steps);
        Self { memory, disk, in_memory: BTreeMap::new(), on_disk: BTreeMap::new(), run: None }
    }

    /// The run's folder, with what is kept there now.
    pub fn set_folder(&mut self, run: &Path) {
        self.on_disk = snapshots::list(run);
        self.run = Some(run.to_owned());
    }

    /// Returns true if the weights of this step are to be kept.
    pub fn is_due(&self, step: u64) -> bool {
        let falls = |pace: Option<SnapshotInterval>| pace.is_some_and(|p| step.is_multiple_of(p.every));
        !self.in_memory.contains_key(&step) && (falls(self.memory) || falls(self.disk) && self.run.is_some())
    }

    /// Keeps the weights of a step, and lets go of those that stand closest for their age.
    ///
    /// # Errors
    /// If they cannot be written. Nothing more is written then; the run goes on.
    pub fn keep(&mut self, step: u64, snapshot: Snapshot) -> Result<(), StoreError> {
        let mut written = Ok(());
        if let (Some(pace), Some(run)) = (self.disk.filter(|p| step.is_multiple_of(p.every)), &self.run) {
            let kept: Vec<&VariantWeights> = snapshot.iter().flatten().map(Arc::as_ref).collect();
            written = snapshots::write(run, step, &kept);
            match written {
                Ok(()) => self.on_disk = snapshots::list(run),
                Err(_) => self.disk = None,
            }
            while self.on_disk.len() > pace.max_count {
                let Some(path) = take_closest(&mut self.on_disk) else { break };
                snapshots::remove(run, &path);
            }
        }
        if let Some(pace) = self.memory {
            self.in_memory.insert(step, snapshot);
            while self.in_memory.len() > pace.max_count {
                take_closest(&mut self.in_memory);
            }
        }
        written
    }

    /// Every step that can be asked about.
    pub fn steps(&self) -> Vec<u64> {
        let all: BTreeSet<u64> = self.in_memory.keys().chain(self.on_disk.keys()).copied().collect();
        all.into_iter().collect()
    }

    /// The newest at or before a step.
    pub fn at(&self, step: u64) -> Option<(u64, Source)> {
        let memory = self.in_memory.range(..=step).next_back();
        let disk = self.on_disk.range(..=step).next_back();
        match (memory, disk, &self.run) {
            (Some((at, snapshot)), other, _) if other.is_none_or(|(d, _)| d <= at) => {
                Some((*at, Source::Memory(snapshot.clone())))
            }
            (_, Some((at, path)), Some(run)) => Some((*at, Source::Disk { run: run.clone(), path: path.clone() })),
            _ => None,
        }
    }
}

/// Takes out the one that leaves the smallest gap for its age: never the first, never the newest.
fn take_closest<T>(kept: &mut BTreeMap<u64, T>) -> Option<T> {
    let steps: Vec<u64> = kept.keys().copied().collect();
    let newest = *steps.last()?;
    let gap_for_age = |w: &[u64]| (w[2] - w[0]) as f64 / (newest - w[1]) as f64;
    let closest = steps.windows(3).min_by(|a, b| gap_for_age(a).total_cmp(&gap_for_age(b)))?;
    kept.remove(&closest[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_ones_stand_wider_and_both_ends_stay() {
        let mut kept = BTreeMap::new();
        for step in (0..=640).step_by(5) {
            kept.insert(step, ());
            if kept.len() > 16 {
                take_closest(&mut kept);
            }
        }
        let steps: Vec<u64> = kept.keys().copied().collect();
        assert_eq!((steps.len(), steps[0], steps[15]), (16, 0, 640));
        let gaps: Vec<u64> = steps.windows(2).map(|w| w[1] - w[0]).collect();
        let (older, newer) = gaps.split_at(7);
        assert!(older.iter().sum::<u64>() > 2 * newer.iter().sum::<u64>(), "{steps:?}");
        assert!(gaps.iter().all(|g| *g <= 200), "{steps:?}");
    }

    #[test]
    fn a_budget_too_small_for_two_keeps_none() {
        assert_eq!(SnapshotInterval::new(10, 6, 100), None);
        assert_eq!(SnapshotInterval::new(60, 6, 100), Some(SnapshotInterval { max_count: 10, every: 5 }));
        assert_eq!(SnapshotInterval::new(1 << 30, 1, 100), Some(SnapshotInterval { max_count: 96, every: 1 }));
    }
}
