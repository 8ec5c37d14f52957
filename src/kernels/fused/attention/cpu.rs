//! Attention on the CPU in f32, one task for each (batch row, key head) with its query heads. It works on slices;
//! the module above makes candle operations of it.
//!
//! Queries are normalised, rotated and stored in blocks of positions, within a block by head. So the scores of a block
//! are one product, the keys are packed once for the group of query heads, and the gradients of keys and values are
//! summed over the group by that product. Only blocks of scores up to the diagonal (and inside the window) are computed.
//!
//! Saved for backward are the normalised, rotated queries and keys, and of each row the largest score and the reciprocal
//! of the sum of exponentials; of short texts the attention weights too, which are recomputed for long ones.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex},
};

use super::{
    AttentionSpec, alibi_slopes, angles,
    rows::{
        Block, Heads, Rope, gather_heads, prepare, prepare_backward, scatter_heads, softmax_backward,
        softmax_backward_saved, softmax_block, subtract_alibi,
    },
};
use crate::{
    buffers::{build_vec, split, split_mut},
    matrix::{self, Panel, View},
    packed::{Packed, gemm},
    reduce::sum_rows,
    threads,
};

/// Rows of a block of queries, of all heads of a group together: with fewer, products are too small to be fast; with
/// more, too many masked scores are computed.
const ROWS: usize = 64;
/// Multiplications below which a second thread does not pay.
const MIN_WORK: usize = 1 << 18;

/// Attention over slices, for any number of batch rows.
#[derive(Debug)]
pub struct Op {
    pub(super) spec: AttentionSpec,
    t: usize,
    /// Empty where queries and keys are neither normalised nor rotated.
    rope_table: RopeTable,
    /// Norm weights of 1, which are used if there are no QK norms.
    ones: Vec<f32>,
    /// ALiBi slopes by head; empty without ALiBi.
    slopes: Vec<f32>,
    needs_backward: bool,
    saves_weights: bool,
}

/// The inputs of tasks: qkv of all batch rows, and the weights of the QK norms, if there are any.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    pub qkv: &'a [f32],
    pub norms: Option<[&'a [f32]; 2]>,
}

impl Op {
    /// Attention over texts of `t` tokens, with or without QK norms.
    pub fn new(spec: AttentionSpec, t: usize, normed: bool, needs_backward: bool) -> Self {
        let (h, d) = (spec.heads, spec.head_dim);
        Self {
            spec,
            t,
            rope_table: if normed || spec.theta.is_some() { rope_table(t, d, spec.theta) } else { Arc::default() },
            ones: if normed { vec![] } else { vec![1.0; d] },
            slopes: if spec.alibi { alibi_slopes(h) } else { vec![] },
            needs_backward,
            saves_weights: needs_backward && spec.saves_weights(t),
        }
    }

    fn group(&self) -> usize {
        self.spec.heads / self.spec.kv_heads
    }

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

    /// A block that holds all positions.
    fn all(&self) -> Block {
        Block { start: 0, len: self.t, lo: 0, hi: self.t, window: self.t }
    }

    fn scores(&self) -> usize {
        self.blocks().map(|b| self.group() * b.len * (b.hi - b.lo)).max().unwrap_or_default()
    }

    fn rows(&self) -> usize {
        self.group() * self.block()
    }

    /// The columns of qkv that task i reads.
    fn heads(&self, i: usize) -> Heads {
        let (h, kv, d) = (self.spec.heads, self.spec.kv_heads, self.spec.head_dim);
        let at = i % kv;
        Heads {
            d,
            first: i / kv * self.t,
            width: (h + 2 * kv) * d,
            result_width: h * d,
            q: at * self.group() * d,
            k: (h + at) * d,
            v: (h + kv + at) * d,
        }
    }

    /// Returns true if backward takes saved weights as they are, with gradients that have the reciprocal sums of their rows
    /// in them. The weights of longer texts get the reciprocal sums themselves, which gives the bits of recomputed weights.
    fn scales_gradients(&self) -> bool {
        self.saves_weights && self.t <= 4 * self.spec.head_dim
    }

    /// Returns true if queries and keys are read from qkv itself, being neither normalised nor rotated.
    fn reads_in_place(&self) -> bool {
        !self.ones.is_empty() && self.rope_table.0.is_empty() && self.group() == 1
    }

