//! Elementwise functions over several slices in the processor's widest vectors: for loops that the compiler does not
//! vectorise, because it cannot know that so many slices do not overlap, and for rows shorter than the stride of its
//! loops.

use pulp::{Simd, WithSimd};

use super::{arch::arch, simd as vector};

/// `U` vectors of each of `N` slices.
pub type Vectors<S, const U: usize, const N: usize> = [[<S as Simd>::f32s; U]; N];

/// A function from the values of `I` input slices at one index, and those that the `O` output slices hold there, to the
/// values that the outputs get.
pub trait Elementwise<const I: usize, const O: usize>: Copy {
    /// True if the inputs are probably not in the cache, so that prefetching pays.
    const PREFETCH: bool = false;

    /// The function of `U` vectors of each slice.
    fn at<S: Simd, const U: usize>(self, simd: S, inputs: Vectors<S, U, I>, held: Vectors<S, U, O>)
    -> Vectors<S, U, O>;
}

/// Applies a function to slices of one length: `U` vectors at a time, then single vectors, then the remaining values.
#[inline(always)]
pub fn apply<S: Simd, P: Elementwise<I, O>, const I: usize, const O: usize, const U: usize>(
    simd: S,
    inputs: [&[f32]; I],
    mut out: [&mut [f32]; O],
    op: P,
) {
    let n = out[0].len();
    let from = apply_unrolled::<S, P, I, O, U>(simd, inputs, &mut out, 0, op);
    let from = apply_unrolled::<S, P, I, O, 1>(simd, inputs, &mut out, from, op);
    if from < n {
        let (mut x, mut held) = ([[simd.splat_f32s(0.0)]; I], [[simd.splat_f32s(0.0)]; O]);
        x.iter_mut().zip(inputs).for_each(|(x, inputs)| x[0] = simd.partial_load_f32s(&inputs[from..n]));
        held.iter_mut().zip(&out).for_each(|(held, out)| held[0] = simd.partial_load_f32s(&out[from..n]));
        let found = op.at(simd, x, held);
        out.iter_mut().zip(found).for_each(|(out, found)| simd.partial_store_f32s(&mut out[from..n], found[0]));
    }
}

/// Same as [`apply`], with the instruction set chosen at run time.
pub fn apply_all<P: Elementwise<I, O>, const I: usize, const O: usize, const U: usize>(
    inputs: [&[f32]; I],
    out: [&mut [f32]; O],
    op: P,
) {
    arch().dispatch(Apply::<P, I, O, U> { inputs, out, op });
}

struct Apply<'a, P, const I: usize, const O: usize, const U: usize> {
    inputs: [&'a [f32]; I],
    out: [&'a mut [f32]; O],
    op: P,
}

impl<P: Elementwise<I, O>, const I: usize, const O: usize, const U: usize> WithSimd for Apply<'_, P, I, O, U> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        apply::<S, P, I, O, U>(simd, self.inputs, self.out, self.op);
    }
}

/// Applies it from index `from` on to as many whole groups of `U` vectors as there are; returns the index after them.
#[inline(always)]
fn apply_unrolled<S: Simd, P: Elementwise<I, O>, const I: usize, const O: usize, const U: usize>(
    simd: S,
    inputs: [&[f32]; I],
    out: &mut [&mut [f32]; O],
    from: usize,
    op: P,
) -> usize {
    let size = U * S::F32_LANES;
    let end = out[0].len() - (out[0].len() - from) % size;
    let inputs = inputs.map(|x| S::as_simd_f32s(&x[from..end]).0.as_chunks::<U>().0);
    let mut out = out.each_mut().map(|x| S::as_mut_simd_f32s(&mut x[from..end]).0.as_chunks_mut::<U>().0);
    // plain loops: the standard library's functions over arrays would not be compiled for the instruction set
    let (mut x, mut held) = ([[simd.splat_f32s(0.0); U]; I], [[simd.splat_f32s(0.0); U]; O]);
    for j in 0..(end - from) / size {
        x.iter_mut().zip(&inputs).for_each(|(x, inputs)| {
            *x = inputs[j];
            if P::PREFETCH {
                vector::prefetch_ahead(&inputs[j]);
            }
        });
        held.iter_mut().zip(&out).for_each(|(held, out)| *held = out[j]);
        let found = op.at(simd, x, held);
        out.iter_mut().zip(found).for_each(|(out, found)| out[j] = found);
    }
    end
}

