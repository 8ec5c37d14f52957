//! How well each token's neurons answer to those of the tokens before it, in a model of linear attention.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Products of queries and keys along a text. In BDH both are x; the product of tokens t and s is the weight with which what
    /// token s wrote reaches token t, neither scaled nor normalised.
    pub struct QueryKeyMaps in "synapses.query_key_maps" answers QueryKeyMapsArgs {
        /// True if scores are the model's: rotated or damped by the distance of the tokens. Else they are the bare x
        /// x^T.
        pub is_rotated: bool,
        /// From the first to the last.
        pub layers: Vec<QueryKeyLayer>,
    }

    /// The heads of one layer.
    pub struct QueryKeyLayer {
        /// `(H, T, T)`: head, query, key; exactly 0 where the key is not before the query.
        pub products: Array,
        /// Greatest magnitude of each head's map, `(H)`.
        pub greatest: Numbers,
    }
}

arguments! {
    /// The products of queries and keys along a text.
    pub struct QueryKeyMapsArgs asks "query_key_maps" {
        /// The text that is read; empty for a held-out passage.
        text: String = String::new(),
        /// Number of the held-out passage.
        passage: u64 = 0,
        /// Tokens of the text at most.
        #[range(2..=192)]
        longest: usize = 96,
        /// Take the products as the model sees them, rotated and damped by distance; otherwise the bare x x^T.
        rotated: bool = true,
    }
}
