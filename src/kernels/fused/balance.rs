//! The load-balancing loss of sparse units: how evenly top-k selects them. It does not select.

use crate::{fused::prelude::*, host, reduce::TASK_ROWS};

/// F sum_i f_i p_i, a scalar: p the mean over rows of softmax(z), z `(.., F)`; f_i the share of rows that
/// selected unit i, over k. `counts` `(F)` as [`top_k`](super::top_k::top_k) gives them; no gradient. 1 if all
/// are selected equally often.
pub fn balance(z: &Tensor, counts: &Tensor, k: usize) -> Result<Tensor> {
    let z = z.contiguous()?;
    let f = z.dim(D::Minus1)?;
    if !storage::readable(&[&z]) || counts.dims() != [f] {
        return reference(&z, counts, k);
    }
    z.apply_op1(Op(BalanceLoss::new(&host::to_f32(counts)?, z.elem_count() / f, k)))
}

/// The reference form in plain candle, with the arguments of [`balance`].
pub fn reference(z: &Tensor, counts: &Tensor, k: usize) -> Result<Tensor> {
    let f = z.dim(D::Minus1)?;
    let rows = z.elem_count() / f;
    let p = candle_nn::ops::softmax(&z.reshape((rows, f))?, D::Minus1)?.sum(0)?; // (F)
    let scale = f as f64 / (rows.pow(2) * k.max(1)) as f64;
    (p * counts.detach().to_dtype(z.dtype())?)?.sum_all()? * scale
}

pub(super) struct BalanceLoss {
    /// Scaled share of each unit: the loss is the sum over rows and units of share times softmax.
    pub shares: Vec<f32>,
}

impl BalanceLoss {
    /// The loss of `rows` rows that selected k units each, given how many selected each unit.
    pub fn new(counts: &[f32], rows: usize, k: usize) -> Self {
        let scale = counts.len() as f32 / (rows.pow(2) * k.max(1)) as f32;
        Self { shares: counts.iter().map(|c| c * scale).collect() }
    }

    /// The loss of z `(N, F)`.
    pub fn value(&self, z: &[f32]) -> f32 {
        let piece = TASK_ROWS * self.shares.len();
        let pieces: Vec<_> = z.chunks(piece).collect();
        threads::map(pieces.len(), |i| forward(pieces[i], &self.shares)).iter().sum::<f64>() as f32
    }
}

kernel! {
    /// The sum over rows of shares . softmax(row).
    fn forward(simd, z: &'a [f32], shares: &'a [f32]) -> f64 {
        let mut row = vec![0f32; shares.len()];
        z.chunks_exact(row.len()).fold(0.0, |sum, z| {
            row.copy_from_slice(z);
            let total = exponentials(simd, &mut row);
            sum + f64::from(simd::dot(simd, &row, shares) / total)
        })
    }
}

/// Replaces the values by exp(value - largest) and returns the sum.
#[inline(always)]
fn exponentials<S: Simd>(simd: S, row: &mut [f32]) -> f32 {
    let most = simd::max(simd, row);
    simd::exp_shifted_sum(simd, row, most)
}

kernel! {
    /// out = by p (share - shares . p), p = softmax(z).
    pub(super) fn backward(simd, z: &'a [f32], shares: &'a [f32], by: f32, out: &'a mut [f32]) {
        let f = shares.len();
        for (z, out) in z.chunks_exact(f).zip(out.chunks_exact_mut(f)) {
            out.copy_from_slice(z);
            let total = exponentials(simd, out);
            let mean = simd::dot(simd, out, shares) / total;
            let scale = by / total;
            for (out, share) in out.iter_mut().zip(shares) {
                *out *= scale * (share - mean);
            }
        }
    }
}

impl FusedOp<1> for BalanceLoss {
    const NAME: &'static str = "balance";

    fn forward(&self, [z]: [&[f32]; 1], _: [&Shape; 1]) -> Result<(Vec<f32>, Shape)> {
        Ok((vec![self.value(z)], ().into()))
    }

    fn backward(&self, [z]: [&Tensor; 1], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let piece = TASK_ROWS * self.shares.len();
        let dz = storage::read_all(&[grad, z], |[grad, z]| {
            let task = |i: usize, out: &mut [f32]| backward(&z[i * piece..], &self.shares, grad[0], out);
            Ok(threads::build_chunks(z.len(), piece, task))
        })?;
        gradients_like([dz], [z])
    }
}
