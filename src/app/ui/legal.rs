//! Values that a slider may take beside the other settings: the lab's plan decides.

use crate::{
    config::{Config, Knob, Value},
    labs::{Lab, bdh::BdhSettings, synapses::settings::ReadingSettings},
};

/// Values tried on each side of the wanted one.
const SEARCH_RADIUS: i64 = 256;

/// The value of an integer setting nearest to the wanted one of which, with all others as they are, a run can be
/// made; the wanted one where none is near, or where the settings are at odds for another reason.
pub fn nearest(lab: &Lab, config: &Config, knobs: &[Knob], knob: &Knob, wanted: i64) -> i64 {
    let mut is_legal = legality(lab, config, knobs, knob);
    if is_legal(wanted) || (lab.plan)(config).is_err() {
        return wanted;
    }
    let around = (1..=SEARCH_RADIUS).flat_map(|by| [wanted - by, wanted + by]);
    around.into_iter().find(|value| is_legal(*value)).unwrap_or(wanted)
}

/// The value to which a key moves an integer setting from `value` towards `wanted`: the nearest one; where that is the value
/// itself, the next one on the way, and the value where none is near.
pub fn next(lab: &Lab, config: &Config, knobs: &[Knob], knob: &Knob, [value, wanted]: [i64; 2]) -> i64 {
    let near = nearest(lab, config, knobs, knob, wanted);
    if near != value {
        return near;
    }
    let way = (wanted - value).signum();
    let mut is_legal = legality(lab, config, knobs, knob);
    (0..SEARCH_RADIUS).map(|by| wanted + way * by).find(|value| is_legal(*value)).unwrap_or(value)
}

/// The index of the last layer, for a setting that names a layer; `None` if the settings leave the number open.
pub fn last_layer(config: &Config, knob: &Knob) -> Option<i64> {
    let is_of_file = config.get(BdhSettings::checkpoint.name).is_some_and(|path| !path.to_string().is_empty());
    match config.get(BdhSettings::layers.name) {
        Some(Value::Int(layers @ 1..)) if knob.key == ReadingSettings::layer.name && !is_of_file => Some(layers - 1),
        _ => None,
    }
}

/// Checks whether a run can be made with a value of the setting and all others unchanged.
fn legality(lab: &Lab, config: &Config, knobs: &[Knob], knob: &Knob) -> impl FnMut(i64) -> bool {
    let mut tried = config.clone();
    move |value| tried.set(knobs, knob.key, Value::Int(value)).is_ok() && (lab.plan)(&tried).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labs::{LABS, find};

    #[test]
    fn a_layer_is_one_of_the_models() {
        let lab = find("synapses").unwrap();
        let (mut config, knobs) = (lab.config(None).unwrap(), (lab.knobs)());
        let knob = |key: &str| knobs.iter().find(|knob| knob.key == key).unwrap();
        config.set(&knobs, "model.layers", Value::Int(6)).unwrap();
        assert_eq!(last_layer(&config, knob("reading.layer")), Some(5));
        assert_eq!(last_layer(&config, knob("reading.longest")), None);
        config.set(&knobs, "model.checkpoint", Value::Text("other.pt".into())).unwrap();
        assert_eq!(last_layer(&config, knob("reading.layer")), None, "the file says how many it has");
        let other = find("trained_bdh").unwrap();
        assert_eq!(last_layer(&other.config(None).unwrap(), knob("reading.layer")), None);
    }

    /// The width of the fast-slow lab is an even multiple of its heads; key-value heads divide the query heads.
    #[test]
    fn widths_snap_to_what_the_heads_allow() {
        let lab = LABS.iter().find(|l| l.id == "fast_slow").unwrap();
        let (config, knobs) = (lab.config(None).unwrap(), (lab.knobs)());
        let at = |key: &str, wanted: i64| {
            let knob = knobs.iter().find(|k| k.key == key).unwrap();
            nearest(lab, &config, &knobs, knob, wanted)
        };
        assert_eq!([126, 128, 131, 133, 1024].map(|v| at("model.d_model", v)), [128, 128, 128, 136, 1024]);
        assert_eq!([3, 4].map(|v| at("model.kv_heads", v)), [2, 4]);
        assert_eq!(at("model.heads", 7), 8);
        let width = knobs.iter().find(|k| k.key == "model.d_model").unwrap();
        let value = config.get(width.key).and_then(Value::as_f64).unwrap() as i64;
        for way in [-1, 1] {
            let by_key = next(lab, &config, &knobs, width, [value, value + way]);
            assert!((by_key - value) * way > 0, "a key does not leave it at {value}: {by_key}");
        }
    }
}
