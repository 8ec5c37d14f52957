//! A run's settings: a schema of [`Knob`]s, the [`Value`]s a person gave them, and TOML in and out.
//!
//! The control panel, `--set key=value`, config files, presets, undo and the copied session string
//! all read and write the same [`Config`], which holds values by key
//! and gives them no meaning. Code that acts on settings reads them as a struct ([`Settings::read`]) or by a typed key
//! ([`Config::value`]); `settings!` derives the schema from that struct.

mod arguments;
mod error;
mod knob;
mod setting;
mod settings;
mod suggestion;
mod value;
mod whole_numbers;

pub use arguments::{
    Argument, Arguments, argument_knob, arguments, check_names, limit_argument, read_argument, select_arguments,
};
pub use error::{ConfigError, json_error_message, toml_error_message};
pub use knob::{Applies, FileKind, Knob, Range, file_key};
pub use setting::{
    CheckpointFile, Choice, MatrixFile, Number, SentenceFile, Setting, TextFile, TextFolder, TokenizerFile,
    TreebankFile, VocabularyFile,
};
pub use settings::{CheckedValues, Field, Group, SettingKey, Settings, remove_knob, restrict_choices};
pub use suggestion::{did_you_mean, nearest};
pub use value::Value;
pub use whole_numbers::{counted, whole_numbers};

pub use setting::{choices, defaults};
pub use settings::settings;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Larger seeds cannot be written: TOML's whole numbers have 64 bits with a sign.
pub const MAX_SEED: u64 = i64::MAX as u64;

/// The resolved settings of one run of one lab: every key of the lab's schema has a value. A run of another program has
/// the keys that the program wrote.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// The id of the lab.
    pub lab: String,
    /// The preset it began from, for display; the values below are what counts.
    pub preset: String,
    /// The seed of everything random, at most [`MAX_SEED`].
    pub seed: u64,
    #[serde(deserialize_with = "renamed_values")]
    values: BTreeMap<String, Value>,
}

/// Keys of earlier versions, which configs and run folders still hold, and what they are now called.
const RENAMED: [(&str, &str); 2] = [("compare.seeds", "variants.seeds"), ("graph.seeds", "variants.seeds")];

fn current_name(key: &str) -> &str {
    RENAMED.iter().find(|(old, _)| *old == key).map_or(key, |(_, new)| new)
}

fn renamed_values<'de, D: serde::Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Value>, D::Error> {
    let taken = |written| match written {
        RecordedValue::Value(value) => value,
        RecordedValue::Other(json) => Value::Text(json.to_string()),
    };
    let values = BTreeMap::<String, RecordedValue>::deserialize(from)?;
    Ok(values.into_iter().map(|(key, value)| (current_name(&key).to_owned(), taken(value))).collect())
}

/// A value of a recorded setting; a value of another type, such as a list, is kept as text.
#[derive(Deserialize)]
#[serde(untagged)]
enum RecordedValue {
    Value(Value),
    Other(serde_json::Value),
}

impl Config {
    /// Every knob at its default.
    pub fn defaults(lab: &str, knobs: &[Knob]) -> Self {
        let values = knobs.iter().map(|k| (k.key.to_owned(), k.default.clone())).collect();
        Self { lab: lab.to_owned(), preset: String::new(), seed: 7, values }
    }

