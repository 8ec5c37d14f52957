//! The row-wise parts of linear attention between its matrix products, in vector code.

use super::EPS;
use crate::fused::prelude::*;

/// Multiplies the scores (or their gradients) of the token at `row` with all before it by the decay, whose powers 0, 1, 2 ..
/// these are.
pub fn apply_decay(powers: Option<&Vec<f32>>, row: usize, scores: &mut [f32]) {
    if let Some(powers) = powers {
        let left = powers[1..=row].iter().rev();
        scores[..row].iter_mut().zip(left).for_each(|(s, left)| *s *= left);
    }
}

kernel! {
    /// x = relu(x), in place.
    pub fn relu(_, x: &'a mut [f32]) {
        for x in x {
            *x = if *x > 0.0 { *x } else { 0.0 };
        }
    }
}

/// Cosines and sines of some pairs of neurons: from those of a row's first pair on, and the distance from one row's to the
/// next's.
#[derive(Clone, Copy)]
pub struct PairAngles<'a> {
    pub cos: &'a [f32],
    pub sin: &'a [f32],
    pub step: usize,
}

kernel! {
    /// x = relu(x), in place, rows of `width` neurons; `rotated` gets x turned by position.
    pub fn relu_and_rope(_, x: &'a mut [f32], rotated: &'a mut [f32], width: usize, angles: PairAngles<'a>) {
        let rows = x.chunks_exact_mut(width).zip(rotated.chunks_exact_mut(width));
        for (row, (x, out)) in rows.enumerate() {
            let from = row * angles.step;
            let (cos, sin) = (&angles.cos[from..], &angles.sin[from..]);
            for x in &mut *x {
                *x = if *x > 0.0 { *x } else { 0.0 };
            }
            let pairs = x.as_chunks().0.iter().zip(out.as_chunks_mut().0);
            for (([x0, x1], out), (cos, sin)) in pairs.zip(cos.iter().zip(sin)) {
                *out = [x0 * cos - x1 * sin, x1 * cos + x0 * sin];
            }
        }
    }
}

kernel! {
    /// Rotates each pair of x by its angle, or, for backward, by minus its angle. `rope_table`: cosines and sines of each pair.
    pub fn rope(_, x: &'a [f32], out: &'a mut [f32], rope_table: (&'a [f32], &'a [f32]), backward: bool) {
        let sign = if backward { -1.0 } else { 1.0 };
        let pairs = x.as_chunks().0.iter().zip(out.as_chunks_mut().0);
        for (([x0, x1], out), (cos, sin)) in pairs.zip(rope_table.0.iter().zip(rope_table.1)) {
            let sin = sin * sign;
            *out = [x0 * cos - x1 * sin, x1 * cos + x0 * sin];
        }
    }
}

kernel! {
    /// Normalises rows to mean 0 and variance 1; `inv` gets the reciprocal standard deviation of each.
    pub fn normalise(simd, a: &'a mut [f32], inv: &'a mut [f32]) {
        let d = a.len() / inv.len();
        for (a, inv) in a.chunks_exact_mut(d).zip(inv) {
            let mean = simd::sum(simd, a) / d as f32;
            a.iter_mut().for_each(|a| *a -= mean);
            *inv = 1.0 / (simd::dot(simd, a, a) / d as f32 + EPS as f32).sqrt();
            a.iter_mut().for_each(|a| *a *= *inv);
        }
    }
}

kernel! {
    /// The backward of [`normalise`], in place; `a` are the normalised rows.
    pub fn normalise_backward(simd, grad: &'a mut [f32], a: &'a [f32], inv: &'a [f32]) {
        let d = a.len() / inv.len();
        for ((g, a), inv) in grad.chunks_exact_mut(d).zip(a.chunks_exact(d)).zip(inv) {
            let mean = simd::sum(simd, g) / d as f32;
            let pull = simd::dot(simd, g, a) / d as f32;
            for (g, a) in g.iter_mut().zip(a) {
                *g = inv * (*g - mean - a * pull);
            }
        }
    }
}

kernel! {
    /// u = relu(u), in place, and y = u x.
    pub fn gate(_, u: &'a mut [f32], x: &'a [f32], y: &'a mut [f32]) {
        for ((u, x), y) in u.iter_mut().zip(x).zip(y) {
            *u = if *u > 0.0 { *u } else { 0.0 };
            *y = *u * x;
        }
    }
}

kernel! {
    /// The backward of [`gate`]: given the gradient of y in `dx`, writes that of u before the ReLU and, in place, that of x.
    pub fn gate_backward(_, given: [&'a [f32]; 2], out: [&'a mut [f32]; 2]) {
        let ([u, x], [du, dx]) = (given, out);
        for (((u, x), du), dx) in u.iter().zip(x).zip(du).zip(dx) {
            *du = if *u > 0.0 { *dx * x } else { 0.0 };
            *dx *= u;
        }
    }
}

kernel! {
    /// The backward of [`relu`] for the sum of two gradients: dx = dx + more where x is positive, else 0.
    pub fn relu_backward(_, dx: &'a mut [f32], more: &'a [f32], x: &'a [f32]) {
        for ((dx, more), x) in dx.iter_mut().zip(more).zip(x) {
            *dx = if *x > 0.0 { *dx + more } else { 0.0 };
        }
    }
}
