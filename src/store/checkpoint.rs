//! Everything a run needs to go on exactly: weights, optimiser moments, data positions, dials, and
//! how long the logs were. It does not know what a model is: tensors by name, positions as numbers.
//!
//! A checkpoint is a folder that appears at once and whole: written under a hidden name, forced to
//! the disk, then renamed. The newest [`KEPT`] stay. Each file's length, checksum, names and shapes
//! stand in `state.json`, so that a damaged one is noticed and the one before it used instead.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use candle_core::Device;
use serde::{Deserialize, Serialize};

use super::{
    error::{At, StoreError},
    files,
    tensors::{self, FileRecord, Named},
};
use crate::{
    config::Value,
    files::{FileError, check_memory, folder_inside, read_inside},
    telemetry::number,
};

/// How many checkpoints a run keeps.
pub const KEPT: usize = 3;

const FOLDER: &str = "checkpoints";
const STATE: &str = "state.json";
const FORMAT: u32 = 1;
/// Longer ones are not ours: a line or two a tensor.
const MOST_STATE: u64 = 8 << 20;

/// Where a variant's stream of batches stands; all there is to its generator's state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataPosition {
    pub seed: u64,
    /// Batches drawn so far.
    pub drawn: u64,
}

/// One variant at a checkpoint.
#[derive(Debug, Clone)]
pub struct Variant {
    pub id: String,
    pub optimiser_step: u64,
    pub data: DataPosition,
    /// By the parameters' plain names.
    pub weights: Named,
    /// By `m.<param>`, `v.<param>`.
    pub moments: Named,
}

/// Lengths of the logs, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lengths {
    pub metrics: u64,
    pub samples: u64,
    pub events: u64,
}

/// A run at one step.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// Finished updates.
    pub step: u64,
    /// Wall-clock seconds of training so far.
    pub wall_secs: f64,
    /// Live settings in force, by key.
    pub dials: BTreeMap<String, Value>,
    pub variants: Vec<Variant>,
    /// Filled in by [`super::Writer::checkpoint`].
    pub lengths: Lengths,
}

/// What [`load`] found.
#[derive(Debug)]
pub struct Loaded {
    pub checkpoint: Checkpoint,
    pub path: PathBuf,
    /// What was passed over on the way, in words.
    pub notices: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct StateFile {
    format: u32,
    step: u64,
    #[serde(with = "number::one")]
    wall_secs: f64,
    dials: BTreeMap<String, Value>,
    lengths: Lengths,
    variants: Vec<VariantRecord>,
}

#[derive(Serialize, Deserialize)]
struct VariantRecord {
    id: String,
    optimiser_step: u64,
    data: DataPosition,
    weights: FileRecord,
    moments: FileRecord,
}

/// Writes the checkpoint into the run's folder and drops those beyond the newest [`KEPT`].
/// Returns where it lies.
pub fn save(run: &Path, checkpoint: &Checkpoint) -> Result<PathBuf, StoreError> {
    let folder = run.join(FOLDER);
    fs::create_dir_all(&folder).at("make", &folder)?;
    sweep(&folder);
    let making = folder.join(format!(".making-{:08}", checkpoint.step));
    fs::create_dir_all(&making).at("make", &making)?;
    let mut taken = vec![];
    let mut variants = vec![];
    for v in &checkpoint.variants {
        let name = files::unique_name(&v.id, &mut taken);
        variants.push(VariantRecord {
            id: v.id.clone(),
            optimiser_step: v.optimiser_step,
            data: v.data,
            weights: tensors::write(&making.join(format!("{name}.safetensors")), &v.weights)?,
            moments: tensors::write(&making.join(format!("{name}.optimiser.safetensors")), &v.moments)?,
        });
    }
    let state = StateFile {
        format: FORMAT,
        step: checkpoint.step,
        wall_secs: checkpoint.wall_secs,
        dials: checkpoint.dials.clone(),
        lengths: checkpoint.lengths,
        variants,
    };
    let text = serde_json::to_vec_pretty(&state)
        .map_err(|e| StoreError::because(format!("cannot write the state of step {}: {e}", checkpoint.step), e))?;
    files::write_synced(&making.join(STATE), &text)?;
    files::sync_folder(&making);
    let path = free_place(&folder, checkpoint.step);
    fs::rename(&making, &path).at("write", &path)?;
    files::sync_folder(&folder);
    drop_old(&folder);
    Ok(path)
}

/// Where the newest checkpoint lies, whole or not.
pub fn latest(run: &Path) -> Option<PathBuf> {
    all(run).pop()
}

/// Every checkpoint, oldest first.
pub fn all(run: &Path) -> Vec<PathBuf> {
    found(&run.join(FOLDER)).into_iter().map(|(_, path)| path).collect()
}

/// The newest checkpoint that can be read. `None` if the run has none (it begins again at step 0);
/// an error if it has some and none can be read.
pub fn load(run: &Path, device: &Device) -> Result<Option<Loaded>, StoreError> {
    let mut notices = vec![];
    match folder_inside(run, FOLDER) {
        Err(e) if !e.is_missing() => return Err(e).at("read", &run.join(FOLDER)),
        _ => {}
    }
    for path in all(run).into_iter().rev() {
        match load_at(&path, device) {
            Ok(checkpoint) => return Ok(Some(Loaded { checkpoint, path, notices })),
            Err(e) => notices.push(format!("the checkpoint {} is passed over: {e}", name_of(&path))),
        }
    }
    if notices.is_empty() {
        return Ok(None);
    }
    Err(StoreError::new(format!(
        "no checkpoint of `{}` can be read: {}. The run can still be replayed; to train it anew: `orrery run {}`",
        run.display(),
        notices.join("; "),
        run.join("config.toml").display()
    )))
}

/// One checkpoint by its folder.
pub fn load_at(path: &Path, device: &Device) -> Result<Checkpoint, StoreError> {
    if fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_symlink()) {
        return Err(FileError::Link).at("read", path);
    }
    let state = read_state(path)?;
    let files = state.variants.iter().flat_map(|v| [&v.weights, &v.moments]);
    let bytes = files.map(|f| tensors::length(path, f)).sum::<Result<u64, _>>()?;
    check_memory(bytes.saturating_mul(2)).map_err(FileError::from).at("read", path)?;
    let mut variants = vec![];
    for v in &state.variants {
        variants.push(Variant {
            id: v.id.clone(),
            optimiser_step: v.optimiser_step,
            data: v.data,
            weights: tensors::read_checked(path, &v.weights, device)?,
            moments: tensors::read_checked(path, &v.moments, device)?,
        });
    }
    Ok(Checkpoint {
        step: state.step,
        wall_secs: state.wall_secs,
        dials: state.dials,
        variants,
        lengths: state.lengths,
    })
}

