//! Trained BDHs of files, read and never trained: which file and tokeniser belong together, what a text costs, what
//! neurons do meanwhile, and what the model writes. The command line and the window ask here; it knows neither, and
//! prints nothing.

mod activations;
mod checkpoint;
mod choice;
mod loss;
mod tokenizers;

pub use activations::{Activations, Recording, record};
pub use checkpoint::Checkpoint;
pub use choice::{Candidate, Choice, MOST_LAYERS, choose};
pub use loss::{ReadingForm, TextLoss, token_losses};
pub use tokenizers::{NamedTokenizer, TokenizerChoice, TokenizerKind, fitting};

use crate::{corpus::CorpusError, nn::Error};

/// Why a trained model cannot be read, or a text not by it.
#[derive(Debug, thiserror::Error)]
pub enum InferenceError {
    /// The checkpoint is none, or damaged, as the error says.
    #[error("{0}")]
    Checkpoint(Error),
    /// The text, or a vocabulary.
    #[error(transparent)]
    Text(#[from] CorpusError),
    /// The text, the tokeniser and the model do not belong together.
    #[error("{0}")]
    Mismatch(String),
    /// The device, or memory.
    #[error("{0}")]
    Computation(#[from] Error),
}

impl InferenceError {
    /// Whether something that was given is wrong, rather than the computation.
    pub fn is_of_input(&self) -> bool {
        !matches!(self, Self::Computation(_))
    }
}
