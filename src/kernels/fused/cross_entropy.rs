//! Mean cross-entropy in nats from a tied or untied head.
//!
//! The fused form takes the counted rows in blocks: it computes the logits of a block, their softmax, the loss, and, where
//! something is trained, the gradients of x and of the head at once, so that the logits of all rows never exist together.
//! Rows belong to a fixed number of groups, each with its own sum of the head's gradient; the groups are added in order,
//! however many threads there are.

use std::sync::Mutex;

use super::linear;
use crate::{
    IGNORE,
    fused::prelude::*,
    host,
    matrix::View,
    packed::{Packed, gemm},
    threads::lock,
};

/// Rows of a block, whose logits exist at one time.
const BLOCK: usize = 128;
/// Largest number of groups of rows.
const MAX_GROUPS: usize = 8;

/// Mean of `-log softmax(x head^T)[target]` over the positions whose target is not
/// [`IGNORE`]. x `(.., D)`, head `(V, D)`, targets u32 of as many rows.
pub fn head_cross_entropy(x: &Tensor, head: &Tensor, targets: &Tensor) -> Result<Tensor> {
    if !storage::readable(&[x, head]) || !countable(targets) {
        return reference(&linear::reference(x, head)?, targets);
    }
    let (v, d) = head.dims2()?;
    let rows = x.elem_count() / d;
    let tracked = (x.track_op(), head.track_op());
    let counted = CountedRows::new(targets, rows, v)?;
    if x.dim(D::Minus1)? != d {
        bail!("cross-entropy: x has {} channels, and the head has {d}", x.dim(D::Minus1)?);
    }
    x.apply_op2(head, Op(Head { counted, rows, v, d, tracked, grads: Mutex::default() }))
}

/// logits `(.., V)`, targets u32 of as many rows -> scalar.
pub fn cross_entropy(logits: &Tensor, targets: &Tensor) -> Result<Tensor> {
    if !storage::readable(&[logits]) || !countable(targets) {
        return reference(logits, targets);
    }
    let v = logits.dim(D::Minus1)?;
    let counted = CountedRows::new(targets, logits.elem_count() / v, v)?;
    logits.apply_op1(Op(Logits { counted, v }))
}

/// The reference form in plain candle, with the arguments of [`cross_entropy`].
pub fn reference(logits: &Tensor, targets: &Tensor) -> Result<Tensor> {
    let v = logits.dim(D::Minus1)?;
    let n = logits.elem_count() / v;
    let targets = targets.flatten_all()?; // (N)
    let counted = targets.ne(IGNORE)?; // (N)
    let safe = counted.where_cond(&targets, &targets.zeros_like()?)?;
    let logp = candle_nn::ops::log_softmax(&logits.reshape((n, v))?, D::Minus1)?; // (N,V)
    let picked = logp.gather(&safe.unsqueeze(1)?, 1)?.squeeze(1)?; // (N)
    let weight = counted.to_dtype(logits.dtype())?;
    let total = weight.to_dtype(DType::F32)?.sum_all()?.to_scalar::<f32>()?.max(1.0);
    (picked * weight)?.sum_all()?.neg()? / f64::from(total)
}

fn countable(targets: &Tensor) -> bool {
    targets.device().is_cpu() && targets.dtype() == DType::U32
}

/// The rows that the loss counts, with their targets, in order.
struct CountedRows(Vec<(usize, usize)>);

impl CountedRows {
    fn new(targets: &Tensor, rows: usize, vocab: usize) -> Result<Self> {
        let targets = host::to_u32(targets)?;
        if targets.len() != rows {
            bail!("cross-entropy: {} targets do not fit {rows} rows", targets.len());
        }
        if let Some(id) = targets.iter().find(|&&id| id != IGNORE && id as usize >= vocab) {
            bail!("cross-entropy: target {id} is outside the vocabulary of {vocab} tokens");
        }
        let counted = targets.iter().enumerate().filter(|&(_, &id)| id != IGNORE);
        Ok(Self(counted.map(|(row, &id)| (row, id as usize)).collect()))
    }

    /// The reciprocal of the number of counted rows, or 1 if there are none.
    fn reciprocal_count(&self) -> f64 {
        1.0 / self.0.len().max(1) as f64
    }

    /// Rows of a group, which depend on the number of rows alone, not on that of threads.
    fn group(&self) -> usize {
        self.0.len().div_ceil(MAX_GROUPS).max(BLOCK)
    }

    /// The results of `work` for the rows of each group, in order.
    fn map_groups<R: Send>(&self, work: impl Fn(&[(usize, usize)]) -> R + Sync + Send) -> Vec<R> {
        let groups: Vec<_> = self.0.chunks(self.group()).collect();
        threads::map(groups.len(), |i| work(groups[i]))
    }

    /// Rows `(rows, width)` that are these parts where they are counted, and zero elsewhere.
    fn scatter<'a>(&self, rows: usize, width: usize, parts: impl Iterator<Item = &'a [f32]>) -> Vec<f32> {
        let mut out = vec![0f32; rows * width];
        for (&(row, _), part) in self.0.iter().zip(parts) {
            out[row * width..][..width].copy_from_slice(part);
        }
        out
    }
}

/// The rows of `x` that these are, one after the other.
fn gather(x: &[f32], width: usize, wanted: &[(usize, usize)]) -> Vec<f32> {
    let mut out = Vec::with_capacity(wanted.len() * width);
    wanted.iter().for_each(|&(row, _)| out.extend_from_slice(&x[row * width..][..width]));
    out
}

