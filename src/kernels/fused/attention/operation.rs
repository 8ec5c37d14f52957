//! Fused attention as candle operations, with and without QK norms.

use std::sync::OnceLock;

use super::{
    super::custom_op,
    AttentionSpec,
    cpu::{Inputs, Op},
};
use crate::fused::prelude::*;

/// Applies the fused operation to qkv `(B, T, (H + 2 Hkv) d)`, with the QK norms if there are any.
pub fn attention(qkv: &Tensor, norms: Option<[&Tensor; 2]>, spec: AttentionSpec) -> Result<Tensor> {
    let (b, t, width) = qkv.dims3()?;
    let (h, kv, d) = (spec.heads, spec.kv_heads, spec.head_dim);
    if kv == 0 || !h.is_multiple_of(kv) || width != (h + 2 * kv) * d {
        bail!("attention: {width} channels are not {h} query and twice {kv} key heads of {d}");
    }
    let mut needs_backward = qkv.track_op();
    for norm in norms.iter().flatten() {
        if norm.elem_count() != d {
            bail!("attention: norm weights must have {d} values, a head's width");
        }
        needs_backward |= norm.track_op();
    }
    let op = Op::new(spec, t, norms.is_some(), needs_backward);
    let attention = custom_op::Op(Attention { op, shape: [b, t, h * d], saved_for_backward: OnceLock::new() });
    match norms {
        Some([q_norm, k_norm]) => qkv.apply_op3(q_norm, k_norm, attention),
        None => qkv.apply_op1(attention),
    }
}

/// Attention of all batch rows, and what it saves for backward.
struct Attention {
    op: Op,
    /// Shape of the result.
    shape: [usize; 3],
    saved_for_backward: OnceLock<Vec<f32>>,
}

impl Attention {
    fn attend(&self, inputs: Inputs) -> (Vec<f32>, Shape) {
        let mut saved = vec![];
        let y = build_vec(self.shape.iter().product(), |y| {
            saved = build_vec(self.shape[0] * self.op.saved_len(), |saved| self.op.forward_all(inputs, saved, y));
        });
        let _ = self.saved_for_backward.set(saved); // a forward pass runs once
        (y, self.shape.to_vec().into())
    }

    /// Gradients of qkv, and of both norm weights, concatenated.
    fn gradients(&self, inputs: Inputs, results: [&[f32]; 2]) -> Result<(Vec<f32>, Vec<f32>)> {
        let saved = match self.saved_for_backward.get() {
            Some(saved) if !saved.is_empty() => saved,
            _ => bail!("attention: nothing was saved for backward"),
        };
        let mut norms = vec![];
        let dqkv = build_vec(inputs.qkv.len(), |dqkv| norms = self.op.backward_all(inputs, saved, results, dqkv));
        Ok((dqkv, norms))
    }
}

/// Attention with QK norms.
impl FusedOp<3> for Attention {
    const NAME: &'static str = "attention";

    fn forward(&self, [qkv, q, k]: [&[f32]; 3], _: [&Shape; 3]) -> Result<(Vec<f32>, Shape)> {
        Ok(self.attend(Inputs { qkv, norms: Some([q, k]) }))
    }

    fn backward(&self, inputs: [&Tensor; 3], y: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let [qkv, q_norm, k_norm] = inputs;
        let (dqkv, mut dq) = storage::read_all(&[qkv, q_norm, k_norm, y, grad], |[qkv, q, k, y, grad]| {
            self.gradients(Inputs { qkv, norms: Some([q, k]) }, [y, grad])
        })?;
        let dk = dq.split_off(self.op.spec.head_dim);
        gradients_like([dqkv, dq, dk], inputs)
    }
}

/// Attention without QK norms.
impl FusedOp<1> for Attention {
    const NAME: &'static str = "attention without norms";

    fn forward(&self, [qkv]: [&[f32]; 1], _: [&Shape; 1]) -> Result<(Vec<f32>, Shape)> {
        Ok(self.attend(Inputs { qkv, norms: None }))
    }

    fn backward(&self, [qkv]: [&Tensor; 1], y: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let (dqkv, _) = storage::read_all(&[qkv, y, grad], |[qkv, y, grad]| {
            self.gradients(Inputs { qkv, norms: None }, [y, grad])
        })?;
        gradients_like([dqkv], [qkv])
    }
}
