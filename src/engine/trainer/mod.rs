//! Drives one run: steps the variants on the same batches, puts scheduled and asked questions, keeps checkpoints, tells
//! sinks. Its worker trains; questions are answered concurrently, by threads with models of their own, which take on
//! the weights of the step that is asked about.
//!
//! [`drive`] is a function; [`spawn`] puts it on a thread of its own.

mod answering;
mod asking;
mod checkpoint_series;
mod checkpointing;
mod error;
pub mod inputs;
mod listeners;
mod memory;
mod plan;
mod run;
mod settings;
mod snapshots;
mod thread;
mod tokens;
mod variant;
mod weights;
mod worker;

pub use checkpoint_series::{SeriesStep, record_series};
pub use error::RunError;
pub use memory::{MemoryEstimate, TooLittleMemory, check_plan_memory, check_plan_memory_against};
pub use plan::{Decay, Optimisation, Plan, ProbeSchedule, RuntimeParam, Schedule, Stage, TokenKeys, VariantSpec};
pub use run::Run;
pub use settings::{RunSettings, TrainSettings};
pub use thread::catch_panic;
pub use worker::{DriveOptions, Outcome, Process, drive, spawn};

/// The number of threads that the plan's model may use: as requested, or all cores but one, which is left to the
/// interface.
pub fn threads_of(plan: &Plan) -> usize {
    match plan.threads {
        0 => std::thread::available_parallelism().map_or(1, |n| n.get().saturating_sub(1).max(1)),
        n => n,
    }
}
