//! The tokens of a trained model, where none were chosen: found when a run is opened, and recorded in its settings.

use super::{Plan, RunError};
use crate::{config::Value, corpus::TokenizerSpec};

/// Fits the texts of a plan to the model that it opens, if it opens one. Gives what was chosen, in words.
///
/// # Errors
/// If the model knows too few tokens for bytes and nothing else fits, or a text cannot be read.
pub fn fit(plan: &mut Plan) -> Result<Option<String>, RunError> {
    let trained = plan.variants.iter().find_map(|v| Some((v.model.vocab_of_file()?, v.model.files())));
    let Some((rows, files)) = trained else { return Ok(None) };
    let checkpoint = files.first().copied();
    let chosen = plan.corpus.match_vocab_to_model(rows, checkpoint)?;
    for text in &mut plan.more_texts {
        text.match_vocab_to_model(rows, checkpoint)?;
    }
    if chosen.is_some() {
        let (tokenizer, keys) = (&plan.corpus.tokenizer, &plan.token_keys);
        let mut record = |key: &str, text: String| plan.config.replace(key, Value::Text(text));
        record(&keys.kind, tokenizer.kind().to_owned());
        match tokenizer {
            TokenizerSpec::Characters(path) => record(&keys.characters, path.to_string_lossy().into_owned()),
            TokenizerSpec::HuggingFace(path) => record(&keys.huggingface, path.to_string_lossy().into_owned()),
            _ => {}
        }
    }
    Ok(chosen)
}
