//! Why a command ended badly: words for a person and a code for a script.

/// Code 1: a run or the window failed. Code 2: arguments, settings or files are wrong.
#[derive(Debug)]
pub struct Failure {
    pub words: String,
    pub code: u8,
}

impl Failure {
    pub fn run(words: impl Into<String>) -> Self {
        Self { words: words.into(), code: 1 }
    }

    pub fn usage(words: impl Into<String>) -> Self {
        Self { words: words.into(), code: 2 }
    }
}

impl From<crate::config::ConfigError> for Failure {
    fn from(e: crate::config::ConfigError) -> Self {
        Self::usage(e.to_string())
    }
}
