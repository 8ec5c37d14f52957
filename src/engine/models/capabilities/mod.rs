//! The capabilities of a model beyond its loss: one small interface each. A model offers an interface in the field of
//! [`Capabilities`] with its name; a probe asks for the interface and never for a family. Nothing here knows how an
//! interface is implemented.

mod coupling;
mod dynamics;
mod flow;
mod layers;
mod learning;
mod synapses;
mod texts;

pub use {coupling::*, dynamics::*, flow::*, layers::*, learning::*, synapses::*, texts::*};

use super::Model;

/// Everything that a model can be asked for beyond its loss; a family names what it has and leaves the rest to the default.
#[derive(Default)]
pub struct Capabilities<'m> {
    /// The model as a predictor of the next token; `None` if it is not one.
    pub token_model: Option<&'m dyn Model>,
    /// The layers whose attention maps can be tapped, in the order of a forward pass; none without softmax attention.
    pub attention_layers: Vec<AttentionLayer>,
    /// The layers whose input and addition can be tapped.
    pub residual_layers: Option<ResidualLayers>,
    /// The number of learned positions, which no text may be longer than.
    pub positions: Option<usize>,
    /// The flow over depth.
    pub flow: Option<FlowModel<'m>>,
    /// The learned map to stationary distributions.
    pub stationary_map: Option<&'m dyn StationaryMap>,
    /// The synapses, if attention is linear and neurons are sparse.
    pub synapses: Option<&'m dyn SynapseModel>,
    /// The graph of neurons, if its edges are trained.
    pub trained_graph: Option<&'m dyn TrainedGraph>,
    /// The sizes of a fast and a slow stream.
    pub two_timescales: Option<TwoTimescales>,
    /// The sizes of blocks that read the past through moving averages.
    pub trace_blocks: Option<TraceBlocks>,
    /// The gate between two streams.
    pub coupling: Option<&'m dyn CouplingModel>,
    /// The map that refines a state in the forward pass.
    pub fixed_point: Option<&'m dyn FixedPointModel>,
    /// The model's recall of the tokens at earlier positions.
    pub recovery: Option<&'m dyn RecoveryModel>,
    /// The evolution of queries and keys before they are scored, if those of any layer may evolve.
    pub query_key_dynamics: Option<&'m dyn QueryKeyDynamics>,
    /// The encoder that represents every word of a sentence.
    pub sentence_encoder: Option<&'m dyn SentenceEncoder>,
    /// The settling of levels on a word.
    pub settling: Option<&'m dyn SettlingModel>,
    /// The tagger of every word of a sentence.
    pub sequence_tagger: Option<&'m dyn SequenceTagger>,
    /// The classifier of whole texts, if the model predicts no tokens.
    pub text_classifier: Option<&'m dyn TextClassifier>,
    /// The reading of a text part by part, with a state carried along.
    pub streaming: Option<&'m dyn StreamingModel>,
    /// The reading of a text with fast weights, if the predictors can have some.
    pub fast_weights: Option<&'m dyn FastWeightModel>,
}

/// Capabilities that change the model. Each borrows all of it, so a family offers at most one of them.
#[derive(Default)]
pub struct CapabilitiesMut<'m> {
    /// The model's own rule of learning, if it does not learn by gradients. The trainer then calls this for an update and
    /// neither asks for a loss nor runs an optimiser.
    pub local_learning: Option<&'m mut dyn LocalLearning>,
    /// Like [`Capabilities::coupling`], to change its settings.
    pub coupling: Option<&'m mut dyn CouplingModel>,
}
