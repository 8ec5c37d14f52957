//! Everything a run needs to continue exactly: weights, optimiser moments, data positions, live settings, and how long
//! the logs were. Tensors are kept by name, positions as numbers.
//!
//! A checkpoint is a folder that appears at once and whole: written under a hidden name, forced to the disk, then
//! renamed. The newest [`KEPT_CHECKPOINTS`] stay. Each file's length, checksum, names and shapes are in `state.json`,
//! and a checksum of `state.json` in itself, so that a damaged one is noticed and the one before it used instead. One
//! whose weights are not finite is neither written nor read.

use std::{cmp::Ordering, fs};

use super::{
    log_file::Log,
    names::INCOMPLETE_PREFIX,
    prelude::*,
    record::MAX_STEP,
    tensors::{self, FileRecord, NamedTensors},
};
use crate::{
    config::Value,
    files::{folder_beside, sync_folder},
    nn::host,
    telemetry::number,
};

/// The number of checkpoints that a run keeps.
pub const KEPT_CHECKPOINTS: usize = 3;

const STATE: &str = "state.json";
/// Version of `state.json`. 2 has a checksum of itself; 1 had none.
const FORMAT: u32 = 2;
/// The largest number of bytes of `state.json`, which has a line or two per tensor.
const MAX_STATE: u64 = 8 << 20;
const REMOVAL_PREFIX: &str = ".removing-";

/// The position of a variant in its stream of batches, which fixes the state of its random generator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataPosition {
    /// The seed of the batches.
    pub seed: u64,
    /// Batches drawn so far.
    pub drawn: u64,
}

/// One variant at a checkpoint, with its tensors or with the records of the files that hold them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Variant<T = NamedTensors> {
    /// The id of the variant.
    pub id: String,
    /// Number of updates so far.
    pub optimiser_step: u64,
    /// The position in the data.
    pub data: DataPosition,
    /// The weights by the parameters' plain names.
    pub weights: T,
    /// The moments, named `m.<param>` and `v.<param>`.
    pub moments: T,
}

/// Lengths of the logs, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lengths {
    /// Bytes of the curves.
    pub metrics: u64,
    /// Bytes of the samples.
    pub samples: u64,
    /// Bytes of the events.
    pub events: u64,
}

impl Lengths {
    /// Returns true if a log is longer than in `other`.
    fn exceed(&self, other: &Self) -> bool {
        self.metrics > other.metrics || self.samples > other.samples || self.events > other.events
    }
}

/// A run at one step.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// Finished updates.
    pub step: u64,
    /// Wall-clock seconds of training so far.
    pub wall_secs: f64,
    /// Live settings in force, by key.
    pub live_settings: BTreeMap<String, Value>,
    /// The state of each variant.
    pub variants: Vec<Variant>,
    /// Filled in by [`super::Writer::checkpoint`].
    pub lengths: Lengths,
}

