//! Settings of models so small that a step takes only milliseconds, for tests of the window that do not depend on what
//! a model learns.

use orrery::{config::Config, labs::Lab};

/// The upper bounds of the settings that determine a model's size.
const SIZES: [(&str, f64); 11] = [
    ("model.d_model", 32.0),
    ("model.neurons", 256.0),
    ("model.layers", 2.0),
    ("model.heads", 4.0),
    ("network.units", 32.0),
    ("grammar.train", 60.0),
    ("grammar.test", 20.0),
    ("train.window", 72.0),
    ("train.batch", 3.0),
    ("run.eval_windows", 1.0),
    ("run.threads", 1.0),
];

/// Lowers every size above its bound in `SIZES` to the bound.
pub fn make_small(lab: &Lab, config: &mut Config) {
    lessen(lab, config, &SIZES);
}

/// Lowers larger values of these settings to the given ones; settings that the lab does not have are skipped.
pub fn lessen(lab: &Lab, config: &mut Config, sizes: &[(&str, f64)]) {
    let knobs = (lab.knobs)();
    for (key, size) in sizes {
        if config.get(key).and_then(|v| v.as_f64()).is_some_and(|present| present > *size) {
            config.set_text(&knobs, key, &size.to_string()).unwrap();
        }
    }
}
