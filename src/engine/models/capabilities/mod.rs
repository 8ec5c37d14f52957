//! What a model can be asked for beyond its loss and its logits: one small interface a file. A model
//! offers an interface by overriding the method of [`Model`](super::Model) with its name; a probe asks
//! for the interface and never for a family. Nothing here knows how an interface is implemented.
//!
//! | method of `Model` | what it offers | what asks for it |
//! | --- | --- | --- |
//! | `attention_layers` | softmax attention maps by layer | attention maps |
//! | `flow` | a differential equation over depth | flow answers, fields, sweeps |
//! | `synapses` | linear attention whose state is synapses | synapses, concepts, graphs |
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
//! | `fast_weights` | a predictor that learns while it reads | fast weights, uncertainty |

mod attention;
mod coupling;
mod fixed_point;
mod flow;
mod local_learning;
mod query_key_dynamics;
mod recovery;
mod runtime_param;
mod sentences;
mod stationary_map;
mod streaming;
mod synapses;
mod trace_blocks;

pub use attention::AttentionLayer;
pub use coupling::{CouplingModel, CouplingSettings, TwoTimescales};
pub use fixed_point::FixedPointModel;
pub use flow::{CONTROLS, FlowControl, FlowModel, LanguageFlow, PlanarField, PlanarFlow, Steering};
pub use local_learning::{LocalLearning, LocalUpdate};
pub use query_key_dynamics::{LayerDynamics, QueryKeyDynamics, Scheme};
pub use recovery::RecoveryModel;
pub use runtime_param::RuntimeParam;
pub use sentences::{FrozenEncoder, LevelFeatures, SentenceEncoder, SequenceTagger, SettledLevel, SettlingModel};
pub use stationary_map::StationaryMap;
pub use streaming::{FastWeightModel, FastWeightRule, StreamingModel, TextStream};
pub use synapses::{
    Action, Activations, Intervention, MergedModels, Part, ReadTokens, ReadingForm, Recording, RecordingError,
    Rotation, Sampling, State, SynapseModel, SynapseShape, Target, TextLoss, TextReader, TokenRecurrence, generate,
    nats_by_depth, record, stretch,
};
pub use trace_blocks::TraceBlocks;
