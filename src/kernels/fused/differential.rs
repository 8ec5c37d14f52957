//! The two ends of differential attention (arXiv 2410.05258, as arXiv 2604.01683 uses it): queries in two halves, each
//! padded with zeros, so that one attention computes both maps; and the difference of what the two maps read.

use std::f32::consts::SQRT_2;

use super::{linear::with_last_dim, norm::rms_norm_reference};
use crate::{fused::prelude::*, reduce::sum_rows};

const POSITIONS_PER_TASK: usize = 64;

/// qkv `(B, T, 3 H d)` -> `(B, T, 4 H d)`: of each head's query the halves sqrt(2) (q1, 0) and sqrt(2) (0, q2) one after
/// the other, then the keys and values as they were. By the factor a division by sqrt(d) becomes one by sqrt(d / 2).
pub fn halve_queries(qkv: &Tensor, heads: usize) -> Result<Tensor> {
    let width = qkv.dim(D::Minus1)?;
    if heads == 0 || !width.is_multiple_of(6 * heads) {
        bail!("{heads} queries, keys and values cannot be {width} channels of an even width a head");
    }
    let op = SplitHalves { heads, head_dim: width / 3 / heads };
    apply_fused([&qkv.contiguous()?], op, |[qkv]| halve_queries_reference(qkv, heads))
}

/// The reference form in plain candle, with the arguments of [`halve_queries`].
pub fn halve_queries_reference(qkv: &Tensor, heads: usize) -> Result<Tensor> {
    let (b, t, width) = qkv.dims3()?;
    let d = width / 3 / heads;
    let q = (qkv.narrow(D::Minus1, 0, heads * d)?.reshape((b, t, heads, d))? * 2f64.sqrt())?;
    let none = Tensor::zeros((b, t, heads, d / 2), q.dtype(), q.device())?;
    let (first, second) = (q.narrow(D::Minus1, 0, d / 2)?, q.narrow(D::Minus1, d / 2, d / 2)?);
    let halves = Tensor::cat(&[&first, &none, &none, &second], D::Minus1)?.reshape((b, t, 2 * heads * d))?;
    Tensor::cat(&[&halves, &qkv.narrow(D::Minus1, heads * d, 2 * heads * d)?], D::Minus1)
}

/// Maps the outputs of the two maps of each head, y1 and y2 one after the other in y `(B, T, 2 H d)`, and lambda `(H)`
/// to r / sqrt(mean(r^2) + eps), r = y1 - lambda y2 of each head: `(B, T, H d)`.
pub fn normalised_difference(y: &Tensor, lambda: &Tensor, eps: f64) -> Result<Tensor> {
    let (width, heads) = (y.dim(D::Minus1)?, lambda.elem_count());
    if heads == 0 || lambda.rank() != 1 || !width.is_multiple_of(2 * heads) {
        bail!("{width} channels do not fit the two maps of each of {heads} heads");
    }
    let (args, op) = ([&y.contiguous()?, &lambda.contiguous()?], Difference { eps: eps as f32 });
    apply_fused(args, op, |[y, lambda]| normalised_difference_reference(y, lambda, eps))
}

/// The reference form in plain candle, with the arguments of [`normalised_difference`].
pub fn normalised_difference_reference(y: &Tensor, lambda: &Tensor, eps: f64) -> Result<Tensor> {
    let (b, t, width) = y.dims3()?;
    let heads = lambda.elem_count();
    let y = y.reshape((b, t, heads, 2, width / 2 / heads))?;
    let of = |i: usize| y.narrow(3, i, 1)?.squeeze(3);
    let difference = (of(0)? - of(1)?.broadcast_mul(&lambda.reshape((heads, 1))?)?)?; // (B,T,H,d)
    let ones = Tensor::ones(width / 2 / heads, y.dtype(), y.device())?;
    rms_norm_reference(&difference, &ones, eps)?.reshape((b, t, width / 2))
}

