//! The change that an open gate makes to the entropy of the attention behind it, token by token, compared with the size
//! of the gated input and with the loss.

use super::{
    attention_maps::rows_of,
    position_losses::token_losses,
    token_residuals::{BATCH, MAX_WINDOWS, by_token, counted, with_gate_shut},
};
use crate::{
    analysis::rank_correlation::{ROTATIONS, shift_test},
    probe::prelude::*,
};

impl Probe for GateEntropyArgs {
    type Answer = GateEntropy;
    type Subject<'m> = GatedAttention<'m>;
    const IS_SLOW: bool = true;

    fn ask(&self, mut gated: GatedAttention<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let held_out = cx.corpus.held_out(MAX_WINDOWS, self.window)?;
        let (mut all, mut windows) = (Tokens::default(), 0);
        for batch in cx.batches(&held_out, BATCH) {
            if all.entropy.len() >= self.tokens {
                break;
            }
            cx.progress.at(all.entropy.len(), self.tokens)?;
            let WindowBatch { tokens, targets } = batch?;
            all.extend(&gated.read(&tokens, targets)?, held_out.len, gated.streams.pool);
            windows += tokens.dim(0)?;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(cx.seed);
        let change: Vec<f64> = all.entropy.iter().zip(&all.shut).map(|(open, shut)| open - shut).collect();
        let with_push = shift_test(&change, &all.push, ROTATIONS, &mut rng).into();
        let with_loss = shift_test(&change, &all.loss_change, ROTATIONS, &mut rng).into();
        let about = format!("{} tokens of {windows} held-out windows", change.len());
        let measured = GateEntropy {
            gate: gated.model.effective_gate()?,
            layers: gated.layers.into_iter().map(|layer| layer.path).collect(),
            windows,
            entropy: all.entropy.into(),
            shut: all.shut.into(),
            push: all.push.into(),
            loss_change: all.loss_change.into(),
            with_push,
            with_loss,
        };
        Ok(Answer::new(measured, about, vec![]))
    }
}

/// A model whose last round of attention at token rate follows an injection through a gate.
pub struct GatedAttention<'m> {
    model: &'m mut dyn CouplingModel,
    streams: TwoTimescales,
    /// The layers of the fast stream in the last round, at least one.
    layers: Vec<AttentionLayer>,
    /// The tap prefix of the states after the injection.
    injected: &'static str,
}

/// A number for each token of a batch `(B T)`, or for each token that counts.
#[derive(Default)]
struct Tokens {
    entropy: Vec<f64>,
    shut: Vec<f64>,
    push: Vec<f64>,
    loss_change: Vec<f64>,
}

impl Tokens {
    /// Adds those of a batch that are [`counted`].
    fn extend(&mut self, batch: &Self, len: usize, pool: usize) {
        for at in counted(&batch.loss_change, len, pool) {
            self.entropy.push(batch.entropy[at]);
            self.shut.push(batch.shut[at]);
            self.push.push(batch.push[at]);
            self.loss_change.push(batch.loss_change[at]);
        }
    }
}

impl<'m> FromModel<'m> for GatedAttention<'m> {
    fn from_model(model: &'m mut dyn Trainable) -> Option<Self> {
        let Capabilities { attention_layers, two_timescales, fixed_point, .. } = model.capabilities();
        let (streams, injected) = (two_timescales?, fixed_point?.start_tap());
        let last = streams.rounds.checked_sub(1)?;
        let layers: Vec<_> = attention_layers.into_iter().filter(|l| streams.follows_injection(l, last)).collect();
        if layers.is_empty() {
            return None;
        }
        model.capabilities_mut().coupling.map(|model| Self { model, streams, layers, injected })
    }
}

