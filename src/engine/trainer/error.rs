//! The reason why a run could not begin or continue. The cause stays reachable as the error's source.

use std::path::PathBuf;

use crate::{corpus::CorpusError, files::FileError, store::StoreError};

/// An error of a run; its text says what, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name the fields of the variants")]
pub enum RunError {
    /// The corpus cannot be opened or read.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The run folder cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An operation on tensors failed.
    #[error("{}", first_line(.0))]
    Tensor(#[from] candle_core::Error),
    /// A variant's sizes or files do not fit.
    #[error("the model `{variant}` cannot be built: {}", first_line(.source))]
    Model {
        variant: String,
        #[source]
        source: candle_core::Error,
    },
    /// A file that the run reads.
    #[error("{} cannot be read ({source}): put it back, or choose another and begin a new run", .path.display())]
    Input { path: PathBuf, source: FileError },
    /// A file that the run reads is not the one that it began with.
    #[error(
        "{} is not the file that this run was trained with (it has {found}; recorded were {recorded}): put that one back, or begin a new run with this one",
        .path.display()
    )]
    ChangedInput { path: PathBuf, recorded: String, found: String },
    /// A folder has lost a file that the run read.
    #[error("{} is gone, and this run was trained with it: put it back, or begin a new run without it", .path.display())]
    MissingInput { path: PathBuf },
    /// A folder has one more file that the run would read.
    #[error(
        "{} was not there when this run began, and it would read it now: take it out of the folder, or begin a new run with it",
        .path.display()
    )]
    AddedInput { path: PathBuf },
    /// The machine has less memory than the plan takes.
    #[error(transparent)]
    Memory(#[from] super::TooLittleMemory),
    /// The operating system gave no thread.
    #[error("no thread for the run: {0}")]
    Thread(#[source] std::io::Error),
    /// The plan needs something that this machine or these texts cannot provide.
    #[error("{0}")]
    Plan(String),
    /// A setting, question or checkpoint does not fit the run, which continues as it was.
    #[error("{0}")]
    Refused(String),
    /// The loss or the gradient is no longer a number.
    #[error("the {what} of `{variant}` became {value} at step {step}. {advice}; the numbers up to here are kept")]
    Diverged { what: &'static str, variant: String, value: f64, step: u64, advice: &'static str },
    /// The program panicked.
    #[error("a bug in the program ended the run: {0}. What was recorded is kept")]
    Defect(String),
}

impl RunError {
    /// True if the settings ask for something that this machine or these texts cannot provide; false for other
    /// failures.
    pub fn is_settings_error(&self) -> bool {
        matches!(self, Self::Plan(_) | Self::Corpus(_) | Self::Model { .. })
    }
}

/// The message without candle's backtrace lines.
fn first_line(e: &candle_core::Error) -> String {
    e.to_string().lines().next().unwrap_or("a tensor operation failed").to_owned()
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn the_cause_of_an_error_is_its_source() {
        let cause = || candle_core::Error::Msg("shapes differ\nbacktrace line".into());
        let model = RunError::Model { variant: "a".into(), source: cause() };
        assert_eq!(model.to_string(), "the model `a` cannot be built: shapes differ");
        assert!(model.source().is_some_and(|s| s.downcast_ref::<candle_core::Error>().is_some()));
        assert_eq!(RunError::from(cause()).to_string(), "shapes differ");
    }
}
