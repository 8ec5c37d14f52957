//! Attention on the CPU in f32, one task for each (batch row, key head) with its query heads.
//!
//! Queries are normalised, rotated and laid out in blocks of positions, within a block by head; so
//! a block's scores are one product, the keys are packed once for the whole group, and gradients of
//! keys and values sum over the group in that product. Of the scores only blocks up to the diagonal
//! (and inside the window) are formed. For the way back a task keeps its normalised rotated queries and
//! keys, and of each row the largest score and one over its sum; of short texts the weights too, which of
//! long ones are formed again.

use std::ops::Range;

use pulp::Arch;

use super::{
    super::{
        matrix::{self, Panel, View, filled, product, total},
        packed::Packed,
        pool,
    },
    AttentionSpec,
    heads::{Collect, Heads, PrepareKeys, PrepareQueries, Spread, UndoKeys, UndoQueries},
    rows::{Fall, Softmax, SoftmaxBack, Turn, WeighBack},
    slopes,
    turns::{Turns, turns},
};

/// Rows a block of queries has, of all heads of a group together: fewer make small products slow, more
/// form scores that nobody sees.
const ROWS: usize = 64;
/// Products of less than so many multiplications are not worth a second thread.
const LEAST_WORK: usize = 1 << 18;

/// Attention over slices, for any number of batch rows.
#[derive(Debug)]
pub struct Op {
    pub(super) spec: AttentionSpec,
    t: usize,
    /// Empty where queries and keys are taken as they are.
    turns: Turns,
    /// What stands for the weights of norms that are not there.
    ones: Vec<f32>,
    /// By head; empty where scores do not fall with distance.
    slopes: Vec<f32>,
    keep: bool,
}

/// What a task reads: all of qkv, and the weights of the norms, if there are any.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    pub qkv: &'a [f32],
    pub norms: Option<[&'a [f32]; 2]>,
}

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
    /// Columns of the block's scores that its row r (of any head) may see.
    pub(super) fn seen(&self, r: usize) -> Range<usize> {
        let at = self.start + r % self.len;
        (at + 1).saturating_sub(self.window) - self.lo..at + 1 - self.lo
    }
}

impl Op {
    /// Of rows of `t` tokens; with norms of queries and keys or without; `keep` what the way back needs.
    pub fn new(spec: AttentionSpec, t: usize, normed: bool, keep: bool) -> Self {
        let (h, d) = (spec.heads, spec.head_dim);
        Self {
            spec,
            t,
            turns: if normed || spec.theta.is_some() { turns(t, d, spec.theta) } else { Turns::default() },
            ones: if normed { vec![] } else { vec![1.0; d] },
            slopes: if spec.alibi { slopes(h) } else { vec![] },
            keep,
        }
    }

    fn group(&self) -> usize {
        self.spec.heads / self.spec.kv_heads
    }

    /// Positions a block has.
    fn block(&self) -> usize {
        (ROWS / self.group()).clamp(ROWS / 4, ROWS).min(self.t)
    }

    fn scale(&self) -> f32 {
        (self.spec.head_dim as f32).powf(-0.5)
    }

    fn blocks(&self) -> impl Iterator<Item = Block> + use<> {
        let (t, window, block) = (self.t, self.spec.window.unwrap_or(self.t).max(1), self.block());
        (0..t).step_by(block).map(move |start| Block {
            start,
            len: block.min(t - start),
            lo: (start + 1).saturating_sub(window),
            hi: (start + block).min(t),
            window,
        })
    }

    /// Largest block of scores.
    fn scores(&self) -> usize {
        self.blocks().map(|b| self.group() * b.len * (b.hi - b.lo)).max().unwrap_or_default()
    }

    /// Rows of the largest block.
    fn rows(&self) -> usize {
        self.group() * self.block()
    }

    /// Where task i finds its channels.
    fn heads(&self, i: usize) -> Heads {
        let (h, kv, d) = (self.spec.heads, self.spec.kv_heads, self.spec.head_dim);
        let at = i % kv;
        Heads {
            d,
            first: i / kv * self.t,
            width: (h + 2 * kv) * d,
            q: at * self.group() * d,
            k: (h + at) * d,
            v: (h + kv + at) * d,
        }
    }

