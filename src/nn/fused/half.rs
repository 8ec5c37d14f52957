//! Half of a pre-norm layer in one operation: [x +] f(norm(x)), f being attention or an MLP with all their
//! linear maps. For training: what lies between costs no tensor, and no gradient of it has to be summed.
//!
//! An operation's way back takes at most three tensors, so the weights of a half are first laid out in one
//! ([`gather`]), once for as many uses as a step makes of them. `layers` and `prenorm` say what a half is,
//! in separate operations; those are its reference form. Here is what candle sees; `piece` computes.

use std::sync::OnceLock;

use candle_core::{CpuStorage, CustomOp2, DType, Layout, Result, Shape, Tensor, bail};

use self::piece::{Back, Forth};
use super::{
    attention::AttentionSpec,
    matrix::{self, filled},
    mlp::Act,
    norm::{Kind, Rows},
};

mod piece;

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

struct Op {
    half: Half,
    /// B, T, D.
    shape: [usize; 3],
    keep: bool,
    kept: OnceLock<Vec<f32>>,
}

impl CustomOp2 for Op {
    fn name(&self) -> &'static str {
        "half a layer"
    }

    fn cpu_fwd(&self, x: &CpuStorage, lx: &Layout, w: &CpuStorage, lw: &Layout) -> Result<(CpuStorage, Shape)> {
        let (x, weights) = (matrix::values(x, lx)?, matrix::values(w, lw)?);
        let forth = Forth::new(self.half, self.shape, weights, self.keep);
        let mut kept = vec![];
        let y = filled(x.len(), |y| kept = filled(forth.kept(), |kept| forth.all(x, y, kept)));
        let _ = self.kept.set(kept); // a forward pass runs once
        Ok((CpuStorage::F32(y), lx.shape().clone()))
    }

    fn bwd(&self, x: &Tensor, w: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let Some(kept) = self.kept.get().filter(|_| self.keep) else {
            bail!("half a layer is asked for gradients that nothing tracked")
        };
        let (dx, dw) = matrix::read_all(&[x, w, grad], |[x, weights, g]| {
            let back = Back::new(self.half, self.shape, weights);
            let mut dw = None;
            let dx = filled(x.len(), |dx| {
                if w.track_op() {
                    dw = Some(filled(weights.len(), |dw| back.all([x, g, kept], dx, Some(dw))));
                } else {
                    back.all([x, g, kept], dx, None);
                }
            });
            Ok((dx, dw))
        })?;
        let dw = dw.map(|dw| Tensor::from_vec(dw, w.shape(), w.device())).transpose()?;
        Ok((Some(Tensor::from_vec(dx, x.shape(), x.device())?), dw))
    }
}
