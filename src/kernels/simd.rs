//! Vector primitives: reductions in a fixed order, polynomials, the exponential, and prefetching. `pulp` compiles them
//! for each instruction set and chooses one at run time.
//!
//! Everything here is inlined into the caller's [`pulp::WithSimd`], which carries the instruction set.

use pulp::Simd;

/// Prefetches the cache line of an address.
#[inline(always)]
pub fn prefetch<V>(at: *const V) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint that reads nothing the program sees and faults at no address; SSE, which it needs,
        // is part of every x86-64 processor.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Prefetches what lies a fixed distance after these vectors. The processor prefetches by itself, but not across the end
/// of a page.
#[inline(always)]
pub fn prefetch_ahead<V>(vectors: &[V]) {
    const DISTANCE_BYTES: usize = 2048;
    vectors.iter().for_each(|v| prefetch(std::ptr::from_ref(v).wrapping_byte_add(DISTANCE_BYTES)));
}

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

/// Dot product of two slices of one length.
#[inline(always)]
pub fn dot<S: Simd>(simd: S, x: &[f32], y: &[f32]) -> f32 {
    let ((xs, x_tail), (ys, y_tail)) = (S::as_simd_f32s(x), S::as_simd_f32s(y));
    let mut acc = simd.splat_f32s(0.0);
    for (&a, &b) in xs.iter().zip(ys) {
        acc = simd.mul_add_f32s(a, b, acc);
    }
    x_tail.iter().zip(y_tail).fold(simd.reduce_sum_f32s(acc), |s, (&a, &b)| s + a * b)
}

/// Sum of the squared deviations from `mean`.
#[inline(always)]
pub fn sum_squared_deviations<S: Simd>(simd: S, x: &[f32], mean: f32) -> f32 {
    let (xs, tail) = S::as_simd_f32s(x);
    let (mut acc, by) = (simd.splat_f32s(0.0), simd.splat_f32s(mean));
    for &v in xs {
        let off = simd.sub_f32s(v, by);
        acc = simd.mul_add_f32s(off, off, acc);
    }
    tail.iter().fold(simd.reduce_sum_f32s(acc), |s, v| s + (v - mean) * (v - mean))
}

/// Largest value; -inf of an empty slice. A NaN may be ignored: the sum of exponentials that follows shows it.
#[inline(always)]
pub fn max<S: Simd>(simd: S, x: &[f32]) -> f32 {
    let (head, tail) = S::as_simd_f32s(x);
    let mut acc = simd.splat_f32s(f32::NEG_INFINITY);
    for &v in head {
        acc = simd.max_f32s(acc, v);
    }
    tail.iter().fold(simd.reduce_max_f32s(acc), |a, &v| a.max(v))
}

/// Replaces each x by exp(x - shift) and returns the sum.
#[inline(always)]
pub fn exp_shifted_sum<S: Simd>(simd: S, x: &mut [f32], shift: f32) -> f32 {
    let (head, tail) = S::as_mut_simd_f32s(x);
    let (mut acc, by) = (simd.splat_f32s(0.0), simd.splat_f32s(shift));
    for v in head {
        *v = exp_vector(simd, simd.sub_f32s(*v, by));
        acc = simd.add_f32s(acc, *v);
    }
    let mut total = simd.reduce_sum_f32s(acc);
    if !tail.is_empty() {
        let v = exp_vector(simd, simd.sub_f32s(simd.partial_load_f32s(tail), by));
        simd.partial_store_f32s(tail, v);
        total = tail.iter().fold(total, |a, &v| a + v);
    }
    total
}

/// ln 2 as a sum of two numbers; products of the first with small integers are exact.
const LN2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
/// 1.5 * 2^23: adding it rounds to an integer, which is then in the low bits of the sum.
const ROUND_TO_INTEGER: f32 = 12_582_912.0;
/// Coefficients of (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2, from the fifth power down (Cephes, `expf`).
const POWERS: [f32; 6] = [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];

/// e^x, within 2 units in the last place for -87 < x < 88 and clamped outside; NaN stays NaN.
#[inline(always)]
pub fn exp_vector<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    exp_unrolled(simd, [x])[0]
}

