//! The reason why a command failed: a message for the user and an exit code for scripts.

use std::error::Error;

use super::interrupt::INTERRUPTED;

/// The exit code that a shell reports for a command ended by a broken pipe (128 + SIGPIPE).
const READER_LEFT: u8 = 141;

/// Code 1: a run, the window or a connection failed. Code 2: arguments, settings or files are wrong. Code 130: the process was
/// asked to end. Code 141: the reader of the output has left.
#[derive(Debug, thiserror::Error)]
#[error("{words}")]
pub struct Failure {
    pub words: String,
    pub code: u8,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    pub fn run(words: impl Into<String>) -> Self {
        Self { words: words.into(), code: 1, source: None }
    }

    pub fn usage(words: impl Into<String>) -> Self {
        Self { words: words.into(), code: 2, source: None }
    }

    /// The reader of the output has left; nothing is said, as other commands do.
    pub fn reader_left() -> Self {
        Self::reported(READER_LEFT)
    }

    /// A failure that was reported already.
    pub fn reported(code: u8) -> Self {
        Self { words: String::new(), code, source: None }
    }

    pub fn interrupted(words: impl Into<String>) -> Self {
        Self { words: words.into(), code: INTERRUPTED, source: None }
    }

    /// Appends `words` to the message if `helps`.
    pub fn with(self, words: String, helps: bool) -> Self {
        if helps { Self { words: self.words + &words, ..self } } else { self }
    }

    /// A file, a setting or an argument that is wrong, as the error says.
    pub fn wrong(error: impl Error + Send + Sync + 'static) -> Self {
        Self { words: error.to_string(), code: 2, source: Some(Box::new(error)) }
    }

    /// A run, a window or a device that failed, as the error says.
    pub fn failed(error: impl Error + Send + Sync + 'static) -> Self {
        Self { words: error.to_string(), code: 1, source: Some(Box::new(error)) }
    }
}

impl From<crate::config::ConfigError> for Failure {
    fn from(e: crate::config::ConfigError) -> Self {
        Self::wrong(e)
    }
}

/// Settings or texts that do not fit are wrong arguments; all else failed.
impl From<crate::trainer::RunError> for Failure {
    fn from(e: crate::trainer::RunError) -> Self {
        if e.is_of_settings() { Self::wrong(e) } else { Self::failed(e) }
    }
}
