//! The files that a run reads and the record must identify: texts, tokenizers, trained weights. A run continues
//! only with the very same ones. It does not read what is in them.

use std::path::{Path, PathBuf};

use super::{Plan, RunError};
use crate::{corpus::TokenizerSpec, files::fingerprint, telemetry::InputFile};

/// The paths of all files that the plan's texts, tokenizers and models are read from, each once.
///
/// # Errors
/// If a folder of texts cannot be read, or has none.
pub fn paths(plan: &Plan) -> Result<Vec<PathBuf>, RunError> {
    let mut paths: Vec<PathBuf> = vec![];
    let mut add = |path: &Path| {
        if !paths.iter().any(|p| p == path) {
            paths.push(path.to_owned());
        }
    };
    for text in plan.texts() {
        text.source.files()?.iter().for_each(|path| add(path));
        if let TokenizerSpec::HuggingFace(path) | TokenizerSpec::Characters(path) = &text.tokenizer {
            add(path);
        }
    }
    plan.variants.iter().flat_map(|variant| variant.model.files()).for_each(add);
    Ok(paths)
}

/// Reads every file through and identifies it by its length and SHA-256.
///
/// # Errors
/// If one cannot be read.
pub fn identify(plan: &Plan) -> Result<Vec<InputFile>, RunError> {
    paths(plan)?.iter().map(|path| identify_file(path)).collect()
}

fn identify_file(path: &Path) -> Result<InputFile, RunError> {
    let found = fingerprint(path).map_err(|source| RunError::Input { path: path.to_owned(), source })?;
    Ok(InputFile { path: path.to_string_lossy().into_owned(), bytes: found.bytes, sha256: found.sha256 })
}

/// Checks that the plan reads the very files that were recorded.
///
/// # Errors
/// If one is gone, has another content than the run began with, or was not there; what a record without files
/// had is not known.
pub fn verify(plan: &Plan, recorded: &[InputFile]) -> Result<(), RunError> {
    let found = identify(plan)?;
    if recorded.is_empty() {
        return Ok(());
    }
    if let Some(gone) = recorded.iter().find(|r| !found.iter().any(|f| f.path == r.path)) {
        return Err(RunError::MissingInput { path: (&gone.path).into() });
    }
    for file in found {
        let Some(before) = recorded.iter().find(|r| r.path == file.path) else {
            return Err(RunError::AddedInput { path: file.path.into() });
        };
        if *before != file {
            return Err(RunError::ChangedInput {
                path: file.path.into(),
                recorded: format!("{} bytes, SHA-256 {}", before.bytes, before.sha256),
                found: format!("{} bytes, SHA-256 {}", file.bytes, file.sha256),
            });
        }
    }
    Ok(())
}
