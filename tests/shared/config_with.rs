//! Settings and plans of labs, for tests that change a few settings.

use orrery::{
    config::{Config, ConfigError},
    labs,
    trainer::Plan,
};

/// The settings of a lab's preset (the first preset for `None`) with these changes.
pub fn config_with(lab: &str, preset: Option<&str>, settings: &[(&str, &str)]) -> Config {
    let lab = labs::find(lab).unwrap();
    let (knobs, mut config) = ((lab.knobs)(), lab.config(preset).unwrap());
    for (key, value) in settings {
        config.set_text(&knobs, key, value).unwrap();
    }
    config
}

/// The plan of a run with these settings.
pub fn plan_with(lab: &str, preset: Option<&str>, settings: &[(&str, &str)]) -> Result<Plan, ConfigError> {
    (labs::find(lab).unwrap().plan)(&config_with(lab, preset, settings))
}
