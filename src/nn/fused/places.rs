//! A function of a few values at each place of as many slices, in the processor's widest vectors. For loops of which the
//! compiler makes none, because it cannot know that so many slices lie apart, and for rows that are shorter than what
//! its loops take at once.

use pulp::{Arch, Simd, WithSimd};

use super::lanes;

/// What is done at each place of some slices: from the values of `I` that are read and what `O` others hold, to what
/// those get.
pub trait Placewise<const I: usize, const O: usize>: Copy {
    /// Whether what is given comes from memory, so that it is worth asking for ahead.
    const FAR: bool = false;

    fn at<S: Simd, const U: usize>(
        self,
        simd: S,
        given: [[S::f32s; U]; I],
        held: [[S::f32s; U]; O],
    ) -> [[S::f32s; U]; O];
}

/// Over slices of one length, `U` vectors side by side as far as they go.
#[inline(always)]
pub fn over<S: Simd, P: Placewise<I, O>, const I: usize, const O: usize, const U: usize>(
    simd: S,
    given: [&[f32]; I],
    mut out: [&mut [f32]; O],
    what: P,
) {
    let n = out[0].len();
    let from = side_by_side::<S, P, I, O, U>(simd, given, &mut out, 0, what);
    let from = side_by_side::<S, P, I, O, 1>(simd, given, &mut out, from, what);
    if from < n {
        let (mut x, mut held) = ([[simd.splat_f32s(0.0)]; I], [[simd.splat_f32s(0.0)]; O]);
        x.iter_mut().zip(given).for_each(|(x, given)| x[0] = simd.partial_load_f32s(&given[from..n]));
        held.iter_mut().zip(&out).for_each(|(held, out)| held[0] = simd.partial_load_f32s(&out[from..n]));
        let found = what.at(simd, x, held);
        out.iter_mut().zip(found).for_each(|(out, found)| simd.partial_store_f32s(&mut out[from..n], found[0]));
    }
}

/// As [`over`], in the widest vectors there are.
pub fn at_each<P: Placewise<I, O>, const I: usize, const O: usize, const U: usize>(
    given: [&[f32]; I],
    out: [&mut [f32]; O],
    what: P,
) {
    Arch::new().dispatch(Apply::<P, I, O, U> { given, out, what });
}

struct Apply<'a, P, const I: usize, const O: usize, const U: usize> {
    given: [&'a [f32]; I],
    out: [&'a mut [f32]; O],
    what: P,
}

impl<P: Placewise<I, O>, const I: usize, const O: usize, const U: usize> WithSimd for Apply<'_, P, I, O, U> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        over::<S, P, I, O, U>(simd, self.given, self.out, self.what);
    }
}

/// From this place on as far as `U` vectors go; returns where that ends.
#[inline(always)]
fn side_by_side<S: Simd, P: Placewise<I, O>, const I: usize, const O: usize, const U: usize>(
    simd: S,
    given: [&[f32]; I],
    out: &mut [&mut [f32]; O],
    from: usize,
    what: P,
) -> usize {
    let size = U * S::F32_LANES;
    let end = out[0].len() - (out[0].len() - from) % size;
    let given = given.map(|x| S::as_simd_f32s(&x[from..end]).0.as_chunks::<U>().0);
    let mut out = out.each_mut().map(|x| S::as_mut_simd_f32s(&mut x[from..end]).0.as_chunks_mut::<U>().0);
    // loops of our own: the standard library's over arrays would not be compiled for the instruction set
    let (mut x, mut held) = ([[simd.splat_f32s(0.0); U]; I], [[simd.splat_f32s(0.0); U]; O]);
    for j in 0..(end - from) / size {
        x.iter_mut().zip(&given).for_each(|(x, given)| {
            *x = given[j];
            if P::FAR {
                lanes::ask_ahead(&given[j]);
            }
        });
        held.iter_mut().zip(&out).for_each(|(held, out)| *held = out[j]);
        let found = what.at(simd, x, held);
        out.iter_mut().zip(found).for_each(|(out, found)| out[j] = found);
    }
    end
}

