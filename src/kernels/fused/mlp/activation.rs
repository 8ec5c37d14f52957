//! GELU and SiLU with their derivatives, over slices, in the processor's widest vectors.

use super::Act;
use crate::{
    elementwise::{Vectors, apply, apply_all, elementwise},
    fused::prelude::*,
    simd::unrolled,
};

/// A function of one variable, on `U` vectors.
trait Function: Copy {
    fn value<S: Simd, const U: usize>(self, simd: S, x: [S::f32s; U]) -> [S::f32s; U];

    /// Values and derivatives.
    fn both<S: Simd, const U: usize>(self, simd: S, x: [S::f32s; U]) -> Vectors<S, U, 2>;
}

/// x Phi(x).
#[derive(Clone, Copy)]
struct Gelu;

/// x s, with s the logistic function.
#[derive(Clone, Copy)]
struct Silu;

/// For |x| beyond this, Phi is taken to be 0 or 1, because |x Phi(-|x|)| is less than 1.1e-7 there.
const SATURATION: f32 = 5.5;
/// (Phi(x) - 1/2) / x for |x| <= [`SATURATION`] as a polynomial in 2 (x / SATURATION)^2 - 1, from the fourteenth power
/// down: the weighted least squares over Chebyshev's nodes that bring the largest error of Phi down to 4e-8. In f32 Phi
/// is within 1.3e-7, and exactly 0 and 1 at the ends.
const PHI: [f32; 15] = [
    0.000_538_073_7,
    -0.001_368_827_8,
    0.001_023_859,
    -0.001_229_405_5,
    0.004_236_358_7,
    -0.007_674_665,
    0.010_468_636,
    -0.014_671_368_5,
    0.020_287_978,
    -0.026_112_467,
    0.032_081_74,
    -0.038_787_268,
    0.047_736_99,
    -0.064_172_48,
    0.128_551_93,
];

/// The distribution function of the standard normal distribution.
#[inline(always)]
fn phi<S: Simd, const U: usize>(simd: S, x: [S::f32s; U]) -> [S::f32s; U] {
    let all = |v: f32| simd.splat_f32s(v);
    let x = simd::clamp(simd, x, [-SATURATION, SATURATION]);
    let s = simd::mul(simd, x, x);
    let s = unrolled::<S, U>(simd, |u| simd.mul_add_f32s(s[u], all(2.0 / (SATURATION * SATURATION)), all(-1.0)));
    let p = simd::polynomial(simd, &PHI, s);
    // rounded before the sum, the product is exactly a half at the ends
    unrolled::<S, U>(simd, |u| simd.add_f32s(simd.mul_f32s(x[u], p[u]), all(0.5)))
}

impl Function for Gelu {
    #[inline(always)]
    fn value<S: Simd, const U: usize>(self, simd: S, x: [S::f32s; U]) -> [S::f32s; U] {
        simd::mul(simd, x, phi(simd, x))
    }

    #[inline(always)]
    fn both<S: Simd, const U: usize>(self, simd: S, x: [S::f32s; U]) -> Vectors<S, U, 2> {
        const DENSITY: f32 = 0.398_942_3; // one over the root of 2 pi
        let phi = phi(simd, x);
        let e = unrolled::<S, U>(simd, |u| simd.mul_f32s(simd.mul_f32s(x[u], x[u]), simd.splat_f32s(-0.5)));
        let e = simd::exp_unrolled(simd, e);
        let slope = |u: usize| simd.mul_add_f32s(x[u], simd.mul_f32s(e[u], simd.splat_f32s(DENSITY)), phi[u]);
        [simd::mul(simd, x, phi), unrolled::<S, U>(simd, slope)]
    }
}

impl Silu {
    #[inline(always)]
    fn logistic<S: Simd, const U: usize>(simd: S, x: [S::f32s; U]) -> [S::f32s; U] {
        let one = simd.splat_f32s(1.0);
        let e = simd::exp_unrolled(simd, unrolled::<S, U>(simd, |u| simd.neg_f32s(x[u])));
        unrolled::<S, U>(simd, |u| simd.div_f32s(one, simd.add_f32s(one, e[u])))
    }
}

impl Function for Silu {
    #[inline(always)]
    fn value<S: Simd, const U: usize>(self, simd: S, x: [S::f32s; U]) -> [S::f32s; U] {
        simd::mul(simd, x, Self::logistic(simd, x))
    }

    /// The derivative is s (1 + x (1 - s)) = s + x s (1 - s).
    #[inline(always)]
    fn both<S: Simd, const U: usize>(self, simd: S, x: [S::f32s; U]) -> Vectors<S, U, 2> {
        let s = Self::logistic(simd, x);
        let value = simd::mul(simd, x, s);
        let rest = |u: usize| simd.sub_f32s(simd.splat_f32s(1.0), s[u]);
        [value, unrolled::<S, U>(simd, |u| simd.mul_add_f32s(value[u], rest(u), s[u]))]
    }
}

