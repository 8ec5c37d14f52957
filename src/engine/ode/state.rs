//! Sums and sizes of states. On host memory in one pass over slices; elsewhere, and where gradients are wanted, in
//! candle's operations.

use std::ops::Range;

use candle_core::{CpuStorage, DType, Result, Storage, Tensor, WithDType, bail};

use crate::nn::{fused::axpy::axpy, host, kernels::arch::arch};

/// Values that stay in the first cache while several tensors are added up.
const BLOCK: usize = 512;

/// The terms of a weighted sum of tensors of one shape; weights of 0 are left out.
fn terms<'a>(h: f64, weights: &[f64], ks: &'a [Tensor]) -> Vec<(f64, &'a Tensor)> {
    weights.iter().zip(ks).filter(|(w, _)| **w != 0.0).map(|(w, k)| (w * h, k)).collect()
}

/// y + h sum weights_i k_i
pub fn advance(y: &Tensor, h: f64, weights: &[f64], ks: &[Tensor]) -> Result<Tensor> {
    sum(Some(y), &terms(h, weights, ks))
}

/// sum w_i x_i
pub fn weighted(parts: &[(f64, &Tensor)]) -> Result<Tensor> {
    sum(None, parts)
}

fn sum(y: Option<&Tensor>, terms: &[(f64, &Tensor)]) -> Result<Tensor> {
    let all: Vec<&Tensor> = y.into_iter().chain(terms.iter().map(|t| t.1)).collect();
    let Some(first) = all.first() else { bail!("a sum of no tensors") };
    if all.iter().any(|t| t.track_op() || !should_slice(t)) {
        if let (Some(y), &[(w, k)]) = (y, terms) {
            return axpy(y, k, w);
        }
        let mut parts = terms.iter().map(|(w, k)| *k * *w);
        let Some(total) = parts.next() else { return Ok((*first).clone()) };
        let total = parts.try_fold(total?, |sum, part| sum + part?)?;
        return match y {
            Some(y) => y + total,
            None => Ok(total),
        };
    }
    let parts: Vec<_> = terms.iter().map(|t| t.1).collect();
    let weights: Vec<f64> = terms.iter().map(|t| t.0).collect();
    match first.dtype() {
        DType::F32 => sum_slices::<f32>(first, y, &weights, &parts),
        _ => sum_slices::<f64>(first, y, &weights, &parts),
    }
}

fn sum_slices<T: WithDType>(like: &Tensor, y: Option<&Tensor>, weights: &[f64], parts: &[&Tensor]) -> Result<Tensor> {
    let weights: Vec<T> = weights.iter().map(|&w| T::from_f64(w)).collect();
    let total = with_slices::<T, _>(y.into_iter().chain(parts.iter().copied()), |slices| {
        let (y, ks) = if y.is_some() { (slices.first().copied(), &slices[1..]) } else { (None, slices) };
        let mut out = vec![T::zero(); like.elem_count()];
        arch().dispatch(|| {
            for (i, out) in out.chunks_mut(BLOCK).enumerate() {
                let at = i * BLOCK..i * BLOCK + out.len();
                weighted_sum(out, &weights, ks, at.clone());
                if let Some(y) = y {
                    out.iter_mut().zip(&y[at]).for_each(|(o, y)| *o = *y + *o);
                }
            }
        });
        out
    })?;
    Tensor::from_vec(total, like.shape(), like.device())
}

/// Adds sum w_i k_i over the range `at` to `out`, which must be zero.
#[inline(always)]
fn weighted_sum<T: WithDType>(out: &mut [T], weights: &[T], ks: &[&[T]], at: std::ops::Range<usize>) {
    for (w, k) in weights.iter().zip(ks) {
        out.iter_mut().zip(&k[at.clone()]).for_each(|(o, k)| *o += *w * *k);
    }
}

/// The values of a state, in row-major order, whose error must meet the tolerances.
#[derive(Debug, Clone)]
pub enum ErrorScope {
    /// A single error norm over all values.
    Whole,
    /// Each part of these lengths has its own error, and the largest counts.
    Parts(Vec<usize>),
    /// Only the values in this range count.
    Only(Range<usize>),
}

/// The norm in which an error is measured: its tolerances, and the values that must meet them.
#[derive(Debug, Clone)]
pub struct ErrorNorm {
    pub rtol: f64,
    pub atol: f64,
    pub scope: ErrorScope,
}

impl ErrorNorm {
    /// rms of (h sum weights_i k_i) / (atol + rtol max(|a|, |b|)) over all values (the largest over the
    /// parts).
    pub fn size(&self, h: f64, weights: &[f64], ks: &[Tensor], a: &Tensor, b: &Tensor) -> Result<f64> {
        let terms = terms(h, weights, ks);
        if terms.is_empty() {
            return Ok(0.0);
        }
        let all = [a, b].into_iter().chain(terms.iter().map(|t| t.1));
        if all.clone().all(should_slice) {
            let weights: Vec<f64> = terms.iter().map(|t| t.0).collect();
            return match a.dtype() {
                DType::F32 => with_slices::<f32, _>(all, |s| self.size_slices(&weights, s)),
                _ => with_slices::<f64, _>(all, |s| self.size_slices(&weights, s)),
            };
        }
        let detached: Vec<(f64, Tensor)> = terms.iter().map(|(w, k)| (*w, k.detach())).collect();
        let error = sum(None, &detached.iter().map(|(w, k)| (*w, k)).collect::<Vec<_>>())?;
        let scale = ((a.detach().abs()?.maximum(&b.detach().abs()?)? * self.rtol)? + self.atol)?;
        let squares = error.div(&scale)?.sqr()?.flatten_all()?;
        let mut largest = 0f64;
        for (from, len) in self.spans(a.elem_count()) {
            largest = max_or_nan(largest, host::scalar(&squares.narrow(0, from, len)?.mean_all()?)?.sqrt());
        }
        Ok(largest)
    }

