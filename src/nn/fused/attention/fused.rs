//! Attention on the CPU in f32, one task for each (batch row, key head) with its query heads.
//!
//! Queries are normalised, rotated and laid out in blocks of positions, within a block by head; so
//! a block's scores are one product, the keys are packed once for the whole group, and gradients of
//! keys and values sum over the group in that product. Of the scores only blocks up to the diagonal
//! (and inside the window) are formed. For the way back a task keeps its normalised rotated queries and
//! keys, its values, its result, and one log-sum-exp a row: the weights are formed again.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};
use pulp::Arch;

use super::{
    super::{
        matrix::{self, View, product},
        pool,
    },
    AttentionSpec, angles,
    rows::{Prepare, PrepareBack, Softmax, SoftmaxBack},
};

/// Positions a block of queries has.
const BLOCK: usize = 64;

pub fn attention(qkv: &Tensor, q_norm: &Tensor, k_norm: &Tensor, spec: AttentionSpec) -> Result<Tensor> {
    let (b, t, width) = qkv.dims3()?;
    let (h, kv, d) = (spec.heads, spec.kv_heads, spec.head_dim);
    if kv == 0 || !h.is_multiple_of(kv) || width != (h + 2 * kv) * d {
        bail!("attention: {width} channels are not {h} query and twice {kv} key heads of {d}");
    }
    if q_norm.elem_count() != d || k_norm.elem_count() != d {
        bail!("attention: norm weights must have {d} values, a head's width");
    }
    let keep = [qkv, q_norm, k_norm].iter().any(|t| t.track_op());
    let op = Op { spec, b, t, turns: Some(turns(t, d, spec.theta)), keep, kept: Mutex::new(None) };
    qkv.apply_op3(q_norm, k_norm, op)
}

pub fn plain(qkv: &Tensor, heads: usize) -> Result<Tensor> {
    let (b, t, width) = qkv.dims3()?;
    if heads == 0 || !width.is_multiple_of(3 * heads) {
        bail!("attention: {width} channels are not three times {heads} heads");
    }
    let head_dim = width / (3 * heads);
    let spec = AttentionSpec { heads, kv_heads: heads, head_dim, theta: 0.0, window: None, eps: 0.0 };
    let op = Op { spec, b, t, turns: None, keep: qkv.track_op(), kept: Mutex::new(None) };
    let none = Tensor::zeros(1, qkv.dtype(), qkv.device())?;
    qkv.apply_op3(&none, &none, op)
}

type Turns = Arc<(Vec<f32>, Vec<f32>)>;
/// By length, width of a head, and the base's bits.
type Made = HashMap<(usize, usize, u64), Turns>;

/// Cosines and sines, each `(T, d / 2)`, made once for each size.
fn turns(t: usize, d: usize, theta: f64) -> Turns {
    static MADE: LazyLock<Mutex<Made>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    // lengths of prompts while text is being written would pile up
    if made.len() > 64 {
        made.clear();
    }
    made.entry((t, d, theta.to_bits())).or_insert_with(|| Arc::new(angles(t, d, theta))).clone()
}

pub(super) struct Op {
    pub(super) spec: AttentionSpec,
    b: usize,
    pub(super) t: usize,
    /// `None`: queries and keys are taken as they are.
    pub(super) turns: Option<Turns>,
    keep: bool,
    kept: Mutex<Option<Arc<Vec<Task>>>>,
}

/// What one (batch row, key head) has computed. G query heads.
#[derive(Default)]
pub(super) struct Task {
    pub(super) q: Vec<f32>,   // (G T, d) by block, head, position
    pub(super) k: Vec<f32>,   // (T, d)
    pub(super) v: Vec<f32>,   // (T, d)
    pub(super) y: Vec<f32>,   // as q
    pub(super) lse: Vec<f32>, // (G T)
}

/// Gradients one task has computed; before the norm and rotation are undone, laid out as in [`Task`].
#[derive(Default)]
pub(super) struct Back {
    pub(super) q: Vec<f32>,
    pub(super) k: Vec<f32>,
    pub(super) v: Vec<f32>,
    pub(super) q_norm: Vec<f32>, // (d)
    pub(super) k_norm: Vec<f32>, // (d)
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
    fn group(&self) -> usize {
        self.spec.heads / self.spec.kv_heads
    }

