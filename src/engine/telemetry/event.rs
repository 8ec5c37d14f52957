//! Events of a run.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Channel, Measurement, Payload};
use crate::{analysis::distinct::distinct, config::Config};

/// One variant of a run, as a legend needs it. `index` fixes its colour everywhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VariantInfo {
    /// Stable name: `coupled`, `frozen`, `coupled-s1`.
    pub id: String,
    /// Legend text: "coupled, seed 1". A program that leaves it out has its ids shown.
    #[serde(default)]
    pub label: String,
    /// Variants that differ only by seed share a group: `coupled`.
    #[serde(default)]
    pub group: String,
    /// The seed of the initial weights.
    #[serde(default)]
    pub seed: u64,
    /// Number of parameters.
    #[serde(default)]
    pub params: usize,
}

/// The lab of a run that another program has written: whatever it holds is shown, and nothing of it is trained.
pub const FOREIGN: &str = "foreign";

/// The description of a run, sent once at its start. Other programs may leave out what they do not know.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunInfo {
    /// The id of the lab.
    pub lab: String,
    /// The settings of the run.
    pub config: Config,
    /// The variants in their order.
    pub variants: Vec<VariantInfo>,
    /// Number of training steps of the whole run.
    pub total_steps: u64,
    /// The name of the device: "cpu".
    pub device: String,
    /// Number of threads in use.
    pub threads: usize,
    /// A description of the training data: "mixture (generated), 1.2 MB, bytes"; empty where no model reads a text.
    pub corpus: String,
    /// Number of tokens; 0 where no model reads a text.
    pub vocab: usize,
    /// Tokens of a training step; 0 where no model reads a text.
    pub tokens_per_step: usize,
    /// The folder of the run, if it has one.
    pub folder: Option<String>,
    /// The files that it reads: texts, tokenizers, trained weights. Absent in records of version 0.2.
    pub inputs: Vec<InputFile>,
    /// The first steps of the stages after the first, in a run of several. Absent in records of version 0.2.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageStart>,
    /// The questions that the program which trains the run answers over its folder meanwhile. In a run of Orrery's own they
    /// are commands; every probe that applies can be asked of its models besides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<String>,
}

impl RunInfo {
    /// The device and its threads: "cpu · 2 threads"; `None` where the program that wrote the run named no device.
    pub fn device_label(&self) -> Option<String> {
        let threads = match self.threads {
            0 => String::new(),
            1 => " · 1 thread".to_owned(),
            n => format!(" · {n} threads"),
        };
        (!self.device.is_empty()).then(|| format!("{}{threads}", self.device))
    }

    /// The ids of its variants, in their order.
    pub fn variant_ids(&self) -> Vec<String> {
        self.variants.iter().map(|variant| variant.id.clone()).collect()
    }

    /// The groups of its variants, in the order of their first members: seeds of one variant are one group.
    pub fn groups(&self) -> Vec<&str> {
        distinct(self.variants.iter().map(|variant| variant.group.as_str()))
    }

    /// The name of a group in a legend: the label of its only variant, or of several seeds the group itself.
    pub fn group_label<'a>(&'a self, group: &'a str) -> &'a str {
        let mut members = self.variants.iter().filter(|variant| variant.group == group);
        match (members.next(), members.next()) {
            (Some(only), None) => &only.label,
            _ => group,
        }
    }
}

/// The step after which a stage of a run begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageStart {
    /// The step after which the stage begins.
    pub step: u64,
    /// "steering begins".
    pub label: String,
}

/// A file that a run reads, and what identifies its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// The path of the file.
    pub path: String,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The hash in lower-case hexadecimal digits, as `sha256sum` prints it.
    pub sha256: String,
}

/// The state of a run; the last one that was sent is current.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum RunState {
    /// Models are ready (or the run was paused): questions are answered, nothing trains.
    Paused,
    /// The models train.
    Running,
    /// All steps done; questions are still answered.
    Finished,
    /// Ended by a command or because its handle went away.
    Stopped,
    /// Another program trains the run, and its record is read while it is written. This state is never recorded.
    #[serde(skip)]
    Followed(FollowedState),
    /// Ended by an error, NaN loss or panic, which the message states in a sentence. What was recorded stays.
    Failed { message: String },
}

/// The state of a run that another program trains, as far as its folder says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum FollowedState {
    /// It trains, or is about to.
    Running,
    /// It waits between two steps.
    Paused,
    /// The run has made all its steps.
    Finished,
    /// Its program ended it.
    Stopped,
    /// No end is recorded, and no program writes it any more: it ran on this machine and is gone (`was_left_here`), or
    /// nothing was written recently, which may be slow work elsewhere.
    Killed { was_left_here: bool },
}

