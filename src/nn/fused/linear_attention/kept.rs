//! Sizes of linear attention, its weights by task, and what a task keeps for the way back.

use super::super::{matrix::View, packed::Packed};

/// Rows of scores that are formed at once.
const BLOCK: usize = 64;

#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) b: usize,
    pub(super) t: usize,
    pub(super) d: usize,
    pub(super) h: usize,
    pub(super) n: usize,
    pub(super) o: usize,
}

/// The encoders and the decoder of one head, laid out for products with rows of many tokens.
pub(super) struct Weights {
    pub(super) e: Packed,
    pub(super) ev: Packed,
    pub(super) dec: Packed,
}

impl Weights {
    /// Of every head, for the way forward `(D, N)`, `(D, N)`, `(N, O)`, or `back`, transposed.
    pub(super) fn of_heads(encoders: &[f32], dec: &[f32], s: Sizes, back: bool) -> Vec<Self> {
        let (e, ev) = encoders.split_at(encoders.len() / 2);
        let (part, read) = (s.d * s.n, s.n * s.o);
        let lay = |w: &[f32], rows: usize, cols: usize| {
            let w = View::new(w, rows, cols);
            Packed::new(if back { w.t() } else { w })
        };
        let heads = e.chunks_exact(part).zip(ev.chunks_exact(part)).zip(dec.chunks_exact(read));
        heads
            .map(|((e, ev), dec)| Self { e: lay(e, s.d, s.n), ev: lay(ev, s.d, s.n), dec: lay(dec, s.n, s.o) })
            .collect()
    }
}

impl Sizes {
    /// Rows from, rows to, and where the block's scores begin among all of a task's.
    pub(super) fn blocks(self) -> impl Iterator<Item = (usize, usize, usize)> {
        let mut from = 0;
        (0..self.t).step_by(BLOCK).map(move |start| {
            let (end, at) = ((start + BLOCK).min(self.t), from);
            from += (end - start) * end;
            (start, end, at)
        })
    }

    /// Scores of one task.
    pub(super) fn scores(self) -> usize {
        self.blocks().map(|(start, end, _)| (end - start) * end).sum()
    }

    /// Scores cost as much to form again as neurons to store, once they are as many.
    pub(super) fn keeps_scores(self) -> bool {
        self.t <= self.n
    }
}

/// What one task finds and the way back needs.
pub(super) struct Found<V> {
    pub(super) x: V,      // (T, N)
    pub(super) u: V,      // (T, N), before the gate
    pub(super) a: V,      // (T, D)
    pub(super) inv: V,    // (T)
    pub(super) scores: V, // blocks, or none
}

impl Sizes {
    /// Values of a [`Found`]'s parts.
    pub(super) fn lengths(self) -> [usize; 5] {
        let Sizes { t, d, n, .. } = self;
        [t * n, t * n, t * d, t, if self.keeps_scores() { self.scores() } else { 0 }]
    }

    pub(super) fn found(self) -> usize {
        self.lengths().iter().sum()
    }

    pub(super) fn read(self, all: &[f32]) -> Found<&[f32]> {
        let [x, u, a, inv, _] = self.lengths();
        let (x, all) = all.split_at(x);
        let (u, all) = all.split_at(u);
        let (a, all) = all.split_at(a);
        let (inv, scores) = all.split_at(inv);
        Found { x, u, a, inv, scores }
    }

    pub(super) fn write(self, all: &mut [f32]) -> Found<&mut [f32]> {
        let [x, u, a, inv, _] = self.lengths();
        let (x, all) = all.split_at_mut(x);
        let (u, all) = all.split_at_mut(u);
        let (a, all) = all.split_at_mut(a);
        let (inv, scores) = all.split_at_mut(inv);
        Found { x, u, a, inv, scores }
    }
}
