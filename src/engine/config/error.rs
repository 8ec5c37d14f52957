//! What can be wrong with a setting. Every variant about one setting carries its key, so that a caller
//! can mark the control without reading the message.

/// What is wrong with a setting, in words that name the key, the value and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("unknown key `{key}`{} `orrery list --knobs {lab}` prints every key", suggestion(.nearest))]
    UnknownKey { lab: String, key: String, nearest: Option<String> },
    #[error(
        "the probe `{probe}` has no argument `{key}`{} `orrery ask --list {probe}` prints its arguments",
        suggestion(.nearest)
    )]
    UnknownArgument { probe: String, key: String, nearest: Option<String> },
    #[error("`{key}` = {got} is out of range: {want}")]
    OutOfRange { key: String, got: String, want: String },
    #[error("`{key}` = {got} has the wrong type: {want}")]
    WrongType { key: String, got: String, want: String },
    /// Each setting is in its range, but they do not fit together; `key` is the one to change first.
    #[error("{why}")]
    Inconsistent { key: String, why: String },
    /// What the setting names (a file, a text) cannot be used.
    #[error("{source}")]
    Unusable { key: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("there is no lab `{lab}`; the labs are {}", .known.join(", "))]
    UnknownLab { lab: String, known: Vec<String> },
    #[error("the lab `{lab}` has no preset `{preset}`; it has {}", .known.join(", "))]
    UnknownPreset { lab: String, preset: String, known: Vec<String> },
    #[error("not a TOML file that Orrery can read: {0}")]
    Syntax(#[from] toml::de::Error),
    #[error("not a TOML file that Orrery can read: it has no `lab = \"...\"` line; add the id of a lab")]
    NoLab,
}

impl ConfigError {
    /// Two or more settings contradict each other; `why` names them and says what to do.
    pub fn inconsistent(key: &str, why: impl Into<String>) -> Self {
        Self::Inconsistent { key: key.to_owned(), why: why.into() }
    }

    /// What the setting names cannot be used, for this reason.
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
