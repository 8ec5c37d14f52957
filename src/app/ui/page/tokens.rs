//! The tokens that a page's text is read in: chosen with the file that lists them, and open again for another model.

use super::Page;
use crate::{
    config::{FileKind, Setting, Value},
    labs::corpus::{CorpusSettings, TokenKind},
    telemetry::RunState,
    ui::run::Run,
};

impl Page {
    /// Whether its run could not be made or went wrong.
    pub fn has_failed(&self) -> bool {
        let state = self.run.as_ref().and_then(|run: &Run| run.mirror.state.as_ref());
        matches!(state, Some(RunState::Failed { .. }))
    }

    /// The tokens that a file of this kind is for.
    pub fn choose_tokens_of(&mut self, kind: FileKind, now: f64) {
        let tokens = match kind {
            FileKind::Tokenizer => TokenKind::HuggingFace,
            FileKind::Vocabulary => TokenKind::SortedChar,
            _ => return,
        };
        if self.config.get(CorpusSettings::tokenizer.name).is_some() {
            self.change(CorpusSettings::tokenizer.name, tokens.to_value(), now);
        }
    }

    /// Another model is opened, which need not know the tokens of the one before: they are found anew.
    pub fn forget_tokens(&mut self, now: f64) {
        let defaults = [
            (CorpusSettings::tokenizer.name, TokenKind::Byte.to_value()),
            (CorpusSettings::vocabulary_file.name, Value::Text(String::new())),
            (CorpusSettings::tokenizer_file.name, Value::Text(String::new())),
        ];
        for (key, value) in defaults {
            if self.config.get(key).is_some() {
                self.drafts.remove(key);
                self.change(key, value, now);
            }
        }
    }
}
