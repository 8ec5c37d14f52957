//! Commands to a run.

use std::collections::BTreeMap;

use crate::config::Value;

/// Arguments of a question: plain values by name.
pub type Args = BTreeMap<String, Value>;

/// A question for a running (or paused) model. The newest question replaces a waiting one that has
/// the same `probe` and `variant`.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The number that the asker chose, which the answer repeats in [`super::Sample::request`].
    pub request: u64,
    /// Id of a probe in `probe::PROBES`.
    pub probe: String,
    /// Index of the variant asked; `None` asks every variant the probe applies to.
    pub variant: Option<usize>,
    /// The arguments of the probe.
    pub args: Args,
    /// The step whose weights are asked: those of the newest snapshot taken at or before it; `None`: the newest
    /// weights.
    pub at: Option<u64>,
}

/// A command to a run.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum Command {
    /// Start or continue.
    Run,
    /// Stops training until the next `Run`.
    Pause,
    /// One step of every variant, then pause.
    StepOnce,
    /// Start or continue, and pause at this step; ignored for a step that is past.
    RunTo(u64),
    /// Ends the run and keeps its folder. Dropping the sender does the same.
    Stop,
    /// A live setting: learning rate, coupling scale, a probe's cadence. Ignored once the last update is made.
    Set { key: String, value: Value },
    /// Asks a probe.
    Measure(Question),
    /// The answer to the question with this number is no longer wanted.
    Cancel(u64),
    /// Write a checkpoint now.
    Checkpoint,
    /// Limits the steps per second; 0 for no limit.
    Pace(f64),
}
