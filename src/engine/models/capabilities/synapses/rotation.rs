//! The effect of time on the trace of one neuron of x.

use super::SynapseShape;
use crate::nn::fused::linear_attention::decays;

/// The effect of one token on the trace of a neuron of x and of the neuron that rotates with it: rotary position turns
/// the pair, and a damped model lets both decay.
#[derive(Debug, Clone, Copy)]
pub struct Rotation {
    cos: f64,
    /// The factor of the partner's share in the neuron's own trace.
    sin: f64,
    decay: f64,
}

impl Rotation {
    /// The identity: neither a rotation nor a decay.
    pub const NONE: Self = Self { cos: 1.0, sin: 0.0, decay: 1.0 };

    /// U of neuron j: a key written s tokens ago meets a query turned by s tokens more.
    pub fn for_neuron(shape: &SynapseShape, j: usize) -> Self {
        let (per_head, attention) = (shape.per_head(), &shape.attention);
        let (head, within) = (j / per_head, j % per_head);
        let decay = if attention.damped { f64::from(decays(shape.heads)[head]) } else { 1.0 };
        if !attention.rotary {
            return Self { decay, ..Self::NONE };
        }
        let angle = f64::from(attention.pair_frequency(within / 2, per_head)) * std::f64::consts::TAU;
        let sin = if within.is_multiple_of(2) { angle.sin() } else { -angle.sin() };
        Self { cos: angle.cos(), sin, decay }
    }

    /// The neuron's trace and its partner's, one token later.
    pub fn step(self, own: f64, partner: f64) -> (f64, f64) {
        (self.decay * (own * self.cos + partner * self.sin), self.decay * (partner * self.cos - own * self.sin))
    }
}
