//! Row-wise parts of fused attention in vector code: gathering the rows of a task, ordered by head and position, from the
//! tensors in which heads lie side by side, and scattering them back; QK norm with rotary embedding on the way; ALiBi,
//! softmax, and their backwards.

use std::ops::Range;

use pulp::Simd;

use crate::{
    arch::kernel,
    elementwise::{Scale, apply},
    matrix::Panel,
    simd,
};

/// Queries start..start+len against keys lo..hi.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) start: usize,
    pub(super) len: usize,
    pub(super) lo: usize,
    pub(super) hi: usize,
    pub(super) window: usize,
}

impl Block {
    /// Columns of the block's scores that its row r (of any head) attends to.
    fn attended_columns(&self, r: usize) -> Range<usize> {
        let at = self.start + r % self.len;
        (at + 1).saturating_sub(self.window) - self.lo..at + 1 - self.lo
    }
}

/// Norm and rotary embedding of queries or of keys.
#[derive(Clone, Copy)]
pub(super) struct Rope<'a> {
    /// Cosines and sines by position, `(T, d / 2)`; empty where rows are neither normalised nor rotated.
    pub(super) cos: &'a [f32],
    pub(super) sin: &'a [f32],
    /// The weight of the norm, `(d)`.
    pub(super) weight: &'a [f32],
    /// The epsilon of the norm; `None` for no norm.
    pub(super) eps: Option<f32>,
}

impl Rope<'_> {
    #[inline(always)]
    fn inverse<S: Simd>(&self, simd: S, x: &[f32]) -> f32 {
        self.eps.map_or(1.0, |eps| 1.0 / (simd::dot(simd, x, x) / x.len() as f32 + eps).sqrt())
    }

    /// to = R(x / rms(x) w), R being the rotation of position `at`.
    #[inline(always)]
    pub(super) fn forward<S: Simd>(&self, simd: S, x: &[f32], at: usize, to: &mut [f32]) {
        if self.cos.is_empty() {
            return to.copy_from_slice(x);
        }
        let half = x.len() / 2;
        let inv = self.inverse(simd, x);
        let ((xa, xb), (wa, wb)) = (x.split_at(half), self.weight.split_at(half));
        let (ta, tb) = to.split_at_mut(half);
        let (cos, sin) = (&self.cos[at * half..][..half], &self.sin[at * half..][..half]);
        let done = {
            let v = simd.splat_f32s(inv);
            let (ta, tb) = (S::as_mut_simd_f32s(ta).0, S::as_mut_simd_f32s(tb).0);
            let inputs = head::<S>(xa).iter().zip(head::<S>(xb)).zip(head::<S>(wa).iter().zip(head::<S>(wb)));
            let angles = head::<S>(cos).iter().zip(head::<S>(sin));
            for ((((&a, &b), (&wa, &wb)), (&cos, &sin)), (ta, tb)) in inputs.zip(angles).zip(ta.iter_mut().zip(tb)) {
                let a = simd.mul_f32s(simd.mul_f32s(a, v), wa);
                let b = simd.mul_f32s(simd.mul_f32s(b, v), wb);
                *ta = simd.sub_f32s(simd.mul_f32s(a, cos), simd.mul_f32s(b, sin));
                *tb = simd.mul_add_f32s(b, cos, simd.mul_f32s(a, sin));
            }
            half / S::F32_LANES * S::F32_LANES
        };
        for j in done..half {
            let (a, b) = (xa[j] * inv * wa[j], xb[j] * inv * wb[j]);
            ta[j] = a * cos[j] - b * sin[j];
            tb[j] = b * cos[j] + a * sin[j];
        }
    }

    /// The gradient g of the rotated row becomes that of x, and dw accumulates that of the norm weight. With u = x / rms(x)
    /// and g rotated back: dw += g u, dx = (g w - u mean(g w u)) / rms(x).
    #[inline(always)]
    pub(super) fn backward<S: Simd>(&self, simd: S, x: &[f32], at: usize, g: &mut [f32], dw: &mut [f32]) {
        if self.cos.is_empty() {
            return;
        }
        let (d, half) = (x.len(), x.len() / 2);
        let (cos, sin) = (&self.cos[at * half..][..half], &self.sin[at * half..][..half]);
        let (ga, gb) = g.split_at_mut(half);
        let done = {
            let (ga, gb) = (S::as_mut_simd_f32s(ga).0, S::as_mut_simd_f32s(gb).0);
            for ((a, b), (&cos, &sin)) in ga.iter_mut().zip(gb).zip(head::<S>(cos).iter().zip(head::<S>(sin))) {
                let rotated = simd.mul_add_f32s(*a, cos, simd.mul_f32s(*b, sin));
                *b = simd.sub_f32s(simd.mul_f32s(*b, cos), simd.mul_f32s(*a, sin));
                *a = rotated;
            }
            half / S::F32_LANES * S::F32_LANES
        };
        for j in done..half {
            let (a, b) = (ga[j], gb[j]);
            ga[j] = a * cos[j] + b * sin[j];
            gb[j] = b * cos[j] - a * sin[j];
        }
        if self.eps.is_none() {
            return;
        }
        let inv = self.inverse(simd, x);
        let v = simd.splat_f32s(inv);
        let mut pull = simd.splat_f32s(0.0);
        let done = d / S::F32_LANES * S::F32_LANES;
        let inputs = head::<S>(x).iter().zip(head::<S>(self.weight));
        for ((&x, &w), (g, dw)) in inputs.zip(S::as_mut_simd_f32s(g).0.iter_mut().zip(S::as_mut_simd_f32s(dw).0)) {
            let hat = simd.mul_f32s(x, v);
            *dw = simd.mul_add_f32s(*g, hat, *dw);
            *g = simd.mul_f32s(*g, w);
            pull = simd.mul_add_f32s(*g, hat, pull);
        }
        let mut pull = simd.reduce_sum_f32s(pull);
        for j in done..d {
            let hat = x[j] * inv;
            dw[j] += g[j] * hat;
            g[j] *= self.weight[j];
            pull += g[j] * hat;
        }
        // inv (g - x inv mean)
        let mean = inv * pull / d as f32;
        let by = simd.splat_f32s(-mean);
        for (g, &x) in S::as_mut_simd_f32s(g).0.iter_mut().zip(head::<S>(x)) {
            *g = simd.mul_f32s(v, simd.mul_add_f32s(x, by, *g));
        }
        for j in done..d {
            g[j] = inv * (g[j] - x[j] * mean);
        }
    }
}