    fn scale(&self) -> f32 {
        (self.spec.head_dim as f32).powf(-0.5)
    }

    fn blocks(&self) -> impl Iterator<Item = Block> + use<> {
        let (t, window) = (self.t, self.spec.window.unwrap_or(self.t).max(1));
        (0..t).step_by(BLOCK).map(move |start| Block {
            start,
            len: BLOCK.min(t - start),
            lo: (start + 1).saturating_sub(window),
            hi: (start + BLOCK).min(t),
            window,
        })
    }

    /// Largest block of scores.
    fn most(&self) -> usize {
        self.blocks().map(|b| self.group() * b.len * (b.hi - b.lo)).max().unwrap_or_default()
    }

    /// Channels a position has in qkv.
    pub(super) fn width(&self) -> usize {
        (self.spec.heads + 2 * self.spec.kv_heads) * self.spec.head_dim
    }

    /// Of task i: where its first query, its key and its value are within the first row of qkv.
    pub(super) fn columns(&self, i: usize) -> (usize, usize, usize) {
        let (h, kv, d) = (self.spec.heads, self.spec.kv_heads, self.spec.head_dim);
        let at = i % kv;
        (at * self.group() * d, (h + at) * d, (h + kv + at) * d)
    }

    /// Every row of q with its head and position: (row, head, position).
    pub(super) fn rows(&self) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let g = self.group();
        self.blocks().flat_map(move |b| (0..g * b.len).map(move |r| (g * b.start + r, r / b.len, b.start + r % b.len)))
    }

    /// Copies between the task's rows and those of a tensor `(B, T, width)` at `column`: calls
    /// `f(row of the task, offset in the tensor)`.
    fn each_query(&self, i: usize, width: usize, column: usize, mut f: impl FnMut(usize, usize)) {
        let (from, d) = (i / self.spec.kv_heads * self.t, self.spec.head_dim);
        for (row, head, at) in self.rows() {
            f(row * d, (from + at) * width + column + head * d);
        }
    }

    fn forward(&self, i: usize, qkv: &[f32], weights: (&[f32], &[f32])) -> Task {
        let (t, d, g) = (self.t, self.spec.head_dim, self.group());
        let mut task = Task {
            q: vec![0.0; g * t * d],
            k: vec![0.0; t * d],
            v: vec![0.0; t * d],
            y: vec![0.0; g * t * d],
            lse: vec![0.0; g * t],
        };
        Arch::new().dispatch(Prepare { op: self, i, qkv, weights, task: &mut task });
        let mut scores = vec![0.0; self.most()];
        for b in self.blocks() {
            let (m, n, at) = (g * b.len, b.hi - b.lo, g * b.start);
            let scores = &mut scores[..m * n];
            let (q, k) = (View::new(&task.q[at * d..], m, d), View::new(&task.k[b.lo * d..], n, d));
            product(scores, q, k.t(), self.scale(), false); // (m, n)
            Arch::new().dispatch(Softmax { scores, lse: &mut task.lse[at..at + m], block: b });
            let v = View::new(&task.v[b.lo * d..], n, d);
            product(&mut task.y[at * d..], View::new(scores, m, n), v, 1.0, false); // (m, d)
        }
        task
    }

    /// `grad` is the gradient of the result `(B, T, H d)`.
    fn backward(&self, i: usize, args: (&[f32], &[f32], &[f32]), task: &Task, grad: &[f32]) -> Back {
        let (t, d, g) = (self.t, self.spec.head_dim, self.group());
        let mut dy = vec![0.0; g * t * d];
        self.each_query(i, self.spec.heads * d, self.columns(i).0, |row, from| {
            dy[row..row + d].copy_from_slice(&grad[from..from + d]);
        });
        let mut back = Back {
            q: vec![0.0; g * t * d],
            k: vec![0.0; t * d],
            v: vec![0.0; t * d],
            q_norm: vec![0.0; d],
            k_norm: vec![0.0; d],
        };
        let (mut weights, mut dscores) = (vec![0.0; self.most()], vec![0.0; self.most()]);
        for b in self.blocks() {
            let (m, n, at) = (g * b.len, b.hi - b.lo, g * b.start);
            let (weights, dscores) = (&mut weights[..m * n], &mut dscores[..m * n]);
            let (q, dy_b) = (View::new(&task.q[at * d..], m, d), View::new(&dy[at * d..], m, d));
            let (k, v) = (View::new(&task.k[b.lo * d..], n, d), View::new(&task.v[b.lo * d..], n, d));
            product(weights, q, k.t(), self.scale(), false);
            product(dscores, dy_b, v.t(), 1.0, false);
            let rows = at * d..(at + m) * d;
            Arch::new().dispatch(SoftmaxBack {
                scores: weights,
                grads: dscores,
                lse: &task.lse[at..at + m],
                y: (&task.y[rows.clone()], &dy[rows]),
                scale: self.scale(),
                block: b,
            });
            let (weights, dscores) = (View::new(weights, m, n), View::new(dscores, m, n));
            product(&mut back.q[at * d..], dscores, k, 1.0, false); // (m, d)
            product(&mut back.k[b.lo * d..], dscores.t(), q, 1.0, true); // (n, d)
            product(&mut back.v[b.lo * d..], weights.t(), dy_b, 1.0, true); // (n, d)
        }
        Arch::new().dispatch(PrepareBack { op: self, i, args, back: &mut back });
        back
    }

    /// The tasks' gradients side by side: of qkv and of both norm weights.
    fn gather(&self, backs: &[Back]) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
        let (d, width) = (self.spec.head_dim, self.width());
        let mut out = vec![0f32; self.b * self.t * width];
        let (mut q_norm, mut k_norm) = (vec![0f32; d], vec![0f32; d]);
        for (i, back) in backs.iter().enumerate() {
            let (q, k, v) = self.columns(i);
            self.each_query(i, width, q, |row, to| out[to..to + d].copy_from_slice(&back.q[row..row + d]));
            let first = i / self.spec.kv_heads * self.t;
            for at in 0..self.t {
                let row = &mut out[(first + at) * width..][..width];
                row[k..k + d].copy_from_slice(&back.k[at * d..][..d]);
                row[v..v + d].copy_from_slice(&back.v[at * d..][..d]);
            }
            q_norm.iter_mut().zip(&back.q_norm).for_each(|(a, b)| *a += b);
            k_norm.iter_mut().zip(&back.k_norm).for_each(|(a, b)| *a += b);
        }
        (out, q_norm, k_norm)
    }
}