/// The result of [`load`].
#[derive(Debug)]
pub struct LoadedCheckpoint {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Its folder.
    pub path: PathBuf,
    /// Notices about checkpoints that were skipped.
    pub notices: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct StateFile {
    format: u32,
    step: u64,
    #[serde(with = "number::Float")]
    wall_secs: f64,
    dials: BTreeMap<String, Value>,
    lengths: Lengths,
    variants: Vec<Variant<FileRecord>>,
}

/// Writes the checkpoint into the run's folder of checkpoints and drops those beyond the newest [`KEPT_CHECKPOINTS`].
/// Returns where it lies. Makes no folder of checkpoints: another folder that took the place of the run's stays as
/// it is.
///
/// # Errors
/// If a weight or moment is not finite, or the system refuses. The checkpoints that were there stay.
pub fn save(run: &Path, checkpoint: &Checkpoint) -> Result<PathBuf, StoreError> {
    check_finite(checkpoint)?;
    let folder = run.join(CHECKPOINTS);
    folder_inside(run, CHECKPOINTS).map(|_| ()).at("write in", &folder)?;
    remove_incomplete(run);
    let making = folder_beside(&folder, INCOMPLETE_PREFIX).at("write in", &folder)?;
    let mut taken = names::TakenNames::new();
    let mut variants = vec![];
    for v in &checkpoint.variants {
        let name = names::unique_name(&v.id, &mut taken);
        let file = |ending: &str| making.path().join(format!("{name}{ending}"));
        variants.push(Variant {
            id: v.id.clone(),
            optimiser_step: v.optimiser_step,
            data: v.data,
            weights: tensors::write_new(&file(".safetensors"), &v.weights)?,
            moments: tensors::write_new(&file(".optimiser.safetensors"), &v.moments)?,
        });
    }
    let state = StateFile {
        format: FORMAT,
        step: checkpoint.step,
        wall_secs: checkpoint.wall_secs,
        dials: checkpoint.live_settings.clone(),
        lengths: checkpoint.lengths,
        variants,
    };
    let text = with_checksum(&state)
        .map_err(|e| StoreError::with_source(format!("cannot write the state of step {}: {e}", checkpoint.step), e))?;
    names::write_new(&making.path().join(STATE), &text)?;
    sync_folder(making.path()).at("write", making.path())?;
    let path = unused_folder(&folder, checkpoint.step);
    files::rename_inside(run, path_in_run(making.path()), path_in_run(&path)).at("write", &path)?;
    // after the rename there is nothing left to remove
    let _ = making.keep();
    sync_folder(&folder).at("write", &folder)?;
    drop_old(run);
    Ok(path)
}

/// Refuses weights and optimizer moments that are not finite, because every resume would restore them and fail again.
fn check_finite(checkpoint: &Checkpoint) -> Result<(), StoreError> {
    for v in &checkpoint.variants {
        for (name, tensor) in v.weights.iter().chain(&v.moments).filter(|(_, t)| t.dtype().is_float()) {
            let values = host::to_f32(tensor).map_err(|e| {
                StoreError::with_source(format!("the tensor `{name}` of `{}` cannot be read: {e}", v.id), e)
            })?;
            if let Some(value) = values.iter().find(|x| !x.is_finite()) {
                return Err(StoreError::new(format!(
                    "the tensor `{name}` of `{}` holds {value} at step {}: training cannot go on from this checkpoint, but it can from the one before it. A smaller learning rate usually helps",
                    v.id, checkpoint.step
                )));
            }
        }
    }
    Ok(())
}

/// The path of the newest checkpoint, complete or not.
pub fn latest(run: &Path) -> Option<PathBuf> {
    all(run).pop()
}

/// The step of the newest checkpoint, whole or not.
pub fn newest_step(run: &Path) -> Option<u64> {
    list_checkpoints(&run.join(CHECKPOINTS)).pop().map(|((step, _), _)| step)
}

/// The step of the newest checkpoint whose state can be read, and how long the logs were then; `None` where there is none.
pub(super) fn newest_lengths(run: &Path) -> Option<(u64, Lengths)> {
    // as in `newest`, nothing behind a link is the run's
    folder_inside(run, CHECKPOINTS).ok()?;
    let mut newest = all(run).into_iter().rev().take(KEPT_CHECKPOINTS).filter(|path| !path.is_symlink());
    let state = newest.find_map(|path| read_state(&path).ok())?;
    Some((state.step, state.lengths))
}

/// Every checkpoint, oldest first.
pub fn all(run: &Path) -> Vec<PathBuf> {
    list_checkpoints(&run.join(CHECKPOINTS)).into_iter().map(|(_, path)| path).collect()
}

/// The newest checkpoint that can be read. `None` if the run has none (it begins again at step 0);
/// an error if it has some and none can be read.
pub fn load(run: &Path, device: &Device) -> Result<Option<LoadedCheckpoint>, StoreError> {
    newest(run, |path| load_at(path, device))
}

/// Same as [`load`], but only a checkpoint whose logs still have every line from before it, so that a run that
/// continues from it has a record without a hole.
pub fn load_resumable(run: &Path, device: &Device) -> Result<Option<LoadedCheckpoint>, StoreError> {
    for log in [METRICS, SAMPLES, EVENTS] {
        match open_inside(run, log) {
            Err(e) if e.is_not_regular_file() => return Err(e).at("go on with", &run.join(log)),
            _ => {}
        }
    }
    newest(run, |path| {
        let checkpoint = load_at(path, device)?;
        let Lengths { metrics, samples, events } = checkpoint.lengths;
        let logs = [(METRICS, metrics), (SAMPLES, samples), (EVENTS, events)];
        match logs.iter().find(|(name, length)| !Log::is_intact_up_to(run, name, *length)) {
            None => Ok(checkpoint),
            Some((name, _)) => Err(StoreError::new(format!("{name} has lost lines from before it, or damaged ones"))),
        }
    })
}

fn newest(
    run: &Path,
    load: impl Fn(&Path) -> Result<Checkpoint, StoreError>,
) -> Result<Option<LoadedCheckpoint>, StoreError> {
    // A run folder may be untrusted: its checkpoints must lie in it, not behind a link.
    match folder_inside(run, CHECKPOINTS) {
        Err(e) if !e.is_missing() => return Err(e).at("read", &run.join(CHECKPOINTS)),
        _ => {}
    }
    let mut notices = vec![];
    for path in all(run).into_iter().rev() {
        match load(&path) {
            Ok(checkpoint) => return Ok(Some(LoadedCheckpoint { checkpoint, path, notices })),
            Err(e) => notices.push(format!("the checkpoint {} is passed over: {e}", name_of(&path))),
        }
    }
    if notices.is_empty() {
        return Ok(None);
    }
    Err(StoreError::new(format!(
        "no checkpoint of `{}` can be used: {}. The run can still be replayed; to train it again: `orrery run {}`",
        run.display(),
        notices.join("; "),
        run.join("config.toml").display()
    )))
}

/// Loads the checkpoint in a folder.
pub fn load_at(path: &Path, device: &Device) -> Result<Checkpoint, StoreError> {
    if fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_symlink()) {
        return Err(FileError::Link).at("read", path);
    }
    let state = read_state(path)?;
    let parts = state.variants.iter().flat_map(|v| [&v.weights, &v.moments]);
    let bytes = parts.map(|f| tensors::length(path, f)).sum::<Result<u64, _>>()?;
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
    let checkpoint = Checkpoint {
        step: state.step,
        wall_secs: state.wall_secs,
        live_settings: state.dials,
        variants,
        lengths: state.lengths,
    };
    check_finite(&checkpoint)?;
    Ok(checkpoint)
}

