//! Half of a pre-norm layer in one operation: [x +] f(norm(x)), f being attention or an MLP with all their
//! linear maps. For training: what lies between costs no tensor, and no gradient of it has to be summed.
//!
//! An operation's way back takes at most three tensors, so the weights of a half are first laid out in one
//! ([`gather`]), once for as many uses as a step makes of them. `layers` and `prenorm` say what a half is,
//! in separate operations; those are its reference form.

use std::sync::OnceLock;

use candle_core::{CpuStorage, CustomOp2, DType, Layout, Result, Shape, Tensor, bail};

use super::{
    attention::{AttentionSpec, fused as attention},
    matrix::{self, View, filled},
    mlp::{
        Act,
        fused::{self as mlp, Pass},
    },
    norm::{Kind, Rows},
};

/// RMSNorm and linear maps without biases, or LayerNorm with weight and bias and biases everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Bare,
    Biased,
}

/// What stands between the norm and the sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Body {
    /// Weights: queries, keys and values `((H + 2 Hkv) d, D)` [bias], with QK norms both `(d)`, out `(D, H d)`
    /// [bias].
    Attention { spec: AttentionSpec, normed: bool },
    /// Weights: up `(F, D)`, gated `(2F, D)` [bias], down `(D, F)` [bias].
    Mlp { act: Act, gated: bool, hidden: usize },
}

/// Half a layer. Weights lie in this order: the norm's weight `(D)` [bias], then the body's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Half {
    pub style: Style,
    /// Of the norm.
    pub eps: f64,
    /// Whether x is added.
    pub residual: bool,
    pub body: Body,
}

/// Whether halves can work on x `(B, T, D)`: f32 in host memory.
pub fn suits(x: &Tensor) -> bool {
    x.device().is_cpu() && x.dtype() == DType::F32 && x.elem_count() > 0
}

/// Weights one after the other.
pub fn gather(weights: &[&Tensor]) -> Result<Tensor> {
    let flat = weights.iter().map(|w| w.flatten_all()).collect::<Result<Vec<_>>>()?;
    Tensor::cat(&flat, 0)
}

/// x `(B, T, D)` -> `(B, T, D)`; `weights` as [`Half`] says.
pub fn half(x: &Tensor, weights: &Tensor, half: Half) -> Result<Tensor> {
    let x = x.contiguous()?;
    let (b, t, d) = x.dims3()?;
    let wanted: usize = half.sizes(d).iter().sum();
    if weights.elem_count() != wanted {
        bail!("half a layer of width {d} has {wanted} weights, not {}", weights.elem_count());
    }
    let keep = x.track_op() || weights.track_op();
    x.apply_op2(weights, Op { half, shape: [b, t, d], keep, kept: OnceLock::new() })
}

impl Half {
    /// How many values each piece of the weights has; 0 for one that is not there. Order: the norm's weight and
    /// bias, the map in and its bias, the QK norms, the map out and its bias.
    fn sizes(&self, d: usize) -> [usize; 8] {
        let (inputs, norms, outputs) = match self.body {
            Body::Attention { spec: s, normed } => {
                let norm = if normed { s.head_dim } else { 0 };
                ((s.heads + 2 * s.kv_heads) * s.head_dim, norm, s.heads * s.head_dim)
            }
            Body::Mlp { gated, hidden, .. } => (if gated { 2 * hidden } else { hidden }, 0, hidden),
        };
        let bias = |n: usize| if self.style == Style::Biased { n } else { 0 };
        [d, bias(d), inputs * d, bias(inputs), norms, norms, d * outputs, bias(d)]
    }

    fn norm(&self) -> Rows {
        let kind = match self.style {
            Style::Bare => Kind::Rms,
            Style::Biased => Kind::Layer,
        };
        Rows { kind, eps: self.eps as f32 }
    }
}

/// The pieces of `all`, which has their sizes.
fn cut(mut all: &[f32], sizes: [usize; 8]) -> [&[f32]; 8] {
    sizes.map(|n| {
        let (piece, rest) = all.split_at(n);
        all = rest;
        piece
    })
}

fn cut_mut(mut all: &mut [f32], sizes: [usize; 8]) -> [&mut [f32]; 8] {
    sizes.map(|n| {
        let (piece, rest) = std::mem::take(&mut all).split_at_mut(n);
        all = rest;
        piece
    })
}

fn there(piece: &[f32]) -> Option<&[f32]> {
    (!piece.is_empty()).then_some(piece)
}

/// Columns' sums of g into a bias's gradient, if there is a bias.
fn sums(bias: &mut [f32], g: &[f32]) {
    if !bias.is_empty() {
        bias.copy_from_slice(&matrix::column_sums(g, bias.len()));
    }
}

/// norm(x) `(N, D)`, and what the body needs.
struct Kept {
    h: Vec<f32>,
    body: KeptBody,
}

enum KeptBody {
    /// qkv `(N, (H + 2 Hkv) d)` and the attention's result `(N, H d)`.
    Attention {
        op: attention::Op,
        qkv: Vec<f32>,
        y: Vec<f32>,
    },
    Mlp(Option<mlp::Kept>),
}

struct Op {
    half: Half,
    /// B, T, D.
    shape: [usize; 3],
    keep: bool,
    kept: OnceLock<Kept>,
}