/// The columns of qkv `(B T, width)` that one task reads.
#[derive(Clone, Copy)]
pub(super) struct Heads {
    pub(super) d: usize,
    /// Its first row.
    pub(super) first: usize,
    pub(super) width: usize,
    pub(super) result_width: usize,
    /// First columns of its first query head, its key head and its value head.
    pub(super) q: usize,
    pub(super) k: usize,
    pub(super) v: usize,
}

impl Heads {
    /// The same columns with the key head in place of the query heads, for code that treats both equally.
    pub(super) fn keys(self) -> Self {
        Self { q: self.k, ..self }
    }

    fn query<'a>(&self, qkv: &'a [f32], head: usize, at: usize) -> &'a [f32] {
        &qkv[(self.first + at) * self.width + self.q + head * self.d..][..self.d]
    }
}

kernel! {
    /// Normalises and rotates the queries of a block into `q` `(G len, d)`.
    pub(super) fn prepare(simd, heads: Heads, rope: Rope<'a>, block: Block, qkv: &'a [f32], q: &'a mut [f32]) {
        for (r, q) in q.chunks_exact_mut(heads.d).enumerate() {
            let at = block.start + r % block.len;
            rope.forward(simd, heads.query(qkv, r / block.len, at), at, q);
        }
    }
}

kernel! {
    /// Scatters the results of a block, each row times its reciprocal sum, to the columns of their heads.
    pub(super) fn scatter_heads<'b>(simd, block: Block, y: &'a [f32], inv: &'a [f32], out: &'a mut Panel<'b>) {
        let d = y.len() / inv.len();
        for (r, (y, inv)) in y.chunks_exact(d).zip(inv).enumerate() {
            let to = &mut out.row(block.start + r % block.len)[r / block.len * d..][..d];
            apply::<S, _, _, _, 1>(simd, [y], [to], Scale(*inv));
        }
    }
}

kernel! {
    /// Gathers the gradients of a block's results, each row times its reciprocal sum if these are given, and computes
    /// for each row the dot product of gradient and result.
    pub(super) fn gather_heads(
        simd, heads: Heads, block: Block, y: &'a [f32], grad: &'a [f32], inv_sums: Option<&'a [f32]>,
        dy: &'a mut [f32], mean: &'a mut [f32],
    ) {
        let (Block { start, len, .. }, d) = (block, heads.d);
        for (r, (dy, mean)) in dy.chunks_exact_mut(d).zip(mean).enumerate() {
            let from = (heads.first + start + r % len) * heads.result_width + heads.q + r / len * d;
            let by = inv_sums.map_or(1.0, |by| by[r]);
            apply::<S, _, _, _, 1>(simd, [&grad[from..from + d]], [&mut *dy], Scale(by));
            *mean = simd::dot(simd, dy, &y[from..from + d]);
        }
    }
}