impl GatedAttention<'_> {
    /// All tokens `(B, T)` of a batch.
    fn read(&mut self, tokens: &Tensor, targets: &[u32]) -> Result<Tokens> {
        let fast = self.streams.fast_tap(self.streams.rounds - 1);
        let mut wanted: Vec<String> = self.layers.iter().map(AttentionLayer::tap_path).collect();
        wanted.extend([fast.clone(), self.injected.to_owned()]);
        let mut open = Tap::on(&wanted);
        let losses = token_losses(&self.model.logits(tokens, &mut open)?, targets)?;
        let (losses_shut, shut) = with_gate_shut(self.model, |model| {
            let mut tap = Tap::on(&wanted);
            Ok((token_losses(&model.logits(tokens, &mut tap)?, targets)?, tap))
        })?;
        let injected = open.recorded().iter().rev().find(|(path, _)| path.starts_with(self.injected));
        let push = match (open.get(&fast), injected) {
            (Some(before), Some((_, after))) => by_token(before, after)?,
            _ => bail!("the model's forward pass has no round that injects a state"),
        };
        Ok(Tokens {
            entropy: self.entropies(&open)?,
            shut: self.entropies(&shut)?,
            push,
            loss_change: losses.iter().zip(&losses_shut).map(|(open, shut)| open - shut).collect(),
        })
    }

    /// Entropy of the attention of every token `(B T)`, nats, mean over layers and heads.
    fn entropies(&self, tap: &Tap) -> Result<Vec<f64>> {
        let (mut sums, mut matrices) = (vec![], 0);
        for layer in &self.layers {
            let weights = tap.require(&layer.tap_path())?;
            let (rows, heads, queries, keys) = weights.dims4()?; // (B, H, T, T)
            sums.resize(rows * queries, 0.0);
            for (at, row) in host::to_f32(weights)?.chunks(keys.max(1)).enumerate() {
                let (window, query) = (at / (heads * queries), at % queries);
                sums[window * queries + query] += rows_of(layer).entropy(row);
            }
            matrices += heads;
        }
        Ok(sums.into_iter().map(|sum: f64| sum / matrices as f64).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::fast_slow::FastSlowSpec;

    const TOKENS: usize = 100;

    /// A model with a gate of this size, and a text.
    fn gated(gate: f64) -> Result<(Box<dyn Trainable>, Corpus)> {
        let spec = ModelSpec::FastSlow(FastSlowSpec { d_model: 16, n_post: 2, ..FastSlowSpec::default() });
        let (mut model, corpus) = testing::model(&spec)?;
        let coupling = model.capabilities_mut().coupling.expect("a gate");
        coupling.set_coupling_settings(CouplingSettings { gate: Some(gate), ..coupling.coupling_settings() });
        Ok((model, corpus))
    }

    fn measured(gate: f64) -> Result<GateEntropy> {
        let (mut model, corpus) = gated(gate)?;
        let before = model.capabilities().coupling.map(CouplingModel::coupling_settings);
        let args = [("tokens", Value::Int(TOKENS as i64))];
        let found = testing::measured(model.as_mut(), &corpus, &args)?;
        assert_eq!(model.capabilities().coupling.map(CouplingModel::coupling_settings), before);
        Ok(found)
    }

    #[test]
    fn a_shut_gate_changes_no_entropy() -> Result<()> {
        let m = measured(0.0)?;
        assert_eq!(m.entropy, m.shut);
        assert_eq!((m.change(), m.with_push.rho.is_nan(), m.with_loss.p.is_nan()), (0.0, true, true));
        assert!(m.push.iter().chain(m.loss_change.iter()).all(|v| *v == 0.0));
        Ok(())
    }

    #[test]
    fn an_open_gate_changes_the_attention_of_the_last_round() -> Result<()> {
        let m = measured(0.8)?;
        assert_eq!(m.layers, ["post.0.r1", "post.1.r1"]);
        assert!(m.entropy.len() >= TOKENS && m.entropy.len() == m.shut.len() && m.push.len() == m.loss_change.len());
        assert!(m.entropy.iter().zip(m.shut.iter()).all(|(open, shut)| open != shut && *open > 0.0));
        assert!(m.push.iter().all(|push| *push > 0.0) && (m.gate - 0.8).abs() < 1e-6);
        let [push, loss] = [m.with_push, m.with_loss];
        assert!(push.rho.abs() <= 1.0 && loss.rho.abs() <= 1.0 && push.p > 0.0 && loss.p <= 1.0);
        Ok(())
    }

    /// The mean over tokens, layers and heads is that of the attention maps themselves.
    #[test]
    fn the_entropy_of_a_token_is_that_of_its_row() -> Result<()> {
        let (mut model, corpus) = gated(0.8)?;
        let ids = corpus.passage(0, 24);
        let tokens = Tensor::from_slice(&ids, (2, 12), &Device::Cpu)?;
        let found = GatedAttention::from_model(model.as_mut()).expect("attention").read(&tokens, &ids)?;
        let mut tap = Tap::on(&["post.0.r1.attn.weights", "post.1.r1.attn.weights"]);
        model.token_model()?.logits(&tokens, &mut tap)?;
        let row = |layer: usize, window: usize, head: usize, query: usize| -> Result<f64> {
            let weights = host::to_f64(&tap.recorded()[layer].1.get(window)?.get(head)?.get(query)?)?;
            Ok(-weights.iter().filter(|w| **w > 0.0).map(|w| w * w.ln()).sum::<f64>())
        };
        for (window, query) in [(0, 5), (1, 11)] {
            let mut expected = 0.0;
            for (layer, head) in (0..2).flat_map(|layer| (0..4).map(move |head| (layer, head))) {
                expected += row(layer, window, head, query)? / 8.0;
            }
            assert!((found.entropy[window * 12 + query] - expected).abs() < 1e-9);
        }
        Ok(())
    }
}
