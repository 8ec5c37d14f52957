//! RMSNorm and LayerNorm over the last axis.

use crate::{
    elementwise::{Add, Mul, MulAdd, apply, elementwise},
    fused::prelude::*,
    reduce::{TASK_ROWS, sum_rows},
};

/// x / sqrt(mean(x^2) + eps) * weight. x `(.., D)`, weight `(D)`.
pub fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    let x = x.contiguous()?;
    #[cfg(feature = "cuda")]
    if crate::cuda::card([&x, weight]).is_some() {
        return crate::cuda::rms_norm::rms_norm(&x, weight, eps);
    }
    let norm = RowNorm { kind: NormKind::Rms, eps: eps as f32 };
    apply_fused([&x, weight], norm, |[x, weight]| rms_norm_reference(x, weight, eps))
}

/// The reference form in plain candle, with the arguments of [`rms_norm`].
pub fn rms_norm_reference(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    let ms = x.sqr()?.mean_keepdim(D::Minus1)?;
    x.broadcast_div(&(ms + eps)?.sqrt()?)?.broadcast_mul(weight)
}

/// (x - mean) / sqrt(var + eps) [* weight + bias], biased variance. x `(.., D)`.
pub fn layer_norm(x: &Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Result<Tensor> {
    let x = x.contiguous()?;
    let d = x.dim(D::Minus1)?;
    let constant = |t: Option<&Tensor>, value: f32| match t {
        Some(t) => Ok(t.clone()),
        None => Tensor::full(value, d, x.device())?.contiguous(),
    };
    let (w, b) = (constant(weight, 1.0)?, constant(bias, 0.0)?);
    let norm = RowNorm { kind: NormKind::Layer, eps: eps as f32 };
    apply_fused([&x, &w, &b], norm, |[x, ..]| layer_norm_reference(x, weight, bias, eps))
}

/// The reference form in plain candle, with the arguments of [`layer_norm`].
pub fn layer_norm_reference(x: &Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Result<Tensor> {
    let centred = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
    let var = centred.sqr()?.mean_keepdim(D::Minus1)?;
    let mut y = centred.broadcast_div(&(var + eps)?.sqrt()?)?;
    if let Some(w) = weight {
        y = y.broadcast_mul(w)?;
    }
    if let Some(b) = bias {
        y = y.broadcast_add(b)?;
    }
    Ok(y)
}

fn width(x: &Shape, w: &Shape) -> Result<usize> {
    let d = w.dims1()?;
    if x.dims().last() != Some(&d) {
        candle_core::bail!("a norm over {d} channels is given inputs {x:?}");
    }
    Ok(d)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NormKind {
    /// RMSNorm, with a weight.
    Rms,
    /// LayerNorm, with a weight and a bias.
    Layer,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct RowNorm {
    pub kind: NormKind,
    pub eps: f32,
}

impl RowNorm {
    /// The norm of x, whose rows are as wide as the weight; RMSNorm reads no bias.
    pub fn forward(self, x: &[f32], [weight, bias]: [&[f32]; 2]) -> Vec<f32> {
        let d = weight.len();
        threads::build_chunks(x.len(), TASK_ROWS * d, |i, y| {
            normalise(self.kind, y, &x[i * TASK_ROWS * d..], [weight, bias], self.eps);
        })
    }

    /// Given the gradient of the result: dx = the gradient of x [+ residual]; returns those of the weight and of the bias
    /// (zero for RMSNorm). Unless it is empty, y gets the result again.
    pub fn backward(
        self,
        [dx, y]: [&mut [f32]; 2],
        [x, grad]: [&[f32]; 2],
        weights: [&[f32]; 2],
        residual: Option<&[f32]>,
    ) -> [Vec<f32>; 2] {
        let (d, n) = (weights[0].len(), dx.len());
        let size = TASK_ROWS * d;
        let mut dw = vec![0f32; n.div_ceil(size) * d];
        let mut db = dw.clone();
        let mut ys: Vec<&mut [f32]> = y.chunks_mut(size).collect();
        ys.resize_with(n.div_ceil(size), || &mut []);
        let outputs = dx.chunks_mut(size).zip(ys).zip(dw.chunks_mut(d).zip(db.chunks_mut(d)));
        threads::for_each(n.div_ceil(size), outputs.enumerate(), |(i, ((dx, y), (dw, db)))| {
            let at = i * size..i * size + dx.len();
            let residual = residual.map(|r| &r[at.clone()]);
            let inputs = Inputs { x: &x[at.clone()], g: &grad[at], weights, residual };
            normalise_backward(self.kind, Outputs { dx, y, dw, db }, inputs, self.eps);
        });
        [sum_rows(&dw, d), sum_rows(&db, d)]
    }

    /// The gradients of x, weight and bias by [`RowNorm::backward`].
    fn gradients(self, inputs: [&[f32]; 2], weight: &[f32]) -> [Vec<f32>; 3] {
        let mut sums = [vec![], vec![]];
        let dx = build_vec(inputs[0].len(), |dx| sums = self.backward([dx, &mut []], inputs, [weight, &[]], None));
        let [dw, db] = sums;
        [dx, dw, db]
    }
}

impl FusedOp<2> for RowNorm {
    const NAME: &'static str = "rms-norm";

    fn forward(&self, [x, w]: [&[f32]; 2], [shape, weight]: [&Shape; 2]) -> Result<(Vec<f32>, Shape)> {
        width(shape, weight)?;
        Ok((RowNorm::forward(*self, x, [w, &[]]), shape.clone()))
    }

    fn backward(&self, [x, w]: [&Tensor; 2], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let [dx, dw, _] = storage::read_all(&[x, grad, w], |[x, g, w]| Ok(self.gradients([x, g], w)))?;
        gradients_like([dx, dw], [x, w])
    }
}

impl FusedOp<3> for RowNorm {
    const NAME: &'static str = "layer-norm";

    fn forward(&self, [x, w, b]: [&[f32]; 3], [shape, weight, bias]: [&Shape; 3]) -> Result<(Vec<f32>, Shape)> {
        width(shape, weight)?;
        width(shape, bias)?;
        Ok((RowNorm::forward(*self, x, [w, b]), shape.clone()))
    }

    fn backward(&self, [x, w, b]: [&Tensor; 3], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        gradients_like(storage::read_all(&[x, grad, w], |[x, g, w]| Ok(self.gradients([x, g], w)))?, [x, w, b])
    }
}

kernel! {
    /// y = x / sqrt(mean(x^2) + eps) w, or y = (x - mean) / sqrt(var + eps) w + b, in rows as wide as w. weights: w, b.
    /// The first slice determines the number of rows, here and in the backward; the others may be longer.
    fn normalise(simd, kind: NormKind, y: &'a mut [f32], x: &'a [f32], weights: [&'a [f32]; 2], eps: f32) {
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
struct Inputs<'a> {
    x: &'a [f32],
    g: &'a [f32],
    weights: [&'a [f32]; 2],
    residual: Option<&'a [f32]>,
}

/// Outputs of backward: dx and, unless it is empty, the result again are written; dw and db are accumulated. RMSNorm has
/// no bias and leaves db.
struct Outputs<'a> {
    dx: &'a mut [f32],
    y: &'a mut [f32],
    dw: &'a mut [f32],
    db: &'a mut [f32],
}

kernel! {
    fn normalise_backward(simd, kind: NormKind, outputs: Outputs<'a>, inputs: Inputs<'a>, eps: f32) {
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
                *row_backward = RowBackward { mean, mean_h_z: simd::dot(simd, dx, standardised) / d as f32, inv: z.inv };
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

/// `[z, g]`, in place with h = g w: `[h, dw] -> [(h - mean - z mean_h_z) inv, dw + g z]`, and
/// `[.., db] -> [.., db + g]`
#[derive(Clone, Copy, Default)]
struct RowBackward {
    /// The mean of h, for LayerNorm.
    mean: f32,
    /// The mean of h z.
    mean_h_z: f32,
    inv: f32,
}

elementwise!(RowBackward, 2 => 2; |self, simd, [z, g], [h, dw]| {
    let (mean_h_z, inv) = (simd.splat_f32s(-self.mean_h_z), simd.splat_f32s(self.inv));
    let h = simd::unrolled::<S, U>(simd, |u| simd.sub_f32s(h[u], simd.splat_f32s(self.mean)));
    [
        simd::unrolled::<S, U>(simd, |u| simd.mul_f32s(simd.mul_add_f32s(z[u], mean_h_z, h[u]), inv)),
        simd::unrolled::<S, U>(simd, |u| simd.mul_add_f32s(g[u], z[u], dw[u])),
    ]
});

elementwise!(RowBackward, 2 => 3; |self, simd, [z, g], [h, dw, db]| {
    let [dx, dw] = self.at(simd, [z, g], [h, dw]);
    [dx, dw, simd::unrolled::<S, U>(simd, |u| simd.add_f32s(db[u], g[u]))]
});
