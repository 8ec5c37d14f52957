//! What linear attention does between its matrix products, in vector code.

use pulp::{Arch, Simd, WithSimd};

use super::{super::lanes, EPS};

/// x <- relu(x).
pub fn relu(x: &mut [f32]) {
    Arch::new().dispatch(Relu(x));
}

struct Relu<'a>(&'a mut [f32]);

impl WithSimd for Relu<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for x in self.0 {
            *x = if *x > 0.0 { *x } else { 0.0 };
        }
    }
}

/// out <- x, each pair turned. `turns`: cosines and sines of each pair; sines negated turn back.
pub fn turn(x: &[f32], out: &mut [f32], turns: (&[f32], &[f32]), back: bool) {
    Arch::new().dispatch(Turn { x, out, turns, sign: if back { -1.0 } else { 1.0 } });
}

struct Turn<'a> {
    x: &'a [f32],
    out: &'a mut [f32],
    turns: (&'a [f32], &'a [f32]),
    sign: f32,
}

impl WithSimd for Turn<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let pairs = self.x.chunks_exact(2).zip(self.out.chunks_exact_mut(2));
        for ((x, out), (cos, sin)) in pairs.zip(self.turns.0.iter().zip(self.turns.1)) {
            let sin = sin * self.sign;
            out[0] = x[0] * cos - x[1] * sin;
            out[1] = x[1] * cos + x[0] * sin;
        }
    }
}

/// Rows of d values to mean 0 and variance 1; `inv` gets what each was multiplied by.
pub fn normalise(a: &mut [f32], inv: &mut [f32]) {
    Arch::new().dispatch(Normalise { a, inv });
}

struct Normalise<'a> {
    a: &'a mut [f32],
    inv: &'a mut [f32],
}

impl WithSimd for Normalise<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let d = self.a.len() / self.inv.len();
        for (a, inv) in self.a.chunks_exact_mut(d).zip(self.inv) {
            let mean = lanes::sum(simd, a) / d as f32;
            a.iter_mut().for_each(|a| *a -= mean);
            *inv = 1.0 / (lanes::dot(simd, a, a) / d as f32 + EPS as f32).sqrt();
            a.iter_mut().for_each(|a| *a *= *inv);
        }
    }
}

/// Gradients of normalised rows become those of the rows. `a` is normalised.
pub fn normalise_back(grad: &mut [f32], a: &[f32], inv: &[f32]) {
    Arch::new().dispatch(NormaliseBack { grad, a, inv });
}

struct NormaliseBack<'a> {
    grad: &'a mut [f32],
    a: &'a [f32],
    inv: &'a [f32],
}

impl WithSimd for NormaliseBack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let d = self.a.len() / self.inv.len();
        for ((g, a), inv) in self.grad.chunks_exact_mut(d).zip(self.a.chunks_exact(d)).zip(self.inv) {
            let mean = lanes::sum(simd, g) / d as f32;
            let pull = lanes::dot(simd, g, a) / d as f32;
            for (g, a) in g.iter_mut().zip(a) {
                *g = inv * (*g - mean - a * pull);
            }
        }
    }
}

/// u <- relu(u), y <- u x.
pub fn gate(u: &mut [f32], x: &[f32], y: &mut [f32]) {
    Arch::new().dispatch(Gate { u, x, y });
}

struct Gate<'a> {
    u: &'a mut [f32],
    x: &'a [f32],
    y: &'a mut [f32],
}

impl WithSimd for Gate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for ((u, x), y) in self.u.iter_mut().zip(self.x).zip(self.y) {
            *u = if *u > 0.0 { *u } else { 0.0 };
            *y = *u * x;
        }
    }
}

/// From the gradient of y in `dx`, those of what relu was given and, so far, of x.
pub fn gate_back([u, x]: [&[f32]; 2], [du, dx]: [&mut [f32]; 2]) {
    Arch::new().dispatch(GateBack { given: [u, x], out: [du, dx] });
}

struct GateBack<'a> {
    given: [&'a [f32]; 2],
    out: [&'a mut [f32]; 2],
}

impl WithSimd for GateBack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let ([u, x], [du, dx]) = (self.given, self.out);
        for (((u, x), du), dx) in u.iter().zip(x).zip(du).zip(dx) {
            *du = if *u > 0.0 { *dx * x } else { 0.0 };
            *dx *= u;
        }
    }
}

/// dx <- dx + more where x is positive, else 0.
pub fn relu_back(dx: &mut [f32], more: &[f32], x: &[f32]) {
    Arch::new().dispatch(ReluBack { dx, more, x });
}

struct ReluBack<'a> {
    dx: &'a mut [f32],
    more: &'a [f32],
    x: &'a [f32],
}

impl WithSimd for ReluBack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for ((dx, more), x) in self.dx.iter_mut().zip(self.more).zip(self.x) {
            *dx = if *x > 0.0 { *dx + more } else { 0.0 };
        }
    }
}
