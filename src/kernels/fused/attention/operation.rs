//! Fused attention as candle operations, with and without QK norms.

use std::sync::OnceLock;

use candle_core::{CpuStorage, CustomOp1, CustomOp3, Layout, Result, Shape, Tensor, bail};

use super::{
    super::storage,
    AttentionSpec,
    cpu::{Inputs, Op},
};
use crate::buffers::build_vec;

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
    let attention = Attention { op, shape: [b, t, h * d], saved_for_backward: OnceLock::new() };
    match norms {
        Some([q_norm, k_norm]) => qkv.apply_op3(q_norm, k_norm, WithNorms(attention)),
        None => qkv.apply_op1(WithoutNorms(attention)),
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
    fn forward(&self, inputs: Inputs) -> (CpuStorage, Shape) {
        let mut saved = vec![];
        let y = build_vec(self.shape.iter().product(), |y| {
            saved = build_vec(self.shape[0] * self.op.saved_len(), |saved| self.op.forward_all(inputs, saved, y));
        });
        let _ = self.saved_for_backward.set(saved); // a forward pass runs once
        (CpuStorage::F32(y), self.shape.to_vec().into())
    }

    /// Gradients of qkv, and of both norm weights, concatenated.
    fn backward(&self, inputs: Inputs, results: [&[f32]; 2]) -> Result<(Vec<f32>, Vec<f32>)> {
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
struct WithNorms(Attention);

impl CustomOp3 for WithNorms {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
        s3: &CpuStorage,
        l3: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let norms = Some([storage::values(s2, l2)?, storage::values(s3, l3)?]);
        Ok(self.0.forward(Inputs { qkv: storage::values(s1, l1)?, norms }))
    }

    fn bwd(
        &self,
        qkv: &Tensor,
        q_norm: &Tensor,
        k_norm: &Tensor,
        y: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let (dqkv, mut dq) = storage::read_all(&[qkv, q_norm, k_norm, y, grad], |[qkv, q, k, y, grad]| {
            self.0.backward(Inputs { qkv, norms: Some([q, k]) }, [y, grad])
        })?;
        let dk = dq.split_off(self.0.op.spec.head_dim);
        let like = |values: Vec<f32>, t: &Tensor| Tensor::from_vec(values, t.shape(), t.device()).map(Some);
        Ok((like(dqkv, qkv)?, like(dq, q_norm)?, like(dk, k_norm)?))
    }
}

/// Attention without QK norms.
struct WithoutNorms(Attention);

impl CustomOp1 for WithoutNorms {
    fn name(&self) -> &'static str {
        "attention without norms"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let inputs = Inputs { qkv: storage::values(storage, layout)?, norms: None };
        Ok(self.0.forward(inputs))
    }

    fn bwd(&self, qkv: &Tensor, y: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let (dqkv, _) = storage::read_all(&[qkv, y, grad], |[qkv, y, grad]| {
            self.0.backward(Inputs { qkv, norms: None }, [y, grad])
        })?;
        Tensor::from_vec(dqkv, qkv.shape(), qkv.device()).map(Some)
    }
}