/// [x, y] -> [x y]; in place, [x] and [y] -> [y x]
#[derive(Clone, Copy)]
pub struct Times;

impl Placewise<2, 1> for Times {
    #[inline(always)]
    fn at<S: Simd, const U: usize>(
        self,
        simd: S,
        [x, y]: [[S::f32s; U]; 2],
        _: [[S::f32s; U]; 1],
    ) -> [[S::f32s; U]; 1] {
        [lanes::products(simd, x, y)]
    }
}

impl Placewise<1, 1> for Times {
    #[inline(always)]
    fn at<S: Simd, const U: usize>(self, simd: S, [x]: [[S::f32s; U]; 1], [y]: [[S::f32s; U]; 1]) -> [[S::f32s; U]; 1] {
        [lanes::products(simd, y, x)]
    }
}

/// [x, y, z] -> [x y + z]
#[derive(Clone, Copy)]
pub struct TimesPlus;

impl Placewise<3, 1> for TimesPlus {
    #[inline(always)]
    fn at<S: Simd, const U: usize>(
        self,
        simd: S,
        [x, y, z]: [[S::f32s; U]; 3],
        _: [[S::f32s; U]; 1],
    ) -> [[S::f32s; U]; 1] {
        [lanes::abreast::<S, U>(simd, |u| simd.mul_add_f32s(x[u], y[u], z[u]))]
    }
}

/// [x], in place: [y] -> [y + x]
#[derive(Clone, Copy)]
pub struct Plus;

impl Placewise<1, 1> for Plus {
    #[inline(always)]
    fn at<S: Simd, const U: usize>(self, simd: S, [x]: [[S::f32s; U]; 1], [y]: [[S::f32s; U]; 1]) -> [[S::f32s; U]; 1] {
        [lanes::abreast::<S, U>(simd, |u| simd.add_f32s(y[u], x[u]))]
    }
}

/// [x] -> [s x]
#[derive(Clone, Copy)]
pub struct By(pub f32);

impl Placewise<1, 1> for By {
    #[inline(always)]
    fn at<S: Simd, const U: usize>(self, simd: S, [x]: [[S::f32s; U]; 1], _: [[S::f32s; U]; 1]) -> [[S::f32s; U]; 1] {
        [lanes::products(simd, x, [simd.splat_f32s(self.0); U])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [x, y], in place: [a, b] -> [a + x, b - x y]
    #[derive(Clone, Copy)]
    struct Both;

    impl Placewise<2, 2> for Both {
        const FAR: bool = true;

        #[inline(always)]
        fn at<S: Simd, const U: usize>(
            self,
            simd: S,
            [x, y]: [[S::f32s; U]; 2],
            [a, b]: [[S::f32s; U]; 2],
        ) -> [[S::f32s; U]; 2] {
            [
                lanes::abreast::<S, U>(simd, |u| simd.add_f32s(a[u], x[u])),
                lanes::abreast::<S, U>(simd, |u| simd.sub_f32s(b[u], simd.mul_f32s(x[u], y[u]))),
            ]
        }
    }

    #[test]
    fn every_place_is_reached_once_at_every_length() {
        for n in 0..200 {
            let some = |by: f32| -> Vec<f32> { (0..n).map(|i| (i as f32 * by).sin()).collect() };
            let (x, y, a, b) = (some(0.7), some(1.1), some(1.7), some(2.3));
            let (mut to_a, mut to_b) = (a.clone(), b.clone());
            at_each::<_, _, _, 4>([&x, &y], [&mut to_a, &mut to_b], Both);
            for i in 0..n {
                assert_eq!([to_a[i], to_b[i]], [a[i] + x[i], b[i] - x[i] * y[i]], "{i} of {n}");
            }
        }
    }
}
