//! The engine of Orrery: small sequence models, their training, the questions they are asked and the record of both.
//! It opens no window and draws nothing, so that a program can train and probe models with this crate alone.
//!
//! What such a program needs is named at the root; families, measurements and all else are in the modules. A corpus
//! gives [`Batch`]es, a family is [`Trainable`] and stepped by [`AdamW`]. A whole run with checkpoints and a record is
//! a [`Plan`] that [`drive`] carries out, telling each [`Sink`]. A [`Probe`] asks a model, and its answer is a
//! [`Measurement`]. `examples` has two programs of 40 lines.

#![warn(missing_docs)]

/// Returns an error unless a condition holds: this one, or candle's in these words.
macro_rules! ensure {
    ($holds:expr, $words:literal $(, $value:expr)* $(,)?) => {
        if !$holds { candle_core::bail!($words $(, $value)*); }
    };
    ($holds:expr, $error:expr) => {
        if !$holds { return Err($error); }
    };
}

pub mod config;
pub mod files;
pub mod random;

pub mod analysis;
pub mod corpus;
pub mod nn;
pub mod ode;
pub mod telemetry;

pub mod models;
pub mod probe;
pub mod store;
pub mod trainer;

pub use config::{Arguments, Config};
pub use corpus::{Corpus, CorpusSpec, Position, Source, TokenizerSpec};
pub use models::{Model, ModelSpec, Trainable};
pub use nn::{AdamW, Batch, Device, Tap, fused::GradAccumulator, optimiser::AdamWSpec, set_threads};
pub use probe::{Probe, ProbeInputs};
pub use store::{Reader, Writer};
pub use telemetry::{Command, Event, Measurement, Sink};
pub use trainer::{DriveOptions, Outcome, Plan, drive, spawn};