/// Same as [`exp_vector`], for `U` vectors.
#[inline(always)]
pub fn exp_unrolled<S: Simd, const U: usize>(simd: S, x: [S::f32s; U]) -> [S::f32s; U] {
    let all = |v: f32| simd.splat_f32s(v);
    let x = clamp(simd, x, [-87.0, 88.0]);
    let shifted =
        unrolled::<S, U>(simd, |u| simd.mul_add_f32s(x[u], all(std::f32::consts::LOG2_E), all(ROUND_TO_INTEGER)));
    let n = unrolled::<S, U>(simd, |u| simd.sub_f32s(shifted[u], all(ROUND_TO_INTEGER)));
    let r = unrolled::<S, U>(simd, |u| simd.mul_add_f32s(n[u], all(-LN2[0]), x[u]));
    let r = unrolled::<S, U>(simd, |u| simd.mul_add_f32s(n[u], all(-LN2[1]), r[u]));
    let p = polynomial(simd, &POWERS, r);
    let p = unrolled::<S, U>(simd, |u| simd.mul_add_f32s(p[u], simd.mul_f32s(r[u], r[u]), r[u]));
    unrolled::<S, U>(simd, |u| {
        let power = simd.wrapping_dyn_shl_u32s(simd.transmute_u32s_f32s(shifted[u]), simd.splat_u32s(23));
        let power = simd.transmute_f32s_u32s(simd.add_u32s(power, simd.splat_u32s(127 << 23)));
        simd.mul_f32s(simd.add_f32s(p[u], all(1.0)), power)
    })
}

/// `U` vectors cut at the ends of a range; NaN stays NaN.
#[inline(always)]
pub fn clamp<S: Simd, const U: usize>(simd: S, x: [S::f32s; U], [low, high]: [f32; 2]) -> [S::f32s; U] {
    let (low, high) = (simd.splat_f32s(low), simd.splat_f32s(high));
    unrolled::<S, U>(simd, |u| {
        // the constants come first: of a NaN and a number, x86 returns the second operand, so that a NaN stays one
        let within = simd.min_f32s(high, simd.max_f32s(low, x[u]));
        // the scalar functions return the number
        if S::IS_SCALAR { simd.select_f32s(simd.equal_f32s(x[u], x[u]), within, x[u]) } else { within }
    })
}

/// Horner's scheme on `U` vectors; coefficients from the highest power down.
#[inline(always)]
pub fn polynomial<S: Simd, const U: usize>(simd: S, coefficients: &[f32], x: [S::f32s; U]) -> [S::f32s; U] {
    let mut p = [simd.splat_f32s(coefficients[0]); U];
    for c in &coefficients[1..] {
        p = unrolled::<S, U>(simd, |u| simd.mul_add_f32s(p[u], x[u], simd.splat_f32s(*c)));
    }
    p
}

/// Products of `U` pairs of vectors.
#[inline(always)]
pub fn mul<S: Simd, const U: usize>(simd: S, x: [S::f32s; U], y: [S::f32s; U]) -> [S::f32s; U] {
    unrolled::<S, U>(simd, |u| simd.mul_f32s(x[u], y[u]))
}

/// One vector for each of `U` indices: several independent chains hide the latency of one. A plain loop, since
/// `std::array::from_fn` would not be compiled for the instruction set.
#[inline(always)]
pub fn unrolled<S: Simd, const U: usize>(simd: S, of: impl Fn(usize) -> S::f32s) -> [S::f32s; U] {
    let mut all = [simd.splat_f32s(0.0); U];
    for (u, v) in all.iter_mut().enumerate() {
        *v = of(u);
    }
    all
}

#[cfg(test)]
mod tests {
    use pulp::WithSimd;

    use super::*;
    use crate::arch::{arch, available};