impl CustomOp3 for Op {
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
        let (qkv, q_norm, k_norm) = (matrix::values(s1, l1)?, matrix::values(s2, l2)?, matrix::values(s3, l3)?);
        let (kv, d) = (self.spec.kv_heads, self.spec.head_dim);
        let mut tasks: Vec<Task> = Vec::new();
        tasks.resize_with(self.b * kv, Task::default);
        pool::run_on(&mut tasks, 1, |i, task| task[0] = self.forward(i, qkv, (q_norm, k_norm)));
        let width = self.spec.heads * d;
        let mut out = vec![0f32; self.b * self.t * width];
        for (i, task) in tasks.iter().enumerate() {
            let column = self.columns(i).0;
            self.each_query(i, width, column, |row, to| out[to..to + d].copy_from_slice(&task.y[row..row + d]));
        }
        if self.keep {
            *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(tasks));
        }
        Ok((CpuStorage::F32(out), (self.b, self.t, width).into()))
    }

    fn bwd(
        &self,
        qkv: &Tensor,
        q_norm: &Tensor,
        k_norm: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let Some(tasks) = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone() else {
            bail!("attention: nothing was kept for the way back");
        };
        let mut backs: Vec<Back> = Vec::new();
        backs.resize_with(tasks.len(), Back::default);
        matrix::read(qkv, |x| {
            matrix::read(q_norm, |qw| {
                matrix::read(k_norm, |kw| {
                    matrix::read(grad, |grad| {
                        pool::run_on(&mut backs, 1, |i, back| {
                            back[0] = self.backward(i, (x, qw, kw), &tasks[i], grad);
                        });
                        Ok(())
                    })
                })
            })
        })?;
        let (x, qw, kw) = self.gather(&backs);
        let like = |values: Vec<f32>, t: &Tensor| Tensor::from_vec(values, t.shape(), t.device()).map(Some);
        if self.turns.is_none() {
            return Ok((like(x, qkv)?, None, None));
        }
        Ok((like(x, qkv)?, like(qw, q_norm)?, like(kw, k_norm)?))
    }
}
