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
    let scale = f as f32 / ((z.elem_count() / f).pow(2) * k.max(1)) as f32;
    let shares = host::to_f32(counts)?.iter().map(|c| c * scale).collect();
    z.apply_op1(Op(BalanceLoss { shares }))
}

/// The reference form in plain candle, with the arguments of [`balance`].
pub fn reference(z: &Tensor, counts: &Tensor, k: usize) -> Result<Tensor> {
    let f = z.dim(D::Minus1)?;
    let rows = z.elem_count() / f;
    let p = candle_nn::ops::softmax(&z.reshape((rows, f))?, D::Minus1)?.sum(0)?; // (F)
    let scale = f as f64 / (rows.pow(2) * k.max(1)) as f64;
    (p * counts.detach().to_dtype(z.dtype())?)?.sum_all()? * scale
}

struct BalanceLoss {
    /// Scaled share of each unit: the loss is the sum over rows and units of share times softmax.
    shares: Vec<f32>,
}

/// The sum over rows of shares . softmax(row).
struct Forward<'a> {
    z: &'a [f32],
    shares: &'a [f32],
}

impl WithSimd for Forward<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let mut row = vec![0f32; self.shares.len()];
        self.z.chunks_exact(row.len()).fold(0.0, |sum, z| {
            row.copy_from_slice(z);
            let total = exponentials(simd, &mut row);
            sum + f64::from(simd::dot(simd, &row, self.shares) / total)
        })
    }
}

/// Replaces the values by exp(value - largest) and returns the sum.
#[inline(always)]
fn exponentials<S: Simd>(simd: S, row: &mut [f32]) -> f32 {
    let most = simd::max(simd, row);
    simd::exp_shifted_sum(simd, row, most)
}

/// out = by p (share - shares . p), p = softmax(z).
struct Backward<'a> {
    z: &'a [f32],
    shares: &'a [f32],
    by: f32,
    out: &'a mut [f32],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let f = self.shares.len();
        for (z, out) in self.z.chunks_exact(f).zip(self.out.chunks_exact_mut(f)) {
            out.copy_from_slice(z);
            let total = exponentials(simd, out);
            let mean = simd::dot(simd, out, self.shares) / total;
            let scale = self.by / total;
            for (out, share) in out.iter_mut().zip(self.shares) {
                *out *= scale * (share - mean);
            }
        }
    }
}

impl FusedOp<1> for BalanceLoss {
    const NAME: &'static str = "balance";

    fn forward(&self, [z]: [&[f32]; 1], _: [&Shape; 1]) -> Result<(Vec<f32>, Shape)> {
        let piece = TASK_ROWS * self.shares.len();
        let mut sums = vec![0f64; z.len().div_ceil(piece)];
        threads::run_chunks(&mut sums, 1, |i, sum| {
            let z = &z[i * piece..z.len().min((i + 1) * piece)];
            sum[0] = arch().dispatch(Forward { z, shares: &self.shares });
        });
        Ok((vec![sums.iter().sum::<f64>() as f32], ().into()))
    }

    fn backward(&self, [z]: [&Tensor; 1], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let piece = TASK_ROWS * self.shares.len();
        let dz = storage::read_all(&[grad, z], |[grad, z]| {
            Ok(build_vec(z.len(), |out| {
                threads::run_chunks(out, piece, |i, out| {
                    arch().dispatch(Backward { z: &z[i * piece..], shares: &self.shares, by: grad[0], out });
                });
            }))
        })?;
        like([dz], [z])
    }
}
