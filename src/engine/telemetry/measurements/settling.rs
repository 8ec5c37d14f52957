//! How the levels of a network settle on the words of a sentence.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// A sentence, settled word by word. Its words are the sample's tokens; all arrays have them in the order of the sentence,
    /// whichever way it was read.
    pub struct Settling in "grammar_roles.settling" answers SettlingArgs {
        /// Roles of the words; empty of a sentence that somebody typed.
        pub roles: Vec<String>,
        /// True if it was read from the right.
        pub from_right: bool,
        /// Settling sweeps of each word.
        pub sweeps: usize,
        /// From below.
        pub levels: Vec<SettlingLevel>,
    }

    /// One level.
    pub struct SettlingLevel {
        /// How many units the level has.
        pub units: usize,
        /// x after each sweep, `(words x sweeps, units)`: the rows of a word's sweeps follow one another.
        pub states: Array,
        /// x - W_fb x(l+1) once settled, `(words, units)`.
        pub errors: Array,
        /// The fast trace, `(words, units)`.
        pub fast: Array,
        /// The slow trace, `(words, units)`.
        pub slow: Array,
        /// pi, `(1, units)`.
        pub precision: Array,
        /// Root mean square of W_fb in blocks of units above (rows) and units (columns); no rows at the top.
        pub feedback: Array,
    }
}

choices! {
    /// Sentences that can be settled on.
    pub enum SettlingSet {
        /// Held-out sentences.
        Within = "within",
        /// Sentences of the other vocabulary.
        Transfer = "transfer",
        /// Training sentences.
        Train = "train",
        /// Those of a file; held-out ones where there is no file.
        Own = "own",
    }
}

arguments! {
    /// How the levels settle on a sentence.
    pub struct SettlingArgs asks "settling" {
        /// A sentence of known words; empty for one of the set.
        text: String = String::new(),
        /// Set that the sentence is taken from.
        set: SettlingSet = SettlingSet::Within,
        /// Place of the sentence in its set.
        sentence: usize = 0,
        /// Reads the sentence from the right.
        from_right: bool = false,
    }
}