    /// Lengths of what a task saves for backward: queries (G T, d) by block, head and position, and keys (T, d), unless
    /// they are read in place; largest scores and reciprocal sums (G T); unnormalised weights by block, or none.
    fn saved_lengths(&self) -> [usize; 5] {
        let (t, d, g) = (self.t, if self.reads_in_place() { 0 } else { self.spec.head_dim }, self.group());
        let weights = if self.saves_weights { self.blocks().map(|b| g * b.len * (b.hi - b.lo)).sum() } else { 0 };
        [g * t * d, t * d, g * t, g * t, weights]
    }

    fn rope<'a>(&'a self, weight: Option<&'a [f32]>) -> Rope<'a> {
        let eps = weight.map(|_| self.spec.eps as f32);
        Rope { cos: &self.rope_table.0, sin: &self.rope_table.1, weight: weight.unwrap_or(&self.ones), eps }
    }

    /// The `d` columns of qkv from this one on, of `n` positions from `lo` on: `(n, d)`.
    fn channels<'a>(&self, heads: Heads, qkv: &'a [f32], column: usize, lo: usize, n: usize) -> View<'a> {
        View::new(&qkv[(heads.first + lo) * heads.width..], n, heads.width).submatrix(0, column, n, heads.d)
    }

    /// Queries of a block, `(G len, d)`; `q` are the saved ones.
    fn queries<'a>(&self, heads: Heads, qkv: &'a [f32], q: &'a [f32], b: Block) -> View<'a> {
        let (d, g) = (self.spec.head_dim, self.group());
        if self.reads_in_place() {
            return self.channels(heads, qkv, heads.q, b.start, b.len);
        }
        View::new(&q[g * b.start * d..], g * b.len, d)
    }

    /// All keys and all values, `(T, d)` each; `k` are the saved keys.
    fn keys_and_values<'a>(&self, heads: Heads, qkv: &'a [f32], k: &'a [f32]) -> [View<'a>; 2] {
        let (t, d) = (self.t, self.spec.head_dim);
        let v = self.channels(heads, qkv, heads.v, 0, t);
        if self.reads_in_place() { [self.channels(heads, qkv, heads.k, 0, t), v] } else { [View::new(k, t, d), v] }
    }

    /// Adds the ALiBi bias, where there is one, to the scores of a block of task i.
    fn add_alibi(&self, i: usize, block: Block, scores: &mut [f32]) {
        if !self.slopes.is_empty() {
            let slopes = &self.slopes[i % self.spec.kv_heads * self.group()..][..self.group()];
            subtract_alibi(scores, slopes, block);
        }
    }

    /// Runs one task. `saved` has as many values as [`Op::parts`] says; `out` are the task's columns of the result.
    fn forward(&self, i: usize, inputs: Inputs, saved: &mut [f32], mut out: Panel) {
        let (d, g) = (self.spec.head_dim, self.group());
        let heads = self.heads(i);
        let [q, k, max, inv, mut weights] = split_mut(saved, self.saved_lengths());
        let ropes = [self.rope(inputs.norms.map(|n| n[0])), self.rope(inputs.norms.map(|n| n[1]))];
        if !self.reads_in_place() {
            for b in self.blocks() {
                let q = &mut q[g * b.start * d..][..g * b.len * d];
                prepare(heads, ropes[0], b, inputs.qkv, q);
            }
            prepare(heads.keys(), ropes[1], self.all(), inputs.qkv, k);
        }
        let size = if self.saves_weights { 0 } else { self.scores() };
        let (q, [k, v]) = (&*q, self.keys_and_values(heads, inputs.qkv, k));
        let (across, v) = (Packed::new(k.t()), Packed::new(v)); // (d, T) and (T, d)
        build_vec(size + self.rows() * d, |room| {
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
                let q = self.queries(heads, inputs.qkv, q, b);
                across.matmul_part(scores, q, 0..d, b.lo..b.hi, self.scale()); // (m, n)
                self.add_alibi(i, b, scores);
                let (max, inv) = (&mut max[at..at + m], &mut inv[at..at + m]);
                softmax_block(scores, max, inv, b);
                v.matmul_part(y, View::new(scores, m, n), b.lo..b.hi, 0..d, 1.0); // (m, d)
                scatter_heads(b, &y[..m * d], inv, &mut out);
            }
        });
    }

    /// The backward of one task. `y` and `grad` are the result and its gradient, `(B, T, H d)`; `out` are the task's columns
    /// of the gradient of qkv: queries, keys, values. `norms` gets the gradients of both norm weights, `(d)` each.
    fn backward(
        &self,
        i: usize,
        inputs: Inputs,
        saved: &[f32],
        [y, grad]: [&[f32]; 2],
        (out, norms): ([Panel; 3], &mut [f32]),
    ) {
        let (t, d, g) = (self.t, self.spec.head_dim, self.group());
        let heads = self.heads(i);
        let [q, k, max, inv, mut formed] = split(saved, self.saved_lengths());
        let ropes = [self.rope(inputs.norms.map(|n| n[0])), self.rope(inputs.norms.map(|n| n[1]))];
        let [mut to_q, mut to_k, mut to_v] = out;
        norms.fill(0.0);
        let (dq_norm, dk_norm) = norms.split_at_mut(d);
        let (size, rows) = (self.scores(), self.rows());
        let again = if self.scales_gradients() { 0 } else { size };
        let [keys, v] = self.keys_and_values(heads, inputs.qkv, k);
        let (k, v) = (Packed::new(keys), Packed::new(v.t())); // (T, d) and (d, T)
        // needed to recompute the weights if they were not saved
        let across = (!self.saves_weights).then(|| Packed::new(keys.t())); // (d, T)
        // gradients of rotated queries and keys need buffers of their own before they are rotated back
        let direct = self.reads_in_place();
        let rotated = if direct { 0 } else { d };
        to_v.clear();
        to_k.clear();
        let lens = [again, size, rows * d, rows * rotated, rows, t * rotated];
        build_vec(lens.iter().sum(), |room| {
            let [weights, dscores, dy, dq, mean, dk] = split_mut(room, lens);
            dk.fill(0.0);
            for b in self.blocks() {
                let (m, n, at) = (g * b.len, b.hi - b.lo, g * b.start);
                let dscores = &mut dscores[..m * n];
                let (dy, mean, dq) = (&mut dy[..m * d], &mut mean[..m], &mut dq[..m * rotated]);
                let (max, inv, scale) = (&max[at..at + m], &inv[at..at + m], self.scale());
                // saved weights are not yet multiplied by the reciprocal sums of their rows
                let by = self.scales_gradients().then_some(inv);
                gather_heads(heads, b, y, grad, by, dy, mean);
                let q = self.queries(heads, inputs.qkv, q, b);
                v.matmul_part(dscores, View::new(dy, m, d), 0..d, b.lo..b.hi, 1.0);
                let (saved, rest) = formed.split_at(if self.saves_weights { m * n } else { 0 });
                formed = rest;
                let weights = if self.scales_gradients() {
                    softmax_backward_saved(saved, dscores, mean, scale, b);
                    saved
                } else {
                    let weights = &mut weights[..m * n];
                    match &across {
                        None => weights.copy_from_slice(saved),
                        Some(across) => {
                            across.matmul_part(weights, q, 0..d, b.lo..b.hi, scale);
                            self.add_alibi(i, b, weights);
                        }
                    }
                    softmax_backward(weights, dscores, across.is_some().then_some(max), inv, mean, scale, b);
                    weights
                };
                let (weights, dscores, dy) = (View::new(weights, m, n), View::new(dscores, m, n), View::new(dy, m, d));
                to_v.gemm(b.lo, weights.t(), dy, true); // (n, d)
                if direct {
                    k.matmul_part_into_panel(&mut to_q, b.start, dscores, b.lo..b.hi, 0..d); // (m, d)
                    to_k.gemm(b.lo, dscores.t(), q, true); // (n, d)
                    continue;
                }
                k.matmul_part(dq, dscores, b.lo..b.hi, 0..d, 1.0); // (m, d)
                gemm(&mut dk[b.lo * d..], dscores.t(), q, 1.0, true); // (n, d)
                prepare_backward(heads, ropes[0], b, inputs.qkv, dq, dq_norm, &mut to_q);
            }
            if !direct {
                prepare_backward(heads.keys(), ropes[1], self.all(), inputs.qkv, dk, dk_norm, &mut to_k);
            }
        });
    }

    /// The number of tasks worth running at once: one for short texts, because waking a thread takes longer.
    fn at_once(&self, rows: usize) -> usize {
        let scores = rows * self.t * self.t * self.spec.heads * self.spec.head_dim;
        if scores < MIN_WORK { 1 } else { rows * self.spec.kv_heads }
    }

    /// Values that a batch row saves for backward.
    pub fn saved_len(&self) -> usize {
        if self.needs_backward { self.spec.kv_heads * self.saved_lengths().iter().sum::<usize>() } else { 0 }
    }

    fn width(&self) -> usize {
        self.spec.heads * self.spec.head_dim
    }

    /// Writes the result `out` `(B, T, H d)` and, if backward is needed, `saved`, B times [`Op::saved_len`] values.
    pub fn forward_all(&self, inputs: Inputs, saved: &mut [f32], out: &mut [f32]) {
        let kv = self.spec.kv_heads;
        let (rows, each) = (out.len() / (self.t * self.width()), self.saved_lengths().iter().sum());
        let panels = matrix::panels(out, self.t, &vec![self.width() / kv; kv]).into_iter();
        if self.needs_backward {
            let all = panels.zip(saved.chunks_exact_mut(each)).enumerate();
            threads::for_each(self.at_once(rows), all, |(i, (out, saved))| self.forward(i, inputs, saved, out));
        } else {
            threads::for_each(self.at_once(rows), panels.enumerate(), |(i, out)| {
                build_vec(each, |saved| self.forward(i, inputs, saved, out));
            });
        }
    }

    /// Writes the gradient of qkv, given the result `(B, T, H d)` and its gradient; returns those of the norm weights of
    /// queries and keys, `(d)` each, concatenated.
    pub fn backward_all(&self, inputs: Inputs, saved: &[f32], results: [&[f32]; 2], dqkv: &mut [f32]) -> Vec<f32> {
        let (kv, d, each) = (self.spec.kv_heads, self.spec.head_dim, self.saved_lengths().iter().sum::<usize>());
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
        let all = tasks.into_iter().zip(norms.chunks_exact_mut(2 * d)).zip(saved.chunks_exact(each)).enumerate();
        threads::for_each(self.at_once(rows), all, |(i, ((out, norms), saved))| {
            self.backward(i, inputs, saved, results, (out, norms));
        });
        sum_rows(&norms, 2 * d)
    }
}

