//! Gathers the rows of one attention task, ordered by head and position, from the tensors in which heads lie side by
//! side, and scatters them back; queries and keys are normalised and rotated on the way.

use super::rows::{Block, Rope};
use crate::{
    arch::kernel,
    elementwise::{Scale, apply},
    matrix::Panel,
    simd,
};

/// The columns of qkv `(B T, width)` that one task reads.
#[derive(Clone, Copy)]
pub(super) struct Heads {
    pub(super) d: usize,
    /// Its first row.
    pub(super) first: usize,
    pub(super) width: usize,
    /// Width of the result.
    pub(super) result_width: usize,
    /// First columns of its first query head, its key head and its value head.
    pub(super) q: usize,
    pub(super) k: usize,
    pub(super) v: usize,
}

impl Heads {
    fn query<'a>(&self, qkv: &'a [f32], head: usize, at: usize) -> &'a [f32] {
        &qkv[(self.first + at) * self.width + self.q + head * self.d..][..self.d]
    }

    fn key<'a>(&self, qkv: &'a [f32], at: usize) -> &'a [f32] {
        &qkv[(self.first + at) * self.width + self.k..][..self.d]
    }
}

kernel! {
    /// Normalises and rotates the queries of a block into `q` `(G len, d)`.
    pub(super) fn prepare_queries(
        simd, heads: Heads, rope: Rope<'a>, block: Block, qkv: &'a [f32], q: &'a mut [f32],
    ) {
        for (r, q) in q.chunks_exact_mut(heads.d).enumerate() {
            let at = block.start + r % block.len;
            rope.forward(simd, heads.query(qkv, r / block.len, at), at, q);
        }
    }
}

kernel! {
    /// Normalises and rotates all keys into `k` `(T, d)`.
    pub(super) fn prepare_keys(simd, heads: Heads, rope: Rope<'a>, qkv: &'a [f32], k: &'a mut [f32]) {
        for (at, k) in k.chunks_exact_mut(heads.d).enumerate() {
            rope.forward(simd, heads.key(qkv, at), at, k);
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
    /// The backward of [`prepare_queries`]: gradients of rotated queries become those of the queries, which are
    /// scattered to the columns of their heads. `dw`, the gradient of the norm weight, is accumulated.
    pub(super) fn prepare_queries_backward<'b>(
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

kernel! {
    /// The backward of [`prepare_keys`].
    pub(super) fn prepare_keys_backward<'b>(
        simd, heads: Heads, rope: Rope<'a>, qkv: &'a [f32], dk: &'a mut [f32], dw: &'a mut [f32],
        out: &'a mut Panel<'b>,
    ) {
        for (at, dk) in dk.chunks_exact_mut(heads.d).enumerate() {
            rope.backward(simd, heads.key(qkv, at), at, dk, dw);
            out.row(at).copy_from_slice(dk);
        }
    }
}
