//! From a name on the command line and `--set` to a resolved config.

use std::path::Path;

use super::{Settings, failure::Failure};
use crate::{
    config::Config,
    labs::{self, LABS, Lab},
};

/// What a name on the command line means.
pub enum Named {
    /// A lab, preset or config file.
    Config(&'static Lab, Config),
    /// A run folder.
    Run(std::path::PathBuf),
    /// A text file to train on.
    Text(std::path::PathBuf),
}

/// Resolves a lab id, a preset id, a config file, a run folder, trained weights or a text file, in this order.
pub fn resolve(name: &str) -> Result<Named, Failure> {
    if let Some(lab) = labs::find(name) {
        return Ok(Named::Config(lab, lab.config(None)?));
    }
    if let Some(lab) = LABS.iter().find(|l| l.presets.iter().any(|p| p.id == name)) {
        return Ok(Named::Config(lab, lab.config(Some(name))?));
    }
    let path = Path::new(name);
    if path.is_dir() {
        return if path.join("config.toml").is_file() || path.join("run.json").is_file() {
            Ok(Named::Run(path.to_owned()))
        } else {
            Err(Failure::usage(format!("`{name}` is a folder, but not of a run: it has no config.toml")))
        };
    }
    if !path.exists() {
        let labs: Vec<&str> = LABS.iter().map(|l| l.id).collect();
        return Err(Failure::usage(format!(
            "`{name}` is no lab, preset, file or run folder. Labs: {}. `orrery list` shows the presets",
            labs.join(", ")
        )));
    }
    if path.extension().is_some_and(|e| e == "toml") {
        return config_file(path);
    }
    if path.extension().is_some_and(|e| ["safetensors", "pt", "pth"].iter().any(|known| e == *known)) {
        return with_checkpoint(path);
    }
    Ok(Named::Text(path.to_owned()))
}

/// The first lab that takes trained weights, with these.
fn with_checkpoint(path: &Path) -> Result<Named, Failure> {
    const KEY: &str = "model.checkpoint";
    let lab = LABS.iter().find(|l| (l.knobs)().iter().any(|k| k.key == KEY));
    let lab = lab.ok_or_else(|| Failure::usage("no lab of this build takes trained weights"))?;
    let mut config = lab.config(None)?;
    config.set_text(&(lab.knobs)(), KEY, &path.to_string_lossy())?;
    Ok(Named::Config(lab, config))
}

fn config_file(path: &Path) -> Result<Named, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::usage(format!("the config file {shown} cannot be read: {e}")))?;
    let within = |e: crate::config::ConfigError| Failure::usage(format!("{shown}: {e}"));
    let id = Config::lab_of(&text).map_err(within)?;
    let lab = labs::find(&id).ok_or_else(|| {
        let known: Vec<&str> = LABS.iter().map(|l| l.id).collect();
        Failure::usage(format!("{shown}: there is no lab `{id}`; the labs are {}", known.join(", ")))
    })?;
    let config = Config::from_toml(&text, lab.id, &(lab.knobs)()).map_err(within)?;
    Ok(Named::Config(lab, config))
}

/// Applies `--set`, `--seed`, `--steps`, `--device` and `--text`.
pub fn apply(settings: &Settings, lab: &Lab, config: &mut Config) -> Result<(), Failure> {
    let knobs = (lab.knobs)();
    for pair in &settings.set {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(Failure::usage(format!("`--set {pair}` has no `=`; write --set key=value")));
        };
        config.set_text(&knobs, key.trim(), value)?;
    }
    if let Some(seed) = settings.seed {
        config.seed = seed;
    }
    if let Some(steps) = settings.steps {
        config.set_text(&knobs, "train.steps", &steps.to_string())?;
    }
    if let Some(device) = &settings.device {
        config.set_text(&knobs, "run.device", device)?;
    }
    if let Some(text) = &settings.text {
        config.set_text(&knobs, "corpus.file", &text.to_string_lossy())?;
    }
    // A lab that cannot be planned with these settings says so before anything is made.
    (lab.plan)(config)?;
    Ok(())
}
