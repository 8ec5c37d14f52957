//! The interface between a run and its observers. It holds plain data, without tensors or widgets.
//!
//! [`Event`]s flow from the worker to [`Sink`]s (the [`Inbox`] of a window, a run folder, a progress bar, a test);
//! [`Command`]s flow back.

mod array;
mod channel;
mod command;
mod event;
mod inbox;
pub mod measurements;
mod neuron;
mod note;
pub mod number;
pub mod table;

pub use array::{Array, MatrixView, Precision, ShapeError};
pub use channel::{Channel, channels};
pub use command::{Args, Command, Question};
pub use event::{
    Event, FOREIGN, FollowedState, InputFile, Level, QuestionState, RunInfo, RunState, Sample, Sink, StageStart,
    StepStats, VariantInfo,
};
pub use inbox::{Inbox, RunHandle};
pub use measurements::{MEASUREMENTS, Measurement, MeasurementEntry, Payload};
pub use neuron::{Synapse, neuron_name, read_neurons, read_synapses};
pub use note::{RunNote, parse_tags};