kernel! {
    /// The backward of [`prepare`]: gradients of rotated queries become those of the queries, which are scattered to the
    /// columns of their heads. `dw`, the gradient of the norm weight, is accumulated.
    pub(super) fn prepare_backward<'b>(
        simd, heads: Heads, rope: Rope<'a>, block: Block, qkv: &'a [f32], dq: &'a mut [f32], dw: &'a mut [f32],
        out: &'a mut Panel<'b>,
    ) {
        let (Block { start, len, .. }, d) = (block, heads.d);
        for (r, dq) in dq.chunks_exact_mut(d).enumerate() {
            let at = start + r % len;
            rope.backward(simd, heads.query(qkv, r / len, at), at, dq, dw);
            out.row(at)[r / len * d..][..d].copy_from_slice(dq);
        }
    }
}

#[inline(always)]
fn head<S: Simd>(x: &[f32]) -> &[S::f32s] {
    S::as_simd_f32s(x).0
}

/// The span of whole vectors that contain these columns of a row of n values, cut at its end.
#[inline(always)]
fn vector_span<S: Simd>(seen: &Range<usize>, n: usize) -> Range<usize> {
    seen.start / S::F32_LANES * S::F32_LANES..seen.end.next_multiple_of(S::F32_LANES).min(n)
}

#[inline(always)]
fn zero_masked(row: &mut [f32], seen: &Range<usize>) {
    row[..seen.start].fill(0.0);
    row[seen.end..].fill(0.0);
}

kernel! {
    /// Subtracts slope times distance from the scores of a block; `slopes` are those of the heads of the group.
    pub(super) fn subtract_alibi(_, scores: &'a mut [f32], slopes: &'a [f32], block: Block) {
        let Block { start, len, lo, hi, .. } = block;
        for (r, row) in scores.chunks_exact_mut(hi - lo).enumerate() {
            let (slope, at) = (slopes[r / len], (start + r % len) as f32 - lo as f32);
            // keys after the query would get a positive bias, but they are masked
            for (c, score) in row.iter_mut().enumerate() {
                *score -= slope * (at - c as f32);
            }
        }
    }
}

kernel! {
    /// Scores of a block become unnormalised weights: exp(score - largest score of the row), and 0 where masked. `max`
    /// gets the largest score of each row, `inv` the reciprocal of its sum of exponentials.
    pub(super) fn softmax_block(
        simd, scores: &'a mut [f32], max: &'a mut [f32], inv: &'a mut [f32], block: Block,
    ) {
        let n = block.hi - block.lo;
        let rows = scores.chunks_exact_mut(n).zip(max.iter_mut().zip(inv));
        for (r, (row, (max, inv))) in rows.enumerate() {
            let seen = block.attended_columns(r);
            if let Some(found) = softmax(simd, row, &seen) {
                (*max, *inv) = found;
                continue;
            }
            let wide = vector_span::<S>(&seen, n);
            // masked scores of -inf add less to the sum than the rounding of its largest term, 1
            row[wide.start..seen.start].fill(f32::NEG_INFINITY);
            match row[seen.end..].get_mut(..S::F32_LANES) {
                Some(after) => after.fill(f32::NEG_INFINITY), // a single vector store
                None => row[seen.end..].fill(f32::NEG_INFINITY),
            }
            let part = &mut row[wide];
            *max = simd::max(simd, part);
            *inv = 1.0 / simd::exp_shifted_sum(simd, part, *max);
            zero_masked(row, &seen);
        }
    }
}

/// The fast path for a row that attends from its first column on: its scores become unnormalised weights in whole vectors.
/// Returns the largest score and the reciprocal sum; `None`, with the row as it was, where whole vectors do not suffice.
#[inline(always)]
fn softmax<S: Simd>(simd: S, row: &mut [f32], seen: &Range<usize>) -> Option<(f32, f32)> {
    let (all, tail) = S::as_mut_simd_f32s(row);
    let (full, rest) = (seen.end / S::F32_LANES, seen.end % S::F32_LANES);
    if seen.start > 0 || full + usize::from(rest > 0) > all.len() {
        return None;
    }
    let (before, after) = all.split_at_mut(full);
    let (nothing, zero) = (simd.splat_f32s(f32::NEG_INFINITY), simd.splat_f32s(0.0));
    let inside = simd.less_than_u32s(S::as_simd_u32s(&LANES).0[0], simd.splat_u32s(rest as u32));
    let edge = if rest > 0 { simd.select_f32s(inside, after[0], nothing) } else { nothing };
    let max = before.iter().fold(edge, |max, v| simd.max_f32s(max, *v));
    let max = simd.reduce_max_f32s(max);
    let (by, mut sum) = (simd.splat_f32s(max), zero);
    for v in before {
        *v = simd::exp_vector(simd, simd.sub_f32s(*v, by));
        sum = simd.add_f32s(sum, *v);
    }
    after.fill(zero);
    if rest > 0 {
        after[0] = simd.select_f32s(inside, simd::exp_vector(simd, simd.sub_f32s(edge, by)), zero);
        sum = simd.add_f32s(sum, after[0]);
    }
    tail.fill(0.0);
    Some((max, 1.0 / simd.reduce_sum_f32s(sum)))
}

