//! Errors of settings. Every variant about one setting carries its key, so that a caller can mark the control without
//! reading the message.

use super::did_you_mean;

/// An error of a setting. The message names the key, the value and what to do.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name the fields of the variants")]
pub enum ConfigError {
    #[error("unknown key `{key}`{} `orrery list --knobs {lab}` prints every key", suggestion(.nearest))]
    UnknownKey { lab: String, key: String, nearest: Option<String> },
    #[error(
        "the probe `{probe}` has no argument `{key}`{} `orrery ask --list {probe}` prints its arguments",
        suggestion(.nearest)
    )]
    UnknownArgument { probe: String, key: String, nearest: Option<String> },
    /// A value outside of the range of its key.
    #[error("`{key}` = {got} is out of range: {want}")]
    OutOfRange { key: String, got: String, want: String },
    /// A value whose type is not that of its key.
    #[error("`{key}` = {got} has the wrong type: {want}")]
    WrongType { key: String, got: String, want: String },
    /// Each setting is in its range, but they do not fit together; `key` is the one to change first.
    #[error("{why}")]
    Inconsistent { key: String, why: String },
    /// The file or text that the setting names cannot be used.
    #[error("{source}")]
    Unusable { key: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("there is no lab `{lab}`; the labs are {}{}", .known.join(", "), name_hint(.lab, .known))]
    UnknownLab { lab: String, known: Vec<String> },
    #[error("the lab `{lab}` has no preset `{preset}`; it has {}{}", .known.join(", "), name_hint(.preset, .known))]
    UnknownPreset { lab: String, preset: String, known: Vec<String> },
    /// A text that is not valid TOML.
    #[error("not a TOML file that Orrery can read: {0}")]
    Syntax(#[from] toml::de::Error),
    /// A config without the id of its lab.
    #[error("not a TOML file that Orrery can read: it has no `lab = \"...\"` line; add the id of a lab")]
    NoLab,
}

impl ConfigError {
    /// Two or more settings contradict each other; `why` names them and says what to do.
    pub fn inconsistent(key: &str, why: impl Into<String>) -> Self {
        Self::Inconsistent { key: key.to_owned(), why: why.into() }
    }

    /// An error: the file or text that the setting names cannot be used, for this reason.
    pub fn unusable(key: &str, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Unusable { key: key.to_owned(), source: Box::new(source) }
    }

    /// The key of the setting that the user has to change, if the error concerns one.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::UnknownKey { key, .. }
            | Self::UnknownArgument { key, .. }
            | Self::OutOfRange { key, .. }
            | Self::WrongType { key, .. }
            | Self::Inconsistent { key, .. }
            | Self::Unusable { key, .. } => Some(key),
            Self::UnknownLab { .. } | Self::UnknownPreset { .. } | Self::Syntax(_) | Self::NoLab => None,
        }
    }
}

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(".".to_owned(), |k| format!("; did you mean `{k}`?"))
}

fn name_hint(name: &str, known: &[String]) -> String {
    did_you_mean(name, known.iter().map(String::as_str))
}

/// The message of a JSON error without its position in the text, for a caller that names the position itself or has
/// none.
pub fn json_error_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&place).map_or_else(|| message.clone(), str::to_owned)
}

/// The names of types in Rust and serde, and a description of each for the author of a config file.
const TYPE_DESCRIPTIONS: [(&str, &str); 9] = [
    ("usize", "a whole number from 0"),
    ("u64", "a whole number from 0"),
    ("u32", "a whole number from 0"),
    ("i64", "a whole number"),
    ("f64", "a number"),
    ("a boolean", "true or false"),
    ("a string", "a text in quotes"),
    ("a sequence", "a list"),
    ("a map", "a table"),
];

/// The message of a TOML error with its place, for the person who wrote the file: it names what can be written in place
/// of a type of Rust, and the nearest name in place of an unknown one.
pub fn toml_error_message(error: &toml::de::Error) -> String {
    let (whole, message) = (error.to_string(), error.message());
    let place = whole.trim_end().strip_suffix(message).unwrap_or_default();
    let written = message.rsplit_once("expected ").and_then(|(before, wanted)| {
        let (_, words) = TYPE_DESCRIPTIONS.iter().find(|(name, _)| *name == wanted)?;
        Some(format!("{before}expected {words}"))
    });
    let words = written.as_deref().unwrap_or(message);
    format!("{place}{words}{}", unknown_name_hint(message))
}

/// The nearest of the names that serde's message about an unknown field or variant lists, at the end of a sentence.
fn unknown_name_hint(message: &str) -> String {
    let unknown = ["unknown field `", "unknown variant `"].iter().find_map(|start| message.strip_prefix(*start));
    let Some((name, known)) = unknown.and_then(|rest| rest.split_once("`, expected ")) else { return String::new() };
    did_you_mean(name, known.split('`').skip(1).step_by(2))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[test]
    fn a_toml_error_names_no_type_of_rust_and_the_nearest_name() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code, reason = "only its errors are read")]
        struct Written {
            seeds: Option<u64>,
            axes: Option<Vec<f64>>,
        }
        let message = |text: &str| toml_error_message(&toml::from_str::<Written>(text).unwrap_err());
        for (text, words) in [
            ("seeds = -3", "invalid value: integer `-3`, expected a whole number from 0"),
            ("axes = 3", "invalid type: integer `3`, expected a list"),
            ("axes = [\"a\"]", "invalid type: string \"a\", expected a number"),
            ("sedes = 3", "unknown field `sedes`, expected `seeds` or `axes`; did you mean `seeds`?"),
            ("colour = 3", "unknown field `colour`, expected `seeds` or `axes`"),
        ] {
            let said = message(text);
            assert!(said.starts_with("TOML parse error at line 1") && said.contains(text), "{said}");
            assert_eq!(said.lines().last(), Some(words));
        }
    }

    #[test]
    fn a_json_error_is_reported_without_its_place() {
        let message = |text: &str| json_error_message(&serde_json::from_str::<Vec<u8>>(text).unwrap_err());
        assert_eq!(message("[1,\n\"at line 7\"]"), "invalid type: string \"at line 7\", expected u8");
        assert_eq!(message("[1,"), "EOF while parsing a value");
    }
}