    /// The knob with this key, or an error that names the nearest one.
    fn knob<'a>(&self, knobs: &'a [Knob], key: &str) -> Result<&'a Knob, ConfigError> {
        knobs.iter().find(|k| k.key == key).ok_or_else(|| ConfigError::UnknownKey {
            lab: self.lab.clone(),
            key: key.to_owned(),
            nearest: nearest(key, knobs.iter().map(|k| k.key)),
        })
    }

    /// Checks `value` against the knob's type and range and stores it. Integers given for a float
    /// knob (or floats without fraction for an integer knob) are converted.
    pub fn set(&mut self, knobs: &[Knob], key: &str, value: Value) -> Result<(), ConfigError> {
        let key = current_name(key);
        let value = self.knob(knobs, key)?.check(value)?;
        self.values.insert(key.to_owned(), value);
        Ok(())
    }

    /// Replaces a value by one of the same kind, as a run found it; a key that is absent stays absent.
    pub fn replace(&mut self, key: &str, value: Value) {
        if let Some(old) = self.values.get_mut(key) {
            *old = value;
        }
    }

    /// Same as [`Config::set`], from the text of a `--set key=value` or a typed field. `seed` is a key too.
    pub fn set_text(&mut self, knobs: &[Knob], key: &str, text: &str) -> Result<(), ConfigError> {
        if key == "seed" {
            let seed = text.trim().parse().ok().filter(|seed| *seed <= MAX_SEED);
            self.seed = seed.ok_or_else(|| ConfigError::WrongType {
                key: key.to_owned(),
                got: format!("`{text}`"),
                want: format!("a whole number from 0 to {MAX_SEED}"),
            })?;
            return Ok(());
        }
        let as_text =
            matches!(self.knob(knobs, current_name(key))?.range, Range::Text | Range::File(_) | Range::Choice(_));
        self.set(knobs, key, Value::parse(text, as_text))
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// Iterates over (key, value) in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(k, v)| (k.as_str(), v))
    }

    /// Keys whose values differ from `other`'s.
    pub fn changed_keys(&self, other: &Config) -> Vec<String> {
        self.values.iter().filter(|(k, v)| other.values.get(*k) != Some(*v)).map(|(k, _)| k.clone()).collect()
    }

    /// The file form: `lab`, `preset`, `seed`, then one table per group (`model.d_model` is
    /// `d_model` under `[model]`).
    pub fn to_toml(&self) -> String {
        let mut root = toml::Table::new();
        root.insert("lab".into(), self.lab.clone().into());
        root.insert("preset".into(), self.preset.clone().into());
        root.insert("seed".into(), toml::Value::Integer(self.seed as i64));
        for (key, value) in &self.values {
            let (group, name) = key.split_once('.').unwrap_or(("", key));
            let table = if group.is_empty() {
                &mut root
            } else {
                match root.entry(group).or_insert_with(|| toml::Table::new().into()).as_table_mut() {
                    Some(t) => t,
                    None => continue,
                }
            };
            table.insert(name.to_owned(), value.to_toml());
        }
        toml::to_string(&root).unwrap_or_default()
    }

    /// The `lab` a TOML text names, so that the caller can find the schema to read it with. Errors: no
    /// TOML, no `lab` line, or one that is not a text.
    pub fn lab_id(text: &str) -> Result<String, ConfigError> {
        let root: toml::Table = text.parse()?;
        match root.get("lab") {
            Some(toml::Value::String(s)) => Ok(s.clone()),
            Some(other) => Err(ConfigError::WrongType {
                key: "lab".into(),
                got: other.to_string(),
                want: "the id of a lab, in quotes".into(),
            }),
            None => Err(ConfigError::NoLab),
        }
    }

    /// The settings of any program, as they are in its file: without a schema nothing is checked. Tables in tables
    /// become one key with dots; a list is taken as its text. `lab` is the lab of a file that names none.
    ///
    /// # Errors
    /// If it is not TOML.
    pub fn without_schema(text: &str, lab: &str) -> Result<Self, ConfigError> {
        let root: toml::Table = text.parse()?;
        let mut config = Self { lab: lab.to_owned(), ..Self::default() };
        for (key, value) in root {
            match (key.as_str(), value) {
                ("lab", toml::Value::String(lab)) => config.lab = lab,
                ("title" | "about", _) => {}
                ("preset", toml::Value::String(preset)) => config.preset = preset,
                ("seed", toml::Value::Integer(seed)) if seed >= 0 => config.seed = seed as u64,
                (_, value) => config.insert_all(key, value),
            }
        }
        Ok(config)
    }

    /// Inserts a value under its key, or those of a table each under its own.
    fn insert_all(&mut self, key: String, value: toml::Value) {
        match value {
            toml::Value::Table(table) => {
                table.into_iter().for_each(|(name, value)| self.insert_all(format!("{key}.{name}"), value));
            }
            value => {
                self.values.insert(current_name(&key).to_owned(), Value::from_toml(value));
            }
        }
    }

    /// Reads the file form over the defaults: absent keys keep their defaults, unknown keys and bad
    /// values are errors. `title` and `about` (used by presets) are allowed and ignored here.
    pub fn from_toml(text: &str, lab: &str, knobs: &[Knob]) -> Result<Self, ConfigError> {
        let root: toml::Table = text.parse()?;
        let mut config = Self::defaults(lab, knobs);
        for (key, value) in root {
            match (key.as_str(), value) {
                ("lab" | "title" | "about", _) => {}
                ("preset", toml::Value::String(s)) => config.preset = s,
                ("seed", toml::Value::Integer(i)) if i >= 0 => config.seed = i as u64,
                ("seed", other) => {
                    return Err(ConfigError::WrongType {
                        key: "seed".into(),
                        got: other.to_string(),
                        want: "a whole number from 0".into(),
                    });
                }
                (_, toml::Value::Table(group)) => {
                    for (name, value) in group {
                        config.set(knobs, &format!("{key}.{name}"), Value::from_toml(value))?;
                    }
                }
                (_, value) => config.set(knobs, &key, Value::from_toml(value))?,
            }
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    choices! {
        pub enum Source {
            Mixture = "mixture",
            Facts = "facts",
            Letters = "letters",
        }
    }

    settings! {
        struct Model in "model" {
            /// How wide it is.
            d_model: usize = 128 => "Width", range(8..=1024), symbol("D"), unit("channels");
            /// Attention heads.
            heads: usize = 4 => "Heads", range(1..=8);
            /// Learns nothing if set.
            /// Off by default.
            freeze: bool = false => "Freeze";
            /// Where it begins.
            checkpoint: CheckpointFile = CheckpointFile::default() => "Checkpoint";
        }

        struct Text in "corpus" {
            /// The text to read.
            source: Source = Source::Mixture => "Corpus";
        }

        struct Train in "train" {
            /// How far a step goes.
            lr: f64 = 1e-3 => "Learning rate", range(1e-6..=1.0), log, live;
        }

        struct Lab {
            #[fixed(heads)]
            model: Model = Model { heads: 2, ..Model::default() },
            #[only(source: Source::Mixture, Source::Facts)]
            text: Text,
            train: Train = Train { lr: 0.01 },
        }
    }

    fn knobs() -> Vec<Knob> {
        Lab::schema()
    }

    #[test]
    fn a_struct_gives_its_knobs() {
        let knobs = knobs();
        let keys: Vec<&str> = knobs.iter().map(|k| k.key).collect();
        assert_eq!(keys, ["model.d_model", "model.freeze", "model.checkpoint", "corpus.source", "train.lr"]);
        assert_eq!(
            (knobs[0].label, knobs[0].symbol, knobs[0].unit, knobs[0].tip),
            ("Width", "D", "channels", "How wide it is.")
        );
        assert_eq!(knobs[0].range, Range::Int { min: 8, max: 1024 });
        assert_eq!(knobs[1].tip, "Learns nothing if set. Off by default.");
        assert_eq!(file_key(&knobs, FileKind::Checkpoint), Some("model.checkpoint"));
        assert_eq!(knobs[3].range, Range::Choice(vec!["mixture", "facts"]), "a lab may offer fewer");
        assert_eq!((Source::from_id("letters"), Source::from_id("sounds")), (Some(Source::Letters), None));
        assert_eq!(knobs[4].range, Range::Float { min: 1e-6, max: 1.0, log: true });
        assert_eq!((knobs[4].default.clone(), knobs[4].applies), (Value::Float(0.01), Applies::Live));
    }

    #[test]
    fn a_config_becomes_the_struct() {
        let knobs = knobs();
        let mut config = Config::defaults("x", &knobs);
        assert_eq!(Lab::read(&config).unwrap(), Lab::default());
        config.set_text(&knobs, "model.d_model", "64").unwrap();
        config.set_text(&knobs, "corpus.source", "facts").unwrap();
        config.set_text(&knobs, "model.checkpoint", " some.pt ").unwrap();
        let lab = Lab::read(&config).unwrap();
        assert_eq!((lab.model.d_model, lab.model.heads, lab.text.source), (64, 2, Source::Facts));
        assert_eq!(lab.model.checkpoint.path(), Some("some.pt".into()));
        assert_eq!(config.value(Model::d_model).unwrap(), 64);
        config.set_text(&knobs, "model.freeze", "true").unwrap();
        assert_eq!(Config::from_toml(&config.to_toml(), "x", &knobs).unwrap(), config);
    }

    #[test]
    fn what_the_struct_lacks_is_an_error_with_its_key() {
        let faulty = |key: &str, value: Value| {
            let mut config = Config::defaults("x", &knobs());
            config.values.insert(key.to_owned(), value);
            Lab::read(&config).unwrap_err()
        };
        let unknown = faulty("model.widht", Value::Int(1));
        assert!(matches!(&unknown, ConfigError::UnknownKey { .. }), "{unknown}");
        assert_eq!(unknown.key(), Some("model.widht"));
        assert!(matches!(faulty("model.heads", Value::Int(4)), ConfigError::UnknownKey { .. }), "fixed by the lab");
        assert!(matches!(faulty("model.d_model", Value::Text("x".into())), ConfigError::WrongType { .. }));
        assert!(matches!(faulty("model.d_model", Value::Int(4)), ConfigError::OutOfRange { .. }));
        let narrowed = faulty("corpus.source", Value::Text("letters".into()));
        assert_eq!(narrowed.to_string(), "`corpus.source` = `letters` is out of range: one of mixture, facts");
        let mut config = Config::defaults("x", &knobs());
        assert!(matches!(config.value(&SettingKey::<f64>::new("train.rl")), Err(ConfigError::UnknownKey { .. })));
        assert!(matches!(config.value(&SettingKey::<bool>::new("train.lr")), Err(ConfigError::WrongType { .. })));
        config.values.remove("train.lr");
        assert_eq!(Lab::read(&config).unwrap(), Lab::default(), "a key of a later version has its default");
    }

    #[test]
    fn the_settings_of_another_program_are_taken_as_they_stand() {
        let text = "lr = 1e-4\nseed = 3\nbetas = [0.9, 0.99]\n[optim.adam]\neps = 1e-8\n[model]\nd = 3\n";
        let config = Config::without_schema(text, "foreign").unwrap();
        let values: Vec<_> = config.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        assert_eq!(values, ["betas = [0.9, 0.99]", "lr = 0.0001", "model.d = 3", "optim.adam.eps = 0.00000001"]);
        assert_eq!((config.lab.as_str(), config.seed), ("foreign", 3));
        assert_eq!(Config::without_schema(&config.to_toml(), "x").unwrap(), config);
        assert!(Config::without_schema("lr = ", "foreign").is_err());

        let json = r#"{"lab":"foreign","values":{"lr":1e-4,"betas":[0.9,null],"name":"a"}}"#;
        let config: Config = serde_json::from_str(json).unwrap();
        assert_eq!(config.get("lr"), Some(&Value::Float(1e-4)));
        assert_eq!(config.get("betas"), Some(&Value::Text("[0.9,null]".into())));
    }

    #[test]
    fn the_key_of_an_earlier_version_is_read() {
        settings! {
            struct Variants in "variants" {
                /// Repetitions.
                seeds: u64 = 1 => "Seeds", range(1..=8);
            }

            struct Race {
                variants: Variants,
            }
        }
        let knobs = Race::schema();
        let mut a = Config::from_toml("lab = \"x\"\n[compare]\nseeds = 3\n", "x", &knobs).unwrap();
        assert_eq!(a.get("variants.seeds"), Some(&Value::Int(3)));
        a.set_text(&knobs, "compare.seeds", "2").unwrap();
        assert_eq!(Race::read(&a).unwrap().variants.seeds, 2);
        let old = serde_json::to_string(&a).unwrap().replace("variants.seeds", "compare.seeds");
        assert_eq!(serde_json::from_str::<Config>(&old).unwrap(), a);
    }

    #[test]
    fn a_misspelt_key_is_named_with_its_neighbour() {
        let knobs = knobs();
        let mut a = Config::defaults("x", &knobs);
        let e = a.set_text(&knobs, "model.d_modle", "64").unwrap_err();
        assert!(e.to_string().contains("`model.d_modle`; did you mean `model.d_model`? `orrery list"), "{e}");
        let e = a.set_text(&knobs, "zzzzzzzzzz", "64").unwrap_err();
        assert!(e.to_string().contains("`zzzzzzzzzz`. `orrery list"), "{e}");
    }

    #[test]
    fn out_of_range_and_wrong_type_say_what_is_wanted() {
        let knobs = knobs();
        let mut a = Config::defaults("x", &knobs);
        assert!(matches!(a.set_text(&knobs, "train.lr", "7"), Err(ConfigError::OutOfRange { .. })));
        assert!(matches!(a.set_text(&knobs, "train.lr", "nan"), Err(ConfigError::OutOfRange { .. })));
        assert!(matches!(a.set_text(&knobs, "model.d_model", "many"), Err(ConfigError::WrongType { .. })));
        assert!(matches!(a.set_text(&knobs, "corpus.source", "nope"), Err(ConfigError::OutOfRange { .. })));
        assert_eq!(a, Config::defaults("x", &knobs), "a refused value changes nothing");
    }

    #[test]
    fn short_words_of_other_letters_have_no_nearest_name() {
        let near = |key| nearest(key, ["train.lr", "model.dt", "text"].into_iter());
        assert_eq!([near("foo"), near("xy")], [None, None]);
        assert_eq!(near("txt"), Some("text".to_owned()));
    }

    #[test]
    fn long_names_are_not_compared_letter_by_letter() {
        let (long, begun) = ("a".repeat(1_000_000), std::time::Instant::now());
        let names = std::iter::repeat_n(long.as_str(), 100);
        assert_eq!(nearest(&"a".repeat(60), names.clone()), None);
        assert_eq!(nearest(&long, ["train.lr"].into_iter()), None);
        assert_eq!(nearest("train.lrr", names.chain(["model.lr", "train.lr"])), Some("train.lr".to_owned()));
        assert!(begun.elapsed().as_secs() < 2, "{:?}", begun.elapsed());
    }
}
