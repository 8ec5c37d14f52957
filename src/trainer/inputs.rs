//! The files that a run reads and the record must identify: texts, tokenizers, trained weights. A run goes on
//! only with the very same ones. It does not read what is in them.

use std::path::{Path, PathBuf};

use super::{Plan, RunError};
use crate::{
    corpus::{Source, TokenizerSpec},
    files::fingerprint,
    telemetry::InputFile,
};

/// The paths of all files that the plan's texts, tokenizers and models are read from, each once.
pub fn paths(plan: &Plan) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = vec![];
    let mut add = |path: &Path| {
        if !paths.iter().any(|p| p == path) {
            paths.push(path.to_owned());
        }
    };
    for text in plan.texts() {
        if let Source::File(path) = &text.source {
            add(path);
        }
        if let TokenizerSpec::HuggingFace(path) = &text.tokenizer {
            add(path);
        }
    }
    for variant in &plan.variants {
        variant.model.files().into_iter().for_each(&mut add);
    }
    paths
}

/// Reads every file through and identifies it by its length and SHA-256.
///
/// # Errors
/// If one cannot be read.
pub fn identify(plan: &Plan) -> Result<Vec<InputFile>, RunError> {
    paths(plan).iter().map(|path| identify_one(path)).collect()
}

fn identify_one(path: &Path) -> Result<InputFile, RunError> {
    let found = fingerprint(path).map_err(|source| RunError::Input { path: path.to_owned(), source })?;
    Ok(InputFile { path: path.to_string_lossy().into_owned(), bytes: found.bytes, sha256: found.sha256 })
}

/// Whether the plan reads the very files that were recorded.
///
/// # Errors
/// If one is gone, or has another content than the run began with.
pub fn verify(plan: &Plan, recorded: &[InputFile]) -> Result<(), RunError> {
    for file in identify(plan)? {
        let before = recorded.iter().find(|r| r.path == file.path);
        if let Some(before) = before.filter(|b| **b != file) {
            return Err(RunError::ChangedInput {
                path: file.path.into(),
                recorded: format!("{} bytes, SHA-256 {}", before.bytes, before.sha256),
                found: format!("{} bytes, SHA-256 {}", file.bytes, file.sha256),
            });
        }
    }
    Ok(())
}