/// Vectors that are worked on together: each step of a polynomial waits for the one before, and the processor does not
/// look far enough ahead to begin another by itself.
const UNROLL: usize = 4;

/// `[x] -> [act(x)]`.
#[derive(Clone, Copy)]
struct Value<F>(F);

elementwise!(Value<F: Function>, 1 => 1; |self, simd, [x], _| [self.0.value(simd, x)]);

/// [a, b] -> [act(a) b]
#[derive(Clone, Copy)]
struct Gated<F>(F);

elementwise!(Gated<F: Function>, 2 => 1; |self, simd, [a, b], _| [simd::mul(simd, self.0.value(simd, a), b)]);

/// Works in place: [x, _] -> [act(x), act'(x)]
#[derive(Clone, Copy)]
struct ValueAndDerivative<F>(F);

elementwise!(ValueAndDerivative<F: Function>, 0 => 2; |self, simd, _, [x, _]| self.0.both(simd, x));

/// `[x]`, with the value's gradient in place: `[g, _] -> [act(x), g act'(x)]`
#[derive(Clone, Copy)]
struct ValueBackward<F>(F);

// the inputs were saved in forward, and are no longer in the cache
elementwise!(ValueBackward<F: Function>, 1 => 2, prefetch: true; |self, simd, [x], [g, _]| {
    let [value, slope] = self.0.both(simd, x);
    [value, simd::mul(simd, g, slope)]
});

/// [a, b], with the product's gradient in place: [g, _, _] -> [act(a) b, g act'(a) b, g act(a)]
#[derive(Clone, Copy)]
struct GatedBackward<F>(F);

elementwise!(GatedBackward<F: Function>, 2 => 3, prefetch: true; |self, simd, [a, b], [g, _, _]| {
    let [value, slope] = self.0.both(simd, a);
    let through = simd::mul(simd, g, b);
    [simd::mul(simd, value, b), simd::mul(simd, through, slope), simd::mul(simd, g, value)]
});

/// x = act(x), in place; `slope`, of the same length, gets the derivative.
pub fn activate(act: Act, x: &mut [f32], slope: &mut [f32]) {
    match act {
        Act::Gelu => apply_all::<_, _, _, UNROLL>([], [x, slope], ValueAndDerivative(Gelu)),
        Act::Silu => apply_all::<_, _, _, UNROLL>([], [x, slope], ValueAndDerivative(Silu)),
    }
}

/// The activation between the two maps of an MLP, which turns each row of the output of the first into `f` values.
#[derive(Debug, Clone, Copy)]
pub struct Activation {
    pub act: Act,
    /// act(a) b, with a and b the halves of a row, instead of act of the row.
    pub gated: bool,
    /// Values of a row of the result.
    pub f: usize,
}

impl Activation {
    /// out `(N, f)` = the activation of `inputs`.
    pub fn values(self, inputs: &[f32], out: &mut [f32]) {
        match self.act {
            Act::Gelu => arch().dispatch(Values { activation: self, f: Gelu, inputs, out }),
            Act::Silu => arch().dispatch(Values { activation: self, f: Silu, inputs, out }),
        }
    }

    /// Works in place: `out` `(N, f)` holds the gradient of the activation's values and gets the values themselves;
    /// `slopes`, like `inputs`, gets the gradient of `inputs`.
    pub fn backward(self, inputs: &[f32], out: &mut [f32], slopes: &mut [f32]) {
        match self.act {
            Act::Gelu => arch().dispatch(ActivationBackward { activation: self, f: Gelu, inputs, out, slopes }),
            Act::Silu => arch().dispatch(ActivationBackward { activation: self, f: Silu, inputs, out, slopes }),
        }
    }
}

struct Values<'a, F> {
    activation: Activation,
    f: F,
    inputs: &'a [f32],
    out: &'a mut [f32],
}

impl<F: Function> WithSimd for Values<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let f = self.activation.f;
        if !self.activation.gated {
            return apply::<S, _, _, _, UNROLL>(simd, [self.inputs], [self.out], Value(self.f));
        }
        for (pair, out) in self.inputs.chunks_exact(2 * f).zip(self.out.chunks_exact_mut(f)) {
            let (a, b) = pair.split_at(f);
            apply::<S, _, _, _, UNROLL>(simd, [a, b], [out], Gated(self.f));
        }
    }
}

struct ActivationBackward<'a, F> {
    activation: Activation,
    f: F,
    inputs: &'a [f32],
    out: &'a mut [f32],
    slopes: &'a mut [f32],
}

