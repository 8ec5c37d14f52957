//! Statistics of the attention maps of every layer and head.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Statistics of attention matrices A `(T, T)`, each the mean over several held-out windows.
    ///
    /// In differential attention, whose weights may be negative, entropy and sink are those of |A|, each row divided by its
    /// sum; effective rank and share of the largest singular value are those of A itself.
    pub struct AttentionStatistics in "attention.statistics" answers AttentionStatisticsArgs {
        /// In the order of the forward pass.
        pub layers: Vec<LayerStatistics>,
        /// Held-out windows that were averaged over.
        pub windows: usize,
        /// T: tokens of a window.
        pub tokens: usize,
    }

    /// The heads of one layer.
    pub struct LayerStatistics {
        /// The layer's path among the model's parameters: `layers.0`.
        pub path: String,
        /// Weights are differences of two softmaxes and may be negative.
        pub is_differential: bool,
        /// Mean over queries of -sum w ln w, nats; one per head.
        pub entropy: Numbers,
        /// (sum s)^2 / sum s^2 of the singular values s; one per head.
        pub effective_rank: Numbers,
        /// s1 / sum s, the share of the largest singular value; one per head.
        pub top_share: Numbers,
        /// Attention sink: mean weight of position 0 over the queries t >= 1; one per head.
        pub sink: Numbers,
        /// The same of attention spread evenly over the keys that each query may see.
        pub uniform: UniformStatistics,
    }

    /// Statistics of attention spread evenly over the keys that each query may see.
    #[derive(Copy)]
    pub struct UniformStatistics {
        /// Nats.
        pub entropy: f64,
        /// (sum s)^2 / sum s^2 of the singular values s.
        pub effective_rank: f64,
        /// s1 / sum s, the share of the largest singular value.
        pub top_share: f64,
        /// NaN where there is one position only.
        pub sink: f64,
    }
}

arguments! {
    /// Average entropy, rank and sink of the attention over held-out windows.
    pub struct AttentionStatisticsArgs asks "attention_statistics" {
        /// Held-out windows that are read.
        #[range(1..=64)]
        windows: usize = 4,
        /// Tokens of a window. Singular values take time with the third power of it.
        #[range(1..=1024)]
        length: usize = 128,
    }
}
