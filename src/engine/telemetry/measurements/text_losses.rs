//! How one model does on every text of its run, and what it writes after a prompt of each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measurement;
use crate::config::arguments;
use crate::telemetry::number::Float;

/// One model on the texts of its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TextLosses {
    /// The run's own text comes first.
    pub texts: Vec<TextLoss>,
}

/// One text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TextLoss {
    /// The text's name.
    pub name: String,
    /// Held-out cross-entropy, nats a token.
    #[serde(with = "Float")]
    pub loss: f64,
    /// Held-out words that the model was given.
    pub prompt: String,
    /// The text that the model wrote after them; empty where it was not asked to.
    pub continuation: String,
    /// The loss by language and by direction of translation, where the text is of marked translations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<DirectionLoss>,
}

/// The loss of the passages in one language, or of the translations from one language into another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionLoss {
    /// The code of the language that is read.
    pub from: String,
    /// That of the language that it is translated into; absent for the passage itself.
    pub to: Option<String>,
    /// Tokens that were scored.
    pub tokens: usize,
    /// Held-out cross-entropy, nats a token.
    #[serde(with = "Float")]
    pub loss: f64,
}

impl DirectionLoss {
    /// "en", or "en-fr".
    pub fn label(&self) -> String {
        match &self.to {
            Some(to) => format!("{}-{to}", self.from),
            None => self.from.clone(),
        }
    }
}

arguments! {
    /// The loss of a model on every text of its run.
    pub struct TextLossesArgs asks "texts" {
        /// Held-out windows that are read of each text.
        #[range(1..=65536)]
        windows: usize = 8,
        /// Tokens of a window.
        #[range(2..=65536)]
        window: usize = 128,
        /// Tokens that the model writes after a prompt of each text.
        #[range(0..=65536)]
        write: usize = 0,
    }
}

measurement!(TextLosses, channel: "synapses.texts", asked: TextLossesArgs);
