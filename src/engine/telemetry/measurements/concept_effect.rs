//! Measures the use of a neuron or a synapse that tells a concept: the effect of an intervention on the tokens that
//! follow sentences with the concept, and on those that follow others.

use super::ChangeArgs;
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// The change of the loss of what follows each sentence while neurons or synapses are changed, nats per token, and
    /// the same while random ones that are as active are.
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

    /// The sentences of one side; lists have an entry a sentence.
    pub struct ConceptSide {
        /// Each sentence and what follows, separated by ` | `.
        pub sentences: Vec<String>,
        /// Loss of what follows as the model is, nats per token.
        pub loss: Numbers,
        /// The loss that the change adds, nats per token.
        pub change: Numbers,
        /// Mean of what each random target adds, an entry a draw.
        pub null_draws: Numbers,
    }
}

impl ConceptSide {
    /// Mean of what the change adds, nats per token.
    pub fn mean_change(&self) -> f64 {
        self.change.iter().sum::<f64>() / self.change.len().max(1) as f64
    }
}

arguments! {
    /// A change of neurons or synapses, and what it does to what follows sentences with a concept and without.
    pub struct ConceptEffectArgs asks "concept_effect" with change: ChangeArgs {
        /// Built-in concept: currency, country, currency_naive or country_naive; currency if not given.
        preset: Option<String> = None,
        /// Sentences with a concept of one's own, one a line.
        with: Option<String> = None,
        /// Sentences without it, one a line.
        without: Option<String> = None,
        /// Sentences of each side that are read.
        #[range(2..=1024)]
        sentences: usize = 16,
        /// Random targets to compare with.
        #[range(0..=999)]
        draws: usize = 39,
        /// Tokens that the model itself says after a sentence, where the corpus does not say what follows.
        #[range(1..=256)]
        length: usize = 16,
    }
}
