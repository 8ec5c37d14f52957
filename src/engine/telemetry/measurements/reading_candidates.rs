//! The loss of a text under each number of layers and each kind of tokens that a model may have been trained with.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// The loss of each candidate on the beginning of the same text. Neither the number of layers nor the tokeniser can be read
    /// from weights that all layers share, so that the candidate with the lowest loss is chosen.
    pub struct ReadingCandidates in "synapses.candidates" answers ReadingCandidatesArgs {
        /// By tokens, then by layers.
        pub candidates: Vec<ReadingCandidate>,
        /// The file, or one beside it, says its number of layers, so that no other was tried.
        pub layers_known: bool,
        /// Where the chosen number of layers comes from.
        #[serde(default)]
        pub layers_from: Evidence,
        /// Where the chosen tokens come from.
        #[serde(default)]
        pub tokens_from: Evidence,
        /// Tokens of a window, each of which is read from an empty state.
        #[serde(default)]
        pub window: usize,
        /// Where the length of the windows comes from.
        #[serde(default)]
        pub window_from: Evidence,
        /// The number of windows.
        #[serde(default)]
        pub windows: usize,
        /// Reasons to doubt the choice, in words.
        #[serde(default)]
        pub warnings: Vec<String>,
    }
}

/// Where a property of a trained model is known from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Somebody said it.
    Asked,
    /// The model's file says it.
    File,
    /// A file beside the model's says it: `config.json`, the settings of a run folder, a list of tokens.
    Sidecar,
    /// Nothing else fits the sizes of the model.
    OnlyFit,
    /// It was chosen by the losses on a text.
    Measured,
    /// No source states it; it is a default.
    #[default]
    Assumed,
}

impl Evidence {
    /// "as the file says", which follows a value.
    pub fn label(self) -> &'static str {
        match self {
            Self::Asked => "as asked",
            Self::File => "as the file says",
            Self::Sidecar => "as a file beside it says",
            Self::OnlyFit => "nothing else fits",
            Self::Measured => "chosen by its loss",
            Self::Assumed => "assumed by default",
        }
    }
}

measurement! {
    /// A number of layers and a kind of tokens.
    pub struct ReadingCandidate {
        /// `corpus.tokenizer`: `byte`, `sorted_char`; empty for the run's own, whatever it is.
        pub tokenizer: String,
        /// The file that lists these tokens, where it lies beside the model's; else empty.
        #[serde(default)]
        pub list: String,
        /// The tokens in words.
        pub tokens: String,
        /// Number of layers L.
        pub layers: usize,
        /// Mean loss, nats per token.
        pub loss: f64,
        /// The standard error of `loss` over windows, nats per token; NaN of a single window.
        #[serde(default = "unknown")]
        pub loss_error: f64,
        /// The same for each byte of the text, bits: comparable between tokens.
        pub bits_per_byte: f64,
        /// The run reads so.
        pub is_used: bool,
        /// It reads the text best.
        #[serde(default)]
        pub is_chosen: bool,
        /// The chosen one is not better by more than twice the standard error of the difference.
        #[serde(default)]
        pub is_close: bool,
    }
}

fn unknown() -> f64 {
    f64::NAN
}

arguments! {
    /// The loss of a model with other numbers of layers and in other tokens.
    pub struct ReadingCandidatesArgs asks "candidates" {
        /// Windows of the text's beginning that are read; 0 takes from 4 to 16, fewer of a larger model.
        #[range(0..=4096)]
        windows: usize = 0,
        /// Tokens of a window; 0 takes as many as the model was trained with, where that can be told, and else 256.
        #[range(0..=4096)]
        window: usize = 0,
    }
}
