//! Between the packed tensors, where heads lie side by side, and the rows of one task of fused attention,
//! which are by head and position: norm and rotation on the way in, undone on the way back.

use pulp::{Simd, WithSimd};

use super::{
    super::{
        lanes,
        matrix::Panel,
        places::{By, over},
    },
    fused::Block,
    rows::Turn,
};

/// Where one task finds its channels in qkv `(B T, width)`.
#[derive(Clone, Copy)]
pub(super) struct Heads {
    pub(super) d: usize,
    /// Its first row.
    pub(super) first: usize,
    pub(super) width: usize,
    /// Columns of its first query, its key and its value.
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

/// A block's queries, normalised and rotated: `q` `(G len, d)`.
pub(super) struct PrepareQueries<'a> {
    pub(super) heads: Heads,
    pub(super) turn: Turn<'a>,
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
            self.turn.row(simd, self.heads.query(self.qkv, r / len, at), at, q);
        }
    }
}

/// All keys, `(T, d)`.
pub(super) struct PrepareKeys<'a> {
    pub(super) heads: Heads,
    pub(super) turn: Turn<'a>,
    pub(super) qkv: &'a [f32],
    pub(super) k: &'a mut [f32],
}

impl WithSimd for PrepareKeys<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (at, k) in self.k.chunks_exact_mut(self.heads.d).enumerate() {
            self.turn.row(simd, self.heads.key(self.qkv, at), at, k);
        }
    }
}

/// A block's results, each times its row's factor, to their places.
pub(super) struct Spread<'a, 'b> {
    pub(super) block: Block,
    pub(super) y: &'a [f32],
    pub(super) inv: &'a [f32],
    pub(super) out: &'a mut Panel<'b>,
}

impl WithSimd for Spread<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (Block { start, len, .. }, d) = (self.block, self.y.len() / self.inv.len());
        for (r, (y, inv)) in self.y.chunks_exact(d).zip(self.inv).enumerate() {
            let to = &mut self.out.row(start + r % len)[r / len * d..][..d];
            over::<S, _, _, _, 1>(simd, [y], [to], By(*inv));
        }
    }
}

/// A block's gradients of results, times a factor of each row if there are such, and each times the result summed
/// over its row.
pub(super) struct Collect<'a> {
    pub(super) heads: Heads,
    /// Channels of the result.
    pub(super) width: usize,
    pub(super) block: Block,
    pub(super) y: &'a [f32],
    pub(super) grad: &'a [f32],
    pub(super) by: Option<&'a [f32]>,
    pub(super) dy: &'a mut [f32],
    pub(super) mean: &'a mut [f32],
}

impl WithSimd for Collect<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (Block { start, len, .. }, d) = (self.block, self.heads.d);
        for (r, (dy, mean)) in self.dy.chunks_exact_mut(d).zip(self.mean).enumerate() {
            let from = (self.heads.first + start + r % len) * self.width + self.heads.q + r / len * d;
            let by = self.by.map_or(1.0, |by| by[r]);
            over::<S, _, _, _, 1>(simd, [&self.grad[from..from + d]], [&mut *dy], By(by));
            *mean = lanes::dot(simd, dy, &self.y[from..from + d]);
        }
    }
}

/// Gradients of a block's rotated queries become those of the queries, and go to their places.
pub(super) struct UndoQueries<'a, 'b> {
    pub(super) heads: Heads,
    pub(super) turn: Turn<'a>,
    pub(super) block: Block,
    pub(super) qkv: &'a [f32],
    pub(super) dq: &'a mut [f32],
    /// Of the norm, added to.
    pub(super) dw: &'a mut [f32],
    pub(super) out: &'a mut Panel<'b>,
}

impl WithSimd for UndoQueries<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (Block { start, len, .. }, d) = (self.block, self.heads.d);
        for (r, dq) in self.dq.chunks_exact_mut(d).enumerate() {
            let at = start + r % len;
            self.turn.back(simd, self.heads.query(self.qkv, r / len, at), at, dq, self.dw);
            self.out.row(at)[r / len * d..][..d].copy_from_slice(dq);
        }
    }
}

/// The same of all keys.
pub(super) struct UndoKeys<'a, 'b> {
    pub(super) heads: Heads,
    pub(super) turn: Turn<'a>,
    pub(super) qkv: &'a [f32],
    pub(super) dk: &'a mut [f32],
    pub(super) dw: &'a mut [f32],
    pub(super) out: &'a mut Panel<'b>,
}

impl WithSimd for UndoKeys<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (at, dk) in self.dk.chunks_exact_mut(self.heads.d).enumerate() {
            self.turn.back(simd, self.heads.key(self.qkv, at), at, dk, self.dw);
            self.out.row(at).copy_from_slice(dk);
        }
    }
}
