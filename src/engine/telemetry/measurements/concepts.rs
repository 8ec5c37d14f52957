//! Neurons and synapses that stand for a concept: the search for them, and the effect of a change of them.

use super::LikelyToken;
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// The synapses that a search ranked first, how they did on new sentences, and what random weights reach.
    /// Correlations are rank-biserial, -1 to 1: how well a synapse distinguishes sentences with the concept from those
    /// without.
    pub struct ConceptSearch in "synapses.concepts" answers ConceptSearchArgs {
        /// The concept that was looked for: "currency", "own sentences", the label of a file.
        pub concept: String,
        /// The concepts that it was compared with: the other labels of a file; empty otherwise.
        #[serde(default)]
        pub contrast: Vec<String>,
        /// The user gave the sentences: `both_new` holds the score on those that took no part in the search, and other
        /// parts have none.
        #[serde(default)]
        pub is_own: bool,
        /// The finding in a sentence or two.
        pub verdict: String,
        /// The number of pairs of neurons that were ranked.
        pub searched: usize,
        /// Neurons N of a head; 0 in runs of earlier versions, which did not record it.
        #[serde(default)]
        pub per_head: usize,
        /// The synapses, in the order of the ranking.
        pub synapses: Vec<ConceptSynapse>,
        /// The same search in models with random weights, one entry a model.
        pub random_weights: Vec<RandomSearch>,
        /// The subjects of the sentences; the order of each synapse's `by_noun`.
        pub nouns: Vec<ConceptNoun>,
    }

    /// One synapse: from neuron i of y in layer l - 1 to neuron j of x in layer l.
    pub struct ConceptSynapse {
        /// The layer l.
        pub layer: usize,
        /// Number of the neuron of y, counted over all heads.
        pub i: usize,
        /// Number of the neuron of x, counted over all heads.
        pub j: usize,
        /// Its correlation in each part of the split.
        pub correlation: SplitCorrelations,
        /// 95% interval of the correlation on new nouns in new frames, nouns drawn again.
        pub interval: Interval,
        /// One-sided p of that correlation, nouns shuffled.
        pub p: f64,
        /// The same corrected for the number of synapses (Holm).
        pub p_holm: f64,
        /// New nouns in new frames, one entry a language.
        pub languages: Vec<LanguageCorrelation>,
        /// Languages whose corrected p is at most 0.05.
        pub significant_languages: usize,
        /// It passed: corrected p, two languages, and the margin over random weights.
        pub confirmed: bool,
        /// Its mean over the sentences of each noun; one a noun.
        pub by_noun: Array,
    }

    /// Correlations by part of the split; NaN where a part has no sentences.
    #[derive(Copy)]
    pub struct SplitCorrelations {
        /// The correlation on the sentences that chose the synapse.
        pub search: f64,
        /// The correlation on new nouns in frames of the search.
        pub new_nouns: f64,
        /// The correlation on nouns of the search in new frames.
        pub new_frames: f64,
        /// The correlation on new nouns in new frames, which is the result.
        pub both_new: f64,
    }

    /// An interval between two values.
    #[derive(Copy)]
    pub struct Interval {
        /// The lower end of the interval.
        pub low: f64,
        /// The upper end of the interval.
        pub high: f64,
    }

    /// One synapse in one language.
    pub struct LanguageCorrelation {
        /// The language's code: "en".
        pub language: String,
        /// The correlation on new nouns in new frames.
        pub correlation: f64,
        /// Its p, corrected for the number of languages (Holm).
        pub p: f64,
    }

    /// The result of the search in one model with random weights.
    #[derive(Copy)]
    pub struct RandomSearch {
        /// Correlation of the synapse ranked first on the sentences that it was chosen by.
        pub search: f64,
        /// Correlation of the synapse ranked first on new nouns in new frames.
        pub first: f64,
        /// The greatest correlation of any ranked synapse on new nouns in new frames.
        pub best: f64,
    }

    /// The subject of some of the sentences.
    pub struct ConceptNoun {
        /// In the first language that has it: "euro"; of own sentences the sentence or its group.
        pub name: String,
        /// Its kind: "currency"; of own sentences "with" or "without", or their label.
        pub class: String,
    }

    /// A text read twice, as the model is and while chosen neurons or synapses are silenced, scaled or held at a value; and the
    /// same done to random ones that are as active.
    pub struct InterventionEffect in "synapses.intervention" answers InterventionArgs {
        /// True if the text was typed; otherwise it is a held-out passage.
        pub is_typed: bool,
        /// The changed neurons, `head:index`, counted from 0; none where synapses are changed.
        pub neurons: Vec<String>,
        /// The changed synapses, `layer y>x`: from a neuron of y in the layer before to one of x in this layer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub synapses: Vec<String>,
        /// The change that is made to them, in words.
        pub action: String,
        /// The firing rate of the neurons in the unchanged model: the share of tokens and layers where y of a neuron is
        /// above 0; NaN for synapses.
        pub firing: f64,
        /// The same of the random neurons.
        pub null_firing: f64,
        /// Mean sigma of the synapses after the text, the sum of y(i) x(j) over its tokens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub sigma: Option<Number<f64>>,
        /// The same of the random synapses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub null_sigma: Option<Number<f64>>,
        /// -ln p of each token as the model is, nats, `(T)`; NaN at the first.
        pub loss_before: Numbers,
        /// The same with the change, `(T)`.
        pub loss_after: Numbers,
        /// Relative entropy of the next token's distribution as the model is to that with the change, nats, `(T)`.
        pub divergence: Numbers,
        /// The same for random neurons or synapses, mean over draws, `(T)`.
        pub null_divergence: Numbers,
        /// Mean over the text of each draw of random ones, nats.
        pub null_draws: Numbers,
        /// The likeliest tokens after the text as the model is.
        pub before: Vec<LikelyToken>,
        /// The likeliest with the change.
        pub after: Vec<LikelyToken>,
        /// The continuation by the unchanged model, which always takes the likeliest token.
        pub continuation_before: String,
        /// The same with the change.
        pub continuation_after: String,
    }

    /// The change of the loss of what follows each sentence while neurons or synapses are changed, nats per token, and
    /// the same while random ones that are as active are.
    #[derive(Default)]
    pub struct ConceptEffect in "synapses.concept_effect" answers ConceptEffectArgs {
        /// "currency", "own sentences".
        pub concept: String,
        /// The changed neurons or synapses, by name.
        pub names: Vec<String>,
        /// The change that is made to them, in words.
        pub action: String,
        /// The text that follows a sentence, in words: the corpus's own follow-up, or the model's own words.
        pub follows: String,
        /// Sentences with the concept, and what follows each.
        pub with: ConceptSide,
        /// The losses after sentences without it.
        pub without: ConceptSide,
        /// Share of random targets that raise the loss after sentences with the concept at least as much, (1 + hits) / (1 + draws).
        pub p_with: f64,
        /// Share of random targets that change the loss after sentences without it at least as much, either way.
        pub p_without: f64,
        /// Share of random targets whose difference of the two is at least as large.
        pub p_difference: f64,
        /// The finding in a sentence or two.
        pub verdict: String,
        /// It raises the loss after sentences with the concept, more than after others, and no more than chance after those.
        pub confirmed: bool,
    }

    /// The sentences with the concept, or those without it; lists have one entry per sentence.
    #[derive(Default)]
    pub struct ConceptSide {
        /// Each sentence and what follows, separated by ` | `.
        pub sentences: Vec<String>,
        /// Loss of what follows as the model is, nats per token.
        pub loss: Numbers,
        /// The loss that the change adds, nats per token.
        pub change: Numbers,
        /// The mean loss that each random target adds, nats per token; one entry per draw.
        pub null_draws: Numbers,
    }
}

