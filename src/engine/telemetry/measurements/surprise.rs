//! How many neurons of a BDH fire while words are met for the first time and then repeated.

use super::reading::LayerFiring;
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Sparsity and surprise (the paper's figure 14): means over many new words.
    pub struct Surprise in "synapses.surprise" answers SurpriseArgs {
        /// The trained model.
        pub trained: PeriodCurves,
        /// A model of the same sizes with random weights.
        pub random_weights: PeriodCurves,
        /// Firing of the trained model by the speed of rotary position, one entry per layer.
        pub octaves: Vec<OctaveFiring>,
    }

    /// Curves over the position in a period, in letters: a warm-up, a new word, and its repetitions.
    pub struct PeriodCurves {
        /// One entry per layer.
        pub layers: Vec<PeriodFiring>,
        /// Cross-entropy at each position, nats.
        pub loss: Numbers,
    }

    /// One layer over a period.
    pub struct PeriodFiring {
        /// Shares of neurons above zero, one entry per position.
        pub firing: LayerFiring,
        /// Pearson correlation of y's share with the loss over the word and its repetitions, -1 to 1.
        pub loss_correlation: f64,
    }

    /// Share of y above zero in one layer by octave: eight groups of equally many neurons, 0 turns fastest.
    pub struct OctaveFiring {
        /// While the word is new.
        pub memorised: Numbers,
        /// At its repetitions 5 to 8.
        pub known: Numbers,
    }
}

arguments! {
    /// How firing falls as a new word becomes known.
    pub struct SurpriseArgs asks "surprise" {
        /// New words that are read, each anew after a period of another word: a model trained on windows of two periods has not learned to read on for ever.
        #[range(2..=256)]
        periods: usize = 16,
    }
}
