//! How far a model's refining map is from a step of a Markov chain in continuous time.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// The Jacobian J `(D, D)` of Post(x) - x at one token, with respect to that token's own state, against generators: no
    /// negative entry off the diagonal, columns that sum to 0 (arXiv 2606.16730, remark 30).
    pub struct GeneratorDistance in "fast_slow.generator_distance" answers GeneratorDistanceArgs {
        /// Position of the token in the text.
        pub position: usize,
        /// Which repetition of pooling, slow path and injection, from 0.
        pub round: usize,
        /// Column sums of I + J, the map's one-step matrix, one per channel; 1 for a generator. J^T 1 says the same.
        pub column_sums: Numbers,
        /// Share of the entries off the diagonal that are negative.
        pub negative_share: f64,
        /// |J - A| / |J| in Frobenius's norm, A the generator nearest to J; 0 for a generator, 1 where the nearest is 0.
        pub distance: f64,
        /// |J| in Frobenius's norm.
        pub norm: f64,
        /// The same entries in permuted places.
        pub permuted: NullDistance,
        /// Random maps I + dt W as small as the paper's.
        pub random_map: ColumnSums,
    }

    /// The distances of matrices with the same entries in random places.
    #[derive(Copy)]
    pub struct NullDistance {
        /// How many were drawn.
        pub draws: usize,
        /// Mean over draws of |J - A| / |J|, A the nearest generator.
        pub distance: f64,
        /// Standard deviation over draws.
        pub distance_sd: f64,
        /// Mean over draws of the smallest column sum.
        pub smallest: f64,
        /// Mean over draws of the largest column sum.
        pub largest: f64,
    }

    /// Column sums of I + dt W, W `(states, states)` with independent standard normal entries.
    #[derive(Copy)]
    pub struct ColumnSums {
        /// Rows and columns of W.
        pub states: usize,
        /// The step dt.
        pub dt: f64,
        /// How many were drawn.
        pub draws: usize,
        /// Mean over draws of the smallest column sum.
        pub smallest: f64,
        /// Mean over draws of the largest column sum.
        pub largest: f64,
    }
}

arguments! {
    /// Compare the Jacobian of the refining map with generators of Markov chains.
    pub struct GeneratorDistanceArgs asks "generator_distance" {
        /// The sentence that is read, at most 32 tokens; empty for a held-out passage.
        text: String = String::new(),
        /// Number of the held-out passage.
        passage: u64 = 0,
        /// The token whose Jacobian is taken, from 0; otherwise the last.
        position: Option<usize> = None,
        /// The repetition of pooling, slow path and injection, from 0; the last where there are fewer.
        round: usize = 0,
    }
}
