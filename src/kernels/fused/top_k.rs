//! The k largest values of each row, the rest zero, with a straight-through gradient to all of them.

use std::sync::Mutex;

use crate::{
    fused::prelude::*,
    order::ordered,
    reduce::{self, TASK_ROWS},
};

/// The selected values, and how often each column is among the k.
pub struct TopK {
    /// `(.., F)`, 0 where a value is not selected.
    pub selected: Tensor,
    /// Number of rows that selected a column, `(F)`; no gradient.
    pub counts: Tensor,
}

/// z `(.., F)`. Exactly k of a row are selected (all if it has fewer); of equal values the first ones.
pub fn top_k(z: &Tensor, k: usize) -> Result<TopK> {
    let z = z.contiguous()?;
    if !storage::readable(&[&z]) {
        return reference(&z, k);
    }
    let f = z.dim(D::Minus1)?;
    let (saved, counts) = storage::read(&z, |z| Ok(select(z, f, k)))?;
    let counts = Tensor::from_vec(counts, f, z.device())?;
    Ok(TopK { selected: z.apply_op1(Op(StraightThrough(Mutex::new(Some(saved)))))?, counts })
}

/// The reference form in plain candle, with the arguments of [`top_k`].
pub fn reference(z: &Tensor, k: usize) -> Result<TopK> {
    let f = z.dim(D::Minus1)?;
    // sorting the order once more ranks the values of a row, the largest first
    let order = z.detach().contiguous()?.arg_sort_last_dim(false)?;
    let rank = order.arg_sort_last_dim(true)?;
    let mask = rank.lt(k as f64)?.to_dtype(z.dtype())?;
    let saved = (z + ((z * &mask)? - z)?.detach())?;
    Ok(TopK { selected: saved, counts: mask.reshape(((), f))?.sum(0)? })
}

/// Rows of f values with all but the k largest zero, and the counts of columns.
fn select(z: &[f32], f: usize, k: usize) -> (Vec<f32>, Vec<f32>) {
    let mut counts = vec![0f32; z.len().div_ceil(TASK_ROWS * f) * f];
    let out = build_vec(z.len(), |out| {
        threads::run_all_chunks(
            [threads::Chunks { values: out, size: TASK_ROWS * f }, threads::Chunks { values: &mut counts, size: f }],
            |i, [out, counts]| {
                let z = &z[i * TASK_ROWS * f..][..out.len()];
                select_rows(z, out, counts, k);
            },
        );
    });
    (out, reduce::sum_rows(&counts, f))
}

kernel! {
    /// `counts`: `(F)`.
    fn select_rows(_, z: &'a [f32], out: &'a mut [f32], counts: &'a mut [f32], k: usize) {
        let f = counts.len();
        let mut keys = vec![0u32; f];
        for (z, out) in z.chunks_exact(f).zip(out.chunks_exact_mut(f)) {
            keys.iter_mut().zip(z).for_each(|(key, z)| *key = ordered(*z));
            let (threshold, mut ties) = threshold(&keys, k);
            for (((out, &z), &key), count) in out.iter_mut().zip(z).zip(&keys).zip(counts.iter_mut()) {
                let is_kept = key > threshold;
                *out = if is_kept { z } else { 0.0 };
                *count += if is_kept { 1.0 } else { 0.0 };
            }
            // ties have a separate loop, so that the one above, enough for most rows, is vectorized
            let mut at = 0;
            while ties > 0 && at < f {
                if keys[at] == threshold {
                    (out[at], ties) = (z[at], ties - 1);
                    counts[at] += 1.0;
                }
                at += 1;
            }
        }
    }
}

/// (t, n): the k largest are those above t and the first n that equal it. Found by bisection over the bits; most rows end
/// early, at a t that has exactly k above it.
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
fn at_least(keys: &[u32], threshold: u32) -> usize {
    keys.iter().map(|&key| u32::from(key >= threshold)).sum::<u32>() as usize
}

/// Selected values that are computed already; the gradient is passed through (straight-through estimator).
struct StraightThrough(Mutex<Option<Vec<f32>>>);

impl FusedOp<1> for StraightThrough {
    const NAME: &'static str = "top-k";

    fn forward(&self, _: [&[f32]; 1], [shape]: [&Shape; 1]) -> Result<(Vec<f32>, Shape)> {
        let values = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        match values {
            Some(values) => Ok((values, shape.clone())),
            None => bail!("top-k can run forward only once"),
        }
    }

    fn backward(&self, _: [&Tensor; 1], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 1]> {
        Ok([Some(grad.clone())])
    }
}
