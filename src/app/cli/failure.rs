//! The reason why a command failed: a message for the user and an exit code for scripts.

use std::{error::Error, path::Path};

use super::{interrupt::INTERRUPTED, terminal::bounded};
use crate::{files::FileError, store::StoreError};

/// The exit code that a shell reports for a command ended by a broken pipe (128 + SIGPIPE).
const BROKEN_PIPE: u8 = 141;

/// Code 1: a run, the window or a connection failed. Code 2: arguments, settings or files are wrong. Code 130: the process was
/// asked to end. Code 141: the reader of the output has left.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub message: String,
    pub code: u8,
}

impl Failure {
    /// A failure with a message of a length that a terminal and the window can show.
    fn new(message: String, code: u8) -> Self {
        Self { message: bounded(&message).into_owned(), code }
    }

    pub fn run(message: impl Into<String>) -> Self {
        Self::new(message.into(), 1)
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(message.into(), 2)
    }

    /// The failure of a command whose output was closed by its reader; nothing is printed, as in other programs.
    pub fn broken_pipe() -> Self {
        Self::reported(BROKEN_PIPE)
    }

    /// A failure that was reported already.
    pub fn reported(code: u8) -> Self {
        Self { message: String::new(), code }
    }

    pub fn interrupted(message: impl Into<String>) -> Self {
        Self::new(message.into(), INTERRUPTED)
    }

    /// The failure of a command that cannot read a file of the user's.
    pub fn unreadable(path: &Path, e: &FileError) -> Self {
        Self::usage(format!("{} cannot be read: {e}", path.display()))
    }

    /// Appends `message` to the failure's message if `helps` is true.
    pub fn with(self, message: String, helps: bool) -> Self {
        if helps { Self { message: self.message + &message, ..self } } else { self }
    }

    /// A wrong file, setting or argument; the error says which.
    pub fn wrong(error: impl Error) -> Self {
        Self::usage(error.to_string())
    }

    /// A failed run, window or device; the error says which.
    pub fn failed(error: impl Error) -> Self {
        Self::run(error.to_string())
    }
}

/// Makes a [`Failure::usage`] with a message that is written like the arguments of `format!`.
macro_rules! usage {
    ($($words:tt)*) => { $crate::cli::failure::Failure::usage(::std::format_args!($($words)*).to_string()) };
}

/// Returns such a failure unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($words:tt)*) => {
        if !$holds { return Err($crate::cli::failure::usage!($($words)*)); }
    };
}

pub(crate) use {ensure, usage};

impl From<crate::config::ConfigError> for Failure {
    fn from(e: crate::config::ConfigError) -> Self {
        Self::wrong(e)
    }
}

/// A refusal of the operating system is a failure of the command; anything else is an error in the folder or in the
/// request.
impl From<StoreError> for Failure {
    fn from(e: StoreError) -> Self {
        if e.is_system_error() { Self::failed(e) } else { Self::wrong(e) }
    }
}

/// Settings or texts that do not fit are wrong arguments; all else failed.
impl From<crate::trainer::RunError> for Failure {
    fn from(e: crate::trainer::RunError) -> Self {
        if e.is_settings_error() { Self::wrong(e) } else { Self::failed(e) }
    }
}