/// Moves aside the checkpoints after the one from which a run resumes, since the resumed run has not reached them.
/// Among them are those of the same step with longer logs, which the resume is about to truncate.
pub(super) fn move_aside_after(run: &Path, from: Option<&Checkpoint>) -> Result<(), StoreError> {
    let folder = run.join(CHECKPOINTS);
    for ((at, _), path) in list_checkpoints(&folder) {
        let is_later = |from: &Checkpoint| match at.cmp(&from.step) {
            Ordering::Less => false,
            Ordering::Equal => read_state(&path).is_ok_and(|state| state.lengths.exceed(&from.lengths)),
            Ordering::Greater => true,
        };
        if from.is_none_or(is_later) {
            let aside = format!("superseded-{}", name_of(&path));
            let aside = folder.join(names::numbered(&aside, |name| folder.join(name).exists()));
            files::rename_inside(run, path_in_run(&path), path_in_run(&aside)).at("put aside", &path)?;
        }
    }
    Ok(())
}

fn read_state(path: &Path) -> Result<StateFile, StoreError> {
    let file = path.join(STATE);
    let text = read_inside(path, STATE, MAX_STATE).at("read", &file)?;
    let damaged = |e: serde_json::Error| {
        StoreError::with_source(format!("`{}` is damaged or of another version ({e})", file.display()), e)
    };
    let fields: Fields = serde_json::from_slice(&text).map_err(damaged)?;
    let format = fields.get("format").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if format > u64::from(FORMAT) {
        return Err(StoreError::new(format!(
            "`{}` was written by a newer Orrery (format {format}, this one reads up to {FORMAT}): update Orrery",
            file.display(),
        )));
    }
    if format > 1 && fields.get(CHECKSUM).and_then(serde_json::Value::as_u64) != Some(checksum(&fields).into()) {
        return Err(StoreError::new(format!(
            "`{}` is not the file that was written (its checksum differs): it was damaged or edited",
            file.display()
        )));
    }
    let state: StateFile = serde_json::from_value(serde_json::Value::Object(fields)).map_err(damaged)?;
    match state.step > MAX_STEP {
        true => Err(StoreError::new(format!("`{}` is of step {}, which no run has", file.display(), state.step))),
        false => Ok(state),
    }
}