/// Queries in two halves, each padded with zeros.
struct SplitHalves {
    heads: usize,
    head_dim: usize,
}

impl SplitHalves {
    /// Channels of all queries of a position.
    fn query_channels(&self) -> usize {
        self.heads * self.head_dim
    }

    fn split(&self, qkv: &[f32]) -> Vec<f32> {
        let (width, d, half) = (self.query_channels(), self.head_dim, self.head_dim / 2);
        threads::build_chunks(qkv.len() / 3 * 4, POSITIONS_PER_TASK * 4 * width, |i, out| {
            let rows = qkv[i * POSITIONS_PER_TASK * 3 * width..].chunks_exact(3 * width);
            for (out, row) in out.chunks_exact_mut(4 * width).zip(rows) {
                let (halves, rest) = out.split_at_mut(2 * width);
                for (halves, q) in halves.chunks_exact_mut(2 * d).zip(row.chunks_exact(d)) {
                    halves[half..half + d].fill(0.0);
                    halves[..half].iter_mut().zip(q).for_each(|(to, q)| *to = SQRT_2 * q);
                    halves[d + half..].iter_mut().zip(&q[half..]).for_each(|(to, q)| *to = SQRT_2 * q);
                }
                rest.copy_from_slice(&row[width..]);
            }
        })
    }

    fn join(&self, grad: &[f32]) -> Vec<f32> {
        let (width, d, half) = (self.query_channels(), self.head_dim, self.head_dim / 2);
        threads::build_chunks(grad.len() / 4 * 3, POSITIONS_PER_TASK * 3 * width, |i, out| {
            let rows = grad[i * POSITIONS_PER_TASK * 4 * width..].chunks_exact(4 * width);
            for (out, row) in out.chunks_exact_mut(3 * width).zip(rows) {
                let (dq, rest) = out.split_at_mut(width);
                for (dq, halves) in dq.chunks_exact_mut(d).zip(row.chunks_exact(2 * d)) {
                    dq[..half].iter_mut().zip(halves).for_each(|(to, g)| *to = SQRT_2 * g);
                    dq[half..].iter_mut().zip(&halves[d + half..]).for_each(|(to, g)| *to = SQRT_2 * g);
                }
                rest.copy_from_slice(&row[2 * width..]);
            }
        })
    }
}

impl FusedOp<1> for SplitHalves {
    const NAME: &'static str = "halve-queries";

    fn forward(&self, [qkv]: [&[f32]; 1], [shape]: [&Shape; 1]) -> Result<(Vec<f32>, Shape)> {
        Ok((self.split(qkv), with_last_dim(shape, 3 * self.query_channels(), 4 * self.query_channels())?))
    }

    fn backward(&self, [qkv]: [&Tensor; 1], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 1]> {
        gradients_like([storage::read(grad, |grad| Ok(self.join(grad)))?], [qkv])
    }
}

/// The normalised difference of what two maps read.
struct Difference {
    eps: f32,
}

/// The outputs of both maps at n positions, `(n, 2 H d)`, and lambda `(H)`.
#[derive(Clone, Copy)]
struct HeadRows<'a> {
    y: &'a [f32],
    lambda: &'a [f32],
    d: usize,
    eps: f32,
}

impl<'a> HeadRows<'a> {
    /// Iterates over positions and their heads, and yields y1, y2 and lambda of each.
    fn head_rows(self) -> impl Iterator<Item = (&'a [f32], &'a [f32], &'a f32)> {
        let both = self.y.chunks_exact(2 * self.d).map(move |both| both.split_at(self.d));
        both.zip(self.lambda.iter().cycle()).map(|((y1, y2), lambda)| (y1, y2, lambda))
    }

    /// 1 / sqrt(mean(r^2) + eps).
    #[inline(always)]
    fn inverse<S: Simd>(self, simd: S, r: &[f32]) -> f32 {
        (simd::dot(simd, r, r) / self.d as f32 + self.eps).sqrt().recip()
    }
}

