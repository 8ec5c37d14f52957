//! A BDH that was trained before: its sizes, the tokens and layers that a text fits, its losses, and merges.

use std::collections::BTreeMap;

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Sizes of the model as it is in memory, whatever any setting says, and its loss on the text.
    pub struct TrainedBdh in "synapses.trained_bdh" answers TrainedBdhArgs {
        /// Neurons n of all heads.
        pub neurons: usize,
        /// Heads, each with as many neurons.
        pub heads: usize,
        /// Width D of the embedding.
        pub d_model: usize,
        /// Layers L; all share one set of weights.
        pub layers: usize,
        /// The file does not say how many layers there are: `layers` is the number that the user chose, or that of the
        /// public model.
        #[serde(default)]
        pub layers_unsaid: bool,
        /// Rows V of the embedding.
        pub vocab: usize,
        /// Weights of the model, gates included.
        pub parameters: usize,
        /// The effect of time on a synapse: `rope`, `alibi`, `both` or `nothing`.
        pub position: String,
        /// The form of the residuals: `code`, `paper`, `both`, `final_norm` or `normfree`.
        pub form: String,
        /// Notes in words on choices that the file does not tell, or that are different here.
        pub notes: Vec<String>,
        /// The tokens that the text is read in, in words.
        pub tokens: String,
        /// Mean loss on held-out windows of the text, nats per token.
        pub loss: f64,
        /// The loss of a predictor that knows only the frequencies of the tokens in these very windows, nats per token.
        /// A model that reads the text in the tokens that it was trained on stays below it.
        pub frequency_loss: f64,
        /// Tokens that were read for it.
        pub read: usize,
    }

    /// The loss of each candidate on the beginning of the same text. Neither the number of layers nor the tokeniser can be read
    /// from weights that all layers share, so that the candidate with the lowest loss is chosen.
    pub struct ReadingCandidates in "synapses.candidates" answers ReadingCandidatesArgs {
        /// By tokens, then by layers.
        pub candidates: Vec<ReadingCandidate>,
        /// The file, or one beside it, says its number of layers, so that no other was tried.
        pub layers_known: bool,
        /// The source of the chosen number of layers.
        #[serde(default)]
        pub layers_from: Evidence,
        /// The source of the chosen tokens.
        #[serde(default)]
        pub tokens_from: Evidence,
        /// Tokens of a window; each window is read from an empty state.
        #[serde(default)]
        pub window: usize,
        /// The source of the length of the windows.
        #[serde(default)]
        pub window_from: Evidence,
        /// The number of windows.
        #[serde(default)]
        pub windows: usize,
        /// Reasons to doubt the choice, in words.
        #[serde(default)]
        pub warnings: Vec<String>,
    }

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

    /// The losses of two BDHs, and of the one that has the neurons of both, on every text that is available.
    pub struct Merging in "synapses.merging" answers MergingArgs {
        /// Names of the texts; the run's own comes first.
        pub texts: Vec<String>,
        /// The model that was asked.
        pub this: ModelLosses,
        /// The model that it is merged with.
        pub other: ModelLosses,
        /// The losses of the merged model, which has the neurons of both.
        pub merged: ModelLosses,
        /// The changes that merging made to the weights, in words, a line an entry.
        pub notes: Vec<String>,
    }

    /// One model on all texts.
    pub struct ModelLosses {
        /// Its name: "this", the name of a file, "merged".
        pub name: String,
        /// n: neurons over all heads.
        pub neurons: usize,
        /// Held-out cross-entropy, nats per token; one per text.
        pub losses: Array,
    }

    /// The losses of one model on the texts of its run.
    pub struct TextLosses in "synapses.texts" answers TextLossesArgs {
        /// The run's own text comes first.
        pub texts: Vec<TextLoss>,
        /// Samples of a language that no text has, where the texts are of translations into English.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub auxiliary: Vec<AuxiliarySample>,
    }

    /// The loss on one text.
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
        /// The code of the language that it is translated into; absent for the loss of the passage itself.
        pub to: Option<String>,
        /// Tokens that were scored.
        pub tokens: usize,
        /// Held-out cross-entropy, nats per token.
        pub loss: f64,
    }
}

/// The source from which a property of a trained model is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The user stated it.
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

fn unknown() -> f64 {
    f64::NAN
}

impl Merging {
    /// This model, the other, the merged one.
    pub fn models(&self) -> [&ModelLosses; 3] {
        [&self.this, &self.other, &self.merged]
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
    /// The sizes of a model and its loss on the text.
    pub struct TrainedBdhArgs asks "trained_bdh" {
        /// Held-out windows that are read.
        windows: usize = 4 => range(1..=4096);
        /// Tokens of a window.
        window: usize = 128 => range(2..=4096);
    }

    /// The loss of a model with other numbers of layers and in other tokens.
    pub struct ReadingCandidatesArgs asks "candidates" {
        /// Windows of the text's beginning that are read; 0 takes from 4 to 16, fewer of a larger model.
        windows: usize = 0 => range(0..=4096);
        /// Tokens of a window; 0 takes as many as the model was trained with, where that can be told, and else 256.
        window: usize = 0 => range(0..=4096);
    }

    /// The losses of a model, of another, and of both merged.
    pub struct MergingArgs asks "merging" {
        /// A checkpoint of the other model; without it nothing is measured.
        with: String = String::new();
        /// Held-out windows that are read of each text.
        windows: usize = 8 => range(2..=4096);
        /// Tokens of a window.
        window: usize = 128 => range(2..=4096);
    }

    /// The loss of a model on every text of its run.
    pub struct TextLossesArgs asks "texts" {
        /// Held-out windows that are read of each text.
        windows: usize = 8 => range(1..=65536);
        /// Tokens of a window.
        window: usize = 128 => range(2..=65536);
        /// Tokens that the model writes after a prompt of each text, and after those in a language that it has not learned.
        write: usize = 0 => range(0..=65536);
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
