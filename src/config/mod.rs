//! A run's settings: a schema of [`Knob`]s, the [`Value`]s a person gave them, and TOML in and out.
//!
//! The control panel, `--set key=value`, config files, presets, undo and the copied session string
//! all read and write the same [`Config`]. It does not know what a key means to a model.

mod knob;
mod value;

pub use knob::{Knob, Range};
pub use value::Value;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What is wrong with a setting, in words that name the key, the value and what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConfigError {
    #[error("unknown key `{key}`{} `orrery list --knobs {lab}` prints every key", suggestion(.nearest))]
    UnknownKey { lab: String, key: String, nearest: Option<String> },
    #[error("`{key}` = {got} is out of range: {want}")]
    OutOfRange { key: String, got: String, want: String },
    #[error("`{key}` = {got} has the wrong type: {want}")]
    WrongType { key: String, got: String, want: String },
    #[error("not a TOML file that Orrery can read: {0}")]
    Syntax(String),
    #[error("{0}")]
    Inconsistent(String),
}

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(".".to_owned(), |k| format!("; did you mean `{k}`?"))
}

/// The resolved settings of one run of one lab: every key of the lab's schema has a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    pub lab: String,
    /// The preset it began from, for display; the values below are what counts.
    pub preset: String,
    pub seed: u64,
    values: BTreeMap<String, Value>,
}

impl Config {
    /// Every knob at its default.
    pub fn defaults(lab: &str, knobs: &[Knob]) -> Self {
        let values = knobs.iter().map(|k| (k.key.to_owned(), k.default.clone())).collect();
        Self { lab: lab.to_owned(), preset: String::new(), seed: 7, values }
    }

    /// Checks `value` against the knob's type and range and stores it. Integers given for a float
    /// knob (or floats without fraction for an integer knob) are converted.
    pub fn set(&mut self, knobs: &[Knob], key: &str, value: Value) -> Result<(), ConfigError> {
        let knob = knobs.iter().find(|k| k.key == key).ok_or_else(|| ConfigError::UnknownKey {
            lab: self.lab.clone(),
            key: key.to_owned(),
            nearest: knob::nearest(key, knobs.iter().map(|k| k.key)),
        })?;
        let value = knob.check(value)?;
        self.values.insert(key.to_owned(), value);
        Ok(())
    }

    /// The settings under a group: `control` gives `control.u0` and its like.
    pub fn under<'a>(&'a self, group: &'a str) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let named = move |key: &'a str| key.strip_prefix(group)?.strip_prefix('.');
        self.iter().filter_map(move |(key, value)| Some((named(key)?, value)))
    }

    /// As [`Config::set`], from the text of a `--set key=value` or a typed field. `seed` is a key too.
    pub fn set_text(&mut self, knobs: &[Knob], key: &str, text: &str) -> Result<(), ConfigError> {
        if key == "seed" {
            self.seed = text.trim().parse().map_err(|_| ConfigError::WrongType {
                key: key.to_owned(),
                got: format!("`{text}`"),
                want: "a whole number from 0".to_owned(),
            })?;
            return Ok(());
        }
        let kind = knobs.iter().find(|k| k.key == key).map(|k| &k.range);
        self.set(knobs, key, Value::parse(text, matches!(kind, Some(Range::Text | Range::Choice(_)))))
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// Iterates over (key, value) in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(k, v)| (k.as_str(), v))
    }

    /// A float setting; integers widen. Zero if the key is not of this schema (a programming error,
    /// caught by the test that plans every lab with every knob).
    pub fn f64(&self, key: &str) -> f64 {
        debug_assert!(self.values.contains_key(key), "no setting `{key}`");
        self.values.get(key).and_then(Value::as_f64).unwrap_or_default()
    }

    pub fn usize(&self, key: &str) -> usize {
        self.f64(key).max(0.0) as usize
    }

    pub fn bool(&self, key: &str) -> bool {
        debug_assert!(self.values.contains_key(key), "no setting `{key}`");
        matches!(self.values.get(key), Some(Value::Switch(true)))
    }

    pub fn text(&self, key: &str) -> &str {
        debug_assert!(self.values.contains_key(key), "no setting `{key}`");
        match self.values.get(key) {
            Some(Value::Text(s)) => s,
            _ => "",
        }
    }

    /// Keys whose values differ from `other`'s.
    pub fn changed_keys(&self, other: &Config) -> Vec<String> {
        self.values.iter().filter(|(k, v)| other.values.get(*k) != Some(*v)).map(|(k, _)| k.clone()).collect()
    }

    /// The file form: `lab`, `preset`, `seed`, then one table a group (`model.d_model` is
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

    /// The `lab` a TOML text names, so that the caller can find the schema to read it with.
    pub fn lab_of(text: &str) -> Result<String, ConfigError> {
        let root: toml::Table = text.parse().map_err(|e: toml::de::Error| ConfigError::Syntax(e.to_string()))?;
        match root.get("lab") {
            Some(toml::Value::String(s)) => Ok(s.clone()),
            Some(other) => Err(ConfigError::WrongType {
                key: "lab".into(),
                got: other.to_string(),
                want: "the id of a lab, in quotes".into(),
            }),
            None => Err(ConfigError::Syntax("it has no `lab = \"...\"` line; add the id of a lab".into())),
        }
    }

    /// Reads the file form over the defaults: absent keys keep their defaults, unknown keys and bad
    /// values are errors. `title` and `about` (used by presets) are allowed and ignored here.
    pub fn from_toml(text: &str, lab: &str, knobs: &[Knob]) -> Result<Self, ConfigError> {
        let root: toml::Table = text.parse().map_err(|e: toml::de::Error| ConfigError::Syntax(e.to_string()))?;
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

    fn knobs() -> Vec<Knob> {
        vec![
            Knob::float("train.lr", "Learning rate", 1e-3, 1e-6, 1.0).log(),
            Knob::int("model.d_model", "Width", 128, 8, 1024),
            Knob::switch("model.freeze", "Freeze", false),
            Knob::choice("corpus.source", "Corpus", "mixture", &["mixture", "facts"]),
        ]
    }

    #[test]
    fn toml_round_trip_keeps_every_value() {
        let knobs = knobs();
        let mut a = Config::defaults("x", &knobs);
        a.set_text(&knobs, "train.lr", "0.01").unwrap();
        a.set_text(&knobs, "model.freeze", "true").unwrap();
        a.set_text(&knobs, "corpus.source", "facts").unwrap();
        let b = Config::from_toml(&a.to_toml(), "x", &knobs).unwrap();
        assert_eq!(a, b);
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
}
