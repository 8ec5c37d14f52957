//! The tokens that a page's text is read in: chosen with the file that lists them, and open again for another model.

use super::Page;
use crate::{
    config::{FileKind, Setting, Value},
    labs::corpus::{CorpusSettings, TokenKind},
    telemetry::RunState,
};

/// True if the page's run could not be made or went wrong.
pub fn has_failed(page: &Page) -> bool {
    page.mirror().is_some_and(|mirror| matches!(mirror.state, Some(RunState::Failed { .. })))
}

/// The tokens that a file of this kind is for.
pub fn choose_tokens_of(page: &mut Page, kind: FileKind, now: f64) {
    let tokens = match kind {
        FileKind::Tokenizer => TokenKind::HuggingFace,
        FileKind::Vocabulary => TokenKind::SortedChar,
        _ => return,
    };
    if page.config.get(CorpusSettings::tokenizer.name).is_some() {
        page.change(CorpusSettings::tokenizer.name, tokens.to_value(), now);
    }
}

/// Finds the tokens again, since another model is opened, whose vocabulary may differ from that of the one before.
pub fn forget_tokens(page: &mut Page, now: f64) {
    let defaults = [
        (CorpusSettings::tokenizer.name, TokenKind::Byte.to_value()),
        (CorpusSettings::vocabulary_file.name, Value::Text(String::new())),
        (CorpusSettings::tokenizer_file.name, Value::Text(String::new())),
    ];
    for (key, value) in defaults {
        if page.config.get(key).is_some() {
            page.drafts.remove(key);
            page.change(key, value, now);
        }
    }
}
