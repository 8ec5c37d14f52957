//! The two ends of differential attention (arXiv 2410.05258, as arXiv 2604.01683 uses it): queries in two halves, each
//! beside zeros, so that one attention computes both maps; and the difference of what the two maps read.

use super::norm::rms_norm_reference;
use crate::fused::prelude::*;

mod difference;
mod halves;

/// qkv `(B, T, 3 H d)` -> `(B, T, 4 H d)`: of each head's query the halves sqrt(2) (q1, 0) and sqrt(2) (0, q2) one after
/// the other, then the keys and values as they were. By the factor a division by sqrt(d) becomes one by sqrt(d / 2).
pub fn halve_queries(qkv: &Tensor, heads: usize) -> Result<Tensor> {
    let wide = qkv.dim(D::Minus1)?;
    if heads == 0 || !wide.is_multiple_of(6 * heads) {
        bail!("{heads} queries, keys and values cannot be {wide} channels of an even width a head");
    }
    let qkv = qkv.contiguous()?;
    if !storage::readable(&[&qkv]) {
        return halve_queries_reference(&qkv, heads);
    }
    qkv.apply_op1(Op(halves::SplitHalves { heads, head_dim: wide / 3 / heads }))
}

/// The reference form in plain candle, with the arguments of [`halve_queries`].
pub fn halve_queries_reference(qkv: &Tensor, heads: usize) -> Result<Tensor> {
    let (b, t, wide) = qkv.dims3()?;
    let d = wide / 3 / heads;
    let q = (qkv.narrow(D::Minus1, 0, heads * d)?.reshape((b, t, heads, d))? * 2f64.sqrt())?;
    let none = Tensor::zeros((b, t, heads, d / 2), q.dtype(), q.device())?;
    let (first, second) = (q.narrow(D::Minus1, 0, d / 2)?, q.narrow(D::Minus1, d / 2, d / 2)?);
    let halves = Tensor::cat(&[&first, &none, &none, &second], D::Minus1)?.reshape((b, t, 2 * heads * d))?;
    Tensor::cat(&[&halves, &qkv.narrow(D::Minus1, heads * d, 2 * heads * d)?], D::Minus1)
}

/// Maps the outputs of the two maps of each head, y1 and y2 one after the other in y `(B, T, 2 H d)`, and lambda `(H)`
/// to r / sqrt(mean(r^2) + eps), r = y1 - lambda y2 of each head: `(B, T, H d)`.
pub fn normalised_difference(y: &Tensor, lambda: &Tensor, eps: f64) -> Result<Tensor> {
    let (wide, heads) = (y.dim(D::Minus1)?, lambda.elem_count());
    if heads == 0 || lambda.rank() != 1 || !wide.is_multiple_of(2 * heads) {
        bail!("{wide} channels do not fit the two maps of each of {heads} heads");
    }
    let (y, lambda) = (y.contiguous()?, lambda.contiguous()?);
    if !storage::readable(&[&y, &lambda]) {
        return normalised_difference_reference(&y, &lambda, eps);
    }
    y.apply_op2(&lambda, Op(difference::Difference { eps: eps as f32 }))
}

/// The reference form in plain candle, with the arguments of [`normalised_difference`].
pub fn normalised_difference_reference(y: &Tensor, lambda: &Tensor, eps: f64) -> Result<Tensor> {
    let (b, t, wide) = y.dims3()?;
    let heads = lambda.elem_count();
    let y = y.reshape((b, t, heads, 2, wide / 2 / heads))?;
    let of = |i: usize| y.narrow(3, i, 1)?.squeeze(3);
    let difference = (of(0)? - of(1)?.broadcast_mul(&lambda.reshape((heads, 1))?)?)?; // (B,T,H,d)
    let ones = Tensor::ones(wide / 2 / heads, y.dtype(), y.device())?;
    rms_norm_reference(&difference, &ones, eps)?.reshape((b, t, wide / 2))
}