    /// Exponentials of the values minus this number, or minus the largest of them, and their sum.
    struct Exp<'a>(&'a mut [f32], Option<f32>);

    impl WithSimd for Exp<'_> {
        type Output = f32;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> f32 {
            let shift = self.1.unwrap_or(max(simd, self.0));
            exp_shifted_sum(simd, self.0, shift)
        }
    }

    #[test]
    fn the_exponential_is_close_everywhere() {
        let x: Vec<f32> = (-86_000..88_000).map(|i| i as f32 * 1e-3).collect();
        let mut found = x.clone();
        arch().dispatch(Exp(&mut found, Some(0.0)));
        for (&found, x) in found.iter().zip(x) {
            let exact = f64::from(x).exp();
            assert!((f64::from(found) / exact - 1.0).abs() < 2.5e-7, "exp({x}) = {found}, not {exact}");
        }
        let mut ends = [0.0, f32::NAN, f32::NEG_INFINITY];
        arch().dispatch(Exp(&mut ends, Some(0.0)));
        assert!(ends[0] == 1.0 && ends[1].is_nan() && ends[2] < 2e-38, "{ends:?}");
    }

    #[test]
    fn exponentials_of_every_length_are_those_of_their_values() {
        for n in 1..70 {
            let x: Vec<f32> = (0..n).map(|i| (i as f32 * 7.7).sin() * 80.0).collect();
            let mut found = x.clone();
            let sum = arch().dispatch(Exp(&mut found, Some(0.5)));
            for (f, x) in found.iter().zip(&x) {
                assert!((f64::from(*f) / f64::from(x - 0.5).exp() - 1.0).abs() < 2.5e-7, "exp({x} - 0.5) = {f}");
            }
            let wanted: f64 = found.iter().map(|&f| f64::from(f)).sum();
            assert!((f64::from(sum) / wanted - 1.0).abs() < 1e-5, "{sum}, not {wanted}");
        }
        let mut broken = [1.0, f32::NAN, 2.0];
        assert!(arch().dispatch(Exp(&mut broken, Some(0.5))).is_nan());
    }

    struct All<'a>(&'a [f32]);

    impl WithSimd for All<'_> {
        type Output = [f32; 3];

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> [f32; 3] {
            [sum(simd, self.0), dot(simd, self.0, self.0), max(simd, self.0)]
        }
    }

    #[test]
    fn reductions_count_every_value_at_every_length() {
        for n in 1..70u32 {
            let x: Vec<f32> = (1..=n).map(|i| i as f32).collect();
            let squares = (n * (n + 1) * (2 * n + 1) / 6) as f32;
            assert_eq!(arch().dispatch(All(&x)), [(n * (n + 1) / 2) as f32, squares, n as f32], "{n}");
        }
    }

    #[test]
    fn every_code_path_gives_the_same_exponentials_and_sums_within_rounding() {
        for n in [1, 7, 16, 61, 300] {
            let x: Vec<f32> = (0..n).map(|i| (i as f32 * 7.7).sin() * 40.0).collect();
            let found = available().into_iter().map(|(name, arch)| {
                let mut weights = x.clone();
                let sum = arch.dispatch(Exp(&mut weights, None));
                (name, weights, sum, arch.dispatch(All(&x)))
            });
            let found: Vec<_> = found.collect();
            let (_, weights, sum, [total, squares, most]) = found.last().expect("the scalar path is always there");
            let size: f32 = x.iter().map(|v| v.abs()).sum();
            let rounding = n as f32 * f32::EPSILON;
            for (name, w, s, [t, q, m]) in &found {
                assert_eq!((w, m), (weights, most), "{name}, {n}");
                assert!((s - sum).abs() <= rounding * sum, "{name}, {n}: {s}, not {sum}");
                assert!((t - total).abs() <= rounding * size, "{name}, {n}: {t}, not {total}");
                assert!((q - squares).abs() <= rounding * squares, "{name}, {n}: {q}, not {squares}");
            }
        }
        for (name, arch) in available() {
            let mut broken = [f32::NAN; 17];
            let sum = arch.dispatch(Exp(&mut broken, Some(0.5)));
            assert!(sum.is_nan() && broken.iter().all(|v| v.is_nan()), "{name}: {broken:?}");
        }
    }
}
