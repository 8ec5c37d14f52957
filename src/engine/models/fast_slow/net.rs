//! The fast-slow family's weights, and the parts of its forward pass that all variants share.

use super::{Constraint, FastSlowSpec};
use crate::{
    models::prelude::*,
    nn::{
        attention::{
            Attention, DecayKind, GatedLinearAttention, GatedLinearSpec, GroupedQueryAttention, GroupedQuerySpec,
        },
        block::{LlamaBlockSpec, llama_block},
        fused::mlp::mlp,
        layers::input_proj,
        mlp::MlpKind,
    },
};

/// phi: from the slow state to the direction that is injected.
#[derive(Clone)]
pub(super) enum Phi {
    Linear(Tensor),
    /// Logits of a doubly stochastic matrix.
    Mixing(Tensor),
    Mlp {
        up: Tensor,
        down: Tensor,
    },
}

#[derive(Clone)]
pub(super) struct FastSlowNet {
    pub(super) embed: Tensor, // (V, D)
    pub(super) pre: Vec<Block>,
    pub(super) slow: Vec<Block>,
    pub(super) post: Vec<Block>,
    phi: Phi,
    pub(super) phi_norm: Tensor, // (D)
    pub(super) gamma: Tensor,    // ()
    pub(super) norm: Tensor,     // (D)
}

impl FastSlowNet {
    pub(super) fn new(p: &mut Params, s: &FastSlowSpec, vocab: usize) -> Result<Self> {
        let d = s.d_model;
        let fast_writers = 2 * (s.n_pre + s.n_rounds * s.n_post);
        let (heads, kv_heads) = (s.heads, s.kv_heads);
        let blocks = |p: &mut Params, name: &str, n: usize, writers: usize, window, decay: Option<DecayKind>| {
            let block = LlamaBlockSpec { d_model: d, hidden: 4 * d, mlp: MlpKind::Plain(Act::Gelu), writers };
            let attention = |p: &mut Params, path: &str| -> Result<Arc<dyn Attention>> {
                let (qk_norms, rotary) = (true, true);
                let grouped = GroupedQuerySpec { d_model: d, heads, kv_heads, window, qk_norms, rotary, writers };
                Ok(match decay {
                    None => Arc::new(GroupedQueryAttention::new(p, path, &grouped)?),
                    Some(decay) => {
                        let sizes = GatedLinearSpec { d_model: d, heads, kv_heads, decay, writers };
                        Arc::new(GatedLinearAttention::new(p, path, &sizes)?)
                    }
                })
            };
            (0..n).map(|i| llama_block(p, &format!("{name}.{i}"), &block, attention)).collect::<Result<Vec<_>>>()
        };
        Ok(Self {
            embed: p.normal("embed.weight", (vocab, d), EMBEDDING_STD)?,
            pre: blocks(p, "pre", s.n_pre, fast_writers, s.fast_window, None)?,
            slow: blocks(p, "slow", s.n_slow, 2 * s.n_slow, None, s.slow_mixer.decay())?,
            post: blocks(p, "post", s.n_post, fast_writers, s.fast_window, None)?,
            phi: match (s.projector_hidden, s.constraint) {
                (Some(hidden), _) => {
                    let up = input_proj(p, "phi.0.weight", hidden, d)?;
                    Phi::Mlp { up, down: input_proj(p, "phi.2.weight", d, hidden)? }
                }
                (None, Constraint::Sinkhorn) => Phi::Mixing(input_proj(p, "phi.weight", d, d)?),
                (None, _) => Phi::Linear(input_proj(p, "phi.weight", d, d)?),
            },
            phi_norm: p.ones("phi_norm.weight", d)?,
            gamma: p.zeros("gamma", ())?,
            norm: p.ones("norm.weight", d)?,
        })
    }

    /// The net for a training step, whose rounds all use the same blocks and whose accumulator, if there is one, takes
    /// their weights.
    pub(super) fn with_shared_weights(&self, accumulator: Option<&GradAccumulator>) -> Result<Self> {
        let shared = |blocks| block::with_shared_weights(blocks, accumulator);
        Ok(Self { pre: shared(&self.pre)?, slow: shared(&self.slow)?, post: shared(&self.post)?, ..self.clone() })
    }

    /// RMSNorm(phi(y)), y `(B, K, D)`. Before upsampling: each block once instead of P times, and a
    /// block of zeros would give zeros, so the padding of the first block can come after.
    pub(super) fn injection(&self, y: &Tensor) -> Result<Tensor> {
        let z = match &self.phi {
            Phi::Linear(w) => linear(y, w)?,
            Phi::Mixing(logits) => linear(y, &sinkhorn(logits)?)?,
            Phi::Mlp { up, down } => mlp(y, up, down, Act::Gelu)?,
        };
        rms_norm(&z, &self.phi_norm, EPS)
    }

    pub(super) fn post(&self, x: &Tensor, tap: &mut Tap, round: usize) -> Result<Tensor> {
        block::run(&self.post, x, tap, Some(round))
    }
}

/// Alternate row and column normalisations of exp(logits), `(D, D)`. The diagonal starts with half of
/// each row's mass, so that channels do not all begin as the same mean.
fn sinkhorn(logits: &Tensor) -> Result<Tensor> {
    const ROUNDS: usize = 8;
    let d = logits.dim(0)?;
    let eye = Tensor::eye(d, logits.dtype(), logits.device())?;
    let mut h = (logits + (eye * (d as f64).ln())?)?.exp()?;
    for _ in 0..ROUNDS {
        h = h.broadcast_div(&h.sum_keepdim(1)?)?;
        h = h.broadcast_div(&h.sum_keepdim(0)?)?;
    }
    Ok(h)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sinkhorn_projection_is_doubly_stochastic() -> Result<()> {
        let w = Params::new(1, &Device::Cpu, DType::F32).normal("w", (24, 24), 0.5)?;
        let h = sinkhorn(&w)?;
        for axis in [0, 1] {
            for sum in host::to_f32(&h.sum(axis)?)? {
                assert!((sum - 1.0).abs() < 1e-3, "axis {axis}: {sum}");
            }
        }
        Ok(())
    }
}