/// The largest number of neurons or synapses that are listed by name.
const MAX_NAMED: usize = 6;

impl InterventionEffect {
    /// The changed neurons or synapses, the first few by name.
    pub fn names(&self) -> String {
        let all = if self.synapses.is_empty() { &self.neurons } else { &self.synapses };
        match all.len().saturating_sub(MAX_NAMED) {
            0 => all.join(", "),
            more => format!("{} and {more} more", all[..MAX_NAMED].join(", ")),
        }
    }

    /// "neurons" or "synapses".
    pub fn kind(&self) -> &'static str {
        if self.synapses.is_empty() { "neurons" } else { "synapses" }
    }

    /// Mean of the divergence over the text, nats.
    pub fn mean_divergence(&self) -> f64 {
        self.divergence.iter().sum::<f64>() / self.divergence.len().max(1) as f64
    }

    /// Draws of random ones that change the text at least as much.
    pub fn draws_above(&self) -> usize {
        let own = self.mean_divergence();
        self.null_draws.iter().filter(|draw| **draw >= own).count()
    }
}

choices! {
    /// The target of the change.
    pub enum TargetKind {
        /// Activations of neurons.
        Neurons = "neurons",
        /// The strengths of synapses.
        Synapses = "synapses",
    }

    /// The change of neurons or synapses.
    pub enum ActionKind {
        /// The values are set to 0.
        Silence = "silence",
        /// The values are multiplied by a factor.
        Scale = "scale",
        /// The values are held at a constant.
        Clamp = "clamp",
    }

    /// The activation that is changed.
    pub enum ChangedPart {
        /// The activation x.
        X = "x",
        /// The activation y.
        Y = "y",
    }
}