kernel! {
    /// Turns the logits of some rows into the gradient of their summed loss times `scale`, and returns that loss.
    fn softmax_loss(simd, logits: &'a mut [f32], wanted: &'a [(usize, usize)], scale: f32) -> f64 {
        let v = logits.len() / wanted.len().max(1);
        let mut loss = 0.0;
        for (row, &(_, target)) in logits.chunks_exact_mut(v.max(1)).zip(wanted) {
            let most = simd::max(simd, row);
            let picked = row[target];
            let total = simd::exp_shifted_sum(simd, row, most);
            loss += f64::from(total).ln() + f64::from(most) - f64::from(picked);
            let inv = scale / total;
            row.iter_mut().for_each(|p| *p *= inv);
            row[target] -= scale;
        }
        loss
    }
}

/// Gradients of the loss; empty for what is not trained.
#[derive(Default)]
struct Grads {
    x: Vec<f32>,
    head: Vec<f32>,
}

/// The loss from the last states and the head.
struct Head {
    counted: CountedRows,
    rows: usize,
    v: usize,
    d: usize,
    /// True where x and the head are tracked.
    tracked: (bool, bool),
    grads: Mutex<Grads>,
}

#[derive(Default)]
struct RowGroup {
    loss: f64,
    grads: Grads, // gradients of the group's counted rows, and its share of the head's
}

impl Head {
    /// Computes one group; `forward` is the head `(D, V)`, and `backward` `(V, D)` if x needs a gradient.
    fn group(&self, x: &[f32], (forward, backward): (&Packed, Option<&Packed>), wanted: &[(usize, usize)]) -> RowGroup {
        let (v, d) = (self.v, self.d);
        let mut out = RowGroup::default();
        if backward.is_some() {
            out.grads.x = vec![0.0; wanted.len() * d];
        }
        if self.tracked.1 {
            out.grads.head = vec![0.0; v * d];
        }
        let mut logits = vec![0f32; BLOCK * v];
        for (i, wanted) in wanted.chunks(BLOCK).enumerate() {
            let n = wanted.len();
            let states = gather(x, d, wanted);
            let (states, logits) = (View::new(&states, n, d), &mut logits[..n * v]);
            forward.matmul(logits, states, 1.0); // (n, V)
            out.loss += softmax_loss(logits, wanted, self.counted.reciprocal_count() as f32);
            let dlogits = View::new(logits, n, v);
            if let Some(backward) = backward {
                backward.matmul(&mut out.grads.x[i * BLOCK * d..], dlogits, 1.0); // (n, D)
            }
            if self.tracked.1 {
                gemm(&mut out.grads.head, dlogits.t(), states, 1.0, true); // (V, D)
            }
        }
        out
    }

    /// The gradients of all groups together.
    fn collect(&self, groups: &[RowGroup]) -> Grads {
        let d = self.d;
        let mut out = Grads::default();
        if self.tracked.0 {
            out.x = self.counted.scatter(self.rows, d, groups.iter().flat_map(|g| g.grads.x.chunks_exact(d)));
        }
        if self.tracked.1 {
            out.head = vec![0.0; self.v * d];
            for group in groups {
                out.head.iter_mut().zip(&group.grads.head).for_each(|(a, b)| *a += b);
            }
        }
        out
    }
}

impl FusedOp<2> for Head {
    const NAME: &'static str = "head-cross-entropy";

    fn forward(&self, [x, head]: [&[f32]; 2], _: [&Shape; 2]) -> Result<(Vec<f32>, Shape)> {
        let head = View::new(head, self.v, self.d);
        let (forward, backward) = (Packed::new(head.t()), self.tracked.0.then(|| Packed::new(head)));
        let groups = self.counted.map_groups(|wanted| self.group(x, (&forward, backward.as_ref()), wanted));
        let loss = groups.iter().map(|g| g.loss).sum::<f64>() * self.counted.reciprocal_count();
        if self.tracked != (false, false) {
            *lock(&self.grads) = self.collect(&groups);
        }
        Ok((vec![loss as f32], ().into()))
    }

    fn backward(&self, [x, head]: [&Tensor; 2], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let by = storage::read(grad, |g| Ok(g[0]))?;
        let grads = lock(&self.grads);
        let scaled = |of: &[f32], t: &Tensor| -> Result<Option<Tensor>> {
            (!of.is_empty()).then(|| tensor_like(t, of.iter().map(|g| g * by).collect())).transpose()
        };
        Ok([scaled(&grads.x, x)?, scaled(&grads.head, head)?])
    }
}

/// The loss from logits that are needed elsewhere too; backward computes the softmax again.
struct Logits {
    counted: CountedRows,
    v: usize,
}

impl Logits {
    /// The loss of each group, and dloss/dlogits of its counted rows times `by`.
    fn groups(&self, logits: &[f32], by: f32) -> Vec<(f64, Vec<f32>)> {
        let scale = self.counted.reciprocal_count() as f32 * by;
        self.counted.map_groups(|wanted| {
            let mut own = gather(logits, self.v, wanted);
            (softmax_loss(&mut own, wanted, scale), own)
        })
    }
}

impl FusedOp<1> for Logits {
    const NAME: &'static str = "cross-entropy";

    fn forward(&self, [logits]: [&[f32]; 1], _: [&Shape; 1]) -> Result<(Vec<f32>, Shape)> {
        let groups = self.groups(logits, 1.0);
        let loss = groups.iter().map(|g| g.0).sum::<f64>() * self.counted.reciprocal_count();
        Ok((vec![loss as f32], ().into()))
    }

    fn backward(&self, [logits]: [&Tensor; 1], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let by = storage::read(grad, |g| Ok(g[0]))?;
        let groups = storage::read(logits, |logits| Ok(self.groups(logits, by)))?;
        let v = self.v;
        let parts = groups.iter().flat_map(|g| g.1.chunks_exact(v));
        gradients_like([self.counted.scatter(logits.elem_count() / v, v, parts)], [logits])
    }
}
