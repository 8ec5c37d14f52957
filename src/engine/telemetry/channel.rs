//! The names of measured quantities, which models, the trainer and probes write and views read.

use std::{borrow::Borrow, fmt, sync::Arc};

use serde::{Deserialize, Serialize};

/// A channel's name, cheap to clone: `group/quantity` of a scalar, `group.quantity` of a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Channel(Arc<str>);

impl Channel {
    /// The channel of this name.
    pub fn new(name: impl AsRef<str>) -> Self {
        Self(name.as_ref().into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Channel {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl Borrow<str> for Channel {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The channels that more than one file names, with their units.
pub mod channels {
    /// Training cross-entropy, nats per token.
    pub const LOSS_TRAIN: &str = "loss/train";
    /// Held-out cross-entropy, nats per token.
    pub const LOSS_HELD_OUT: &str = "loss/held_out";
    /// Training cross-entropy of a model that classifies texts, nats a label.
    pub const LABELS_TRAIN: &str = "labels/train";
    /// Held-out cross-entropy of the label, nats per label.
    pub const LABELS_HELD_OUT: &str = "labels/held_out";
    /// Global gradient norm before clipping.
    pub const GRAD_NORM: &str = "train/grad_norm";
    /// The learning rate of a step.
    pub const LEARNING_RATE: &str = "train/lr";
    /// Wall-clock milliseconds of one step of one variant.
    pub const STEP_MS: &str = "time/step_ms";
    /// tanh(gamma) of the fast-slow gate.
    pub const GATE: &str = "gate/tanh";
    /// dLoss/dgamma before clipping.
    pub const GATE_GRAD: &str = "gate/grad";
    /// Effective memory -1 / ln a of a slow path that decays, in slow tokens: the median over channels and positions.
    pub const MEMORY_MEDIAN: &str = "memory/median";
    /// Its first decile: a tenth of the channels and positions forget faster.
    pub const MEMORY_LOW: &str = "memory/low";
    /// Its last decile.
    pub const MEMORY_HIGH: &str = "memory/high";
    /// |x - G(x)| / |x| over all positions where the last equilibrium solve ended: large states hide small ones.
    pub const DEQ_RESIDUAL: &str = "deq/residual";
    /// Equilibrium solves of a training step that stopped short of the tolerance at some position; there is one per
    /// round.
    pub const DEQ_MISSED: &str = "deq/missed";
    /// Solves of its backward pass that did.
    pub const DEQ_BACKWARD_MISSED: &str = "deq/backward_missed";
    /// Accuracy on the positions a task asks for (0..1).
    pub const ACCURACY: &str = "task/accuracy";
    /// The number of positions that an accuracy is of; sent with the first accuracy.
    pub const ANSWERS: &str = "task/answers";
    /// The accuracy of a guess (0..1); sent with the first accuracy.
    pub const GUESS: &str = "task/guess";
}