impl ConceptSide {
    /// Mean of what the change adds, nats per token.
    pub fn mean_change(&self) -> f64 {
        self.change.iter().sum::<f64>() / self.change.len().max(1) as f64
    }
}

arguments! {
    /// The search for synapses that stand for a concept.
    pub struct ConceptSearchArgs asks "concepts" {
        /// Built-in concept: currency, country, currency_naive or country_naive; currency if not given.
        preset: Option<String> = None;
        /// Your own sentences with the concept, one per line.
        with: Option<String> = None;
        /// Sentences without it, one a line.
        without: Option<String> = None;
        /// File with a label, a tab and a sentence on each line.
        sentences: Option<String> = None;
        /// Label of the file that is the concept; the first of the file if not given.
        label: Option<String> = None;
        /// Untrained models that are searched too; 3 if not given.
        random: Option<usize> = None => range(0..=16);
    }

    /// A change of neurons or synapses.
    pub struct ChangeArgs asks "intervention" {
        /// Neurons or synapses are changed.
        target: TargetKind = TargetKind::Neurons;
        /// Neurons as head:index, both counted from 0, separated by commas.
        neurons: String = String::new();
        /// Synapses as layer y>x, separated by commas.
        synapses: String = String::new();
        /// The activation, or what the synapse holds, becomes 0 (silence), is multiplied by the amount (scale), or is the amount (clamp).
        action: ActionKind = ActionKind::Silence;
        /// Factor of scale, or value of clamp.
        amount: f64 = 0.0;
        /// Activation of neurons: x (the neuron as a key and a query, and with it y) or y (what it writes).
        part: ChangedPart = ChangedPart::X;
        /// Layer of neurons where it is done, counted from 0; every layer if below 0.
        layer: i64 = -1;
    }

    /// A text read with and without a change of neurons or synapses.
    pub struct InterventionArgs asks "intervention" with change: ChangeArgs {
        /// Text that is read; a held-out passage if empty.
        text: String = String::new();
        /// Number of the held-out passage.
        passage: u64 = 0;
        /// Tokens after which reading stops.
        longest: usize = 128 => range(2..=65_536);
        /// Random sets of neurons or synapses to compare with.
        draws: usize = 8 => range(0..=1000);
        /// Tokens of the continuations, each the likeliest.
        length: usize = 24 => range(0..=4096);
    }

    /// A change of neurons or synapses, and what it does to what follows sentences with a concept and without.
    pub struct ConceptEffectArgs asks "concept_effect" with change: ChangeArgs {
        /// Built-in concept: currency, country, currency_naive or country_naive; currency if not given.
        preset: Option<String> = None;
        /// Your own sentences with the concept, one per line.
        with: Option<String> = None;
        /// Sentences without it, one a line.
        without: Option<String> = None;
        /// Sentences of each side that are read.
        sentences: usize = 16 => range(2..=1024);
        /// Random targets to compare with.
        draws: usize = 39 => range(0..=999);
        /// Tokens that the model itself says after a sentence, where the corpus does not say what follows.
        length: usize = 16 => range(1..=256);
    }
}
