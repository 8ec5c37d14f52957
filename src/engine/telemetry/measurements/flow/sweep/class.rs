//! The effect of a control on the classes of words.

use super::{FlowSweepArgs, SweepProgress};
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Mean probability of each class as the next token, against u0.
    pub struct FlowSweepClass in "flow.sweep.class" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// u0: the first control; one per point of the lists below.
        pub u0: Numbers,
        /// After nouns that occur in no steering prompt.
        pub held_out: ClassCurves,
        /// After as many nouns that occur in steering prompts.
        pub trained: ClassCurves,
        /// Words of neither class after held-out nouns, 0 to 1.
        pub neutral: Numbers,
    }

    /// The mean probabilities of both classes at every control.
    pub struct ClassCurves {
        /// Class plus, 0 to 1.
        pub plus: Numbers,
        /// Class minus, 0 to 1.
        pub minus: Numbers,
    }
}