/// Cosines and sines by position and pair of channels, each `(T, d / 2)`.
type RopeTable = Arc<(Vec<f32>, Vec<f32>)>;
/// Tables by length, head width and the bits of the base.
type TableCache = HashMap<(usize, usize, Option<u64>), RopeTable>;

/// The cached table of texts of `t` tokens and heads of `d` channels; without a base, of rotations by zero.
fn rope_table(t: usize, d: usize, theta: Option<f64>) -> RopeTable {
    static CACHE: LazyLock<Mutex<TableCache>> = LazyLock::new(Mutex::default);
    let mut cache = threads::lock(&CACHE);
    // while text is generated every length of prompt would be added
    if cache.len() > 64 {
        cache.clear();
    }
    let make = || match theta {
        Some(theta) => angles(t, d, theta),
        None => (vec![1.0; t * d / 2], vec![0.0; t * d / 2]),
    };
    cache.entry((t, d, theta.map(f64::to_bits))).or_insert_with(|| Arc::new(make())).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits of the result and of the gradients of qkv, for one text of `t` tokens.
    fn bits(spec: AttentionSpec, t: usize, saves_weights: bool) -> [Vec<u32>; 2] {
        let some = |n: usize, by: f32| -> Vec<f32> { (0..n).map(|i| (i as f32 * by).sin()).collect() };
        let mut op = Op::new(spec, t, false, true);
        assert!(op.saves_weights && !op.scales_gradients(), "{t} tokens");
        op.saves_weights = saves_weights;
        let channels = (spec.heads + 2 * spec.kv_heads) * spec.head_dim;
        let (qkv, grad) = (some(t * channels, 0.37), some(t * op.width(), 0.71));
        let inputs = Inputs { qkv: &qkv, norms: None };
        let (mut saved, mut y, mut dqkv) = (vec![0.0; op.saved_len()], vec![0.0; grad.len()], vec![0.0; qkv.len()]);
        op.forward_all(inputs, &mut saved, &mut y);
        op.backward_all(inputs, &saved, [&y, &grad], &mut dqkv);
        [y, dqkv].map(|values| values.into_iter().map(f32::to_bits).collect())
    }

    /// Covers for every head width some lengths at which saved weights get the reciprocal sums of their rows: 5 to 256.
    #[test]
    fn saved_weights_give_the_bits_of_recomputed_ones() {
        for d in [1, 2, 4, 8, 16, 32] {
            let plain = AttentionSpec::plain(2 * d, 2);
            let rotary = AttentionSpec { kv_heads: 1, theta: Some(1e4), window: Some(3 * d), ..plain };
            let specs = [plain, AttentionSpec { alibi: true, ..plain }, rotary];
            for t in (4 * d + 1..8 * d).step_by(d.div_ceil(4)).chain([8 * d]) {
                for spec in specs.into_iter().filter(|spec| d > 1 || spec.theta.is_none()) {
                    assert!(bits(spec, t, true) == bits(spec, t, false), "{t} tokens, {spec:?}");
                }
            }
        }
    }
}
