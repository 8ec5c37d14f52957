//! The one place that decides whether a recorded run may continue, and from where. A run continues exactly or not
//! at all: the same settings, the same files, a checkpoint that is whole, and a record without a hole.

use super::{
    lab_config::recorded,
    moved_inputs::{self, MovedInput},
    shell::quoted,
};
use crate::{
    cli::prelude::*,
    labs::TrainSettings,
    store::{Checkpoint, checkpoint},
    trainer::{Plan, RunError, inputs},
};

/// A run that may continue.
pub struct Continuation {
    pub plan: Plan,
    /// The checkpoint that the run continues from; `None` starts at step 0.
    pub from: Option<Checkpoint>,
    /// Notices for the person, in words.
    pub notices: Vec<String>,
}

/// Why a run may not go on.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The folder is no run's, or its settings cannot be read.
    #[error("{0}")]
    Settings(Failure),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Input(#[from] RunError),
    #[error(transparent)]
    Moved(#[from] MovedInput),
    #[error("config.toml was edited after the run began ({}): `orrery run {settings}` begins a new run with it", .keys.join(", "))]
    EditedSettings { keys: Vec<String>, settings: String },
    #[error("the checkpoint of step {step} holds a live setting that this lab does not take: {source}")]
    LiveSetting { step: u64, source: ConfigError },
    #[error("the run has made {done} steps already, and {asked} were asked for: give --steps {done} or more")]
    FewerSteps { done: u64, asked: u64 },
    #[error("the checkpoint of step {step} is of the models {held}, and the settings make {planned}")]
    OtherModels { step: u64, held: String, planned: String },
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Settings(failure) => failure,
            other => Self::wrong(other),
        }
    }
}

/// Decides whether the run of this folder may go on; changes nothing. `steps` is how far, if not as far as
/// recorded.
///
/// # Errors
/// If going on would not be what the run would have done had it never ended.
pub fn decide(folder: &Path, steps: Option<u64>) -> Result<Continuation, Refusal> {
    let (lab, mut config) = recorded(folder).map_err(Refusal::Settings)?;
    let info = Reader::open(folder)?.info();
    let mut notices = vec![];
    if let Some(info) = &info {
        check_settings(folder, &config, info)?;
    }
    let asked = steps;
    if let Some(steps) = steps {
        config.set_text(&(lab.knobs)(), TrainSettings::steps.name, &steps.to_string())?;
    }
    let mut recorded_inputs = info.map(|i| i.inputs.clone()).unwrap_or_default();
    notices.extend(moved_inputs::find(folder, lab, &mut config, &mut recorded_inputs)?);
    let plan = (lab.plan)(&config)?;
    inputs::verify(&plan, &recorded_inputs)?;
    if recorded_inputs.is_empty() && !inputs::paths(&plan)?.is_empty() {
        notices.push(
            "the record does not identify the files that the run reads: whether they are the same is not known"
                .to_owned(),
        );
    }
    let from = match checkpoint::load_resumable(folder, &Device::Cpu)? {
        None => None,
        Some(loaded) => {
            notices.extend(loaded.notices);
            check_checkpoint(&loaded.checkpoint, lab, &config, &plan)?;
            Some(loaded.checkpoint)
        }
    };
    let done = from.as_ref().map_or(0, |c| c.step);
    match asked {
        Some(asked) if asked < done => Err(Refusal::FewerSteps { done, asked }),
        _ => Ok(Continuation { plan, from, notices }),
    }
}

/// The settings must be those that run.json recorded.
fn check_settings(folder: &Path, config: &Config, info: &RunInfo) -> Result<(), Refusal> {
    let mut keys = config.changed_keys(&info.config);
    if config.seed != info.config.seed {
        keys.push("seed".to_owned());
    }
    // A setting that the recorded version did not have stands at its default, which is what it did.
    keys.retain(|key| key == "seed" || info.config.get(key).is_some());
    if keys.is_empty() {
        return Ok(());
    }
    Err(Refusal::EditedSettings { keys, settings: quoted(folder.join("config.toml")) })
}

/// The checkpoint must be of this plan's models, and its live settings such as the lab takes.
fn check_checkpoint(from: &Checkpoint, lab: &Lab, config: &Config, plan: &Plan) -> Result<(), Refusal> {
    let knobs = (lab.knobs)();
    let mut live = config.clone();
    for (key, value) in &from.dials {
        live.set(&knobs, key, value.clone()).map_err(|source| Refusal::LiveSetting { step: from.step, source })?;
    }
    let held: Vec<&str> = from.variants.iter().map(|v| v.id.as_str()).collect();
    let planned: Vec<&str> = plan.variants.iter().map(|v| v.id.as_str()).collect();
    if held != planned {
        let (held, planned) = (held.join(", "), planned.join(", "));
        return Err(Refusal::OtherModels { step: from.step, held, planned });
    }
    Ok(())
}
