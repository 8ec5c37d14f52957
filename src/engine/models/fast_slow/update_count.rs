//! A hierarchy by update counts: fast passes with the slow state held, then one slow update, all at token rate.

use super::{FastSlow, net::FastSlowNet};
use crate::models::prelude::*;

/// The passes of a cycle, and the cycles that gradients pass through.
#[derive(Clone, Copy)]
pub(super) struct Cycles {
    /// Passes of the fast path in each cycle.
    pub(super) passes: usize,
    /// The first cycle that gradients pass through.
    pub(super) learned_from: usize,
    /// True if the cycles are passed with gradients.
    pub(super) learn: bool,
}

/// Both states `(B, T, D)`; there is no slow one before its first update, which counts as 0.
#[derive(Clone)]
struct Streams {
    x: Tensor,
    y: Option<Tensor>,
}

impl FastSlow {
    /// The fast state `(B, T, D)` after all cycles with the last slow state let in. `start`: the fast state before them.
    pub(super) fn cycles(&self, net: &FastSlowNet, start: &Tensor, way: Cycles, tap: &mut Tap) -> Result<Tensor> {
        let mut streams = Streams { x: start.clone(), y: None };
        if way.learned_from > 0 {
            let fixed = start.detach();
            streams.x = fixed.clone();
            for round in 0..way.learned_from {
                streams = self.cycle(&self.inference_net, streams, way, round, tap)?;
            }
            // the sum added by these cycles is a constant; the start keeps its gradient
            let added = (&streams.x - &fixed)?.detach();
            streams = Streams { x: (start + added)?, y: streams.y.map(|y| y.detach()) };
        }
        for round in way.learned_from..self.spec.n_rounds {
            streams = self.cycle(net, streams, way, round, tap)?;
        }
        self.inject(net, &streams)
    }

    /// Fast passes with y held, then y <- Slow(y + x).
    fn cycle(&self, net: &FastSlowNet, streams: Streams, way: Cycles, round: usize, tap: &mut Tap) -> Result<Streams> {
        let Streams { x, y } = &streams;
        tap.offer(&format!("x.r{round}"), || Ok(x.clone()))?;
        tap.offer(&format!("y_up.r{round}"), || y.clone().map_or_else(|| x.zeros_like(), Ok))?;
        let mut held = streams.clone();
        for pass in 0..way.passes {
            let injected = self.inject(net, &held)?;
            let mut off = Tap::off();
            let tap = if pass == 0 { &mut *tap } else { &mut off };
            if pass == 0 {
                tap.offer(&format!("injected.r{round}"), || Ok(injected.clone()))?;
            }
            held.x = net.post(&injected, tap, round)?;
        }
        let Streams { x, y } = held;
        let input = y.map_or_else(|| Ok(x.clone()), |y| y + &x)?;
        let y = self.following_decays(way.learn, round, tap, |tap| self.slow_update(net, &input, tap, round))?;
        Ok(Streams { x, y: Some(y) })
    }

    /// x + s tanh(gamma) RMSNorm(phi(y)).
    fn inject(&self, net: &FastSlowNet, Streams { x, y }: &Streams) -> Result<Tensor> {
        match y {
            None => Ok(x.clone()),
            Some(y) => x + net.injection(y)?.broadcast_mul(&self.gate_tensor(net)?)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::fast_slow::{FastSlowSpec, Hierarchy};

    const BY_COUNTS: Hierarchy = Hierarchy::UpdateCount { passes: 2, last_cycle_only: false };

    #[test]
    fn no_prediction_depends_on_a_later_token() -> Result<()> {
        let spec = FastSlowSpec {
            d_model: 16,
            heads: 2,
            kv_heads: 1,
            n_rounds: 3,
            fast_window: Some(3),
            hierarchy: BY_COUNTS,
            ..FastSlowSpec::default()
        };
        let model = FastSlow::new(&spec, 11, 2, &Device::Cpu)?;
        model.params.load("gamma", &Tensor::new(0.8f32, &Device::Cpu)?)?;
        let logits = |ids: &[u32]| -> Result<Vec<Vec<f32>>> {
            let logits = model.logits(&Tensor::from_slice(ids, (1, ids.len()), &Device::Cpu)?, &mut Tap::off())?;
            Ok(host::to_f32(&logits)?.chunks(11).map(<[f32]>::to_vec).collect())
        };
        let mut ids: Vec<u32> = (0..40).map(|i| (i * i + 3) % 11).collect();
        let before = logits(&ids)?;
        ids[17] = (ids[17] + 1) % 11;
        let after = logits(&ids)?;
        assert_eq!(before[..17], after[..17]);
        // the fast path alone, 6 passes and Pre of 3 tokens each, reaches 14 tokens back
        assert!(before[17] != after[17] && before[39] != after[39], "the slow path hears of all the past");
        Ok(())
    }

    #[test]
    fn passes_of_another_kind_are_refused() {
        let refused =
            |spec: FastSlowSpec| FastSlow::new(&spec, 11, 2, &Device::Cpu).err().expect("refused").to_string();
        let none = Hierarchy::UpdateCount { passes: 0, last_cycle_only: false };
        assert!(refused(FastSlowSpec { hierarchy: none, ..FastSlowSpec::default() }).contains("at least 1 fast pass"));
        let penalty = FastSlowSpec { hierarchy: BY_COUNTS, aux_lambda: 0.1, ..FastSlowSpec::default() };
        assert!(refused(penalty).contains("passes of its own"));
    }
}
