//! Norms of rows and their backwards, over slices, in the processor's widest vectors. The first slice determines the number
//! of rows; the others may be longer.

use super::NormKind;
use crate::{
    elementwise::{Add, Mul, MulAdd, apply, elementwise},
    fused::prelude::*,
};

kernel! {
    /// y = x / sqrt(mean(x^2) + eps) w, or y = (x - mean) / sqrt(var + eps) w + b, in rows as wide as w. weights: w, b.
    pub fn forward(simd, kind: NormKind, y: &'a mut [f32], x: &'a [f32], weights: [&'a [f32]; 2], eps: f32) {
        let d = weights[0].len();
        let size = ROWS_PER_STEP * d;
        let (mut constants, mut standardised) = ([Standardise::default(); ROWS_PER_STEP], vec![0f32; size]);
        for (y, x) in y.chunks_mut(size).zip(x.chunks(size)) {
            for (z, x) in constants.iter_mut().zip(x.chunks_exact(d)) {
                *z = Standardise::new(simd, kind, x, eps);
            }
            for (z, (standardised, x)) in constants.iter().zip(standardised.chunks_exact_mut(d).zip(x.chunks_exact(d)))
            {
                apply::<S, _, _, _, 1>(simd, [x], [standardised], *z);
            }
            affine(simd, kind, y, &standardised, weights);
        }
    }
}

/// y = z w [+ b], by rows.
#[inline(always)]
fn affine<S: Simd>(simd: S, kind: NormKind, y: &mut [f32], standardised: &[f32], [w, b]: [&[f32]; 2]) {
    for (y, standardised) in y.chunks_exact_mut(w.len()).zip(standardised.chunks_exact(w.len())) {
        match kind {
            NormKind::Rms => apply::<S, _, _, _, 1>(simd, [standardised, w], [y], Mul),
            NormKind::Layer => apply::<S, _, _, _, 1>(simd, [standardised, w, b], [y], MulAdd),
        }
    }
}

/// Rows that are worked on together, because the sums of one row have to wait for each other.
const ROWS_PER_STEP: usize = 16;

/// Inputs of backward: x, the gradient of the result, w and b, and a residual gradient to add to that of x.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    pub x: &'a [f32],
    pub g: &'a [f32],
    pub weights: [&'a [f32]; 2],
    pub residual: Option<&'a [f32]>,
}

/// Outputs of backward: dx and, unless it is empty, the result again are written; dw and db are accumulated. RMSNorm has
/// no bias and leaves db.
pub struct Outputs<'a> {
    pub dx: &'a mut [f32],
    pub y: &'a mut [f32],
    pub dw: &'a mut [f32],
    pub db: &'a mut [f32],
}

kernel! {
    pub fn backward(simd, kind: NormKind, outputs: Outputs<'a>, inputs: Inputs<'a>, eps: f32) {
        let Outputs { dx, y, dw, db } = outputs;
        let w = inputs.weights[0];
        let (d, size) = (w.len(), ROWS_PER_STEP * w.len());
        let mut standardised = vec![0f32; size];
        let mut constants = [(Standardise::default(), RowBackward::default()); ROWS_PER_STEP];
        for (i, dx) in dx.chunks_mut(size).enumerate() {
            let at = i * size..i * size + dx.len();
            let (x, g) = (&inputs.x[at.clone()], &inputs.g[at.clone()]);
            for ((z, _), x) in constants.iter_mut().zip(x.chunks_exact(d)) {
                *z = Standardise::new(simd, kind, x, eps);
            }
            let rows = dx
                .chunks_exact_mut(d)
                .zip(standardised.chunks_exact_mut(d))
                .zip(x.chunks_exact(d).zip(g.chunks_exact(d)));
            for ((z, row_backward), ((dx, standardised), (x, g))) in constants.iter_mut().zip(rows) {
                apply::<S, _, _, _, 1>(simd, [x], [standardised], *z);
                apply::<S, _, _, _, 1>(simd, [g, w], [dx], Mul);
                let mean = match kind {
                    NormKind::Rms => 0.0,
                    NormKind::Layer => simd::sum(simd, dx) / d as f32,
                };
                *row_backward = RowBackward { mean, pull: simd::dot(simd, dx, standardised) / d as f32, inv: z.inv };
            }
            for ((_, row_backward), ((dx, standardised), g)) in
                constants.iter().zip(dx.chunks_exact_mut(d).zip(standardised.chunks_exact(d)).zip(g.chunks_exact(d)))
            {
                match kind {
                    NormKind::Rms => apply::<S, _, _, _, 1>(simd, [standardised, g], [dx, &mut *dw], *row_backward),
                    NormKind::Layer => {
                        apply::<S, _, _, _, 1>(simd, [standardised, g], [dx, &mut *dw, &mut *db], *row_backward)
                    }
                }
            }
            if let Some(residual) = inputs.residual {
                apply::<S, _, _, _, 1>(simd, [&residual[at.clone()]], [dx], Add);
            }
            if let Some(y) = y.get_mut(at) {
                affine(simd, kind, y, &standardised, inputs.weights);
            }
        }
    }
}

/// `[x] -> [(x - mean) inv]`; the mean is 0 for RMSNorm.
#[derive(Clone, Copy, Default)]
struct Standardise {
    mean: f32,
    inv: f32,
}

impl Standardise {
    /// The mean and scale of one row. The variance is that of the differences from the mean, so that a large mean costs
    /// no digits.
    #[inline(always)]
    fn new<S: Simd>(simd: S, kind: NormKind, x: &[f32], eps: f32) -> Self {
        let d = x.len() as f32;
        let mean = match kind {
            NormKind::Rms => 0.0,
            NormKind::Layer => simd::sum(simd, x) / d,
        };
        Self { mean, inv: 1.0 / (simd::sum_squared_deviations(simd, x, mean) / d + eps).sqrt() }
    }
}

elementwise!(Standardise, 1 => 1; |self, simd, [x], _| {
    let (mean, inv) = (simd.splat_f32s(self.mean), simd.splat_f32s(self.inv));
    [simd::unrolled::<S, U>(simd, |u| simd.mul_f32s(simd.sub_f32s(x[u], mean), inv))]
});

/// `[z, g]`, in place with h = g w: `[h, dw] -> [(h - mean - z pull) inv, dw + g z]`, and `[.., db] -> [.., db + g]`
#[derive(Clone, Copy, Default)]
struct RowBackward {
    /// The mean of h, for LayerNorm.
    mean: f32,
    /// The mean of h z.
    pull: f32,
    inv: f32,
}

elementwise!(RowBackward, 2 => 2; |self, simd, [z, g], [h, dw]| {
    let (pull, inv) = (simd.splat_f32s(-self.pull), simd.splat_f32s(self.inv));
    let h = simd::unrolled::<S, U>(simd, |u| simd.sub_f32s(h[u], simd.splat_f32s(self.mean)));
    [
        simd::unrolled::<S, U>(simd, |u| simd.mul_f32s(simd.mul_add_f32s(z[u], pull, h[u]), inv)),
        simd::unrolled::<S, U>(simd, |u| simd.mul_add_f32s(g[u], z[u], dw[u])),
    ]
});

elementwise!(RowBackward, 2 => 3; |self, simd, [z, g], [h, dw, db]| {
    let [dx, dw] = self.at(simd, [z, g], [h, dw]);
    [dx, dw, simd::unrolled::<S, U>(simd, |u| simd.add_f32s(db[u], g[u]))]
});
