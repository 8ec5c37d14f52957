//! Vector pieces of the fused CPU forms: reductions in a fixed order and a polynomial exponential,
//! compiled for each instruction set and chosen at run time by `pulp`.
//!
//! Everything here is inlined into the caller's [`pulp::WithSimd`], which carries the instruction
//! set. It does not know what is reduced.

use pulp::Simd;

/// Sum of all values.
#[inline(always)]
pub fn sum<S: Simd>(simd: S, x: &[f32]) -> f32 {
    let (head, tail) = S::as_simd_f32s(x);
    let mut acc = simd.splat_f32s(0.0);
    for &v in head {
        acc = simd.add_f32s(acc, v);
    }
    tail.iter().fold(simd.reduce_sum_f32s(acc), |a, &v| a + v)
}

/// Sum of products; both slices are of one length.
#[inline(always)]
pub fn dot<S: Simd>(simd: S, x: &[f32], y: &[f32]) -> f32 {
    let ((xs, x_tail), (ys, y_tail)) = (S::as_simd_f32s(x), S::as_simd_f32s(y));
    let mut acc = simd.splat_f32s(0.0);
    for (&a, &b) in xs.iter().zip(ys) {
        acc = simd.mul_add_f32s(a, b, acc);
    }
    x_tail.iter().zip(y_tail).fold(simd.reduce_sum_f32s(acc), |s, (&a, &b)| s + a * b)
}

/// Largest value, -inf of none. A NaN may be passed over: the sum that follows shows it.
#[inline(always)]
pub fn largest<S: Simd>(simd: S, x: &[f32]) -> f32 {
    let (head, tail) = S::as_simd_f32s(x);
    let mut acc = simd.splat_f32s(f32::NEG_INFINITY);
    for &v in head {
        acc = simd.max_f32s(acc, v);
    }
    tail.iter().fold(simd.reduce_max_f32s(acc), |a, &v| a.max(v))
}

/// x[i] = exp(x[i] - shift), returns their sum.
#[inline(always)]
pub fn exp_from<S: Simd>(simd: S, x: &mut [f32], shift: f32) -> f32 {
    for v in x.iter_mut() {
        *v = exp(*v - shift);
    }
    sum(simd, x)
}

/// e^x to 2 units in the last place for -87 < x < 88, held at the ends; NaN stays NaN. No branch and
/// no table, so that a loop over it becomes vector code.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    /// ln 2 in two parts; products of the first with small integers are exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    /// 1.5 * 2^23: adding it rounds to an integer, which is then in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let x = if x < -87.0 { -87.0 } else { x };
    let x = if x > 88.0 { 88.0 } else { x };
    let shifted = x.mul_add(LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LN2_LOW, n.mul_add(-LN2_HIGH, x)); // |r| <= ln 2 / 2
    let mut p = 1.987_569_1e-4f32;
    for c in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = p.mul_add(r, c);
    }
    let p = p.mul_add(r * r, r) + 1.0;
    p * f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23))
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, WithSimd};

    use super::*;

    #[test]
    fn the_exponential_is_close_everywhere() {
        for i in -86_000..88_000 {
            let x = i as f32 * 1e-3;
            let (found, exact) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((found / exact - 1.0).abs() < 2.5e-7, "exp({x}) = {found}, not {exact}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(f32::NAN).is_nan());
        assert!(exp(f32::NEG_INFINITY) < 2e-38);
    }

    struct All<'a>(&'a [f32]);

    impl WithSimd for All<'_> {
        type Output = [f32; 3];

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> [f32; 3] {
            [sum(simd, self.0), dot(simd, self.0, self.0), largest(simd, self.0)]
        }
    }

    #[test]
    fn reductions_count_every_value_at_every_length() {
        for n in 1..70u32 {
            let x: Vec<f32> = (1..=n).map(|i| i as f32).collect();
            let squares = (n * (n + 1) * (2 * n + 1) / 6) as f32;
            assert_eq!(Arch::new().dispatch(All(&x)), [(n * (n + 1) / 2) as f32, squares, n as f32], "{n}");
        }
    }
}
