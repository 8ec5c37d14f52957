//! Logs of other tools (TensorBoard, W&B, Lightning, Trackio), named in place of a run folder, and read into one.

use std::path::{Path, PathBuf};

use super::{failure::Failure, sweep_names::is_sweep, terminal::notice};
use crate::store::import::{ImportedRun, Source};

/// True for a file that [`import_log`] reads, or refuses with the reason.
pub fn is_log_file(path: &Path) -> bool {
    path.is_file() && !matches!(Source::find(path), Ok(None))
}

/// The run in `runs` into which the log of another tool that lies at this path is read; `None` where there is none, as for
/// a run folder or a sweep. What was read is said.
pub fn import_log(path: &Path, runs: &Path) -> Result<Option<ImportedRun>, Failure> {
    // a sweep's folder may hold its own exported logs, which are not imported
    if is_sweep(path) {
        return Ok(None);
    }
    let Some(source) = Source::find(path).map_err(Failure::wrong)? else { return Ok(None) };
    let imported = source.import(runs).map_err(Failure::wrong)?;
    [&imported.recognised, &imported.summary].into_iter().flatten().for_each(|words| notice!("{words}"));
    Ok(Some(imported))
}

/// The folder of the run that was named: the path itself, or where the log of another tool was read into.
pub fn run_folder(path: &Path, runs: &Path) -> Result<PathBuf, Failure> {
    Ok(import_log(path, runs)?.map_or_else(|| path.to_owned(), |imported| imported.folder))
}
