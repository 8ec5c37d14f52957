//! An MLP of whose units each row keeps the k largest, and the loss that balances this selection, in one operation: a
//! tensor of all units between two operations costs several passes over memory for its gradient alone. The second map
//! multiplies what is kept, in forward and in the gradient of its weight. The residual sum is an operation of its own,
//! since one of candle's has at most three arguments.

use std::sync::OnceLock;

use super::{
    balance::{self, BalanceLoss},
    linear,
    mlp::{
        Act,
        activation::activate,
        cpu::{MlpForm, MlpKernel},
    },
    top_k,
};
use crate::{
    fused::prelude::*,
    matmul::{self, LinearWeight},
    matrix::View,
    sparse::{self, Entry},
    threads::CHUNK,
    transpose,
};

/// residual + down([`top_k`](top_k::top_k)(z)) and the [`balance`](balance::balance) of z = gelu(up(x)). x `(.., D)`,
/// up `(F, D)`, down `(O, F)`, residual `(.., O)` -> `(.., O)` and a scalar.
pub fn sparse_mlp(x: &Tensor, up: &Tensor, down: &Tensor, residual: &Tensor, k: usize) -> Result<(Tensor, Tensor)> {
    let (x, residual) = (x.contiguous()?, residual.contiguous()?);
    if k == 0 || !storage::readable(&[&x, up, down, &residual]) {
        return reference(&x, up, down, &residual, k);
    }
    let shape = linear::with_last_dim(x.shape(), up.dim(1)?, down.dim(0)?)?;
    if residual.shape() != &shape {
        bail!("a sparse MLP gives {shape:?}, which cannot be added to {:?}", residual.shape());
    }
    let both = x.apply_op3(up, down, Op(SparseMlp { k, saved_for_backward: OnceLock::new() }))?;
    Ok((residual.apply_op2(&both, Op(AddValues))?, both.get(shape.elem_count())?))
}

/// The reference form in plain candle, with the arguments of [`sparse_mlp`].
pub fn reference(x: &Tensor, up: &Tensor, down: &Tensor, residual: &Tensor, k: usize) -> Result<(Tensor, Tensor)> {
    let z = Act::Gelu.apply(&linear::reference(x, up)?)?;
    let units = top_k::reference(&z, k)?;
    Ok(((residual + linear::reference(&units.selected, down)?)?, balance::reference(&z, &units.counts, k)?))
}

/// The residual sum with the values of [`SparseMlp`], behind which the balance stands.
struct AddValues;

impl FusedOp<2> for AddValues {
    const NAME: &'static str = "residual of a sparse mlp";

    fn forward(&self, [residual, both]: [&[f32]; 2], [shape, _]: [&Shape; 2]) -> Result<(Vec<f32>, Shape)> {
        let y = threads::build_chunks(residual.len(), CHUNK, |i, y| {
            let (residual, both) = (&residual[i * CHUNK..], &both[i * CHUNK..]);
            arch().dispatch(|| y.iter_mut().zip(residual).zip(both).for_each(|((y, r), b)| *y = r + b));
        });
        Ok((y, shape.clone()))
    }

    fn backward(&self, [residual, both]: [&Tensor; 2], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let dboth = gradient_if_tracked(both, || storage::read(grad, |g| Ok([g, &[0.0][..]].concat())))?;
        Ok([residual.track_op().then(|| grad.clone()), dboth])
    }
}

struct SparseMlp {
    k: usize,
    saved_for_backward: OnceLock<Saved>,
}

struct Saved {
    /// The units before the selection, `(N, F)`.
    z: Vec<f32>,
    /// The derivative of the activation, `(N, F)`.
    slope: Vec<f32>,
    /// The kept units, the same number in each row.
    entries: Vec<Entry>,
    balance: BalanceLoss,
}

impl FusedOp<3> for SparseMlp {
    const NAME: &'static str = "sparse mlp";

