//! The normalised difference of what two maps read, on the CPU in f32.

use crate::{fused::prelude::*, reduce::sum_rows};

pub(super) struct Difference {
    pub(super) eps: f32,
}

/// Positions of a task.
const POSITIONS: usize = 64;

/// The outputs of both maps at n positions, `(n, 2 H d)`, and lambda `(H)`.
#[derive(Clone, Copy)]
struct HeadRows<'a> {
    y: &'a [f32],
    lambda: &'a [f32],
    d: usize,
    eps: f32,
}

impl<'a> HeadRows<'a> {
    /// y1, y2 and lambda of one head of one position after the other.
    fn each(self) -> impl Iterator<Item = (&'a [f32], &'a [f32], &'a f32)> {
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
        for (r, (y1, y2, &lambda)) in out.chunks_exact_mut(rows.d).zip(rows.each()) {
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
        let all = dy.chunks_exact_mut(2 * d).zip(grad.chunks_exact(d)).zip(rows.each());
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
        let mut dims = shape.dims().to_vec();
        let Some(wide) = dims.last_mut() else { bail!("two halves cannot be told apart in a single number") };
        *wide /= 2;
        let wide = *wide;
        let rows = |y| HeadRows { y, lambda, d: wide / lambda.len(), eps: self.eps };
        let out = build_vec(y.len() / 2, |out| {
            threads::run_chunks(out, POSITIONS * wide, |i, out| {
                let y = &y[i * POSITIONS * 2 * wide..][..2 * out.len()];
                forward(rows(y), out);
            });
        });
        Ok((out, Shape::from(dims)))
    }

    fn backward(&self, [y, lambda]: [&Tensor; 2], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let wide = grad.dim(candle_core::D::Minus1)?;
        let gradients = storage::read_all(&[y, lambda, grad], |[y, lambda, grad]| {
            let heads = lambda.len();
            let rows = |y| HeadRows { y, lambda, d: wide / heads, eps: self.eps };
            let mut sums = vec![0f32; y.len().div_ceil(POSITIONS * 2 * wide) * heads];
            let dy = build_vec(y.len(), |dy| {
                threads::run_all_chunks(
                    [
                        threads::Chunks { values: dy, size: POSITIONS * 2 * wide },
                        threads::Chunks { values: &mut sums, size: heads },
                    ],
                    |i, [dy, dlambda]| {
                        let y = &y[i * POSITIONS * 2 * wide..][..dy.len()];
                        let grad = &grad[i * POSITIONS * wide..][..dy.len() / 2];
                        backward(rows(y), grad, dy, dlambda);
                    },
                );
            });
            Ok([dy, sum_rows(&sums, heads)])
        })?;
        gradients_like(gradients, [y, lambda])
    }
}
