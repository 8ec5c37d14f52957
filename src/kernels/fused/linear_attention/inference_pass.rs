//! The forward pass where nothing is saved for backward: a task is one (batch row, head) and goes through its neurons
//! in blocks that stay in the cache from the first layer to the scores, and from the gate to what they write. Weights
//! are packed where they are used, by the thread that uses them. Bits are those of the form that saves.

use super::{
    rows::{PairAngles, apply_decay, gate, normalise, relu, relu_and_rope},
    saved::Sizes,
};
use crate::{
    buffers::{build_vec, build_vecs},
    matrix::View,
    packed::{Packed, gemm},
};

/// Neurons of a block: the depth of a packed panel, so that sums are cut as they are elsewhere.
const NEURONS: usize = 128;
/// Tokens from which packing weights in every task costs little beside their products.
const MIN_PACKED_TOKENS: usize = 512;

#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub v: &'a [f32],
    /// Both encoders one after the other.
    pub encoders: &'a [f32],
    pub decoder: &'a [f32],
}

impl Sizes {
    /// Returns true if this form is the faster one: elsewhere weights are packed once for many batch rows.
    pub(super) fn reads_in_blocks(self) -> bool {
        self.b == 1 || self.t >= MIN_PACKED_TOKENS
    }

    /// Blocks of neurons: the first and how many.
    fn neurons(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.n).step_by(NEURONS).map(move |from| (from, NEURONS.min(self.n - from)))
    }
}

#[derive(Clone, Copy)]
pub(super) struct InferencePass<'a> {
    pub sizes: Sizes,
    /// Cosines and sines, each `(T, N / 2)`.
    pub rope_table: Option<(&'a [f32], &'a [f32])>,
    /// For each head the powers 0, 1, 2 .. of its decay factor; empty without decay.
    pub decay_powers: &'a [Vec<f32>],
}

impl InferencePass<'_> {
    /// The output of the neurons of task i, `(T, O)`.
    pub(super) fn read(&self, i: usize, inputs: Inputs, read: &mut [f32]) {
        let Sizes { t, d, h, n, o, .. } = self.sizes;
        let head = i % h;
        let v = View::new(&inputs.v[i / h * t * d..], t, d);
        let [e, ev] = [head, h + head].map(|at| View::new(&inputs.encoders[at * d * n..], d, n));
        let decoder = View::new(&inputs.decoder[head * n * o..], n, o);
        // x lies block by block, (T, width) each
        let mut x = build_vec(t * n, |_| ());
        let scores = build_vec(self.sizes.scores(), |scores| self.encode(i, (v, e), &mut x, scores));
        let a = self.attend(v, &scores);
        drop(scores);
        let [mut u, mut y] = build_vecs([t * NEURONS.min(n); 2], |_| ());
        for (from, width) in self.sizes.neurons() {
            let (u, y) = (&mut u[..t * width], &mut y[..t * width]);
            gemm(u, View::new(&a, t, d), ev.submatrix(0, from, d, width), 1.0, false);
            gate(u, &x[from * t..][..t * width], y);
            gemm(read, View::new(y, t, width), decoder.submatrix(from, 0, width, o), 1.0, from > 0);
        }
    }

    /// The first layer and the scores of its neurons, zero where a token would see itself or what follows.
    fn encode(&self, i: usize, (v, e): (View, View), x: &mut [f32], scores: &mut [f32]) {
        let Sizes { t, d, n, .. } = self.sizes;
        let mut rotated = build_vec(if self.rope_table.is_some() { t * NEURONS.min(n) } else { 0 }, |_| ());
        for (from, width) in self.sizes.neurons() {
            let x = &mut x[from * t..][..t * width];
            gemm(x, v, e.submatrix(0, from, d, width), 1.0, false);
            let q: &[f32] = if let Some((cos, sin)) = self.rope_table {
                let angles = PairAngles { cos: &cos[from / 2..], sin: &sin[from / 2..], step: n / 2 };
                relu_and_rope(x, &mut rotated, width, angles);
                &rotated[..t * width]
            } else {
                relu(x);
                x
            };
            let across = Packed::new(View::new(q, t, width).t()); // (width, T)
            for (start, end, at) in self.sizes.blocks() {
                let rows = View::new(&q[start * width..], end - start, width);
                across.matmul_part_or_accumulate(&mut scores[at..][..(end - start) * end], rows, 0..end, from > 0);
            }
        }
        for (start, end, at) in self.sizes.blocks() {
            for (r, row) in scores[at..][..(end - start) * end].chunks_exact_mut(end).enumerate() {
                row[start + r..].fill(0.0);
                apply_decay(self.decay_powers.get(i % self.sizes.h), start + r, row);
            }
        }
    }

    /// The normalised sums of values, `(T, D)`.
    fn attend(&self, v: View, scores: &[f32]) -> Vec<f32> {
        let Sizes { t, d, .. } = self.sizes;
        let v = Packed::new(v);
        build_vec(t * d, |a| {
            for (start, end, at) in self.sizes.blocks() {
                let scores = View::new(&scores[at..], end - start, end);
                v.matmul_part(&mut a[start * d..], scores, 0..end, 0..d, 1.0); // (m, D)
            }
            let mut inv = vec![0.0; t];
            normalise(a, &mut inv);
        })
    }
}
