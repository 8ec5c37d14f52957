//! Reads the JSON of an answer that a program has written.

use serde_json::Value as Json;

use crate::{
    store::{prelude::*, record::VariantRef},
    telemetry::Payload,
};

#[derive(Deserialize)]
pub(super) struct AnswerRecord {
    #[serde(default)]
    pub protocol: u32,
    pub id: String,
    pub state: Outcome,
    #[serde(default)]
    pub step: u64,
    #[serde(default)]
    pub words: String,
    pub sample: Option<AnswerSample>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Answered,
    Refused,
}

/// A line of `samples.jsonl` as a part of an answer.
#[derive(Deserialize)]
pub(super) struct AnswerSample {
    step: u64,
    #[serde(default)]
    variant: VariantRef,
    channel: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    tokens: Vec<String>,
    payload: Json,
}

impl AnswerSample {
    /// # Errors
    /// If its payload is not that of its channel, or its variant none of the run.
    pub fn read(self, info: &RunInfo) -> Result<Sample, String> {
        let variant = match &self.variant {
            VariantRef::Index(i) => Some(*i).filter(|i| *i < info.variants.len().max(1)),
            VariantRef::Id(id) => info.variants.iter().position(|v| v.id == *id),
        };
        let variant = variant.ok_or_else(|| format!("its variant is not one that {RUN} names"))?;
        let payload = Payload::decode(&self.channel, self.payload)
            .map_err(|e| format!("channel `{}`: {e}", shortened(&self.channel)))?;
        Ok(Sample {
            step: self.step,
            variant,
            channel: self.channel.as_str().into(),
            about: self.about,
            tokens: self.tokens,
            request: None,
            payload: Arc::new(payload),
        })
    }
}

/// An upper bound of the bytes that a JSON text takes in memory: every value follows a comma or opens a list or an object,
/// so that these characters bound the number of values.
pub(super) fn json_memory(text: &[u8]) -> u64 {
    let values = text.iter().filter(|b| matches!(b, b',' | b'[' | b'{')).count() as u64;
    3 * text.len() as u64 + 128 * values
}

pub(super) fn shortened(words: &str) -> &str {
    &words[..words.floor_char_boundary(80)]
}