impl FollowedState {
    /// The state in a word.
    pub fn label(self) -> &'static str {
        match self {
            Self::Running => "followed",
            Self::Paused => "paused",
            Self::Finished => "finished",
            Self::Stopped => "stopped",
            Self::Killed { .. } => "killed",
        }
    }
}

/// The severity of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// A fact that needs no action.
    Info,
    /// A possible problem; the run continues.
    Warning,
    /// A failure of a part of the run.
    Error,
}

/// Scalars of one step of one variant. Never dropped. `step` counts finished updates: the stats of
/// the first update have step 1 and hold the loss before that update.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepStats {
    /// The number of finished updates.
    pub step: u64,
    /// Index into [`RunInfo::variants`].
    pub variant: usize,
    /// The scalars by channel.
    #[serde(with = "super::number::named")]
    pub scalars: Vec<(Channel, f64)>,
    /// Wall time of training in seconds, of all steps so far.
    pub wall_secs: f64,
}

/// A heavier measurement of one variant at one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SampleJson")]
pub struct Sample {
    /// The number of updates of the model that was asked (0: initial weights).
    pub step: u64,
    /// The index of the variant.
    pub variant: usize,
    /// The channel of the measurement.
    pub channel: Channel,
    /// The data that were measured: "held-out window 3, 96 tokens".
    pub about: String,
    /// The token axis, if it has one.
    pub tokens: Vec<String>,
    /// The question's number for an answer to a question; `None` for a scheduled measurement.
    pub request: Option<u64>,
    /// The measurement.
    pub payload: Arc<Payload>,
}

impl Sample {
    /// The measurement, if it has this type.
    pub fn measurement<M: Measurement>(&self) -> Option<&M> {
        M::from_payload(&self.payload)
    }
}

/// A sample whose payload is read once its channel is known.
#[derive(Deserialize)]
struct SampleJson {
    step: u64,
    variant: usize,
    channel: Channel,
    about: String,
    #[serde(default)]
    tokens: Vec<String>,
    request: Option<u64>,
    payload: serde_json::Value,
}

impl TryFrom<SampleJson> for Sample {
    type Error = serde_json::Error;

    fn try_from(json: SampleJson) -> Result<Self, Self::Error> {
        let SampleJson { step, variant, channel, about, tokens, request, payload } = json;
        let payload = Arc::new(Payload::decode(channel.as_str(), payload)?);
        Ok(Self { step, variant, channel, about, tokens, request, payload })
    }
}

/// The state of the answer to a question. For a question that is answered at once, only the outcome is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionState {
    /// The share that is done, from 0 to 1, where the probe knows it.
    Working(Option<f32>),
    /// All its samples have been sent.
    Answered,
    /// The question is refused, for this reason.
    Refused(String),
    /// The question was cancelled.
    Cancelled,
}

/// The stream from a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum Event {
    /// The run begins, with its description.
    Started(Arc<RunInfo>),
    /// The description of the running run was replaced, for instance by one with more settings. The variants are the
    /// same and the run continues. It is not recorded.
    Described(Arc<RunInfo>),
    /// The state of the run changed.
    State(RunState),
    /// An update was finished.
    Step(StepStats),
    /// A measurement was made.
    Sample(Sample),
    /// A checkpoint was written for this step.
    Checkpoint { step: u64 },
    /// The state of the question with this number. It is not recorded.
    Question { request: u64, state: QuestionState },
    /// A partial answer that is still being worked on; the next one, or the answer, takes its place. It is not
    /// recorded.
    Partial(Sample),
    /// The steps whose weights are stored, ascending; questions can be asked about them. It is not recorded.
    Snapshots(Arc<Vec<u64>>),
    /// The folder of the run was made at this path. It is not recorded, because a folder can be moved.
    Folder(String),
    /// A replayed run trains on from the checkpoint of this step, up to which it had trained for `wall_secs` seconds: later
    /// steps that were reported are made again. It is not recorded, because the record is cut to the checkpoint.
    Resumed { step: u64, wall_secs: f64 },
    /// A live setting was set, and nothing was made with the value yet. It is not recorded: of the values that are set
    /// meanwhile, the last one is, as a change.
    Set { step: u64, key: String, value: crate::config::Value },
    /// A live setting was changed: from this step on the new value holds.
    Changed { step: u64, key: String, value: crate::config::Value },
    /// The run has a message for the user.
    Notice { level: Level, text: String },
}

/// An observer of a run, called on its threads, by one at a time: must not wait for a reader.
/// An error is reported once and the sink is dropped; the run continues.
pub trait Sink: Send {
    /// Handles an event; after an error the listener gets no more events.
    fn event(&mut self, event: &Event) -> Result<(), String>;
}
