//! Fused attention as operations on tensors, with and without norms of queries and keys.

use std::sync::OnceLock;

use candle_core::{CpuStorage, CustomOp1, CustomOp3, Layout, Result, Shape, Tensor, bail};

use super::{
    super::matrix::{self, filled},
    AttentionSpec,
    fused::{Given, Op},
};

pub fn attention(qkv: &Tensor, norms: Option<[&Tensor; 2]>, spec: AttentionSpec) -> Result<Tensor> {
    let (b, t, width) = qkv.dims3()?;
    let (h, kv, d) = (spec.heads, spec.kv_heads, spec.head_dim);
    if kv == 0 || !h.is_multiple_of(kv) || width != (h + 2 * kv) * d {
        bail!("attention: {width} channels are not {h} query and twice {kv} key heads of {d}");
    }
    let mut keep = qkv.track_op();
    for norm in norms.iter().flatten() {
        if norm.elem_count() != d {
            bail!("attention: norm weights must have {d} values, a head's width");
        }
        keep |= norm.track_op();
    }
    let op = Op::new(spec, t, norms.is_some(), keep);
    let whole = Whole { op, shape: [b, t, h * d], kept: OnceLock::new() };
    match norms {
        Some([q_norm, k_norm]) => qkv.apply_op3(q_norm, k_norm, Normed(whole)),
        None => qkv.apply_op1(Bare(whole)),
    }
}

/// Attention of all batch rows, and what they keep.
struct Whole {
    op: Op,
    /// Of the result.
    shape: [usize; 3],
    kept: OnceLock<Vec<f32>>,
}

impl Whole {
    fn go(&self, given: Given) -> (CpuStorage, Shape) {
        let mut kept = vec![];
        let y = filled(self.shape.iter().product(), |y| {
            kept = filled(self.shape[0] * self.op.kept(), |kept| self.op.go(given, kept, y));
        });
        let _ = self.kept.set(kept); // a forward pass runs once
        (CpuStorage::F32(y), self.shape.to_vec().into())
    }

    /// Gradients of qkv and of both norms, one after the other.
    fn back(&self, given: Given, results: [&[f32]; 2]) -> Result<(Vec<f32>, Vec<f32>)> {
        let kept = match self.kept.get() {
            Some(kept) if !kept.is_empty() => kept,
            _ => bail!("attention: nothing was kept for the way back"),
        };
        let mut norms = vec![];
        let dqkv = filled(given.qkv.len(), |dqkv| norms = self.op.back(given, kept, results, dqkv));
        Ok((dqkv, norms))
    }
}

/// With norms of queries and keys.
struct Normed(Whole);

impl CustomOp3 for Normed {
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
        let norms = Some([matrix::values(s2, l2)?, matrix::values(s3, l3)?]);
        Ok(self.0.go(Given { qkv: matrix::values(s1, l1)?, norms }))
    }

    fn bwd(
        &self,
        qkv: &Tensor,
        q_norm: &Tensor,
        k_norm: &Tensor,
        y: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let (dqkv, mut dq) = matrix::read_all(&[qkv, q_norm, k_norm, y, grad], |[qkv, q, k, y, grad]| {
            self.0.back(Given { qkv, norms: Some([q, k]) }, [y, grad])
        })?;
        let dk = dq.split_off(self.0.op.spec.head_dim);
        let like = |values: Vec<f32>, t: &Tensor| Tensor::from_vec(values, t.shape(), t.device()).map(Some);
        Ok((like(dqkv, qkv)?, like(dq, q_norm)?, like(dk, k_norm)?))
    }
}

/// Without.
struct Bare(Whole);

impl CustomOp1 for Bare {
    fn name(&self) -> &'static str {
        "attention without norms"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let given = Given { qkv: matrix::values(storage, layout)?, norms: None };
        Ok(self.0.go(given))
    }

    fn bwd(&self, qkv: &Tensor, y: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let (dqkv, _) =
            matrix::read_all(&[qkv, y, grad], |[qkv, y, grad]| self.0.back(Given { qkv, norms: None }, [y, grad]))?;
        Tensor::from_vec(dqkv, qkv.shape(), qkv.device()).map(Some)
    }
}
