//! A checkpoint of a BDH: its weights are read once, and models of any depth can be built from them, because the layers
//! share their weights.

use std::path::PathBuf;

use super::{Bdh, BdhSpec, import_state_dict};
use crate::models::{capabilities::CheckpointFacts, prelude::*};

/// A trained BDH in a file; its weights are on the device.
pub struct Checkpoint {
    /// The path of the file.
    pub path: PathBuf,
    /// The sizes of the file; `layers` is meaningless if no file gives their number.
    pub spec: BdhSpec,
    /// The size V of the vocabulary.
    pub vocab: usize,
    /// The facts that the file and those beside it give about the model.
    pub facts: CheckpointFacts,
    /// Notes on values that were inferred or differ here.
    pub notes: Vec<String>,
    weights: Vec<(&'static str, Tensor)>,
    device: Device,
}

impl Checkpoint {
    /// Reads the file at `path`. Form and position, which a file does not state, are taken from `asked`.
    ///
    /// # Errors
    /// If it is no checkpoint of a BDH, or a value in it is no number; the message names the tensor.
    pub fn open(path: &Path, asked: &BdhSpec, device: &Device) -> Result<Self> {
        let found = import_state_dict::open(path, asked)?;
        let weights = found.load(device)?;
        let unsaid = found.facts.layers.is_none();
        Ok(Self {
            path: path.to_owned(),
            vocab: found.vocab,
            // the first note is that the layers are taken from settings, which here they are not
            notes: found.notes[usize::from(unsaid)..].to_vec(),
            facts: found.facts,
            spec: found.spec,
            weights,
            device: device.clone(),
        })
    }

    /// The model with this many layers.
    ///
    /// # Errors
    /// If the sizes are impossible or the device has no room.
    pub fn model(&self, layers: usize) -> Result<Bdh> {
        let spec = BdhSpec { layers, weights: None, ..self.spec.clone() };
        Bdh::with_weights(&spec, self.vocab, &self.weights, 0, &self.device)
    }
}
