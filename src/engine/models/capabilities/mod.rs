//! The capabilities of a model beyond its loss: one small interface a file. A model offers an interface in the field of
//! [`Capabilities`] with its name; a probe asks for the interface and never for a family. Nothing here knows how an
//! interface is implemented.
//!
//! | field | what it offers | what asks for it |
//! | --- | --- | --- |
//! | `token_model` | logits of the next token | the trainer's accuracy, next tokens |
//! | `attention_layers` | softmax attention maps by layer | attention maps |
//! | `residual_layers` | layers that read what those before them gave | layer readout |
//! | `positions` | the longest text of learned positions | the attention chain |
//! | `flow` | a differential equation over depth | flow answers, fields, sweeps |
//! | `synapses` | linear attention whose state is synapses | synapses, concepts, graphs |
//! | `trained_graph` | neurons and synapses whose edges are trained | the rules of BDH as a physical system |
//! | `two_timescales` | a fast stream and a slow stream | staircase |
//! | `coupling` | the gate between the two streams | causality |
//! | `fixed_point` | a map that refines the state | residual |
//! | `recovery` | a reader that names past tokens | recoverability |
//! | `query_key_dynamics` | queries and keys that evolve before they are scored | query and key paths |
//! | `local_learning` | an update by a rule of its own, without gradients | the trainer |
//! | `sentence_encoder` | vectors of every word of a sentence | grammatical roles |
//! | `settling` | states of all levels while they settle on a word | settling |
//! | `sequence_tagger` | tags of every word of a sentence | grammatical roles |
//! | `trace_blocks` | blocks that read the past through moving averages | trace readings, unit usage, autocorrelation |
//! | `streaming` | texts read part by part | warm-up |
//! | `stationary_map` | a learned map from a control to a stationary distribution | generator, its map |
//! | `text_classifier` | classes of whole texts | the trainer's accuracy |
//! | `fast_weights` | a predictor that learns while it reads | fast weights, uncertainty |

mod attention;
mod coupling;
mod fixed_point;
mod flow;
mod local_learning;
mod query_key_dynamics;
mod recovery;
mod residual_layers;
mod runtime_param;
mod sentences;
mod stationary_map;
mod streaming;
mod synapses;
mod text_classifier;
mod trace_blocks;
mod trained_graph;

pub use attention::AttentionLayer;
pub use coupling::{CouplingModel, CouplingSettings, TwoTimescales};
pub use fixed_point::{FixedPointModel, SolvedEquation};
pub use flow::{CONTROLS, FlowControl, FlowModel, LanguageFlow, PlanarField, PlanarFlow, Steering};
pub use local_learning::{LocalLearning, LocalUpdate};
pub use query_key_dynamics::{LayerDynamics, QueryKeyDynamics, Scheme};
pub use recovery::RecoveryModel;
pub use residual_layers::ResidualLayers;
pub use runtime_param::RuntimeParam;
pub use sentences::{
    FeedforwardWeights, FrozenEncoder, LevelFeatures, SentenceEncoder, SequenceTagger, SettledLevel, SettlingModel,
};
pub use stationary_map::StationaryMap;
pub use streaming::{FastWeightModel, FastWeightRule, StreamingModel, TextStream};
pub use synapses::{
    Action, Activations, CheckpointFacts, Intervention, KnownNumber, MergedModels, NeuronActivation, ReadTokens,
    ReadingForm, Recording, RecordingError, Rotation, Sampling, State, SynapseModel, SynapseShape, Target, TextLoss,
    TextReader, TokenRecurrence, generate, longest_at_once, nats_by_depth, record, stretch,
};
pub(crate) use synapses::{draw, last_row};
pub use text_classifier::TextClassifier;
pub use trace_blocks::TraceBlocks;
pub use trained_graph::{GraphMatrices, TrainedGraph};

use super::Model;

/// Everything that a model can be asked for beyond its loss; a family names what it has and leaves the rest to the default.
#[derive(Default)]
pub struct Capabilities<'m> {
    /// The model as one that gives logits of the next token, if it does.
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
