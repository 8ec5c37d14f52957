//! One knob of a lab's schema: key, label, range, unit, tooltip.

use std::path::Path;

use super::{Config, ConfigError, Value, did_you_mean};

/// The values that a knob accepts.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum Range {
    /// A whole number between two bounds.
    Int { min: i64, max: i64 },
    /// A number between two bounds; its slider may be logarithmic.
    Float { min: f64, max: f64, log: bool },
    /// One of these words.
    Choice(Vec<&'static str>),
    /// On or off.
    Switch,
    /// Free text.
    Text,
    /// The path of a file of this kind; empty for none.
    File(FileKind),
}

/// The content of a file that a setting names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A text to learn from.
    Text,
    /// A Hugging Face `tokenizer.json`.
    Tokenizer,
    /// Trained weights.
    Checkpoint,
    /// A folder of texts to learn from.
    TextFolder,
    /// A square matrix of numbers, a row per line.
    Matrix,
    /// Characters with their ids: a JSON list or object, or a text.
    Vocabulary,
    /// Labelled sentences, one per line.
    Sentences,
    /// A treebank in the form CoNLL-U.
    Treebank,
}

impl FileKind {
    /// The extension of treebanks, which distinguishes them from other texts.
    pub const TREEBANK_EXTENSION: &str = "conllu";

    /// True for the name of a treebank.
    pub fn is_treebank(path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(Self::TREEBANK_EXTENSION))
    }
}

/// The time at which a changed setting takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applies {
    /// The change takes effect when the next run begins.
    AtReset,
    /// The change takes effect at once in the running model and its trainer ([`crate::telemetry::Command::Set`]).
    Live,
    /// Only views read the setting, so that a change needs no reset and does not reach the run.
    InViews,
}

/// A setting's description: what a control panel, a config file and a command line need.
#[derive(Debug, Clone)]
pub struct Knob {
    /// `group.name`; the group is the control panel's section.
    pub key: &'static str,
    /// The name on screen.
    pub label: &'static str,
    /// The symbol used in the paper, if any.
    pub symbol: &'static str,
    /// The unit of the value, if any.
    pub unit: &'static str,
    /// Two sentences for the tooltip.
    pub tip: &'static str,
    /// The accepted values.
    pub range: Range,
    /// The default value.
    pub default: Value,
    /// The time at which a change takes effect.
    pub applies: Applies,
    /// The key of a number, and the smallest value of it with which this setting does anything.
    pub needs: Option<(&'static str, i64)>,
    /// The keys of files; if any of them is set, this setting does nothing.
    pub without: Vec<&'static str>,
}

impl Knob {
    /// A knob with no more than a key, a label, the accepted values and the default.
    pub fn new(key: &'static str, label: &'static str, range: Range, default: Value) -> Self {
        let applies = Applies::AtReset;
        Self { key, label, symbol: "", unit: "", tip: "", range, default, applies, needs: None, without: vec![] }
    }

    /// Returns false if the setting has no effect, because the setting that it needs is off in `config`, or a file takes its place.
    pub fn has_effect(&self, config: &Config) -> bool {
        let is_named = |key: &str| matches!(config.get(key), Some(Value::Text(path)) if !path.is_empty());
        self.needs.is_none_or(|(key, least)| !matches!(config.get(key), Some(Value::Int(n)) if *n < least))
            && !self.without.iter().any(|key| is_named(key))
    }

    /// The section of the knob, which is its key up to the first dot.
    pub fn group(&self) -> &'static str {
        self.key.split_once('.').map_or("", |(g, _)| g)
    }

    /// The kind of file that this knob names, or `None` if its value is not a path.
    pub fn file_kind(&self) -> Option<FileKind> {
        match self.range {
            Range::File(kind) => Some(kind),
            Range::Int { .. } | Range::Float { .. } | Range::Choice(_) | Range::Switch | Range::Text => None,
        }
    }

    /// A description of the accepted values.
    pub fn accepts(&self) -> String {
        match &self.range {
            Range::Int { min, max: i64::MAX } => format!("a whole number from {min}"),
            Range::Int { min, max } => format!("a whole number from {min} to {max}"),
            Range::Float { min: f64::MIN, max: f64::MAX, .. } => "a number".to_owned(),
            Range::Float { min, max: f64::MAX, .. } => format!("a number from {min}"),
            Range::Float { min, max, .. } => format!("a number from {min} to {max}"),
            Range::Choice(of) => format!("one of {}", of.join(", ")),
            Range::Switch => "true or false".to_owned(),
            Range::Text | Range::File(_) => "text".to_owned(),
        }
    }

    /// `value` in this knob's type: whole floats become integers for an integer knob, integers become
    /// floats for a float knob, anything becomes text for a text knob. Errors name key, got and want.
    pub(crate) fn check(&self, value: Value) -> Result<Value, ConfigError> {
        let (key, got, want) = (self.key.to_owned(), format!("`{value}`"), self.accepts());
        match (&self.range, value) {
            (Range::Int { min, max }, Value::Int(i)) if (min..=max).contains(&&i) => Ok(Value::Int(i)),
            (Range::Int { min, max }, Value::Float(f))
                if f.fract() == 0.0 && (*min as f64..=*max as f64).contains(&f) =>
            {
                Ok(Value::Int(f as i64))
            }
            (Range::Float { min, max, .. }, Value::Int(i)) if (*min..=*max).contains(&(i as f64)) => {
                Ok(Value::Float(i as f64))
            }
            (Range::Float { min, max, .. }, Value::Float(f)) if (*min..=*max).contains(&f) => Ok(Value::Float(f)),
            (Range::Choice(of), Value::Text(s)) if of.contains(&s.as_str()) => Ok(Value::Text(s)),
            (Range::Switch, Value::Switch(on)) => Ok(Value::Switch(on)),
            (Range::Text | Range::File(_), other) => Ok(Value::Text(other.to_string())),
            (Range::Choice(of), Value::Text(s)) => {
                let want = want + &did_you_mean(&s, of.iter().copied());
                Err(ConfigError::OutOfRange { key, got, want })
            }
            (Range::Int { .. } | Range::Float { .. }, Value::Int(_) | Value::Float(_)) => {
                Err(ConfigError::OutOfRange { key, got, want })
            }
            (Range::Int { .. } | Range::Float { .. } | Range::Choice(_) | Range::Switch, _) => {
                Err(ConfigError::WrongType { key, got, want })
            }
        }
    }
}

/// The first knob that takes the path of such a file.
pub fn file_key(knobs: &[Knob], kind: FileKind) -> Option<&'static str> {
    knobs.iter().find(|k| k.file_kind() == Some(kind)).map(|k| k.key)
}
