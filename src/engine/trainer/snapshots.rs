//! Snapshots of the weights, taken during training and kept in the run's folder within a budget. A run without a folder
//! keeps them in memory. The older the snapshots, the further apart they are.
//!
//! The steps that are kept follow from the plan and the sizes alone, never from a clock.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::store::{StoreError, VariantWeights, snapshots};

/// The bytes that the snapshots of a run may take.
const MAX_BYTES: u64 = 64 << 20;
/// The bytes of memory that snapshots may take, if the models are so large that the folder has none.
const MAX_BYTES_IN_MEMORY: u64 = 256 << 20;
/// The largest number of steps that are kept, however small the models are.
const MAX_SNAPSHOTS: u64 = 96;

/// The weights by variant; `None` for one that had not begun.
pub(super) type Snapshot = Vec<Option<Arc<VariantWeights>>>;

#[derive(Clone)]
pub(super) enum WeightsSource {
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
    /// Returns `None` if the budget does not suffice for two snapshots, the first and one more.
    fn new(budget: u64, bytes: u64, steps: u64) -> Option<Self> {
        let most = (budget / bytes.max(1)).min(MAX_SNAPSHOTS);
        // Twice as many snapshots are taken as are kept, so that the newest half is spaced more closely than the older
        // one.
        (most >= 2).then(|| Self { max_count: most as usize, every: steps.div_ceil(2 * most).max(1) })
    }
}

pub(super) struct Snapshots {
    interval: Option<SnapshotInterval>,
    /// The run may receive questions.
    is_asked: bool,
    /// The steps whose weights the folder does not have.
    in_memory: BTreeMap<u64, Snapshot>,
    on_disk: BTreeMap<u64, PathBuf>,
    run: Option<PathBuf>,
    /// True if snapshots are written to the folder: two fit, and no write has failed.
    is_written: bool,
}

impl Snapshots {
    /// The snapshots of a run of `steps` steps whose weights take `bytes` bytes. `is_asked`: true if the run may
    /// receive questions; otherwise only the folder has copies, for replays.
    pub fn new(bytes: u64, steps: u64, is_asked: bool) -> Self {
        let written = SnapshotInterval::new(MAX_BYTES, bytes, steps);
        let large = SnapshotInterval::new(MAX_BYTES_IN_MEMORY, bytes, steps).filter(|_| is_asked);
        Self {
            interval: written.or(large),
            is_asked,
            in_memory: BTreeMap::new(),
            on_disk: BTreeMap::new(),
            run: None,
            is_written: written.is_some(),
        }
    }

    /// Sets the run's folder, and lists the snapshots in it.
    pub fn set_folder(&mut self, run: &Path) {
        self.on_disk = snapshots::list(run);
        self.run = Some(run.to_owned());
    }

    fn folder(&self) -> Option<&Path> {
        self.run.as_deref().filter(|_| self.is_written)
    }

    /// Returns true if the weights of this step are to be kept.
    pub fn is_due(&self, step: u64) -> bool {
        let falls = self.interval.is_some_and(|interval| step.is_multiple_of(interval.every));
        falls && (self.is_asked || self.folder().is_some()) && !self.in_memory.contains_key(&step)
    }

