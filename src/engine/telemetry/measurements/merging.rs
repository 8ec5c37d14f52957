//! The effect of merging two models: held-out losses of both and of the merged one.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// The losses of two BDHs, and of the one that has the neurons of both, on every text that is available.
    pub struct Merging in "synapses.merging" answers MergingArgs {
        /// Names of the texts; the run's own comes first.
        pub texts: Vec<String>,
        /// The model that was asked.
        pub this: ModelLosses,
        /// The model that it is merged with.
        pub other: ModelLosses,
        /// Both side by side.
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
}

impl Merging {
    /// This model, the other, the merged one.
    pub fn models(&self) -> [&ModelLosses; 3] {
        [&self.this, &self.other, &self.merged]
    }
}

arguments! {
    /// The losses of a model, of another, and of both merged.
    pub struct MergingArgs asks "merging" {
        /// A checkpoint of the other model; without it nothing is measured.
        with: String = String::new(),
        /// Held-out windows that are read of each text.
        #[range(2..=4096)]
        windows: usize = 8,
        /// Tokens of a window.
        #[range(2..=4096)]
        window: usize = 128,
    }
}