const LANES: [u32; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// The constants of one row of [`softmax_backward`], each in all lanes.
#[derive(Clone, Copy)]
struct RowConstants<S: Simd> {
    max: Option<S::f32s>,
    inv: S::f32s,
    mean: S::f32s,
    scale: S::f32s,
}

impl<S: Simd> RowConstants<S> {
    #[inline(always)]
    fn apply(self, simd: S, w: &mut S::f32s, g: &mut S::f32s) {
        let exp = match self.max {
            Some(max) => simd::exp_vector(simd, simd.sub_f32s(*w, max)),
            None => *w,
        };
        *w = simd.mul_f32s(exp, self.inv);
        *g = simd.mul_f32s(simd.mul_f32s(*w, self.scale), simd.sub_f32s(*g, self.mean));
    }
}

kernel! {
    /// Turns unnormalised weights into weights, and gradients of weights into those of the scores before scaling. `max`
    /// and `inv` are those of [`softmax_block`]; with `max`, `weights` are scores, from which they are recomputed.
    /// `mean` is the dot product of weights and their gradients for each row.
    #[allow(clippy::manual_map, reason = "a closure is compiled without the vector instructions of its caller")]
    pub(super) fn softmax_backward(
        simd, weights: &'a mut [f32], grads: &'a mut [f32], max: Option<&'a [f32]>, inv: &'a [f32], mean: &'a [f32],
        scale: f32, block: Block,
    ) {
        let n = block.hi - block.lo;
        let rows = weights.chunks_exact_mut(n).zip(grads.chunks_exact_mut(n));
        for (r, ((weights, grads), (&inv, &mean))) in rows.zip(inv.iter().zip(mean)).enumerate() {
            let seen = block.attended_columns(r);
            // a single weight is 1 whatever its score, so that its gradient is exactly 0 and not a rounding error
            let mean = if seen.len() == 1 { grads[seen.start] } else { mean };
            let wide = vector_span::<S>(&seen, n);
            let through = RowConstants::<S> {
                max: match max {
                    Some(max) => Some(simd.splat_f32s(max[r])),
                    None => None,
                },
                inv: simd.splat_f32s(inv),
                mean: simd.splat_f32s(mean),
                scale: simd.splat_f32s(scale),
            };
            let (w, w_tail) = S::as_mut_simd_f32s(&mut weights[wide.clone()]);
            let (g, g_tail) = S::as_mut_simd_f32s(&mut grads[wide]);
            for (w, g) in w.iter_mut().zip(g) {
                through.apply(simd, w, g);
            }
            if !w_tail.is_empty() {
                let (mut w, mut g) = (simd.partial_load_f32s(w_tail), simd.partial_load_f32s(g_tail));
                through.apply(simd, &mut w, &mut g);
                simd.partial_store_f32s(w_tail, w);
                simd.partial_store_f32s(g_tail, g);
            }
            zero_masked(weights, &seen);
            zero_masked(grads, &seen);
        }
    }
}

kernel! {
    /// Same as [`softmax_backward`], with the unnormalised weights that forward saved; the reciprocal sums are in the
    /// gradients already.
    pub(super) fn softmax_backward_saved(
        _, weights: &'a [f32], grads: &'a mut [f32], mean: &'a [f32], scale: f32, block: Block,
    ) {
        let n = block.hi - block.lo;
        let rows = weights.chunks_exact(n).zip(grads.chunks_exact_mut(n)).zip(mean);
        for (r, ((weights, grads), &mean)) in rows.enumerate() {
            let seen = block.attended_columns(r);
            // a single weight is 1 whatever its score, so that its gradient is exactly 0 and not a rounding error
            let mean = if seen.len() == 1 { grads[seen.start] } else { mean };
            // masked weights are 0, and so are their gradients
            for (g, w) in grads.iter_mut().zip(weights) {
                *g = w * scale * (*g - mean);
            }
        }
    }
}
