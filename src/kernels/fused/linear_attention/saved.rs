//! Sizes of linear attention, its packed weights by head, and what a task saves for backward.

use crate::{
    buffers::{split, split_mut},
    matrix::View,
    packed::Packed,
};

/// Rows of scores in a block.
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

/// The encoders and the decoder of one head, packed.
pub(super) struct Weights {
    pub(super) e: Packed,
    pub(super) ev: Packed,
    pub(super) dec: Packed,
}

impl Weights {
    /// The weights of every head: for forward `(D, N)`, `(D, N)` and `(N, O)`, for backward their transposes.
    pub(super) fn per_head(encoders: &[f32], dec: &[f32], s: Sizes, backward: bool) -> Vec<Self> {
        let (e, ev) = encoders.split_at(encoders.len() / 2);
        let (part, read) = (s.d * s.n, s.n * s.o);
        let pack = |w: &[f32], rows: usize, cols: usize| {
            let w = View::new(w, rows, cols);
            Packed::new(if backward { w.t() } else { w })
        };
        let heads = e.chunks_exact(part).zip(ev.chunks_exact(part)).zip(dec.chunks_exact(read));
        heads
            .map(|((e, ev), dec)| Self { e: pack(e, s.d, s.n), ev: pack(ev, s.d, s.n), dec: pack(dec, s.n, s.o) })
            .collect()
    }
}

/// The values that one task saves for backward.
pub(super) struct Saved<V> {
    pub(super) x: V,      // (T, N)
    pub(super) u: V,      // (T, N), before the gate
    pub(super) a: V,      // (T, D)
    pub(super) inv: V,    // (T)
    pub(super) scores: V, // blocks, or none
}

impl Sizes {
    /// The first row of each block, the row after its last, and where its scores begin among those of a task.
    pub(super) fn blocks(self) -> impl Iterator<Item = (usize, usize, usize)> {
        let mut from = 0;
        (0..self.t).step_by(BLOCK).map(move |start| {
            let (end, at) = ((start + BLOCK).min(self.t), from);
            from += (end - start) * end;
            (start, end, at)
        })
    }

    /// Number of scores of one task.
    pub(super) fn scores(self) -> usize {
        self.blocks().map(|(start, end, _)| (end - start) * end).sum()
    }

    /// Returns true if scores are saved: while they are no more than the neurons; above, recomputing them costs less
    /// than storing.
    pub(super) fn saves_scores(self) -> bool {
        self.t <= self.n
    }

    /// Lengths of the parts of a [`Saved`].
    pub(super) fn lengths(self) -> [usize; 5] {
        let Sizes { t, d, n, .. } = self;
        [t * n, t * n, t * d, t, if self.saves_scores() { self.scores() } else { 0 }]
    }

    pub(super) fn saved_len(self) -> usize {
        self.lengths().iter().sum()
    }

    pub(super) fn read(self, all: &[f32]) -> Saved<&[f32]> {
        let [x, u, a, inv, scores] = split(all, self.lengths());
        Saved { x, u, a, inv, scores }
    }

    pub(super) fn write(self, all: &mut [f32]) -> Saved<&mut [f32]> {
        let [x, u, a, inv, scores] = split_mut(all, self.lengths());
        Saved { x, u, a, inv, scores }
    }
}
