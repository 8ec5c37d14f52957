//! Decides whether a recorded run may continue, and from where. A run continues exactly or not at all: with the same
//! settings, the same files, an intact checkpoint and a record without gaps.

use super::{
    moved_inputs,
    settings::{config_of, recorded_in},
};
use crate::{
    cli::prelude::*,
    files::read_text_inside,
    labs::TrainSettings,
    store::{Checkpoint, LoadedCheckpoint, checkpoint},
    trainer::{Plan, inputs},
};

pub struct Continuation {
    pub plan: Plan,
    /// The checkpoint that the run continues from; `None` starts at step 0.
    pub from: Option<Checkpoint>,
    pub notices: Vec<String>,
    /// The damage to the run's description, which a reader of its logs reports too.
    pub lost: Damage,
}

/// Decides, changing nothing, whether the run of this folder may continue, to `steps` if not as far as recorded.
///
/// # Errors
/// If continuing would not be what the run would have done had it never ended.
pub fn decide(folder: &Path, steps: Option<u64>) -> Result<Continuation, Failure> {
    decide_from(folder, steps, checkpoint::load_resumable)
}

/// Same as [`decide`], for a run that is only asked: what its logs have lost does not matter.
pub fn decide_for_questions(folder: &Path) -> Result<Continuation, Failure> {
    decide_from(folder, None, checkpoint::load)
}

fn decide_from(
    folder: &Path,
    steps: Option<u64>,
    load: fn(&Path, &Device) -> Result<Option<LoadedCheckpoint>, StoreError>,
) -> Result<Continuation, Failure> {
    let (info, lost) = store::run_info(folder).map_err(Failure::wrong)?;
    let (lab, mut config) = recorded_in(&info, folder)?;
    let mut recorded_inputs = info.inputs;
    let mut notices = vec![];
    if lab.makes_runs() {
        check_settings(folder, &config)?;
    }
    if let Some(steps) = steps {
        config.set_text(&(lab.knobs)(), TrainSettings::steps.name, &steps.to_string())?;
    }
    notices.extend(moved_inputs::find(folder, lab, &mut config, &mut recorded_inputs)?);
    let plan = (lab.plan)(&config)?;
    inputs::verify(&plan, &recorded_inputs).map_err(Failure::wrong)?;
    if recorded_inputs.is_empty() && !inputs::paths(&plan).map_err(Failure::wrong)?.is_empty() {
        notices.push(
            "the record does not identify the files that the run reads: whether they are the same is not known"
                .to_owned(),
        );
    }
    let from = match load(folder, &Device::Cpu).map_err(Failure::wrong)? {
        None => None,
        Some(loaded) => {
            notices.extend(loaded.notices);
            check_checkpoint(&loaded.checkpoint, lab, &config, &plan)?;
            Some(loaded.checkpoint)
        }
    };
    let done = from.as_ref().map_or(0, |c| c.step);
    match steps {
        Some(asked) if asked < done => Err(usage!(
            "the run has made {done} steps already, and {asked} were asked for: give --steps {done} or more"
        )),
        _ => Ok(Continuation { plan, from, notices, lost: Damage(lost) }),
    }
}

/// Checks that `config.toml` still has the recorded settings: an edit is expected to take effect.
fn check_settings(folder: &Path, recorded: &Config) -> Result<(), Failure> {
    const CONFIG_FILE: &str = "config.toml";
    let path = folder.join(CONFIG_FILE);
    let text = read_text_inside(folder, CONFIG_FILE, store::MAX_CONFIG);
    if text.as_ref().is_err_and(FileError::is_missing) {
        return Ok(());
    }
    let (_, config) = config_of(&path, text)?;
    let mut keys = config.changed_keys(recorded);
    if config.seed != recorded.seed {
        keys.push("seed".to_owned());
    }
    if keys.is_empty() {
        return Ok(());
    }
    let (keys, settings) = (keys.join(", "), quoted(path));
    Err(usage!("config.toml was edited after the run began ({keys}): `orrery run {settings}` begins a new run with it"))
}

/// The checkpoint must be of this plan's models, and its live settings such as the lab takes.
fn check_checkpoint(from: &Checkpoint, lab: &Lab, config: &Config, plan: &Plan) -> Result<(), Failure> {
    let (knobs, step) = ((lab.knobs)(), from.step);
    let mut live = config.clone();
    for (key, value) in &from.live_settings {
        live.set(&knobs, key, value.clone()).map_err(|e| {
            usage!("the checkpoint of step {step} holds a live setting that this lab does not take: {e}")
        })?;
    }
    let held: Vec<&str> = from.variants.iter().map(|v| v.id.as_str()).collect();
    let planned: Vec<&str> = plan.variants.iter().map(|v| v.id.as_str()).collect();
    ensure!(
        held == planned,
        "the checkpoint of step {step} holds the models {}, but the settings build {}",
        held.join(", "),
        planned.join(", ")
    );
    Ok(())
}
