//! Gathers the rows of one attention task, ordered by head and position, from the tensors in which heads lie side by
//! side, and scatters them back; queries and keys are normalised and rotated on the way.

use pulp::{Simd, WithSimd};

use super::{block::Block, rows::Rope};
use crate::{
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

/// Normalises and rotates the queries of a block into `q` `(G len, d)`.
pub(super) struct PrepareQueries<'a> {
    pub(super) heads: Heads,
    pub(super) rope: Rope<'a>,
    pub(super) block: Block,
    pub(super) qkv: &'a [f32],
    pub(super) q: &'a mut [f32],
}

impl WithSimd for PrepareQueries<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Block { start, len, .. } = self.block;
        for (r, q) in self.q.chunks_exact_mut(self.heads.d).enumerate() {
            let at = start + r % len;
            self.rope.forward(simd, self.heads.query(self.qkv, r / len, at), at, q);
        }
    }
}

/// Normalises and rotates all keys into `k` `(T, d)`.
pub(super) struct PrepareKeys<'a> {
    pub(super) heads: Heads,
    pub(super) rope: Rope<'a>,
    pub(super) qkv: &'a [f32],
    pub(super) k: &'a mut [f32],
}

impl WithSimd for PrepareKeys<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (at, k) in self.k.chunks_exact_mut(self.heads.d).enumerate() {
            self.rope.forward(simd, self.heads.key(self.qkv, at), at, k);
        }
    }
}

/// Scatters the results of a block, each row times its reciprocal sum, to the columns of their heads.
pub(super) struct ScatterHeads<'a, 'b> {
    pub(super) block: Block,
    pub(super) y: &'a [f32],
    pub(super) inv: &'a [f32],
    pub(super) out: &'a mut Panel<'b>,
}

impl WithSimd for ScatterHeads<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (Block { start, len, .. }, d) = (self.block, self.y.len() / self.inv.len());
        for (r, (y, inv)) in self.y.chunks_exact(d).zip(self.inv).enumerate() {
            let to = &mut self.out.row(start + r % len)[r / len * d..][..d];
            apply::<S, _, _, _, 1>(simd, [y], [to], Scale(*inv));
        }
    }
}

/// Gathers the gradients of a block's results, each row times its reciprocal sum if these are given, and computes for
/// each row the dot product of gradient and result.
pub(super) struct GatherHeads<'a> {
    pub(super) heads: Heads,
    /// Width of the result.
    pub(super) width: usize,
    pub(super) block: Block,
    pub(super) y: &'a [f32],
    pub(super) grad: &'a [f32],
    /// Reciprocal sums.
    pub(super) inv_sums: Option<&'a [f32]>,
    pub(super) dy: &'a mut [f32],
    pub(super) mean: &'a mut [f32],
}

impl WithSimd for GatherHeads<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (Block { start, len, .. }, d) = (self.block, self.heads.d);
        for (r, (dy, mean)) in self.dy.chunks_exact_mut(d).zip(self.mean).enumerate() {
            let from = (self.heads.first + start + r % len) * self.width + self.heads.q + r / len * d;
            let by = self.inv_sums.map_or(1.0, |by| by[r]);
            apply::<S, _, _, _, 1>(simd, [&self.grad[from..from + d]], [&mut *dy], Scale(by));
            *mean = simd::dot(simd, dy, &self.y[from..from + d]);
        }
    }
}

/// The backward of [`PrepareQueries`]: gradients of rotated queries become those of the queries, which are scattered to
/// the columns of their heads.
pub(super) struct PrepareQueriesBackward<'a, 'b> {
    pub(super) heads: Heads,
    pub(super) rope: Rope<'a>,
    pub(super) block: Block,
    pub(super) qkv: &'a [f32],
    pub(super) dq: &'a mut [f32],
    /// Gradient of the norm weight, accumulated.
    pub(super) dw: &'a mut [f32],
    pub(super) out: &'a mut Panel<'b>,
}

impl WithSimd for PrepareQueriesBackward<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (Block { start, len, .. }, d) = (self.block, self.heads.d);
        for (r, dq) in self.dq.chunks_exact_mut(d).enumerate() {
            let at = start + r % len;
            self.rope.backward(simd, self.heads.query(self.qkv, r / len, at), at, dq, self.dw);
            self.out.row(at)[r / len * d..][..d].copy_from_slice(dq);
        }
    }
}

/// The backward of [`PrepareKeys`].
pub(super) struct PrepareKeysBackward<'a, 'b> {
    pub(super) heads: Heads,
    pub(super) rope: Rope<'a>,
    pub(super) qkv: &'a [f32],
    pub(super) dk: &'a mut [f32],
    pub(super) dw: &'a mut [f32],
    pub(super) out: &'a mut Panel<'b>,
}

impl WithSimd for PrepareKeysBackward<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (at, dk) in self.dk.chunks_exact_mut(self.heads.d).enumerate() {
            self.rope.backward(simd, self.heads.key(self.qkv, at), at, dk, self.dw);
            self.out.row(at).copy_from_slice(dk);
        }
    }
}
