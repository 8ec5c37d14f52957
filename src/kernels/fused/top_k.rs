//! The k largest values of each row, the rest zero, with a straight-through gradient to all of them.

use std::sync::Mutex;

use crate::{
    fused::prelude::*,
    reduce::TASK_ROWS,
    sparse::{Entry, ordered},
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
    let kept = k.min(f);
    let (mut selected, mut counts) = (vec![0f32; z.elem_count()], vec![0f32; f]);
    let mut entries = vec![(0, 0.0); selected.len() / f * kept];
    storage::read(&z, |z| {
        threads::run_chunks(&mut entries, TASK_ROWS * kept, |i, entries| {
            select_rows(&z[i * TASK_ROWS * f..], f, entries, kept);
        });
        Ok(())
    })?;
    for (row, entries) in selected.chunks_exact_mut(f).zip(entries.chunks(kept.max(1))) {
        for &(at, value) in entries {
            row[at as usize] = value;
            counts[at as usize] += 1.0;
        }
    }
    let counts = Tensor::from_vec(counts, f, z.device())?;
    Ok(TopK { selected: z.apply_op1(Op(StraightThrough(Mutex::new(Some(selected)))))?, counts })
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

kernel! {
    /// entries `(N, kept)`: the `kept` largest values of each row of `f` with their columns, which ascend; of equal values
    /// the first ones.
    pub(super) fn select_rows(_, z: &'a [f32], f: usize, entries: &'a mut [Entry], kept: usize) {
        let mut keys = vec![0u32; f];
        // the column that comes after the last selected one is written too, and not read
        let mut selected = vec![0u32; kept + 1];
        for (z, entries) in z.chunks_exact(f).zip(entries.chunks_exact_mut(kept)) {
            keys.iter_mut().zip(z).for_each(|(key, z)| *key = ordered(*z));
            let (threshold, ties) = threshold(&keys, kept);
            // the column after the last tie that is selected
            let end = match ties {
                0 => 0,
                _ => (0..f).filter(|&at| keys[at] == threshold).nth(ties - 1).map_or(f, |at| at + 1),
            };
            let mut n = 0;
            for (at, &key) in keys.iter().enumerate() {
                // written in any case, since the processor could not predict the branch
                selected[n] = at as u32;
                n += usize::from((key > threshold) | ((key == threshold) & (at < end)));
            }
            for (entry, &at) in entries.iter_mut().zip(&selected) {
                *entry = (at, z[at as usize]);
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
        let n = count_at_least(keys, middle as u32);
        if n == k {
            return (middle as u32 - 1, 0); // above low, so not 0
        }
        if n > k { low = middle } else { high = middle }
    }
    let above = if high > u64::from(u32::MAX) { 0 } else { count_at_least(keys, high as u32) };
    (low as u32, k - above)
}

#[inline(always)]
fn count_at_least(keys: &[u32], threshold: u32) -> usize {
    keys.iter().map(|&key| u32::from(key >= threshold)).sum::<u32>() as usize
}

/// Selected values that are computed already; the gradient is passed through (straight-through estimator).
struct StraightThrough(Mutex<Option<Vec<f32>>>);

impl FusedOp<1> for StraightThrough {
    const NAME: &'static str = "top-k";

    fn forward(&self, _: [&[f32]; 1], [shape]: [&Shape; 1]) -> Result<(Vec<f32>, Shape)> {
        let Some(values) = threads::lock(&self.0).take() else { bail!("top-k can run forward only once") };
        Ok((values, shape.clone()))
    }

    fn backward(&self, _: [&Tensor; 1], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 1]> {
        Ok([Some(grad.clone())])
    }
}
