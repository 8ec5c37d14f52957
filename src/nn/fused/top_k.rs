//! The k largest of each row, the rest zero; the gradient goes straight through to all of them.

use std::sync::Mutex;

use candle_core::{CpuStorage, CustomOp1, D, Layout, Result, Shape, Tensor, bail};
use pulp::{Arch, Simd, WithSimd};

use super::{
    matrix::{self, ROWS},
    pool,
};

/// What is left of the rows, and how often each column is among the k.
pub struct TopK {
    /// `(.., F)`
    pub kept: Tensor,
    /// Rows that kept a column, `(F)`; no gradient.
    pub counts: Tensor,
}

/// z `(.., F)`. Exactly k of a row are kept (all if it has fewer); of equal values the first ones.
pub fn top_k(z: &Tensor, k: usize) -> Result<TopK> {
    let z = z.contiguous()?;
    if !matrix::readable(&[&z]) {
        return reference(&z, k);
    }
    let f = z.dim(D::Minus1)?;
    let (kept, counts) = matrix::read(&z, |z| Ok(select(z, f, k)))?;
    let counts = Tensor::from_vec(counts, f, z.device())?;
    Ok(TopK { kept: z.apply_op1(Straight(Mutex::new(Some(kept))))?, counts })
}

pub fn reference(z: &Tensor, k: usize) -> Result<TopK> {
    let f = z.dim(D::Minus1)?;
    // the place of each value in its row, largest first
    let order = z.detach().contiguous()?.arg_sort_last_dim(false)?;
    let place = order.arg_sort_last_dim(true)?;
    let mask = place.lt(k as f64)?.to_dtype(z.dtype())?;
    let kept = (z + ((z * &mask)? - z)?.detach())?;
    Ok(TopK { kept, counts: mask.reshape(((), f))?.sum(0)? })
}

/// Rows of f values with all but the k largest zero, and the counts of columns.
fn select(z: &[f32], f: usize, k: usize) -> (Vec<f32>, Vec<f32>) {
    let mut counts = vec![0f32; z.len().div_ceil(ROWS * f) * f];
    let out = matrix::filled(z.len(), |out| {
        pool::run_on2((out, ROWS * f), (&mut counts, f), |i, [out, counts]| {
            let z = &z[i * ROWS * f..][..out.len()];
            Arch::new().dispatch(Select { z, out, counts, k });
        });
    });
    (out, matrix::total(&counts, f))
}

struct Select<'a> {
    z: &'a [f32],
    out: &'a mut [f32],
    counts: &'a mut [f32], // (F)
    k: usize,
}

impl WithSimd for Select<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let f = self.counts.len();
        let mut keys = vec![0u32; f];
        for (z, out) in self.z.chunks_exact(f).zip(self.out.chunks_exact_mut(f)) {
            keys.iter_mut().zip(z).for_each(|(key, z)| *key = ordered(*z));
            let (least, mut ties) = threshold(&keys, self.k);
            for (((out, &z), &key), count) in out.iter_mut().zip(z).zip(&keys).zip(self.counts.iter_mut()) {
                let keep = key > least;
                *out = if keep { z } else { 0.0 };
                *count += if keep { 1.0 } else { 0.0 };
            }
            // apart, so that the loop above, which is all that most rows need, becomes vector code
            let mut at = 0;
            while ties > 0 && at < f {
                if keys[at] == least {
                    (out[at], ties) = (z[at], ties - 1);
                    self.counts[at] += 1.0;
                }
                at += 1;
            }
        }
    }
}

/// A number that orders as the value does; NaN is above or below all.
#[inline(always)]
fn ordered(x: f32) -> u32 {
    let bits = x.to_bits();
    bits ^ if bits >> 31 == 1 { u32::MAX } else { 1 << 31 }
}

/// (t, n): what is above t belongs to the k largest, and the first n that equal it. By bisection over
/// the bits; most rows end early, when a t has exactly k above it.
#[inline(always)]
fn threshold(keys: &[u32], k: usize) -> (u32, usize) {
    if k >= keys.len() {
        return (0, keys.len());
    }
    let (mut low, mut high) = (u32::MAX, 0);
    for &key in keys {
        low = low.min(key);
        high = high.max(key);
    }
    // at least k are >= low; fewer than k are >= high
    let (mut low, mut high) = (u64::from(low), u64::from(high) + 1);
    while high - low > 1 {
        let middle = low.midpoint(high);
        let n = at_least(keys, middle as u32);
        if n == k {
            return (middle as u32 - 1, 0); // above low, so not 0
        }
        if n > k { low = middle } else { high = middle }
    }
    let above = if high > u64::from(u32::MAX) { 0 } else { at_least(keys, high as u32) };
    (low as u32, k - above)
}

#[inline(always)]
fn at_least(keys: &[u32], least: u32) -> usize {
    keys.iter().map(|&key| u32::from(key >= least)).sum::<u32>() as usize
}

/// Values that are there already; the way back lets the gradient through as it is.
struct Straight(Mutex<Option<Vec<f32>>>);

impl CustomOp1 for Straight {
    fn name(&self) -> &'static str {
        "top-k"
    }

    fn cpu_fwd(&self, _: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let values = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        match values {
            Some(values) => Ok((CpuStorage::F32(values), layout.shape().clone())),
            None => bail!("top-k goes forward once"),
        }
    }

    fn bwd(&self, _: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(grad.clone()))
    }
}
