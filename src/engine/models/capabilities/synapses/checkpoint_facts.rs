//! Facts about a model that its weights do not show, from a file of weights and the files beside it.

use std::path::PathBuf;

use crate::telemetry::measurements::Evidence;

/// A number, and where it is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownNumber {
    /// The number.
    pub value: usize,
    /// The source of the number.
    pub from: Evidence,
}

/// The facts about a checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckpointFacts {
    /// The path of the file of weights.
    pub path: PathBuf,
    /// L, which cannot be read from weights that all layers share.
    pub layers: Option<KnownNumber>,
    /// Tokens of the windows that the model was trained on.
    pub window: Option<KnownNumber>,
}
