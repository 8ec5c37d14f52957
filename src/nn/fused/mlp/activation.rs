//! GELU and SiLU with their derivatives, over slices, in the processor's widest vectors. It knows no
//! product.

use pulp::{Arch, Simd, WithSimd};

use super::{super::lanes::exp, Act};

/// (x Phi(x), its derivative). erf by Abramowitz & Stegun 7.1.26, absolute error 1.5e-7; its
/// exponential is also the density that the derivative needs.
#[inline(always)]
fn gelu(x: f32) -> (f32, f32) {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let e = exp(-z * z);
    let t = 1.0 / z.mul_add(0.327_591_1, 1.0);
    let mut p = 1.061_405_4f32;
    for c in [-1.453_152_1, 1.421_413_8, -0.284_496_72, 0.254_829_6] {
        p = p.mul_add(t, c);
    }
    let tail = 0.5 * p * t * e; // Phi(-|x|)
    let phi = if x < 0.0 { tail } else { 1.0 - tail };
    (x * phi, (x * e).mul_add(0.398_942_3, phi))
}

/// (x s, s (1 + x (1 - s))) with s the logistic function.
#[inline(always)]
fn silu(x: f32) -> (f32, f32) {
    let s = 1.0 / (1.0 + exp(-x));
    (x * s, s * x.mul_add(1.0 - s, 1.0))
}

/// x <- act(x); `slope`, of the same length as x, gets the derivative.
pub fn activate(act: Act, x: &mut [f32], slope: &mut [f32]) {
    match act {
        Act::Gelu => Arch::new().dispatch(Activate { f: gelu, x, slope }),
        Act::Silu => Arch::new().dispatch(Activate { f: silu, x, slope }),
    }
}

struct Activate<'a, F> {
    f: F,
    x: &'a mut [f32],
    slope: &'a mut [f32],
}

impl<F: Fn(f32) -> (f32, f32)> WithSimd for Activate<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (x, d) in self.x.iter_mut().zip(self.slope) {
            (*x, *d) = (self.f)(*x);
        }
    }
}

/// The function between an MLP's two maps, over rows of what the first one gave: `wide` values a row, of which it
/// makes `f`.
#[derive(Debug, Clone, Copy)]
pub struct Between {
    pub act: Act,
    /// act(a) b with a, b the halves of a row, and not act of the row.
    pub gated: bool,
    pub f: usize,
}

impl Between {
    /// out `(N, f)` <- the function of `given`.
    pub fn values(self, given: &[f32], out: &mut [f32]) {
        match self.act {
            Act::Gelu => Arch::new().dispatch(Values { between: self, f: gelu, given, out }),
            Act::Silu => Arch::new().dispatch(Values { between: self, f: silu, given, out }),
        }
    }

    /// out `(N, f)` holds the gradient of the function's values, and gets the values; `slopes`, like `given`, gets the
    /// gradient of that.
    pub fn back(self, given: &[f32], out: &mut [f32], slopes: &mut [f32]) {
        match self.act {
            Act::Gelu => Arch::new().dispatch(Back { between: self, f: gelu, given, out, slopes }),
            Act::Silu => Arch::new().dispatch(Back { between: self, f: silu, given, out, slopes }),
        }
    }
}

struct Values<'a, F> {
    between: Between,
    f: F,
    given: &'a [f32],
    out: &'a mut [f32],
}

impl<F: Fn(f32) -> (f32, f32)> WithSimd for Values<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let f = self.between.f;
        if !self.between.gated {
            return self.out.iter_mut().zip(self.given).for_each(|(out, x)| *out = (self.f)(*x).0);
        }
        for (pair, out) in self.given.chunks_exact(2 * f).zip(self.out.chunks_exact_mut(f)) {
            let (a, b) = pair.split_at(f);
            out.iter_mut().zip(a).zip(b).for_each(|((out, a), b)| *out = (self.f)(*a).0 * b);
        }
    }
}

struct Back<'a, F> {
    between: Between,
    f: F,
    given: &'a [f32],
    out: &'a mut [f32],
    slopes: &'a mut [f32],
}

impl<F: Fn(f32) -> (f32, f32)> WithSimd for Back<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let f = self.between.f;
        if !self.between.gated {
            for ((out, slope), x) in self.out.iter_mut().zip(self.slopes).zip(self.given) {
                let (value, by) = (self.f)(*x);
                *slope = *out * by;
                *out = value;
            }
            return;
        }
        let rows = self.given.chunks_exact(2 * f).zip(self.slopes.chunks_exact_mut(2 * f));
        for ((pair, slopes), out) in rows.zip(self.out.chunks_exact_mut(f)) {
            let ((a, b), (da, db)) = (pair.split_at(f), slopes.split_at_mut(f));
            // in two loops: of one over all five the compiler makes no vectors
            for ((da, db), (a, b)) in da.iter_mut().zip(&mut *db).zip(a.iter().zip(b)) {
                let (value, by) = (self.f)(*a);
                *da = by * b;
                *db = value;
            }
            for ((out, b), (da, db)) in out.iter_mut().zip(b).zip(da.iter_mut().zip(db)) {
                let (g, value) = (*out, *db);
                *da *= g;
                *db = value * g;
                *out = value * b;
            }
        }
    }
}

/// out <- x y
pub fn product_of(out: &mut [f32], x: &[f32], y: &[f32]) {
    Arch::new().dispatch(|| out.iter_mut().zip(x).zip(y).for_each(|((out, x), y)| *out = x * y));
}

/// x <- x y
pub fn times(x: &mut [f32], y: &[f32]) {
    Arch::new().dispatch(Times { x, y });
}

struct Times<'a> {
    x: &'a mut [f32],
    y: &'a [f32],
}

impl WithSimd for Times<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (x, y) in self.x.iter_mut().zip(self.y) {
            *x *= y;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_slopes_are_those_of_the_functions() {
        // Phi by its integral: the density summed by Simpson's rule in f64.
        let density = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
        let phi = |x: f64| {
            let h = x / 400.0;
            let inner = |k: i32| density(h * f64::from(k)) * if k % 2 == 1 { 4.0 } else { 2.0 };
            0.5 + h / 3.0 * (density(0.0) + (1..400).map(inner).sum::<f64>() + density(x))
        };
        for i in -800..=800 {
            let x = i as f32 * 0.01;
            let wide = f64::from(x);
            let s = 1.0 / (1.0 + (-wide).exp());
            for (found, value, slope) in [
                (gelu(x), wide * phi(wide), phi(wide) + wide * density(wide)),
                (silu(x), wide * s, s * (1.0 + wide * (1.0 - s))),
            ] {
                let off = (f64::from(found.0) - value).abs().max((f64::from(found.1) - slope).abs());
                assert!(off < 2e-6, "at {x}: {found:?}, not ({value}, {slope})");
            }
        }
    }
}
