//! Linear attention between sparse positive neurons, whose state is the strength of synapses: the interface through
//! which probes read such a model, and the readers, recordings and losses that are built on it.

mod generation;
mod intervention;
mod recording;
mod rotation;
mod shape;
mod text_losses;
mod text_reader;

use std::path::Path;

use candle_core::{Result, Tensor};

use super::super::Model;
use crate::nn::Tap;

pub use generation::{Sampling, generate, stretch};
pub(crate) use generation::{draw, last_row};
pub use intervention::{Action, Intervention, NeuronActivation, Target};
pub use recording::{Activations, Recording, RecordingError, record};
pub use rotation::Rotation;
pub use shape::{CheckpointFacts, KnownNumber, State, SynapseShape};
pub use text_losses::{TextLoss, nats_by_depth};
pub use text_reader::{ReadTokens, ReadingForm, TextReader, max_parallel_tokens};

/// A model of the BDH kind.
///
/// Its weights are in [`Trainable::params`](super::super::Trainable::params) by the public code's names: `encoder` and `encoder_v`
/// `(heads, D, N)`, `decoder` `(n, D)`. Taps: `layers.l.x`, `layers.l.y` `(B, heads, T, N)` (activity),
/// `layers.l.v` `(B, T, D)`.
pub trait SynapseModel: Model {
    /// Neurons, heads, layers, and the effect of time on a trace; those of the file, where the weights came from one.
    fn shape(&self) -> &SynapseShape;

    /// The metadata stored with the model's weights, if they came from a file.
    fn checkpoint(&self) -> Option<&CheckpointFacts>;

    /// True if the number of layers is certain, false if it was assumed.
    fn layers_are_known(&self) -> bool {
        self.checkpoint().is_none_or(|facts| facts.layers.is_some())
    }

    /// Reads tokens u32 `(B, T)` after all that `state` has read and adds them to it: logits `(B, T, V)`.
    fn read(&self, tokens: &Tensor, state: &mut State, tap: &mut Tap) -> Result<Tensor>;

    /// Like [`SynapseModel::read`], while chosen neurons are changed.
    ///
    /// # Errors
    /// If there is no such neuron or layer, or the amount is not finite.
    fn read_changed(&self, tokens: &Tensor, state: &mut State, change: &Intervention) -> Result<Tensor>;

    /// Maps v `(B, T, D)` of any layer to the logits `(B, T, V)` that the model would give if that layer were the last.
    fn head(&self, v: &Tensor) -> Result<Tensor>;

    /// A faster reader of single tokens that continues after `state`, which has one row; `None` where there is none,
    /// and [`SynapseModel::read`] serves.
    fn token_recurrence(&self, state: &State) -> Result<Option<Box<dyn TokenRecurrence>>>;

    /// A model of `layers` layers that share these weights.
    fn with_layers(&self, layers: usize) -> Result<Box<dyn SynapseModel>>;

    /// Loads the model of a checkpoint, and merges it with this one.
    ///
    /// # Errors
    /// If the models cannot be merged; the error names what differs between them.
    fn merged_with(&self, checkpoint: &Path) -> Result<MergedModels>;
}

/// Reads one token after another and changes its own copy of the state in place.
pub trait TokenRecurrence {
    /// The logits `(V)` of the token after this one.
    ///
    /// # Errors
    /// If there is no such token.
    fn read(&mut self, id: u32) -> Result<Vec<f32>>;
}

/// The model of a checkpoint, and the result of merging this one with it.
pub struct MergedModels {
    /// The name of the checkpoint: the stem of its file.
    pub name: String,
    /// The model of the checkpoint.
    pub other: Box<dyn SynapseModel>,
    /// The merged model.
    pub merged: Box<dyn SynapseModel>,
    /// Notes on the treatment of the weights, a line an entry.
    pub notes: Vec<String>,
}
