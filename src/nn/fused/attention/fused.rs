//! Attention on the CPU in f32, one task for each (batch row, key head) with its query heads.
//!
//! Queries are normalised, rotated and laid out in blocks of positions, within a block by head; so
//! a block's scores are one product, the keys are packed once for the whole group, and gradients of
//! keys and values sum over the group in that product. Of the scores only blocks up to the diagonal
//! (and inside the window) are formed. For the way back a task keeps its normalised rotated queries and
//! keys, and of each row the largest score and one over its sum: the weights are formed again.

use std::{ops::Range, sync::OnceLock};

use candle_core::{CpuStorage, CustomOp1, CustomOp3, Layout, Result, Shape, Tensor, bail};
use pulp::Arch;

use super::{
    super::{
        matrix::{self, Panel, View, filled, product, total},
        pool,
    },
    AttentionSpec,
    heads::{Collect, Heads, PrepareKeys, PrepareQueries, Spread, UndoKeys, UndoQueries},
    rows::{Fall, Softmax, SoftmaxBack, Turn},
    slopes,
    turns::{Turns, turns},
};

/// Rows a block of queries has, of all heads of a group together: fewer make small products slow, more
/// form scores that nobody sees.
const ROWS: usize = 64;
/// Products of less than so many multiplications are not worth a second thread.
const LEAST_WORK: usize = 1 << 18;

pub fn attention(qkv: &Tensor, norms: Option<[&Tensor; 2]>, spec: AttentionSpec) -> Result<Tensor> {
    let (b, t, width) = qkv.dims3()?;
    let (h, kv, d) = (spec.heads, spec.kv_heads, spec.head_dim);
    if kv == 0 || !h.is_multiple_of(kv) || width != (h + 2 * kv) * d {
        bail!("attention: {width} channels are not {h} query and twice {kv} key heads of {d}");
    }
    let mut keep = qkv.track_op();
    for norm in norms.iter().flatten() {
        if norm.elem_count() != d {
            bail!("attention: norm weights must have {d} values, a head's width");
        }
        keep |= norm.track_op();
    }
    let op = Op::new(spec, [b, t], norms.is_some(), keep);
    match norms {
        Some([q_norm, k_norm]) => qkv.apply_op3(q_norm, k_norm, Normed(op)),
        None => qkv.apply_op1(Bare(op)),
    }
}

