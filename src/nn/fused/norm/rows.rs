//! Norms of rows and their way back, over slices, in the processor's widest vectors. The first slice
//! says how many rows; the others may be longer.

use pulp::{Arch, Simd, WithSimd};

use super::super::lanes;

/// y <- x / sqrt(mean(x^2) + eps) w, rows as wide as w.
pub fn rms_norm(y: &mut [f32], x: &[f32], w: &[f32], eps: f32) {
    Arch::new().dispatch(Rms { y, x, w, eps });
}

struct Rms<'a> {
    y: &'a mut [f32],
    x: &'a [f32],
    w: &'a [f32],
    eps: f32,
}

impl WithSimd for Rms<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Rms { y, x, w, eps } = self;
        let d = w.len();
        for (y, x) in y.chunks_exact_mut(d).zip(x.chunks_exact(d)) {
            let inv = 1.0 / (lanes::dot(simd, x, x) / d as f32 + eps).sqrt();
            for ((y, x), w) in y.iter_mut().zip(x).zip(w) {
                *y = x * inv * w;
            }
        }
    }
}

/// out: dx, written, and dw, added to. given: x, the gradient of the result, w.
pub fn rms_norm_back(out: [&mut [f32]; 2], given: [&[f32]; 3], eps: f32) {
    Arch::new().dispatch(RmsBack { out, given, eps });
}

struct RmsBack<'a> {
    out: [&'a mut [f32]; 2],
    given: [&'a [f32]; 3],
    eps: f32,
}

impl WithSimd for RmsBack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let ([dx, dw], [x, g, w]) = (self.out, self.given);
        let d = w.len();
        for ((dx, x), g) in dx.chunks_exact_mut(d).zip(x.chunks_exact(d)).zip(g.chunks_exact(d)) {
            let inv = 1.0 / (lanes::dot(simd, x, x) / d as f32 + self.eps).sqrt();
            for ((dx, g), w) in dx.iter_mut().zip(g).zip(w) {
                *dx = g * w;
            }
            let pull = lanes::dot(simd, dx, x) / d as f32 * inv * inv * inv;
            for ((dx, dw), (x, g)) in dx.iter_mut().zip(dw.iter_mut()).zip(x.iter().zip(g)) {
                *dx = *dx * inv - x * pull;
                *dw += x * inv * g;
            }
        }
    }
}

/// y <- (x - mean) / sqrt(var + eps) w + b. given: x, w, b.
pub fn layer_norm(y: &mut [f32], given: [&[f32]; 3], eps: f32) {
    Arch::new().dispatch(Layer { y, given, eps });
}

struct Layer<'a> {
    y: &'a mut [f32],
    given: [&'a [f32]; 3],
    eps: f32,
}

impl WithSimd for Layer<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let [x, w, b] = self.given;
        let d = w.len();
        for (y, x) in self.y.chunks_exact_mut(d).zip(x.chunks_exact(d)) {
            let inv = standardise(simd, y, x, self.eps);
            for ((y, w), b) in y.iter_mut().zip(w).zip(b) {
                *y = *y * inv * w + b;
            }
        }
    }
}

/// y <- x - mean; returns 1 / sqrt(var + eps). The variance is of the differences, so that a large
/// mean costs no digits.
#[inline(always)]
fn standardise<S: Simd>(simd: S, y: &mut [f32], x: &[f32], eps: f32) -> f32 {
    let d = x.len() as f32;
    let mean = lanes::sum(simd, x) / d;
    for (y, x) in y.iter_mut().zip(x) {
        *y = x - mean;
    }
    1.0 / (lanes::dot(simd, y, y) / d + eps).sqrt()
}

/// out: dx, written, dw and db, added to. given: x, the gradient of the result, w.
pub fn layer_norm_back(out: [&mut [f32]; 3], given: [&[f32]; 3], eps: f32) {
    Arch::new().dispatch(LayerBack { out, given, eps });
}

struct LayerBack<'a> {
    out: [&'a mut [f32]; 3],
    given: [&'a [f32]; 3],
    eps: f32,
}

impl WithSimd for LayerBack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let ([dx, dw, db], [x, g, w]) = (self.out, self.given);
        let d = w.len();
        let mut centred = vec![0f32; d];
        for ((dx, x), g) in dx.chunks_exact_mut(d).zip(x.chunks_exact(d)).zip(g.chunks_exact(d)) {
            let inv = standardise(simd, &mut centred, x, self.eps);
            for ((dx, g), w) in dx.iter_mut().zip(g).zip(w) {
                *dx = g * w;
            }
            let mean = lanes::sum(simd, dx) / d as f32;
            let pull = lanes::dot(simd, dx, &centred) / d as f32 * inv * inv;
            for ((dx, c), (g, (dw, db))) in
                dx.iter_mut().zip(&centred).zip(g.iter().zip(dw.iter_mut().zip(db.iter_mut())))
            {
                *dx = (*dx - mean - c * pull) * inv;
                *dw += c * inv * g;
                *db += g;
            }
        }
    }
}