impl<F: Function> WithSimd for ActivationBackward<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let f = self.activation.f;
        if !self.activation.gated {
            return apply::<S, _, _, _, UNROLL>(simd, [self.inputs], [self.out, self.slopes], ValueBackward(self.f));
        }
        let rows = self.inputs.chunks_exact(2 * f).zip(self.slopes.chunks_exact_mut(2 * f));
        for ((pair, slopes), out) in rows.zip(self.out.chunks_exact_mut(f)) {
            let ((a, b), (da, db)) = (pair.split_at(f), slopes.split_at_mut(f));
            apply::<S, _, _, _, UNROLL>(simd, [a, b], [out, da, db], GatedBackward(self.f));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn activated(act: Act, x: &[f32]) -> [Vec<f32>; 2] {
        let (mut value, mut slope) = (x.to_vec(), vec![f32::NAN; x.len()]);
        activate(act, &mut value, &mut slope);
        [value, slope]
    }

    /// Returns values and derivatives, and checks that [`Activation`] computes the same.
    fn values_and_slopes(act: Act, x: &[f32]) -> [Vec<f32>; 2] {
        let [value, slope] = activated(act, x);
        let activation = Activation { act, gated: false, f: x.len() };
        let (mut alone, mut back, mut grad) = (vec![f32::NAN; x.len()], vec![1f32; x.len()], vec![f32::NAN; x.len()]);
        activation.values(x, &mut alone);
        activation.backward(x, &mut back, &mut grad);
        assert_eq!([&alone, &back, &grad], [&value, &value, &slope]);
        [value, slope]
    }

    #[test]
    fn values_and_slopes_are_those_of_the_functions() {
        // Phi as the integral of its density by Simpson's rule in f64
        let density = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
        let phi = |x: f64| {
            let h = x / 400.0;
            let inner = |k: i32| density(h * f64::from(k)) * if k % 2 == 1 { 4.0 } else { 2.0 };
            0.5 + h / 3.0 * (density(0.0) + (1..400).map(inner).sum::<f64>() + density(x))
        };
        // one more than whole vectors
        let x: Vec<f32> = (-800..=800).map(|i| i as f32 * 0.01).collect();
        let all = [Act::Gelu, Act::Silu].map(|act| values_and_slopes(act, &x));
        for (i, &x) in x.iter().enumerate() {
            let wide = f64::from(x);
            let off = (f64::from(all[0][0][i]) - wide * phi(wide)).abs();
            // the product is rounded too
            assert!(off <= 1.3e-7 * wide.abs() + 6e-8 * (wide * phi(wide)).abs(), "at {x}, GELU is off by {off}");
            let s = 1.0 / (1.0 + (-wide).exp());
            let wanted =
                [[wide * phi(wide), phi(wide) + wide * density(wide)], [wide * s, s * (1.0 + wide * (1.0 - s))]];
            for (found, wanted) in all.iter().zip(wanted) {
                let off = [0, 1].map(|k| (f64::from(found[k][i]) - wanted[k]).abs());
                assert!(off[0].max(off[1]) < 1e-6, "at {x}: {:?}, not {wanted:?}", [found[0][i], found[1][i]]);
            }
        }
    }

    #[test]
    fn gelu_saturates_far_from_zero_and_keeps_nan() {
        let x = [-1e30, -60.0, -6.0, 0.0, 6.0, 60.0, 1e30, f32::NAN];
        let [value, slope] = activated(Act::Gelu, &x);
        assert_eq!(value[..7], [-0.0, -0.0, -0.0, 0.0, 6.0, 60.0, 1e30]);
        assert!(slope[..3].iter().all(|s| s.abs() < 1e-7) && slope[4..7].iter().all(|s| (s - 1.0).abs() < 1e-7));
        assert!(value[7].is_nan() && slope[7].is_nan());
    }

    #[test]
    fn halves_of_a_row_of_any_width_are_gated() {
        for f in [1, 5, 16, 19, 33] {
            let some = |n: usize, by: f32| -> Vec<f32> { (0..n).map(|i| (i as f32 * by).sin() * 3.0).collect() };
            let (inputs, g) = (some(3 * 2 * f, 0.7), some(3 * f, 1.3));
            for act in [Act::Gelu, Act::Silu] {
                let activation = Activation { act, gated: true, f };
                let (mut out, mut back, mut slopes) = (vec![0f32; 3 * f], g.clone(), vec![0f32; 3 * 2 * f]);
                activation.values(&inputs, &mut out);
                activation.backward(&inputs, &mut back, &mut slopes);
                assert_eq!(out, back);
                for i in 0..3 * f {
                    let (row, at) = (i / f * 2 * f, i % f);
                    let (a, b) = (inputs[row + at], inputs[row + f + at]);
                    let [value, slope] = values_and_slopes(act, &[a]).map(|v| v[0]);
                    let wanted = [value * b, g[i] * b * slope, g[i] * value];
                    assert_eq!([out[i], slopes[row + at], slopes[row + f + at]], wanted, "{f} wide, at {i}");
                }
            }
        }
    }
}
