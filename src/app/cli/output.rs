//! Files that commands write: whole or not at all, and never over what the command reads or over a run's own record.

use std::path::{Path, PathBuf};

use super::failure::Failure;
use crate::{files, store};

/// Checks that a command that reads `inputs` may write this file or folder.
///
/// # Errors
/// If it is one of the inputs, or a log, description or checkpoint of a run.
pub fn check(path: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    let shown = path.display();
    let there = resolved(path);
    if inputs.iter().any(|input| resolved(input) == there) {
        return Err(Failure::usage(format!("{shown} is an input: give another name to write to")));
    }
    if store::is_record(&there) {
        return Err(Failure::usage(format!("{shown} belongs to the record of a run: give another name to write to")));
    }
    Ok(())
}

/// Writes a file, or leaves what was there.
///
/// # Errors
/// See [`check`]; also if the system refuses.
pub fn write(path: &Path, bytes: &[u8], inputs: &[&Path]) -> Result<(), Failure> {
    check(path, inputs)?;
    files::replace(path, bytes).map_err(|e| Failure::run(format!("{} cannot be written: {e}", path.display())))
}

/// The path without links and dots, of something that need not exist yet.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.canonicalize().unwrap_or_else(|_| match (absolute.parent(), absolute.file_name()) {
        (Some(folder), Some(name)) => folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).join(name),
        _ => absolute,
    })
}