    /// Keeps the weights of a step, and drops those that are closest to their neighbours for their age.
    ///
    /// # Errors
    /// If they cannot be written. Nothing more is written then; the run continues.
    pub fn keep(&mut self, step: u64, snapshot: Snapshot) -> Result<(), StoreError> {
        let Some(interval) = self.interval else { return Ok(()) };
        let mut written = Ok(());
        if let Some(run) = self.folder().map(ToOwned::to_owned) {
            let kept: Vec<&VariantWeights> = snapshot.iter().flatten().map(Arc::as_ref).collect();
            written = snapshots::write(&run, step, &kept);
            match written {
                Ok(()) => self.on_disk = snapshots::list(&run),
                Err(_) => self.is_written = false,
            }
            while self.on_disk.len() > interval.max_count {
                let Some(path) = take_closest(&mut self.on_disk) else { break };
                snapshots::remove(&run, &path);
            }
        }
        if self.is_asked && !self.on_disk.contains_key(&step) {
            self.in_memory.insert(step, snapshot);
            while self.in_memory.len() > interval.max_count {
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
    pub fn at(&self, step: u64) -> Option<(u64, WeightsSource)> {
        let memory = self.in_memory.range(..=step).next_back();
        let disk = self.on_disk.range(..=step).next_back();
        match (memory, disk, &self.run) {
            (Some((at, snapshot)), other, _) if other.is_none_or(|(d, _)| d <= at) => {
                Some((*at, WeightsSource::Memory(snapshot.clone())))
            }
            (_, Some((at, path)), Some(run)) => {
                Some((*at, WeightsSource::Disk { run: run.clone(), path: path.clone() }))
            }
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
    use candle_core::{DType, Device, Tensor};

    use super::*;

    #[test]
    fn thinning_keeps_both_ends_and_widens_gaps_between_older_snapshots() {
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

    fn snapshot(step: u64) -> Snapshot {
        let tensors = vec![("w".to_owned(), Tensor::zeros(2, DType::F32, &Device::Cpu).unwrap())];
        vec![Some(Arc::new(VariantWeights { variant: "a".into(), step, tensors, runtime_params: vec![] }))]
    }

    #[test]
    fn only_snapshots_without_a_folder_are_held_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let mut kept = Snapshots::new(MAX_BYTES / 4, 8, true);
        kept.keep(0, snapshot(0)).unwrap();
        assert_eq!((kept.in_memory.len(), kept.steps()), (1, vec![0]), "it has no folder yet");
        std::fs::create_dir(dir.path().join("snapshots")).unwrap();
        kept.set_folder(dir.path());
        for step in 1..=8 {
            assert!(kept.is_due(step));
            kept.keep(step, snapshot(step)).unwrap();
        }
        assert_eq!((kept.in_memory.len(), kept.on_disk.len()), (1, 4), "{:?}", kept.steps());
        assert!(matches!(kept.at(8), Some((8, WeightsSource::Disk { .. }))));
        assert!(matches!(kept.at(0), Some((0, WeightsSource::Memory(_)))));
    }

    #[test]
    fn snapshots_stay_in_memory_when_the_folder_cannot_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let mut kept = Snapshots::new(MAX_BYTES / 4, 8, true);
        kept.set_folder(&dir.path().join("gone"));
        assert!(kept.keep(1, snapshot(1)).is_err(), "it is said");
        (2..=8).for_each(|step| kept.keep(step, snapshot(step)).unwrap());
        assert_eq!((kept.in_memory.len(), kept.on_disk.len()), (4, 0));
        assert!(!Snapshots::new(1, 8, false).is_due(1), "nobody asks, and there is no folder");
    }

    #[test]
    fn memory_holds_a_few_snapshots_of_models_too_large_for_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let mut kept = Snapshots::new(MAX_BYTES, 16, true);
        kept.set_folder(dir.path());
        for step in (2..=16).step_by(2) {
            assert!(kept.is_due(step) && !kept.is_due(step - 1));
            kept.keep(step, snapshot(step)).unwrap();
        }
        assert_eq!((kept.in_memory.len(), kept.on_disk.len()), (4, 0));
        assert!(!Snapshots::new(MAX_BYTES, 16, false).is_due(2), "nobody asks");
    }

    #[test]
    fn a_budget_too_small_for_two_keeps_none() {
        assert_eq!(SnapshotInterval::new(10, 6, 100), None);
        assert_eq!(SnapshotInterval::new(60, 6, 100), Some(SnapshotInterval { max_count: 10, every: 5 }));
        assert_eq!(SnapshotInterval::new(1 << 30, 1, 100), Some(SnapshotInterval { max_count: 96, every: 1 }));
    }
}
