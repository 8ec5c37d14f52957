//! Values that a slider may take beside the other settings: the lab's plan decides.

use super::{
    identity::{KeyedCache, RunNumber},
    mirror::Mirror,
};
use crate::{
    config::{Config, Knob, Value},
    labs::{
        Lab,
        bdh::{self, BdhSettings},
        synapses::settings::ReadingSettings,
        trained_bdh::settings::{ChangeSettings, ContextSettings},
    },
    telemetry::{
        Measurement,
        measurements::{Activity, TrainedBdh},
    },
};

/// Values tried on each side of the wanted one.
const SEARCH_RADIUS: i64 = 256;

/// The legal value of an integer setting nearest to `wanted`, with all other settings unchanged. Returns `wanted`
/// itself if no legal value is near, or if the settings are invalid for another reason.
pub fn nearest_legal(lab: &Lab, config: &Config, knobs: &[Knob], knob: &Knob, wanted: i64) -> i64 {
    let mut is_legal = legality(lab, config, knobs, knob);
    if is_legal(wanted) || (lab.plan)(config).is_err() {
        return wanted;
    }
    let around = (1..=SEARCH_RADIUS).flat_map(|by| [wanted - by, wanted + by]);
    around.into_iter().find(|value| is_legal(*value)).unwrap_or(wanted)
}

/// The value that one key press moves an integer setting to, from `value` towards `wanted`: the nearest legal one or,
/// if that is `value` itself, the next beyond it. Returns `value` if there is none.
pub fn next_legal(lab: &Lab, config: &Config, knobs: &[Knob], knob: &Knob, [value, wanted]: [i64; 2]) -> i64 {
    let near = nearest_legal(lab, config, knobs, knob, wanted);
    if near != value {
        return near;
    }
    let way = (wanted - value).signum();
    let mut is_legal = legality(lab, config, knobs, knob);
    (0..SEARCH_RADIUS).map(|by| wanted + way * by).find(|value| is_legal(*value)).unwrap_or(value)
}

/// The settings that name a layer of the model.
const LAYER_KEYS: [&str; 3] = [ReadingSettings::layer.name, ContextSettings::layer.name, ChangeSettings::layer.name];

/// The last layer of the model in a checkpoint, by the run and the settings that name the file and its layers.
pub type CheckpointLayer = KeyedCache<(Option<RunNumber>, [Option<Value>; 2]), Option<i64>>;

/// The index of the last layer, for a setting that names a layer: of the model of the run shown, else of the one that the
/// settings would make; `None` if a file decides their number and cannot be read. `opened` keeps what a file says.
pub fn last_layer(
    lab: &Lab,
    config: &Config,
    knob: &Knob,
    mirror: Option<&Mirror>,
    opened: &mut CheckpointLayer,
) -> Option<i64> {
    if !LAYER_KEYS.contains(&knob.key) {
        return None;
    }
    let of_model = || {
        let mirror = mirror?;
        let layers = measured::<TrainedBdh>(mirror).map(|m| m.layers);
        layers.or_else(|| measured::<Activity>(mirror).map(|m| m.layers.len())).filter(|layers| *layers > 0)
    };
    if let Some(layers) = of_model() {
        return i64::try_from(layers - 1).ok();
    }
    // the settings that the run was begun with take precedence over those for the next one
    let config = mirror.and_then(|mirror| mirror.info.as_ref()).map_or(config, |info| &info.config);
    let is_of_file = config.get(BdhSettings::checkpoint.name).is_some_and(|path| !path.to_string().is_empty());
    match config.get(BdhSettings::layers.name) {
        Some(Value::Int(layers @ 1..)) if !is_of_file => Some(layers - 1),
        // a lab that opens files takes the usual number where there is none
        Some(Value::Int(0)) if !is_of_file => Some(BdhSettings::default().layers as i64 - 1),
        Some(_) => {
            let named = [BdhSettings::checkpoint.name, BdhSettings::layers.name].map(|key| config.get(key).cloned());
            let known = opened.at((mirror.map(|mirror| mirror.run), named));
            // settings that cannot make a model may still be corrected, so that only what was read is kept
            *known = known.or_else(|| Some(bdh::layers(lab, config)?.checked_sub(1)? as i64));
            *known
        }
        None => None,
    }
}

/// The newest measurement of any variant of a run.
pub fn measured<M: Measurement>(mirror: &Mirror) -> Option<&M> {
    let newest = |v| mirror.answer(v, M::CHANNEL).or_else(|| mirror.sample_at(v, M::CHANNEL, u64::MAX))?.measurement();
    (0..mirror.variants().len()).find_map(newest)
}