    /// Whether a task keeps its weights: while they are no more than what it reads and writes anyhow.
    fn keeps_weights(&self) -> bool {
        self.keep && self.t <= 4 * self.spec.head_dim
    }

    /// Whether queries and keys are read where they lie.
    fn as_they_lie(&self) -> bool {
        !self.ones.is_empty() && self.turns.0.is_empty() && self.group() == 1
    }

    /// Lengths of what a task keeps: queries (G T, d) by block, head, position, and keys (T, d), or none;
    /// largest scores and factors (G T); weights by block before the factors, or none.
    fn parts(&self) -> [usize; 5] {
        let (t, d, g) = (self.t, if self.as_they_lie() { 0 } else { self.spec.head_dim }, self.group());
        let weights = if self.keeps_weights() { self.blocks().map(|b| g * b.len * (b.hi - b.lo)).sum() } else { 0 };
        [g * t * d, t * d, g * t, g * t, weights]
    }

    fn turn<'a>(&'a self, weight: Option<&'a [f32]>) -> Turn<'a> {
        let eps = weight.map(|_| self.spec.eps as f32);
        Turn { cos: &self.turns.0, sin: &self.turns.1, weight: weight.unwrap_or(&self.ones), eps }
    }

    /// Some channels of a task, `(n, d)` from position `lo`: those from this column of qkv on.
    fn channels<'a>(&self, heads: Heads, qkv: &'a [f32], column: usize, lo: usize, n: usize) -> View<'a> {
        View::new(&qkv[(heads.first + lo) * heads.width..], n, heads.width).part(0, column, n, heads.d)
    }

    /// Queries of a block, `(G len, d)`; `q` as a task keeps them.
    fn queries<'a>(&self, heads: Heads, qkv: &'a [f32], q: &'a [f32], b: Block) -> View<'a> {
        let (d, g) = (self.spec.head_dim, self.group());
        if self.as_they_lie() {
            return self.channels(heads, qkv, heads.q, b.start, b.len);
        }
        View::new(&q[g * b.start * d..], g * b.len, d)
    }

    /// All keys and all values, `(T, d)` each; `k` as a task keeps them.
    fn keys_and_values<'a>(&self, heads: Heads, qkv: &'a [f32], k: &'a [f32]) -> [View<'a>; 2] {
        let (t, d) = (self.t, self.spec.head_dim);
        let v = self.channels(heads, qkv, heads.v, 0, t);
        if self.as_they_lie() { [self.channels(heads, qkv, heads.k, 0, t), v] } else { [View::new(k, t, d), v] }
    }

    /// Lets the scores of a block of task i fall with distance, where they do.
    fn fall(&self, i: usize, block: Block, scores: &mut [f32]) {
        if !self.slopes.is_empty() {
            let slopes = &self.slopes[i % self.spec.kv_heads * self.group()..][..self.group()];
            Arch::new().dispatch(Fall { scores, slopes, block });
        }
    }

    /// `kept` has room for [`Op::parts`]; `out` is the task's columns of the result.
    fn forward(&self, i: usize, given: Given, kept: &mut [f32], mut out: Panel) {
        let (d, g) = (self.spec.head_dim, self.group());
        let (heads, [of_q, of_k, of_most, of_inv, _]) = (self.heads(i), self.parts());
        let (q, rest) = kept.split_at_mut(of_q);
        let (k, rest) = rest.split_at_mut(of_k);
        let (most, rest) = rest.split_at_mut(of_most);
        let (inv, mut weights) = rest.split_at_mut(of_inv);
        let turns = [self.turn(given.norms.map(|n| n[0])), self.turn(given.norms.map(|n| n[1]))];
        if !self.as_they_lie() {
            for b in self.blocks() {
                let q = &mut q[g * b.start * d..][..g * b.len * d];
                Arch::new().dispatch(PrepareQueries { heads, turn: turns[0], block: b, qkv: given.qkv, q });
            }
            Arch::new().dispatch(PrepareKeys { heads, turn: turns[1], qkv: given.qkv, k });
        }
        let size = if self.keeps_weights() { 0 } else { self.scores() };
        let (q, [k, v]) = (&*q, self.keys_and_values(heads, given.qkv, k));
        let (across, v) = (Packed::new(k.t()), Packed::new(v)); // (d, T) and (T, d)
        filled(size + self.rows() * d, |room| {
            let (room, y) = room.split_at_mut(size);
            for b in self.blocks() {
                let (m, n, at) = (g * b.len, b.hi - b.lo, g * b.start);
                let scores = match std::mem::take(&mut weights).split_at_mut_checked(m * n) {
                    Some((own, rest)) => {
                        weights = rest;
                        own
                    }
                    None => &mut room[..m * n],
                };
                let q = self.queries(heads, given.qkv, q, b);
                across.part(scores, q, 0..d, b.lo..b.hi, self.scale()); // (m, n)
                self.fall(i, b, scores);
                let (most, inv) = (&mut most[at..at + m], &mut inv[at..at + m]);
                Arch::new().dispatch(Softmax { scores, most, inv: &mut *inv, block: b });
                v.part(y, View::new(scores, m, n), b.lo..b.hi, 0..d, 1.0); // (m, d)
                Arch::new().dispatch(Spread { block: b, y: &y[..m * d], inv, out: &mut out });
            }
        });
    }

    /// `y` and `grad` are the result and its gradient, `(B, T, H d)`; `out` the task's columns of the
    /// gradient of qkv: queries, keys, values. `norms` gets the gradients of both norms, `(d)` each.
    fn backward(
        &self,
        i: usize,
        given: Given,
        kept: &[f32],
        [y, grad]: [&[f32]; 2],
        (out, norms): ([Panel; 3], &mut [f32]),
    ) {
        let (t, d, g) = (self.t, self.spec.head_dim, self.group());
        let (heads, [of_q, of_k, of_most, of_inv, _]) = (self.heads(i), self.parts());
        let (q, rest) = kept.split_at(of_q);
        let (k, rest) = rest.split_at(of_k);
        let (most, rest) = rest.split_at(of_most);
        let (inv, mut formed) = rest.split_at(of_inv);
        let turns = [self.turn(given.norms.map(|n| n[0])), self.turn(given.norms.map(|n| n[1]))];
        let [mut to_q, mut to_k, mut to_v] = out;
        norms.fill(0.0);
        let (dq_norm, dk_norm) = norms.split_at_mut(d);
        let (size, rows) = (self.scores(), self.rows());
        let again = if self.keeps_weights() { 0 } else { size };
        let [keys, v] = self.keys_and_values(heads, given.qkv, k);
        let (k, v) = (Packed::new(keys), Packed::new(v.t())); // (T, d) and (d, T)
        // where the weights are formed again
        let across = (!self.keeps_weights()).then(|| Packed::new(keys.t())); // (d, T)
        // gradients of queries and keys that still have to be turned back have places of their own
        let direct = self.as_they_lie();
        let turned = if direct { 0 } else { d };
        to_v.clear();
        to_k.clear();
        filled(again + size + rows * (d + turned + 1) + t * turned, |room| {
            let (weights, room) = room.split_at_mut(again);
            let (dscores, room) = room.split_at_mut(size);
            let (dy, room) = room.split_at_mut(rows * d);
            let (dq, room) = room.split_at_mut(rows * turned);
            let (mean, dk) = room.split_at_mut(rows);
            dk.fill(0.0);
            for b in self.blocks() {
                let (m, n, at) = (g * b.len, b.hi - b.lo, g * b.start);
                let dscores = &mut dscores[..m * n];
                let (dy, mean, dq) = (&mut dy[..m * d], &mut mean[..m], &mut dq[..m * turned]);
                let (width, scale) = (self.spec.heads * d, self.scale());
                let (most, inv) = (&most[at..at + m], &inv[at..at + m]);
                // weights that were kept lack their rows' factors
                let by = self.keeps_weights().then_some(inv);
                Arch::new().dispatch(Collect { heads, width, block: b, y, grad, by, dy, mean });
                let q = self.queries(heads, given.qkv, q, b);
                let weights = match &across {
                    None => {
                        let (weights, rest) = formed.split_at(m * n);
                        formed = rest;
                        v.part(dscores, View::new(dy, m, d), 0..d, b.lo..b.hi, 1.0);
                        Arch::new().dispatch(WeighBack { weights, grads: &mut *dscores, mean, scale, block: b });
                        weights
                    }
                    Some(across) => {
                        let weights = &mut weights[..m * n];
                        across.part(weights, q, 0..d, b.lo..b.hi, scale);
                        self.fall(i, b, weights);
                        v.part(dscores, View::new(dy, m, d), 0..d, b.lo..b.hi, 1.0);
                        let (scores, grads) = (&mut *weights, &mut *dscores);
                        Arch::new().dispatch(SoftmaxBack { scores, grads, most, inv, mean, scale, block: b });
                        weights
                    }
                };
                let (weights, dscores, dy) = (View::new(weights, m, n), View::new(dscores, m, n), View::new(dy, m, d));
                to_v.add_product(b.lo, weights.t(), dy); // (n, d)
                if direct {
                    k.part_of_panel(&mut to_q, b.start, dscores, b.lo..b.hi, 0..d); // (m, d)
                    to_k.add_product(b.lo, dscores.t(), q); // (n, d)
                    continue;
                }
                k.part(dq, dscores, b.lo..b.hi, 0..d, 1.0); // (m, d)
                product(&mut dk[b.lo * d..], dscores.t(), q, 1.0, true); // (n, d)
                let (qkv, turn) = (given.qkv, turns[0]);
                Arch::new().dispatch(UndoQueries { heads, turn, block: b, qkv, dq, dw: dq_norm, out: &mut to_q });
            }
            if !direct {
                let (qkv, turn) = (given.qkv, turns[1]);
                Arch::new().dispatch(UndoKeys { heads, turn, qkv, dk, dw: dk_norm, out: &mut to_k });
            }
        });
    }

    /// How many tasks are worth running at once: of a short text, one, since a thread wakes more slowly.
    fn at_once(&self, rows: usize) -> usize {
        let scores = rows * self.t * self.t * self.spec.heads * self.spec.head_dim;
        if scores < LEAST_WORK { 1 } else { rows * self.spec.kv_heads }
    }

    /// Values that a batch row keeps for the way back.
    pub fn kept(&self) -> usize {
        if self.keep { self.spec.kv_heads * self.parts().iter().sum::<usize>() } else { 0 }
    }

    /// Channels of the result.
    fn width(&self) -> usize {
        self.spec.heads * self.spec.head_dim
    }

    /// `out`, `(B, T, H d)`, and what these rows keep: `B` times [`Op::kept`].
    pub fn go(&self, given: Given, kept: &mut [f32], out: &mut [f32]) {
        let kv = self.spec.kv_heads;
        let (rows, each) = (out.len() / (self.t * self.width()), self.parts().iter().sum());
        let panels = matrix::panels(out, self.t, &vec![self.width() / kv; kv]).into_iter();
        if self.keep {
            let all = panels.zip(kept.chunks_exact_mut(each)).enumerate();
            pool::share(self.at_once(rows), all, |(i, (out, kept))| self.forward(i, given, kept, out));
        } else {
            pool::share(self.at_once(rows), panels.enumerate(), |(i, out)| {
                filled(each, |kept| self.forward(i, given, kept, out));
            });
        }
    }

    /// The gradient of qkv, from the result `(B, T, H d)` and its gradient; returns those of the norms of queries and
    /// keys, `(d)` one after the other.
    pub fn back(&self, given: Given, kept: &[f32], results: [&[f32]; 2], dqkv: &mut [f32]) -> Vec<f32> {
        let (kv, d, each) = (self.spec.kv_heads, self.spec.head_dim, self.parts().iter().sum::<usize>());
        let mut widths = vec![self.group() * d; kv];
        widths.resize(3 * kv, d);
        let rows = dqkv.len() / (self.t * widths.iter().sum::<usize>());
        let mut norms = vec![0f32; rows * kv * 2 * d];
        let mut tasks = Vec::with_capacity(rows * kv);
        let mut panels = matrix::panels(dqkv, self.t, &widths).into_iter();
        for _ in 0..rows {
            let mut some = || panels.by_ref().take(kv).collect::<Vec<_>>();
            let (q, k, v) = (some(), some(), some());
            tasks.extend(q.into_iter().zip(k).zip(v).map(|((q, k), v)| [q, k, v]));
        }
        let all = tasks.into_iter().zip(norms.chunks_exact_mut(2 * d)).zip(kept.chunks_exact(each)).enumerate();
        pool::share(self.at_once(rows), all, |(i, ((out, norms), kept))| {
            self.backward(i, given, kept, results, (out, norms));
        });
        total(&norms, 2 * d)
    }
}
