//! A search for synapses that stand for a concept, and whether any was confirmed.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// The synapses that a search ranked first, how they did on new sentences, and what random weights reach.
    /// Correlations are rank-biserial, -1 to 1: how well a synapse tells sentences with the concept from those
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
        /// How many pairs of neurons were ranked.
        pub searched: usize,
        /// Neurons N of a head; 0 in runs of earlier versions, which did not record it.
        #[serde(default)]
        pub per_head: usize,
        /// In the order of the ranking.
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
        /// On the sentences that it was chosen by.
        pub search: f64,
        /// On new nouns in frames of the search.
        pub new_nouns: f64,
        /// On nouns of the search in new frames.
        pub new_frames: f64,
        /// On new nouns in new frames: what counts.
        pub both_new: f64,
    }

    /// Two ends.
    #[derive(Copy)]
    pub struct Interval {
        /// Lower end.
        pub low: f64,
        /// Upper end.
        pub high: f64,
    }

    /// One synapse in one language.
    pub struct LanguageCorrelation {
        /// The language's code: "en".
        pub language: String,
        /// On new nouns in new frames.
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
}

arguments! {
    /// The search for synapses that stand for a concept.
    pub struct ConceptSearchArgs asks "concepts" {
        /// Built-in concept: currency, country, currency_naive or country_naive; currency if not given.
        preset: Option<String> = None,
        /// Sentences with a concept of one's own, one a line.
        with: Option<String> = None,
        /// Sentences without it, one a line.
        without: Option<String> = None,
        /// File with a label, a tab and a sentence on each line.
        sentences: Option<String> = None,
        /// Label of the file that is the concept; the first of the file if not given.
        label: Option<String> = None,
        /// Untrained models that are searched too; 3 if not given.
        #[range(0..=16)]
        random: Option<usize> = None,
    }
}