/// Checks whether a run can be made with a value of the setting and all others unchanged.
fn legality(lab: &Lab, config: &Config, knobs: &[Knob], knob: &Knob) -> impl FnMut(i64) -> bool {
    let mut tried = config.clone();
    move |value| tried.set(knobs, knob.key, Value::Int(value)).is_ok() && (lab.plan)(&tried).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        labs::{LABS, find},
        telemetry::{
            RunInfo, VariantInfo,
            measurements::{ActivitySize, FiringShare, LayerActivity},
        },
    };

    /// A run with these settings whose model was found to have this many layers.
    fn run_of(config: &Config, layers: usize) -> Mirror {
        let variant = VariantInfo { id: "bdh".into(), label: "BDH".into(), group: "bdh".into(), seed: 1, params: 1 };
        let config = config.clone();
        let info = RunInfo { lab: config.lab.clone(), config, variants: vec![variant], ..RunInfo::default() };
        let mut mirror = Mirror::begun(info);
        let share = FiringShare { x: 0.5, y: 0.1 };
        let size = Some(ActivitySize { x: 1.0, y: 1.0 });
        let layer = LayerActivity { trained: share, random_weights: share, size };
        mirror.measure(0, Activity::CHANNEL, Activity { layers: vec![layer; layers] }.into_payload(), None);
        mirror
    }

    #[test]
    fn a_layer_is_one_of_the_models() {
        let lab = find("synapses").unwrap();
        let (mut config, knobs) = (lab.config(None).unwrap(), (lab.knobs)());
        let last = |config: &Config, key: &str, mirror: Option<&Mirror>| {
            let knob = knobs.iter().find(|knob| knob.key == key).unwrap();
            last_layer(lab, config, knob, mirror, &mut CheckpointLayer::default())
        };
        config.set(&knobs, "model.layers", Value::Int(6)).unwrap();
        assert_eq!(last(&config, "reading.layer", None), Some(5));
        assert_eq!(last(&config, "reading.longest", None), None);
        assert_eq!(last(&config, "reading.layer", Some(&run_of(&config, 3))), Some(2));
        config.set(&knobs, "model.checkpoint", Value::Text("other.pt".into())).unwrap();
        assert_eq!(last(&config, "reading.layer", None), None, "there is no such file");
    }

    /// The settings of this lab leave the number of layers to the file, or to the model that is made where there is none.
    #[test]
    fn every_setting_that_names_a_layer_of_an_opened_model_is_one_of_its_layers() {
        let lab = find("trained_bdh").unwrap();
        let (mut config, knobs) = (lab.config(None).unwrap(), (lab.knobs)());
        let of_model = |config: &Config, mirror: Option<&Mirror>| {
            let settings = ["reading.layer", "contexts.layer", "change.layer"];
            let knob = |key: &str| knobs.iter().find(|knob| knob.key == key).unwrap();
            settings.map(|key| last_layer(lab, config, knob(key), mirror, &mut CheckpointLayer::default()))
        };
        assert_eq!(of_model(&config, None), [Some(BdhSettings::default().layers as i64 - 1); 3]);
        config.set(&knobs, "model.checkpoint", Value::Text("other.pt".into())).unwrap();
        assert_eq!(of_model(&config, None), [None; 3], "there is no such file");
        assert_eq!(of_model(&config, Some(&run_of(&config, 6))), [Some(5); 3]);
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracles/checkpoints/wrapped.safetensors");
        config.set(&knobs, "model.checkpoint", Value::Text(file.into())).unwrap();
        assert_eq!(of_model(&config, None), [Some(2); 3], "nothing of it was measured yet");
        let named = LABS.iter().flat_map(|lab| (lab.knobs)()).filter(|knob| knob.label.ends_with("ayer"));
        assert!(
            named.map(|knob| knob.key).all(|key| LAYER_KEYS.contains(&key)),
            "a setting names a layer and is not one of these"
        );
    }

    /// The width of the fast-slow lab is an even multiple of its heads; key-value heads divide the query heads.
    #[test]
    fn widths_snap_to_what_the_heads_allow() {
        let lab = LABS.iter().find(|l| l.id == "fast_slow").unwrap();
        let (config, knobs) = (lab.config(None).unwrap(), (lab.knobs)());
        let at = |key: &str, wanted: i64| {
            let knob = knobs.iter().find(|k| k.key == key).unwrap();
            nearest_legal(lab, &config, &knobs, knob, wanted)
        };
        assert_eq!([126, 128, 131, 133, 1024].map(|v| at("model.d_model", v)), [128, 128, 128, 136, 1024]);
        assert_eq!([3, 4].map(|v| at("model.kv_heads", v)), [2, 4]);
        assert_eq!(at("model.heads", 7), 8);
        let width = knobs.iter().find(|k| k.key == "model.d_model").unwrap();
        let value = config.get(width.key).and_then(Value::as_f64).unwrap() as i64;
        for way in [-1, 1] {
            let by_key = next_legal(lab, &config, &knobs, width, [value, value + way]);
            assert!((by_key - value) * way > 0, "a key does not leave it at {value}: {by_key}");
        }
    }
}