type Fields = serde_json::Map<String, serde_json::Value>;

const CHECKSUM: &str = "crc32c";

/// The state as text, with the checksum of its fields among them.
fn with_checksum(state: &StateFile) -> Result<Vec<u8>, serde_json::Error> {
    let mut fields: Fields = serde_json::from_slice(&serde_json::to_vec(state)?)?;
    fields.insert(CHECKSUM.to_owned(), checksum(&fields).into());
    serde_json::to_vec_pretty(&fields)
}

/// CRC-32C of the fields but the checksum's own, each as its name and its JSON without white space, by name.
fn checksum(fields: &Fields) -> u32 {
    let mut by_name: Vec<_> = fields.iter().filter(|(name, _)| *name != CHECKSUM).collect();
    by_name.sort_by_key(|(name, _)| *name);
    by_name.iter().fold(0, |sum, (name, value)| crc32c::crc32c_append(sum, format!("{name}={value};").as_bytes()))
}

/// `step-00000200`, or `step-00000200-2` if that step was written before: a good checkpoint is never removed before its
/// successor is complete. The number is higher than any of that step, also where the first ones were removed.
fn unused_folder(folder: &Path, step: u64) -> PathBuf {
    let newest = list_checkpoints(folder).into_iter().rfind(|((at, _), _)| *at == step);
    let generation = newest.map(|((_, generation), _)| generation.saturating_add(1));
    folder.join(generation.map_or(format!("step-{step:08}"), |n| format!("step-{step:08}-{n}")))
}

/// Checkpoints by (step, generation), ascending.
fn list_checkpoints(folder: &Path) -> Vec<((u64, u64), PathBuf)> {
    let Ok(entries) = files::entries(folder) else { return vec![] };
    let mut found: Vec<_> = entries
        .filter_map(|e| {
            let name = e.file_name();
            let rest = name.to_str()?.strip_prefix("step-")?;
            let (step, generation) = rest.split_once('-').unwrap_or((rest, "1"));
            let step = step.parse::<u64>().ok().filter(|step| *step <= MAX_STEP)?;
            Some(((step, generation.parse().ok()?), e.path()))
        })
        .collect();
    found.sort();
    found
}

fn drop_old(run: &Path) {
    let mut found = list_checkpoints(&run.join(CHECKPOINTS));
    found.truncate(found.len().saturating_sub(KEPT_CHECKPOINTS));
    for (_, path) in found {
        // It is renamed first, so that a partly removed checkpoint does not look like one.
        let going = Path::new(CHECKPOINTS).join(format!("{REMOVAL_PREFIX}{}", name_of(&path)));
        if files::rename_inside(run, path_in_run(&path), &going).is_ok() {
            let _ = files::remove_folder_inside(run, &going);
        }
    }
}

/// Removes the incomplete checkpoints of a killed process.
fn remove_incomplete(run: &Path) {
    for entry in files::entries(&run.join(CHECKPOINTS)).into_iter().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(INCOMPLETE_PREFIX) || name.starts_with(REMOVAL_PREFIX) {
            let _ = files::remove_folder_inside(run, path_in_run(&entry.path()));
        }
    }
}

/// A checkpoint by its place in its run.
fn path_in_run(checkpoint: &Path) -> PathBuf {
    Path::new(CHECKPOINTS).join(checkpoint.file_name().unwrap_or_default())
}
