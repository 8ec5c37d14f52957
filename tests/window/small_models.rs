//! Settings by which a lab's model takes some steps in a moment: for tests of what is shown, not of what is learned.

use orrery::{config::Config, labs::Lab};

/// Sizes, of which no larger one is needed.
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

/// Makes what is larger as small as it may be.
pub fn make_small(lab: &Lab, config: &mut Config) {
    lessen(lab, config, &SIZES);
}

/// Puts these values in the place of larger ones; settings that the lab has not are passed over.
pub fn lessen(lab: &Lab, config: &mut Config, sizes: &[(&str, f64)]) {
    let knobs = (lab.knobs)();
    for (key, size) in sizes {
        if config.get(key).and_then(|v| v.as_f64()).is_some_and(|present| present > *size) {
            config.set_text(&knobs, key, &size.to_string()).unwrap();
        }
    }
}
