//! Errors of settings. Every variant about one setting carries its key, so that a caller can mark the control without
//! reading the message.

use super::did_you_mean;

/// An error of a setting. The message names the key, the value and what to do.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name the fields of the variants")]
pub enum ConfigError {
    /// A key that the lab does not have.
    #[error("unknown key `{key}`{} `orrery list --knobs {lab}` prints every key", suggestion(.nearest))]
    UnknownKey { lab: String, key: String, nearest: Option<String> },
    /// An argument that the probe does not have.
    #[error(
        "the probe `{probe}` has no argument `{key}`{} `orrery ask --list {probe}` prints its arguments",
        suggestion(.nearest)
    )]
    UnknownArgument { probe: String, key: String, nearest: Option<String> },
    /// A value outside of the range of its key.
    #[error("`{key}` = {got} is out of range: {want}")]
    OutOfRange { key: String, got: String, want: String },
    /// A value of another type than its key.
    #[error("`{key}` = {got} has the wrong type: {want}")]
    WrongType { key: String, got: String, want: String },
    /// Each setting is in its range, but they do not fit together; `key` is the one to change first.
    #[error("{why}")]
    Inconsistent { key: String, why: String },
    /// The file or text that the setting names cannot be used.
    #[error("{source}")]
    Unusable { key: String, source: Box<dyn std::error::Error + Send + Sync> },
    /// A lab that does not exist.
    #[error("there is no lab `{lab}`; the labs are {}{}", .known.join(", "), meant(.lab, .known))]
    UnknownLab { lab: String, known: Vec<String> },
    /// A preset that the lab does not have.
    #[error("the lab `{lab}` has no preset `{preset}`; it has {}{}", .known.join(", "), meant(.preset, .known))]
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

    /// The setting that a person has to change, where the error is about one.
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

fn meant(name: &str, known: &[String]) -> String {
    did_you_mean(name, known.iter().map(String::as_str))
}

/// The message of a JSON error without its position in the text, for a caller that names the position itself or has
/// none.
pub fn json_error_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&place).map_or_else(|| message.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_error_is_told_without_its_place() {
        let message = |text: &str| json_error_message(&serde_json::from_str::<Vec<u8>>(text).unwrap_err());
        assert_eq!(message("[1,\n\"at line 7\"]"), "invalid type: string \"at line 7\", expected u8");
        assert_eq!(message("[1,"), "EOF while parsing a value");
    }
}