    /// The values of `down`, and behind them the balance.
    fn forward(&self, [x, up, down]: [&[f32]; 3], shapes: [&Shape; 3]) -> Result<(Vec<f32>, Shape)> {
        let form = MlpForm { act: Act::Gelu, gated: false };
        let [d, f, o] = MlpKernel::new(form, shapes[1], shapes[2])?.sizes;
        let (n, kept) = (x.len() / d, self.k.min(f));
        let each = matmul::task_rows(n);
        let up = LinearWeight::new(View::new(up, f, d).t(), None, n);
        let mut entries = vec![(0, 0.0); n * kept];
        let [z, slope] = build_vecs([n * f; 2], |[z, slope]| {
            let outputs = z.chunks_mut(each * f).zip(slope.chunks_mut(each * f));
            let tasks = outputs.zip(entries.chunks_mut(each * kept)).enumerate();
            threads::for_each(n.div_ceil(each), tasks, |(i, ((z, slope), entries))| {
                let rows = z.len() / f;
                up.matmul_into(z, View::new(&x[i * each * d..], rows, d), None);
                activate(Act::Gelu, z, slope);
                top_k::select_rows(z, f, entries, kept);
            });
        });
        let mut counts = vec![0f32; f];
        entries.iter().for_each(|&(unit, _)| counts[unit as usize] += 1.0);
        let balance = BalanceLoss::new(&counts, n, self.k);
        let y = build_vec(n * o + 1, |y| {
            sparse::matmul(&mut y[..n * o], &entries.chunks(kept).collect::<Vec<_>>(), View::new(down, o, f).t());
            y[n * o] = balance.value(&z);
        });
        // an operation's forward runs only once
        let _ = self.saved_for_backward.set(Saved { z, slope, entries, balance });
        Ok((y, (n * o + 1).into()))
    }

    fn backward(&self, [x, up, down]: [&Tensor; 3], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let Some(Saved { z, slope, entries, balance }) = self.saved_for_backward.get() else {
            bail!("a sparse MLP's gradient was asked for before its value")
        };
        let ((f, d), o) = (up.dims2()?, down.dim(0)?);
        let (n, kept) = (z.len() / f, self.k.min(f));
        let each = matmul::task_rows(n);
        storage::read_all(&[x, up, down, grad], |[from, w_up, w_down, grad]| {
            let (g, balance_grad) = (&grad[..n * o], grad[n * o]);
            let down_weight = LinearWeight::new(View::new(w_down, o, f), None, n);
            let dhidden = threads::build_chunks(n * f, each * f, |i, dhidden| {
                let (here, rows) = (i * each * f.., dhidden.len() / f);
                let (z, slope) = (&z[here.clone()][..rows * f], &slope[here]);
                down_weight.matmul_into(dhidden, View::new(&g[i * each * o..], rows, o), None);
                build_vec(rows * f, |more| {
                    balance::backward(z, &balance.shares, balance_grad, more);
                    arch().dispatch(|| {
                        dhidden.iter_mut().zip(&*more).zip(slope).for_each(|((dz, more), s)| *dz = s * (*dz + more));
                    });
                });
            });
            Ok([
                gradient_if_tracked(x, || Ok(matmul::matmul_rows(&dhidden, View::new(w_up, f, d), None)))?,
                gradient_if_tracked(up, || Ok(matmul::weight_grad(&dhidden, f, from, d)))?,
                gradient_if_tracked(down, || {
                    let units = sparse::by_column(&entries.chunks(kept).collect::<Vec<_>>(), f);
                    let units: Vec<_> = units.iter().map(Vec::as_slice).collect();
                    let transposed = build_vec(f * o, |dw| sparse::matmul(dw, &units, View::new(g, n, o))); // (F, O)
                    Ok(build_vec(o * f, |dw| transpose::transpose(&transposed, [f, o], o, dw, f)))
                })?,
            ])
        })
    }
}