/// Puts aside the checkpoints after `step`: a run that resumes from `step` has not been there.
pub(super) fn put_aside_after(run: &Path, step: Option<u64>) -> Result<(), StoreError> {
    let folder = run.join(FOLDER);
    for ((at, _), path) in found(&folder) {
        if step.is_none_or(|s| at > s) {
            let mut aside = folder.join(format!("superseded-{}", name_of(&path)));
            let mut n = 1;
            while aside.exists() {
                n += 1;
                aside = folder.join(format!("superseded-{}-{n}", name_of(&path)));
            }
            fs::rename(&path, &aside).at("put aside", &path)?;
        }
    }
    Ok(())
}

fn read_state(path: &Path) -> Result<StateFile, StoreError> {
    let file = path.join(STATE);
    let text = read_inside(path, STATE, MOST_STATE).at("read", &file)?;
    let state: StateFile = serde_json::from_slice(&text)
        .map_err(|e| StoreError::because(format!("`{}` is damaged or of another version ({e})", file.display()), e))?;
    if state.format > FORMAT {
        return Err(StoreError::new(format!(
            "`{}` was written by a newer Orrery (format {}, this one reads up to {FORMAT}): update Orrery",
            file.display(),
            state.format
        )));
    }
    Ok(state)
}

/// `step-00000200`, or `step-00000200-2` when that step was written before: a good checkpoint is
/// never taken away before its successor is whole.
fn free_place(folder: &Path, step: u64) -> PathBuf {
    let mut path = folder.join(format!("step-{step:08}"));
    let mut n = 1;
    while path.exists() {
        n += 1;
        path = folder.join(format!("step-{step:08}-{n}"));
    }
    path
}

/// Checkpoints by (step, generation), ascending.
fn found(folder: &Path) -> Vec<((u64, u64), PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else { return vec![] };
    let mut found: Vec<_> = entries
        .flatten()
        .filter_map(|e| {
            let name = e.file_name();
            let rest = name.to_str()?.strip_prefix("step-")?;
            let (step, generation) = rest.split_once('-').unwrap_or((rest, "1"));
            Some(((step.parse().ok()?, generation.parse().ok()?), e.path()))
        })
        .collect();
    found.sort();
    found
}

fn drop_old(folder: &Path) {
    let mut found = found(folder);
    found.truncate(found.len().saturating_sub(KEPT));
    for (_, path) in found {
        // Renamed first: a checkpoint that is half removed must not look like one.
        let going = folder.join(format!(".removing-{}", name_of(&path)));
        if fs::rename(&path, &going).is_ok() {
            let _ = fs::remove_dir_all(&going);
        }
    }
}

/// Removes what a killed process left half made or half removed.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(".making-") || name.starts_with(".removing-") {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
