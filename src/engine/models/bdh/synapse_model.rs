//! Linear attention between sparse positive neurons, whose state is the strength of synapses: what a probe
//! may ask of such a model. It does not know how neurons are looked at.

use candle_core::{Result, Tensor};

use super::{super::Model, intervention::Intervention, spec::BdhSpec, state::State};
use crate::nn::Tap;

/// A model of the BDH kind.
///
/// Its weights are in [`Model::params`] by the public code's names: `encoder` and `encoder_v`
/// `(heads, D, N)`, `decoder` `(n, D)`. Taps: `layers.l.x`, `layers.l.y` `(B, heads, T, N)` (activity),
/// `layers.l.v` `(B, T, D)`.
pub trait SynapseModel: Model {
    /// Neurons, heads, layers, and what time does to a trace.
    fn spec(&self) -> &BdhSpec;

    /// Whether the number of layers is certain, rather than taken where a file does not say it.
    fn layers_are_known(&self) -> bool;

    /// Reads tokens u32 `(B, T)` after all that `state` has read and adds them to it: logits `(B, T, V)`.
    fn read(&self, tokens: &Tensor, state: &mut State, tap: &mut Tap) -> Result<Tensor>;

    /// As [`SynapseModel::read`], while something is done to chosen neurons.
    ///
    /// # Errors
    /// If there is no such neuron or layer, or the amount is not finite.
    fn read_changed(&self, tokens: &Tensor, state: &mut State, change: &Intervention) -> Result<Tensor>;

    /// v `(B, T, D)` of any layer -> the logits `(B, T, V)` that it would give were it the last.
    fn head(&self, v: &Tensor) -> Result<Tensor>;
}
