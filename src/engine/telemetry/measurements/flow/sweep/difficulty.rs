//! Steps of an adaptive solver beside the difficulty of what it carries.

use super::{FlowSweepArgs, SweepProgress};
use crate::telemetry::measurements::{RankCorrelation, prelude::*};

measurement! {
    /// Attempted steps of dopri5, rejected ones included, on held-out text: of a token, where the error of its own state alone
    /// rules the steps, and of the prompt up to it, where that of all states does. Beside them the surprise of what is read. Does a
    /// harder input take more steps?
    pub struct FlowSweepDifficulty in "flow.sweep.difficulty" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// -ln p of the token, given those before it, nats; one per point of the lists below.
        pub surprise: Numbers,
        /// The same of the token after it.
        pub next: Numbers,
        /// The same, mean over the tokens of the prompt but the first.
        pub prompt: Numbers,
        /// Steps by the error of the token's own state.
        pub token_steps: Numbers,
        /// Steps by the error of all states of the prompt up to the token.
        pub prompt_steps: Numbers,
        /// `token_steps` with `surprise`; NaN until all points are measured.
        pub token_with_surprise: RankCorrelation,
        /// `token_steps` with `next`.
        pub token_with_next: RankCorrelation,
        /// `prompt_steps` with `prompt`.
        pub prompt_with_surprise: RankCorrelation,
    }
}
