//! Queries and keys along a text before and after they evolve, and what evolves them: enough to compute the path between again.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// The queries and keys of one head along a text, and their coupled evolution dq/dt = k, dk/dt = f(q).
    pub struct QueryKeyPaths in "attention.query_key_paths" answers QueryKeyPathsArgs {
        /// Somebody typed the text; else it is a held-out passage. Its tokens are the sample's.
        pub is_typed: bool,
        /// Index of the layer, from 0.
        pub layer: usize,
        /// Index of the head, from 0.
        pub head: usize,
        /// Heads of a layer.
        pub heads: usize,
        /// By layer, whether its queries and keys evolve before they are scored.
        pub evolves: Vec<bool>,
        /// The method that evolves them in this layer; nothing where they do not evolve.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub evolution: Option<QueryKeyEvolution>,
    }

    /// Starts, ends, and all that leads from one to the other.
    pub struct QueryKeyEvolution {
        /// q before the evolution, `(T, d)`: token, coordinate.
        pub start_q: Array,
        /// k before the evolution, `(T, d)`.
        pub start_k: Array,
        /// q as the model evolved it, `(T, d)`.
        pub end_q: Array,
        /// k as the model evolved it, `(T, d)`.
        pub end_k: Array,
        /// First weight of f(q) = second silu(first q), `(d, d)`: output, input. All heads of the layer share it.
        pub first: Array,
        /// Second weight of f, `(d, d)`: output, input.
        pub second: Array,
        /// Step size of this head, exp(tau), without unit.
        pub dt: f64,
        /// n: how many steps.
        pub steps: usize,
        /// How a step is made.
        pub scheme: IntegrationScheme,
    }
}

/// The two ways in which the paper makes a step (its equations 3 and 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntegrationScheme {
    /// q' = q + dt k, k' = k + dt f(q), both from the old values.
    Euler,
    /// k += dt/2 f(q), q += dt k, k += dt/2 f(q).
    Leapfrog,
}

arguments! {
    /// Follow queries and keys of one head as they evolve.
    pub struct QueryKeyPathsArgs asks "query_key_paths" {
        /// The sentence that is read, at most 96 tokens; empty for a held-out passage.
        text: String = String::new(),
        /// Number of the held-out passage.
        passage: u64 = 0,
        /// The layer, from 0; the last where there are fewer.
        layer: usize = 0,
        /// The head, from 0; the last where there are fewer.
        head: usize = 0,
    }
}