#[inline(always)]
fn subtract(r: &mut [f32], y1: &[f32], y2: &[f32], lambda: f32) {
    r.iter_mut().zip(y1).zip(y2).for_each(|((r, y1), y2)| *r = y1 - lambda * y2);
}

kernel! {
    /// Computes y1 - lambda y2 of every head, divided by its root mean square, into `out` `(n, H d)`.
    fn forward(simd, rows: HeadRows<'a>, out: &'a mut [f32]) {
        for (r, (y1, y2, &lambda)) in out.chunks_exact_mut(rows.d).zip(rows.head_rows()) {
            subtract(r, y1, y2, lambda);
            let inverse = rows.inverse(simd, r);
            r.iter_mut().for_each(|r| *r *= inverse);
        }
    }
}

kernel! {
    /// `grad`: `(n, H d)`, `dy`: `(n, 2 H d)`, `dlambda`: `(H)`.
    fn backward(simd, rows: HeadRows<'a>, grad: &'a [f32], dy: &'a mut [f32], dlambda: &'a mut [f32]) {
        let (d, heads) = (rows.d, dlambda.len());
        dlambda.fill(0.0);
        let mut r = vec![0f32; d];
        let all = dy.chunks_exact_mut(2 * d).zip(grad.chunks_exact(d)).zip(rows.head_rows());
        for (i, ((dy, g), (y1, y2, &lambda))) in all.enumerate() {
            subtract(&mut r, y1, y2, lambda);
            let inverse = rows.inverse(simd, &r);
            let along = inverse * inverse / d as f32 * simd::dot(simd, &r, g);
            let (dy1, dy2) = dy.split_at_mut(d);
            dy1.iter_mut().zip(g).zip(&r).for_each(|((dy, g), r)| *dy = inverse * (g - along * r));
            dy2.iter_mut().zip(&*dy1).for_each(|(dy2, dr)| *dy2 = -lambda * dr);
            dlambda[i % heads] -= simd::dot(simd, dy1, y2);
        }
    }
}

impl FusedOp<2> for Difference {
    const NAME: &'static str = "normalised-difference";

    fn forward(&self, [y, lambda]: [&[f32]; 2], [shape, _]: [&Shape; 2]) -> Result<(Vec<f32>, Shape)> {
        let width = shape.dims().last().map_or(0, |both| both / 2);
        let rows = |y| HeadRows { y, lambda, d: width / lambda.len(), eps: self.eps };
        let out = threads::build_chunks(y.len() / 2, POSITIONS_PER_TASK * width, |i, out| {
            let y = &y[i * POSITIONS_PER_TASK * 2 * width..][..2 * out.len()];
            forward(rows(y), out);
        });
        Ok((out, with_last_dim(shape, 2 * width, width)?))
    }

    fn backward(&self, [y, lambda]: [&Tensor; 2], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let width = grad.dim(D::Minus1)?;
        let gradients = storage::read_all(&[y, lambda, grad], |[y, lambda, grad]| {
            let heads = lambda.len();
            let rows = |y| HeadRows { y, lambda, d: width / heads, eps: self.eps };
            let mut sums = vec![0f32; y.len().div_ceil(POSITIONS_PER_TASK * 2 * width) * heads];
            let dy = build_vec(y.len(), |dy| {
                threads::run_all_chunks(
                    [dy, &mut sums],
                    [POSITIONS_PER_TASK * 2 * width, heads],
                    |i, [dy, dlambda]| {
                        let y = &y[i * POSITIONS_PER_TASK * 2 * width..][..dy.len()];
                        let grad = &grad[i * POSITIONS_PER_TASK * width..][..dy.len() / 2];
                        backward(rows(y), grad, dy, dlambda);
                    },
                );
            });
            Ok([dy, sum_rows(&sums, heads)])
        })?;
        gradients_like(gradients, [y, lambda])
    }
}
