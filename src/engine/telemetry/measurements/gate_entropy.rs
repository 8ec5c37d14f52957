//! The sharpness of attention behind an open gate, beside that behind a shut one.

use super::RankCorrelation;
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// The entropy of the attention that follows the last injection, by token, with the gate as it is and shut. It is
    /// taken at held-out tokens whose next token has a loss, without the first block of each window, where the slow
    /// path gives no input yet.
    pub struct GateEntropy in "fast_slow.gate_entropy" answers GateEntropyArgs {
        /// s tanh(gamma).
        pub gate: f64,
        /// The attention layers whose rows were taken: those of the fast path in the last round.
        pub layers: Vec<String>,
        /// Held-out windows that were read.
        pub windows: usize,
        /// Entropy of a token's attention with the gate as it is, nats, mean over layers and heads; window after window.
        pub entropy: Numbers,
        /// The same with the gate shut.
        pub shut: Numbers,
        /// |u_t| / |x_t| of the same tokens: the size of what the gate lets into the last round beside the state that it meets.
        pub push: Numbers,
        /// Loss of the next token with the gate as it is less the loss with the gate shut, nats: negative where the open gate
        /// helps.
        pub loss_change: Numbers,
        /// The change of entropy beside the size of what was let in: negative if attention is sharper where more was.
        pub with_push: RankCorrelation,
        /// The change of entropy beside that of the loss: positive if the loss falls where attention is sharper.
        pub with_loss: RankCorrelation,
    }
}

impl GateEntropy {
    /// Mean entropy with the gate as it is less that with the gate shut, nats: negative where the open gate sharpens.
    pub fn change(&self) -> f64 {
        let changes = self.entropy.iter().zip(self.shut.iter()).map(|(open, shut)| open - shut);
        changes.sum::<f64>() / self.entropy.len() as f64
    }
}

arguments! {
    /// Measure how the open gate changes the entropy of the attention behind it, and of which tokens.
    pub struct GateEntropyArgs asks "gate_entropy" {
        /// Tokens over which the change is measured, at most.
        #[range(16..=4096)]
        tokens: usize = 480,
        /// Tokens of a window.
        #[range(8..=1024)]
        window: usize = 64,
    }
}
