//! How one model does on every text of its run, and what it writes after a prompt of each.

use std::collections::BTreeMap;

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// The losses of one model on the texts of its run.
    pub struct TextLosses in "synapses.texts" answers TextLossesArgs {
        /// The run's own text comes first.
        pub texts: Vec<TextLoss>,
        /// Samples of a language that no text has, where the texts are of translations into English.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub auxiliary: Vec<AuxiliarySample>,
    }

    /// One text.
    pub struct TextLoss {
        /// The text's name.
        pub name: String,
        /// Held-out cross-entropy, nats per token.
        pub loss: f64,
        /// Held-out words that the model was given.
        pub prompt: String,
        /// The text that the model wrote after them; empty where it was not asked to.
        pub continuation: String,
        /// The loss by language and by direction of translation, where the text consists of marked translations.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub directions: Vec<DirectionLoss>,
    }

    /// A sentence of an auxiliary language, marked as a language that the model translates, and the translation that it
    /// wrote.
    pub struct AuxiliarySample {
        /// The sentence between the marks of that language and of English.
        pub prompt: String,
        /// The sentence in English.
        pub english: String,
        /// The text that the model wrote after the prompt.
        pub continuation: String,
    }

    /// The loss of the passages in one language, or of the translations from one language into another.
    pub struct DirectionLoss {
        /// The code of the language that is read.
        pub from: String,
        /// That of the language that it is translated into; absent for the passage itself.
        pub to: Option<String>,
        /// Tokens that were scored.
        pub tokens: usize,
        /// Held-out cross-entropy, nats per token.
        pub loss: f64,
    }
}

impl DirectionLoss {
    /// "en", or "en-fr".
    pub fn label(&self) -> String {
        self.to.as_ref().map_or_else(|| self.from.clone(), |to| format!("{}-{to}", self.from))
    }
}

/// A prompt and its continuation.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenSample<'a> {
    /// The name of the prompt's text, or that it is in a language that no model has learned.
    pub label: String,
    /// The words that the model was given.
    pub prompt: &'a str,
    /// The text that the model wrote after them.
    pub continuation: &'a str,
}

/// The language that all texts of the paper translate into, or from.
const HUB: &str = "en";

impl TextLosses {
    /// The loss by language and direction over all texts: of all their tokens, each direction once.
    pub fn directions(&self) -> Vec<DirectionLoss> {
        let mut pooled: BTreeMap<(Option<&str>, &str), (usize, f64)> = BTreeMap::new();
        for found in self.texts.iter().flat_map(|t| &t.directions) {
            let (tokens, sum) = pooled.entry((found.to.as_deref(), &found.from)).or_default();
            *tokens += found.tokens;
            *sum += found.loss * found.tokens as f64;
        }
        let loss = |((to, from), (tokens, sum)): ((Option<&str>, &str), (usize, f64))| DirectionLoss {
            from: from.to_owned(),
            to: to.map(str::to_owned),
            tokens,
            loss: sum / tokens.max(1) as f64,
        };
        pooled.into_iter().map(loss).collect()
    }

    /// The loss of what follows the marks `<T:..>`, by name: "to en" and "from en" over all languages, then "fr-en" and
    /// so on. Empty where no text has translations.
    pub fn translations(&self) -> Vec<(String, f64)> {
        let all: Vec<DirectionLoss> = self.directions().into_iter().filter(|d| d.to.is_some()).collect();
        let over = |name: &str, fits: &dyn Fn(&DirectionLoss) -> bool| {
            let of = || all.iter().filter(|d| fits(d));
            let tokens: usize = of().map(|d| d.tokens).sum();
            (tokens > 0).then(|| (name.to_owned(), of().map(|d| d.loss * d.tokens as f64).sum::<f64>() / tokens as f64))
        };
        let into = over("to en", &|d| d.to.as_deref() == Some(HUB));
        let out = over("from en", &|d| d.from == HUB);
        into.into_iter().chain(out).chain(all.iter().map(|d| (d.label(), d.loss))).collect()
    }

    /// Prompts that ask for `sentence` in English, each passing it off as one of the languages that the texts translate into
    /// English.
    pub fn prompts_into_english(&self, sentence: &str) -> Vec<String> {
        let into = self.directions().into_iter().filter(|d| d.to.as_deref() == Some(HUB));
        into.map(|d| format!("<F:{}>{sentence}<T:{HUB}>", d.from)).collect()
    }

    /// All samples: one of each text, then those of the auxiliary language.
    pub fn samples(&self) -> Vec<WrittenSample<'_>> {
        let of_texts = self.texts.iter().map(|t| WrittenSample {
            label: t.name.clone(),
            prompt: &t.prompt,
            continuation: &t.continuation,
        });
        let auxiliary = self.auxiliary.iter().map(|s| WrittenSample {
            label: format!("a language that no model has learned (\u{201c}{}\u{201d})", s.english),
            prompt: &s.prompt,
            continuation: &s.continuation,
        });
        of_texts.chain(auxiliary).collect()
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
        /// Tokens that the model writes after a prompt of each text, and after those in a language that it has not learned.
        #[range(0..=65536)]
        write: usize = 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(directions: &[(&str, Option<&str>, usize, f64)]) -> TextLoss {
        let directions = directions.iter().map(|(from, to, tokens, loss)| DirectionLoss {
            from: (*from).to_owned(),
            to: to.map(str::to_owned),
            tokens: *tokens,
            loss: *loss,
        });
        let (prompt, continuation) = (String::new(), String::new());
        TextLoss { name: "t".into(), loss: 1.0, prompt, continuation, directions: directions.collect() }
    }

    #[test]
    fn directions_of_several_texts_are_pooled_by_their_tokens() {
        let first = text(&[("en", None, 10, 1.0), ("en", Some("fr"), 10, 2.0), ("fr", Some("en"), 30, 0.5)]);
        let second = text(&[("en", None, 30, 2.0), ("en", Some("de"), 30, 3.0), ("de", Some("en"), 10, 0.9)]);
        let all = TextLosses { texts: vec![first, second], auxiliary: vec![] };
        let english = all.directions().into_iter().find(|d| d.label() == "en").unwrap();
        assert_eq!((english.tokens, english.loss), (40, 1.75));
        let found = all.translations();
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["to en", "from en", "en-de", "de-en", "fr-en", "en-fr"]);
        let value = |name: &str| found.iter().find(|(n, _)| n == name).unwrap().1;
        assert!((value("to en") - 0.6).abs() < 1e-12 && (value("from en") - 2.75).abs() < 1e-12);
        assert_eq!(value("en-de"), 3.0);
        assert_eq!(all.prompts_into_english("Lel."), ["<F:de>Lel.<T:en>", "<F:fr>Lel.<T:en>"]);
        let one = TextLosses { texts: vec![text(&[("en", None, 5, 1.0)])], auxiliary: vec![] };
        assert!(one.translations().is_empty() && one.prompts_into_english("Lel.").is_empty());
    }
}
