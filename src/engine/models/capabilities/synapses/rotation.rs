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

    /// The neuron that turns together with neuron j; j itself where its head has an odd number and it is the last, so that
    /// none is left for it (such models do not rotate).
    pub fn partner(shape: &SynapseShape, j: usize) -> usize {
        let within = j % shape.per_head();
        if within ^ 1 < shape.per_head() { j - within + (within ^ 1) } else { j }
    }

    /// The effect of this many tokens.
    pub fn repeated(self, tokens: usize) -> Self {
        let angle = self.sin.atan2(self.cos) * tokens as f64;
        Self { cos: angle.cos(), sin: angle.sin(), decay: self.decay.powf(tokens as f64) }
    }

    /// The neuron's trace and its partner's, one token later.
    pub fn step(self, own: f64, partner: f64) -> (f64, f64) {
        (self.decay * (own * self.cos + partner * self.sin), self.decay * (partner * self.cos - own * self.sin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::fused::linear_attention::LinearAttentionSpec;

    #[test]
    fn a_repeated_rotation_is_that_many_steps() {
        let attention = LinearAttentionSpec { rotary: true, damped: true, ..LinearAttentionSpec::default() };
        let shape = SynapseShape { heads: 2, neurons: 16, d_model: 4, layers: 2, attention, ..SynapseShape::default() };
        for j in [0, 3, 9, 14] {
            let rotation = Rotation::for_neuron(&shape, j);
            let one_by_one = (0..37).fold((0.7, 0.2), |(own, partner), _| rotation.step(own, partner));
            let at_once = rotation.repeated(37).step(0.7, 0.2);
            assert!((one_by_one.0 - at_once.0).abs() < 1e-9 && (one_by_one.1 - at_once.1).abs() < 1e-9, "neuron {j}");
            assert_eq!(rotation.repeated(0).step(0.7, 0.2), (0.7, 0.2));
        }
    }
}