/// Implements [`Elementwise`] for a type: the numbers of inputs and outputs, and the function of `U` vectors of each.
macro_rules! elementwise {
    ($name:ident $(<$f:ident: $bound:ident>)?, $i:literal => $o:literal $(, prefetch: $prefetch:literal)?;
        |$this:ident, $simd:ident, $inputs:pat_param, $held:pat_param| $found:expr) => {
        impl $(<$f: $bound>)? $crate::elementwise::Elementwise<$i, $o> for $name $(<$f>)? {
            $(const PREFETCH: bool = $prefetch;)?

            #[inline(always)]
            fn at<S: pulp::Simd, const U: usize>(
                $this,
                $simd: S,
                $inputs: $crate::elementwise::Vectors<S, U, $i>,
                $held: $crate::elementwise::Vectors<S, U, $o>,
            ) -> $crate::elementwise::Vectors<S, U, $o> {
                $found
            }
        }
    };
}
pub(crate) use elementwise;

/// `[x, y] -> [x y]`; with one input, in place: `[x], [y] -> [y x]`.
#[derive(Clone, Copy)]
pub struct Mul;

elementwise!(Mul, 2 => 1; |self, simd, [x, y], _| [vector::mul(simd, x, y)]);
elementwise!(Mul, 1 => 1; |self, simd, [x], [y]| [vector::mul(simd, y, x)]);

/// [x, y, z] -> [x y + z].
#[derive(Clone, Copy)]
pub struct MulAdd;

elementwise!(MulAdd, 3 => 1; |self, simd, [x, y, z], _| {
    [vector::unrolled::<S, U>(simd, |u| simd.mul_add_f32s(x[u], y[u], z[u]))]
});

/// Works in place: `[x], [y] -> [y + x]`.
#[derive(Clone, Copy)]
pub struct Add;

elementwise!(Add, 1 => 1; |self, simd, [x], [y]| [vector::unrolled::<S, U>(simd, |u| simd.add_f32s(y[u], x[u]))]);

/// `[x] -> [s x]`.
#[derive(Clone, Copy)]
pub struct Scale(pub f32);

elementwise!(Scale, 1 => 1; |self, simd, [x], _| [vector::mul(simd, x, [simd.splat_f32s(self.0); U])]);

#[cfg(test)]
mod tests {
    use super::*;

    /// Works in place: [x, y], [a, b] -> [a + x, b - x y].
    #[derive(Clone, Copy)]
    struct Both;

    elementwise!(Both, 2 => 2, prefetch: true; |self, simd, [x, y], [a, b]| [
        vector::unrolled::<S, U>(simd, |u| simd.add_f32s(a[u], x[u])),
        vector::unrolled::<S, U>(simd, |u| simd.sub_f32s(b[u], simd.mul_f32s(x[u], y[u]))),
    ]);

    #[test]
    fn every_index_is_visited_once_at_every_length() {
        for n in 0..200 {
            let some = |by: f32| -> Vec<f32> { (0..n).map(|i| (i as f32 * by).sin()).collect() };
            let (x, y, a, b) = (some(0.7), some(1.1), some(1.7), some(2.3));
            let (mut to_a, mut to_b) = (a.clone(), b.clone());
            apply_all::<_, _, _, 4>([&x, &y], [&mut to_a, &mut to_b], Both);
            for i in 0..n {
                assert_eq!([to_a[i], to_b[i]], [a[i] + x[i], b[i] - x[i] * y[i]], "{i} of {n}");
            }
        }
    }
}