impl Op {
    fn pass(&self, act: Act, gated: bool, hidden: usize) -> Pass {
        let d = self.shape[2];
        Pass::of(mlp::Kind { act, gated }, [d, hidden, d])
    }

    /// y, and what is kept of the way.
    fn forward(&self, x: &[f32], weights: &[f32]) -> (Vec<f32>, Kept) {
        let [b, t, d] = self.shape;
        let [nw, nb, w_in, b_in, q_norm, k_norm, w_out, b_out] = cut(weights, self.half.sizes(d));
        let h = self.half.norm().forward(x, [nw, nb]);
        let rest = self.half.residual.then_some(x);
        match self.half.body {
            Body::Attention { spec, normed } => {
                let op = attention::Op::new(spec, [b, t], normed, self.keep);
                let qkv = matrix::biased_by_rows(&h, d, View::new(w_in, w_in.len() / d, d).t(), there(b_in), None);
                let y = op.go(attention::Given { qkv: &qkv, norms: normed.then_some([q_norm, k_norm]) });
                let inner = w_out.len() / d;
                let out = matrix::biased_by_rows(&y, inner, View::new(w_out, d, inner).t(), there(b_out), rest);
                (out, Kept { h, body: KeptBody::Attention { op, qkv, y } })
            }
            Body::Mlp { act, gated, hidden } => {
                let w = mlp::Weights { up: w_in, up_bias: there(b_in), down: w_out, down_bias: there(b_out) };
                let (out, kept) = self.pass(act, gated, hidden).forward(&h, w, rest, self.keep);
                (out, Kept { h, body: KeptBody::Mlp(kept) })
            }
        }
    }

    /// The gradient of x; those of the weights are written to `to`, if anybody wants them.
    fn back(&self, x: &[f32], weights: &[f32], g: &[f32], kept: &Kept, to: Option<&mut [f32]>) -> Result<Vec<f32>> {
        let d = self.shape[2];
        let sizes = self.half.sizes(d);
        let [nw, _, w_in, _, q_norm, k_norm, w_out, _] = cut(weights, sizes);
        let (wide, inner) = (w_in.len() / d, w_out.len() / d);
        let wanted = to.is_some();
        let (to, held) = to.map_or((&mut [] as &mut [f32], [0; 8]), |to| (to, sizes));
        let [dnw, dnb, dw_in, db_in, dq_norm, dk_norm, dw_out, db_out] = cut_mut(to, held);
        // the gradient of what the map in gave
        let dwide = match &kept.body {
            KeptBody::Attention { op, qkv, y } => {
                let dy = matrix::by_rows(g, d, View::new(w_out, d, inner));
                let norms = there(q_norm).map(|q| [q, k_norm]);
                let (dqkv, norms) = op.back(attention::Given { qkv, norms }, y, &dy)?;
                if wanted {
                    matrix::over_rows_to(dw_out, g, d, y, inner);
                    if !dq_norm.is_empty() {
                        dq_norm.copy_from_slice(&norms[..dq_norm.len()]);
                        dk_norm.copy_from_slice(&norms[dq_norm.len()..]);
                    }
                }
                dqkv
            }
            KeptBody::Mlp(Some(kept)) => {
                let Body::Mlp { act, gated, hidden } = self.half.body else { bail!("an MLP kept by attention") };
                if wanted {
                    matrix::over_rows_to(dw_out, g, d, &kept.inner, inner);
                }
                self.pass(act, gated, hidden).back(g, w_out, kept)
            }
            KeptBody::Mlp(None) => bail!("half a layer is asked for gradients that nothing tracked"),
        };
        if wanted {
            sums(db_out, g);
            matrix::over_rows_to(dw_in, &dwide, wide, &kept.h, d);
            sums(db_in, &dwide);
        }
        let dh = matrix::by_rows(&dwide, wide, View::new(w_in, wide, d));
        let [dx, dw, db] = self.half.norm().back(x, &dh, nw, self.half.residual.then_some(g));
        if wanted {
            dnw.copy_from_slice(&dw);
            dnb.copy_from_slice(&db[..dnb.len()]);
        }
        Ok(dx)
    }
}

impl CustomOp2 for Op {
    fn name(&self) -> &'static str {
        "half a layer"
    }

    fn cpu_fwd(&self, x: &CpuStorage, lx: &Layout, w: &CpuStorage, lw: &Layout) -> Result<(CpuStorage, Shape)> {
        let (y, kept) = self.forward(matrix::values(x, lx)?, matrix::values(w, lw)?);
        if self.keep {
            let _ = self.kept.set(kept); // a forward pass runs once
        }
        Ok((CpuStorage::F32(y), lx.shape().clone()))
    }

    fn bwd(&self, x: &Tensor, w: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let Some(kept) = self.kept.get() else { bail!("half a layer is asked for gradients that nothing tracked") };
        let wanted = w.track_op();
        let (dx, dw) = matrix::read_all(&[x, w, grad], |[x, weights, g]| {
            if !wanted {
                return Ok((self.back(x, weights, g, kept, None)?, None));
            }
            let mut dx = Ok(vec![]);
            let dw = filled(weights.len(), |dw| dx = self.back(x, weights, g, kept, Some(dw)));
            Ok((dx?, Some(dw)))
        })?;
        let dw = dw.map(|dw| Tensor::from_vec(dw, w.shape(), w.device())).transpose()?;
        Ok((Some(Tensor::from_vec(dx, x.shape(), x.device())?), dw))
    }
}