    fn size_slices<T: WithDType>(&self, weights: &[f64], slices: &[&[T]]) -> f64 {
        let weights: Vec<T> = weights.iter().map(|&w| T::from_f64(w)).collect();
        let (rtol, atol) = (T::from_f64(self.rtol), T::from_f64(self.atol));
        let (a, b, ks) = (slices[0], slices[1], &slices[2..]);
        let mut largest = 0f64;
        for (from, len) in self.spans(a.len()) {
            let total: f64 = arch().dispatch(|| {
                let mut room = [T::zero(); BLOCK];
                let mut total = 0f64;
                for start in (from..from + len).step_by(BLOCK) {
                    let at = start..(start + BLOCK).min(from + len);
                    let room = &mut room[..at.len()];
                    room.fill(T::zero());
                    weighted_sum(room, &weights, ks, at.clone());
                    for ((r, a), b) in room.iter_mut().zip(&a[at.clone()]).zip(&b[at]) {
                        let (a, b) = (magnitude(*a), magnitude(*b));
                        let larger = if a > b { a } else { b };
                        let x = *r / (atol + rtol * larger);
                        *r = x * x;
                    }
                    total += lanes_sum(room);
                }
                total
            });
            largest = max_or_nan(largest, (total / len.max(1) as f64).sqrt());
        }
        largest
    }

    fn spans(&self, len: usize) -> Vec<(usize, usize)> {
        match &self.scope {
            ErrorScope::Whole => vec![(0, len)],
            ErrorScope::Only(only) => {
                let (from, to) = (only.start.min(len), only.end.min(len));
                vec![(from, to - from)]
            }
            ErrorScope::Parts(parts) => {
                let mut at = 0;
                let spans = parts.iter().map(|&n| {
                    at += n;
                    (at - n, n)
                });
                spans.filter(|s| s.1 > 0).collect()
            }
        }
    }
}

/// Sum in f64, in eight lanes, so that it becomes vector code.
#[inline(always)]
fn lanes_sum<T: WithDType>(values: &[T]) -> f64 {
    let mut lanes = [0f64; 8];
    let pieces = values.chunks_exact(lanes.len());
    let rest: f64 = pieces.remainder().iter().map(|v| v.to_f64()).sum();
    for piece in pieces {
        lanes.iter_mut().zip(piece).for_each(|(lane, v)| *lane += v.to_f64());
    }
    lanes.iter().sum::<f64>() + rest
}

/// The larger of two values; NaN if either is NaN.
fn max_or_nan(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

#[inline(always)]
fn magnitude<T: WithDType>(x: T) -> T {
    if x < T::zero() { T::zero() - x } else { x }
}

/// Returns true if every value is finite.
pub fn is_finite(t: &Tensor) -> Result<bool> {
    // 0 x is 0, or NaN where x is not finite; so is the sum
    if !should_slice(t) {
        let t = t.detach();
        return Ok(host::scalar(&host::total(&(&t * 0.0)?)?)? == 0.0);
    }
    fn all<T: WithDType>(slices: &[&[T]]) -> bool {
        arch().dispatch(|| {
            // no early return within a block, so that the compiler vectorises it
            let finite = |block: &[T]| block.iter().fold(true, |all, &v| all & (v * T::zero() == T::zero()));
            slices.iter().all(|s| s.chunks(BLOCK).all(finite))
        })
    }
    match t.dtype() {
        DType::F32 => with_slices::<f32, _>([t].into_iter(), all),
        _ => with_slices::<f64, _>([t].into_iter(), all),
    }
}

fn should_slice(t: &Tensor) -> bool {
    t.device().is_cpu() && t.is_contiguous() && matches!(t.dtype(), DType::F32 | DType::F64)
}

/// Calls `f` with the values of tensors for which [`should_slice`] holds.
fn with_slices<'a, T: WithDType, R>(
    tensors: impl Iterator<Item = &'a Tensor>,
    f: impl FnOnce(&[&[T]]) -> R,
) -> Result<R> {
    let guards: Vec<_> = tensors.map(Tensor::storage_and_layout).collect();
    let slices = guards.iter().map(|(storage, layout)| match (&**storage, layout.contiguous_offsets()) {
        (Storage::Cpu(storage), Some((from, to))) => Ok(&slice::<T>(storage)?[from..to]),
        _ => bail!("a state that is not row-major in host memory"),
    });
    let slices: Vec<&[T]> = slices.collect::<Result<_>>()?;
    Ok(f(&slices))
}

fn slice<T: WithDType>(storage: &CpuStorage) -> Result<&[T]> {
    T::cpu_storage_as_slice(storage)
}
