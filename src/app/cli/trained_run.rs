//! The trained models of a run folder: the weights of its newest checkpoint.

use super::{
    damage::{self, PartialArgs},
    settings::recorded_in,
};
use crate::{
    cli::prelude::*,
    models::bdh::{BdhSpec, StateDict, export_state_dict, import_state_dict},
    nn::Tensor,
    store::{LoadedCheckpoint, checkpoint},
    trainer::Plan,
};

/// A trained model of a run.
pub struct Model {
    pub spec: ModelSpec,
    pub weights: Vec<(String, Tensor)>,
    /// Tokens of a training window, where they are known.
    pub window: Option<usize>,
}

/// The weights of the named or only variant in a run's newest readable checkpoint; an earlier one is reported.
pub fn newest_weights(run: &Path, variant: Option<&str>) -> Result<Model, Failure> {
    let (model, lost) = read(run, variant)?;
    damage::report(run, &lost);
    Ok(model)
}

/// Same as [`newest_weights`], for a command that passes the weights on. It refuses weights of an earlier step, and
/// those of a run whose description is lost, unless the user allowed a partial result.
pub fn newest_whole(run: &Path, variant: Option<&str>, partial: PartialArgs) -> Result<Model, Failure> {
    let (model, lost) = read(run, variant)?;
    partial.check(run, &lost)?;
    Ok(model)
}

/// The damage that made an older checkpoint be read in place of newer ones; none if it is the newest.
pub fn skipped_checkpoints(loaded: &LoadedCheckpoint) -> Damage {
    let mut lost = loaded.notices.clone();
    if !lost.is_empty() {
        lost.insert(0, format!("the weights are those of step {}", loaded.checkpoint.step));
    }
    Damage(lost)
}

fn read(run: &Path, variant: Option<&str>) -> Result<(Model, Damage), Failure> {
    let (info, mut lost) = store::run_info(run).map_err(Failure::wrong)?;
    let (lab, config) = recorded_in(&info, run)?;
    ensure!(lab.makes_runs(), "{}", weights_elsewhere(run));
    let plan = (lab.plan)(&config)?;
    let loaded = checkpoint::load(run, &Device::Cpu).map_err(Failure::wrong)?;
    let loaded = loaded.ok_or_else(|| no_checkpoint(run))?;
    lost.extend(skipped_checkpoints(&loaded).0);
    let chosen = match (variant, plan.variants.as_slice()) {
        (Some(id), all) => all.iter().find(|v| v.id == id),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let chosen = chosen.ok_or_else(|| {
        let ids: Vec<&str> = plan.variants.iter().map(|v| v.id.as_str()).collect();
        usage!("choose a model: --variant ID, one of {}", ids.join(", "))
    })?;
    let kept = loaded.checkpoint.variants.into_iter().find(|v| v.id == chosen.id);
    let kept = kept.ok_or_else(|| usage!("the checkpoint does not hold `{}`", chosen.id))?;
    let window = training_window(&plan, &chosen.model);
    Ok((Model { spec: chosen.model.clone(), weights: kept.weights, window }, Damage(lost)))
}

/// The training window of a run's model; of a model that was only opened, the one that its file states.
fn training_window(plan: &Plan, model: &ModelSpec) -> Option<usize> {
    if plan.steps > 0 {
        return Some(plan.window);
    }
    let ModelSpec::Bdh(spec) = model else { return None };
    let file = import_state_dict::open(spec.weights.as_deref()?, spec).ok()?;
    file.facts.window.map(|known| known.value)
}

/// Explains that only the program that trains `run` can build its models, and where their newest weights are.
fn weights_elsewhere(run: &Path) -> String {
    let shown = run.display();
    match snapshots::list(run).last_key_value() {
        Some((_, path)) => format!(
            "another program trains {shown}, and only it can build the model: its newest weights are in {}",
            path.display()
        ),
        None => format!(
            "another program trains {shown} and keeps no weights in it; its script can, by `orrery_log.log_weights`"
        ),
    }
}

/// The failure of a command that needs the weights of a run which has none yet.
pub fn no_checkpoint(run: &Path) -> Failure {
    let (shown, word) = (run.display(), quoted(run));
    usage!("{shown} has no checkpoint yet; `orrery resume {word}` makes one at its end")
}

pub fn state_dict_of(spec: &BdhSpec, weights: &[(String, Tensor)]) -> Result<StateDict, Failure> {
    export_state_dict(&spec.resolved().map_err(Failure::wrong)?, weights).map_err(Failure::wrong)
}