/// Attention over slices.
pub struct Op {
    spec: AttentionSpec,
    b: usize,
    t: usize,
    /// Empty where queries and keys are taken as they are.
    turns: Turns,
    /// What stands for the weights of norms that are not there.
    ones: Vec<f32>,
    /// By head; empty where scores do not fall with distance.
    slopes: Vec<f32>,
    keep: bool,
    /// Of every task, in order: see [`Op::parts`].
    kept: OnceLock<Vec<f32>>,
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
    /// Of `b` rows of `t` tokens; with norms of queries and keys or without; `keep` what the way back needs.
    pub fn new(spec: AttentionSpec, [b, t]: [usize; 2], normed: bool, keep: bool) -> Self {
        let (h, d) = (spec.heads, spec.head_dim);
        Self {
            spec,
            b,
            t,
            turns: if normed || spec.theta.is_some() { turns(t, d, spec.theta) } else { Turns::default() },
            ones: if normed { vec![] } else { vec![1.0; d] },
            slopes: if spec.alibi { slopes(h) } else { vec![] },
            keep,
            kept: OnceLock::new(),
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

    /// Lengths of what a task keeps: queries (G T, d) by block, head, position; keys (T, d);
    /// largest scores and factors (G T).
    fn parts(&self) -> [usize; 4] {
        let (t, d, g) = (self.t, self.spec.head_dim, self.group());
        [g * t * d, t * d, g * t, g * t]
    }

    fn turn<'a>(&'a self, weight: Option<&'a [f32]>) -> Turn<'a> {
        let eps = weight.map(|_| self.spec.eps as f32);
        Turn { cos: &self.turns.0, sin: &self.turns.1, weight: weight.unwrap_or(&self.ones), eps }
    }

    /// The values of task i, `(n, d)` from position `lo`.
    fn values<'a>(&self, heads: Heads, qkv: &'a [f32], lo: usize, n: usize) -> View<'a> {
        View::new(&qkv[(heads.first + lo) * heads.width..], n, heads.width).columns(heads.v, heads.d)
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
        let (heads, [of_q, of_k, of_most, _]) = (self.heads(i), self.parts());
        let (q, rest) = kept.split_at_mut(of_q);
        let (k, rest) = rest.split_at_mut(of_k);
        let (most, inv) = rest.split_at_mut(of_most);
        let turns = [self.turn(given.norms.map(|n| n[0])), self.turn(given.norms.map(|n| n[1]))];
        for b in self.blocks() {
            let q = &mut q[g * b.start * d..][..g * b.len * d];
            Arch::new().dispatch(PrepareQueries { heads, turn: turns[0], block: b, qkv: given.qkv, q });
        }
        Arch::new().dispatch(PrepareKeys { heads, turn: turns[1], qkv: given.qkv, k });
        let size = self.scores();
        filled(size + self.rows() * d, |room| {
            let (scores, y) = room.split_at_mut(size);
            for b in self.blocks() {
                let (m, n, at) = (g * b.len, b.hi - b.lo, g * b.start);
                let scores = &mut scores[..m * n];
                let (q, k) = (View::new(&q[at * d..], m, d), View::new(&k[b.lo * d..], n, d));
                product(scores, q, k.t(), self.scale(), false); // (m, n)
                self.fall(i, b, scores);
                let (most, inv) = (&mut most[at..at + m], &mut inv[at..at + m]);
                Arch::new().dispatch(Softmax { scores, most, inv: &mut *inv, block: b });
                let v = self.values(heads, given.qkv, b.lo, n);
                product(y, View::new(scores, m, n), v, 1.0, false); // (m, d)
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
        let (heads, [of_q, of_k, of_most, _]) = (self.heads(i), self.parts());
        let (q, rest) = kept.split_at(of_q);
        let (k, rest) = rest.split_at(of_k);
        let (most, inv) = rest.split_at(of_most);
        let turns = [self.turn(given.norms.map(|n| n[0])), self.turn(given.norms.map(|n| n[1]))];
        let [mut to_q, mut to_k, mut to_v] = out;
        norms.fill(0.0);
        let (dq_norm, dk_norm) = norms.split_at_mut(d);
        let (size, rows) = (self.scores(), self.rows());
        filled(2 * size + rows * (2 * d + 1) + 2 * t * d, |room| {
            let (weights, room) = room.split_at_mut(size);
            let (dscores, room) = room.split_at_mut(size);
            let (dy, room) = room.split_at_mut(rows * d);
            let (dq, room) = room.split_at_mut(rows * d);
            let (mean, room) = room.split_at_mut(rows);
            room.fill(0.0);
            let (dk, dv) = room.split_at_mut(t * d);
            for b in self.blocks() {
                let (m, n, at) = (g * b.len, b.hi - b.lo, g * b.start);
                let (weights, dscores) = (&mut weights[..m * n], &mut dscores[..m * n]);
                let (dy, mean, dq) = (&mut dy[..m * d], &mut mean[..m], &mut dq[..m * d]);
                let width = self.spec.heads * d;
                Arch::new().dispatch(Collect { heads, width, block: b, y, grad, dy, mean });
                let (q, dy) = (View::new(&q[at * d..], m, d), View::new(dy, m, d));
                let (k, v) = (View::new(&k[b.lo * d..], n, d), self.values(heads, given.qkv, b.lo, n));
                product(weights, q, k.t(), self.scale(), false);
                self.fall(i, b, weights);
                product(dscores, dy, v.t(), 1.0, false);
                let (grads, scale) = (&mut *dscores, self.scale());
                Arch::new().dispatch(SoftmaxBack {
                    scores: weights,
                    grads,
                    most: &most[at..at + m],
                    inv: &inv[at..at + m],
                    mean,
                    scale,
                    block: b,
                });
                let (weights, dscores) = (View::new(weights, m, n), View::new(dscores, m, n));
                product(dq, dscores, k, 1.0, false); // (m, d)
                product(&mut dk[b.lo * d..], dscores.t(), q, 1.0, true); // (n, d)
                product(&mut dv[b.lo * d..], weights.t(), dy, 1.0, true); // (n, d)
                let (qkv, turn) = (given.qkv, turns[0]);
                Arch::new().dispatch(UndoQueries { heads, turn, block: b, qkv, dq, dw: dq_norm, out: &mut to_q });
            }
            Arch::new().dispatch(UndoKeys { heads, turn: turns[1], qkv: given.qkv, dk, dw: dk_norm, out: &mut to_k });
            for (at, dv) in dv.chunks_exact(d).enumerate() {
                to_v.row(at).copy_from_slice(dv);
            }
        });
    }

    /// How many tasks are worth running at once: of a short text, one, since a thread wakes more slowly.
    fn at_once(&self) -> usize {
        let scores = self.b * self.t * self.t * self.spec.heads * self.spec.head_dim;
        if scores < LEAST_WORK { 1 } else { self.b * self.spec.kv_heads }
    }

    /// `(B, T, H d)`
    pub fn go(&self, given: Given) -> Vec<f32> {
        let (kv, width) = (self.spec.kv_heads, self.spec.heads * self.spec.head_dim);
        let (tasks, each) = (self.b * kv, self.parts().iter().sum());
        let mut kept = vec![];
        let out = filled(self.b * self.t * width, |out| {
            let panels = matrix::panels(out, self.t, &vec![width / kv; kv]).into_iter();
            if self.keep {
                kept = filled(tasks * each, |kept| {
                    let all = panels.zip(kept.chunks_exact_mut(each)).enumerate();
                    pool::share(self.at_once(), all, |(i, (out, kept))| self.forward(i, given, kept, out));
                });
            } else {
                pool::share(self.at_once(), panels.enumerate(), |(i, out)| {
                    filled(each, |kept| self.forward(i, given, kept, out));
                });
            }
        });
        let _ = self.kept.set(kept); // a forward pass runs once
        out
    }

    fn shape(&self) -> Shape {
        (self.b, self.t, self.spec.heads * self.spec.head_dim).into()
    }

    /// Gradients of qkv and of both norms, one after the other.
    pub fn back(&self, given: Given, y: &[f32], grad: &[f32]) -> Result<(Vec<f32>, Vec<f32>)> {
        let kept = match self.kept.get() {
            Some(kept) if self.keep => kept,
            _ => bail!("attention: nothing was kept for the way back"),
        };
        let (kv, d, each) = (self.spec.kv_heads, self.spec.head_dim, self.parts().iter().sum::<usize>());
        let mut widths = vec![self.group() * d; kv];
        widths.resize(3 * kv, d);
        let mut norms = vec![0f32; self.b * kv * 2 * d];
        let dqkv = filled(given.qkv.len(), |out| {
            let mut tasks = Vec::with_capacity(self.b * kv);
            let mut panels = matrix::panels(out, self.t, &widths).into_iter();
            for _ in 0..self.b {
                let mut some = || panels.by_ref().take(kv).collect::<Vec<_>>();
                let (q, k, v) = (some(), some(), some());
                tasks.extend(q.into_iter().zip(k).zip(v).map(|((q, k), v)| [q, k, v]));
            }
            let all = tasks.into_iter().zip(norms.chunks_exact_mut(2 * d)).zip(kept.chunks_exact(each)).enumerate();
            pool::share(self.at_once(), all, |(i, ((out, norms), kept))| {
                self.backward(i, given, kept, [y, grad], (out, norms));
            });
        });
        Ok((dqkv, total(&norms, 2 * d)))
    }
}

/// With norms of queries and keys.
struct Normed(Op);

impl CustomOp3 for Normed {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
        s3: &CpuStorage,
        l3: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let norms = Some([matrix::values(s2, l2)?, matrix::values(s3, l3)?]);
        Ok((CpuStorage::F32(self.0.go(Given { qkv: matrix::values(s1, l1)?, norms })), self.0.shape()))
    }

    fn bwd(
        &self,
        qkv: &Tensor,
        q_norm: &Tensor,
        k_norm: &Tensor,
        y: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let (dqkv, mut dq) = matrix::read(qkv, |x| {
            matrix::read(q_norm, |qw| {
                matrix::read(k_norm, |kw| {
                    let given = Given { qkv: x, norms: Some([qw, kw]) };
                    matrix::read(y, |y| matrix::read(grad, |grad| self.0.back(given, y, grad)))
                })
            })
        })?;
        let dk = dq.split_off(self.0.spec.head_dim);
        let like = |values: Vec<f32>, t: &Tensor| Tensor::from_vec(values, t.shape(), t.device()).map(Some);
        Ok((like(dqkv, qkv)?, like(dq, q_norm)?, like(dk, k_norm)?))
    }
}

/// Without.
struct Bare(Op);

impl CustomOp1 for Bare {
    fn name(&self) -> &'static str {
        "attention without norms"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let given = Given { qkv: matrix::values(storage, layout)?, norms: None };
        Ok((CpuStorage::F32(self.0.go(given)), self.0.shape()))
    }

    fn bwd(&self, qkv: &Tensor, y: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let (dqkv, _) = matrix::read(qkv, |x| {
            let given = Given { qkv: x, norms: None };
            matrix::read(y, |y| matrix::read(grad, |grad| self.0.back(given, y, grad)))
        })?;
        Tensor::from_vec(dqkv, qkv.shape(), qkv.device()).map(Some)
    }
}
