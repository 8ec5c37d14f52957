//! Causal attention in one operation: grouped-query with QK-RMSNorm and rotary embedding, or plain.

pub(super) mod cpu;
mod rows;

use std::sync::OnceLock;

use self::cpu::Inputs;
use super::norm::rms_norm_reference;
use crate::fused::prelude::*;

/// Sizes and switches of one attention.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionSpec {
    /// Number of query heads H.
    pub heads: usize,
    /// Number of key and value heads Hkv, which divides H.
    pub kv_heads: usize,
    /// Channels d of a head.
    pub head_dim: usize,
    /// Base of the rotary frequencies; channel i is paired with i + head_dim / 2. `None`: no rotary embedding.
    pub theta: Option<f64>,
    /// Query t attends to keys t-window+1..=t; `None`: to all up to t.
    pub window: Option<usize>,
    /// Added to the mean square in the QK norms.
    pub eps: f64,
    /// True if scores get the linear bias of ALiBi (arXiv 2108.12409): minus [`alibi_slopes`] times the distance.
    pub alibi: bool,
}

impl AttentionSpec {
    /// True if training on texts of this many tokens saves the attention weights for backward. They are then at most
    /// twice as large as the inputs and outputs of attention; for longer texts they are recomputed.
    pub fn saves_weights(&self, tokens: usize) -> bool {
        tokens.div_ceil(8) <= self.head_dim
    }

    /// Multi-head attention of this width: as many key heads as query heads, no rotary embedding, no ALiBi.
    pub fn plain(width: usize, heads: usize) -> Self {
        Self { heads, kv_heads: heads, head_dim: width / heads, theta: None, window: None, eps: 0.0, alibi: false }
    }
}

/// ALiBi's slope of each head, 2^(-8 (h + 1) / H).
pub fn alibi_slopes(heads: usize) -> Vec<f32> {
    (1..=heads).map(|h| 2f32.powf(-8.0 * h as f32 / heads as f32)).collect()
}

/// qkv `(B, T, (H + 2 Hkv) d)`: queries, keys, values side by side; q_norm, k_norm `(d)`.
/// Returns `(B, T, H d)`.
pub fn attention(qkv: &Tensor, q_norm: &Tensor, k_norm: &Tensor, spec: AttentionSpec) -> Result<Tensor> {
    attend(qkv, Some([q_norm, k_norm]), spec)
}

/// Same as [`attention`], with the QK norms of queries and of keys or without.
pub fn attend(qkv: &Tensor, norms: Option<[&Tensor; 2]>, spec: AttentionSpec) -> Result<Tensor> {
    let has_pairs = spec.head_dim.is_multiple_of(2) || (norms.is_none() && spec.theta.is_none());
    if has_pairs && storage::readable(&[qkv]) && norms.is_none_or(|norms| storage::readable(&norms)) {
        return apply(qkv, norms, spec);
    }
    Ok(reference(qkv, norms, spec)?.0)
}

/// Also returns the attention weights `(B, H, T, T)`, rows summing to 1.
pub fn reference(qkv: &Tensor, norms: Option<[&Tensor; 2]>, s: AttentionSpec) -> Result<(Tensor, Tensor)> {
    let [q, k, v] = split_heads(qkv, s)?;
    let prepared = |x: Tensor, norm: Option<&Tensor>| -> Result<Tensor> {
        let x = if let Some(norm) = norm { rms_norm_reference(&x, norm, s.eps)? } else { x };
        if let Some(theta) = s.theta { rotate_from(&x, 0, theta) } else { Ok(x) }
    };
    let bias = ScoreBias::new(s, 0, q.dim(2)?, &q)?;
    reference_of_last(&prepared(q, norms.map(|n| n[0]))?, &prepared(k, norms.map(|n| n[1]))?, &v, s, &bias)
}

/// qkv `(B, T, (H + 2 Hkv) d)` -> queries `(B, H, T, d)`, keys and values `(B, Hkv, T, d)`.
pub fn split_heads(qkv: &Tensor, s: AttentionSpec) -> Result<[Tensor; 3]> {
    let (b, t, _) = qkv.dims3()?;
    let (h, kv, d) = (s.heads, s.kv_heads, s.head_dim);
    let split = |start: usize, heads: usize| -> Result<Tensor> {
        qkv.narrow(D::Minus1, start * d, heads * d)?.reshape((b, t, heads, d))?.transpose(1, 2)?.contiguous() // (B,heads,T,d)
    };
    Ok([split(0, h)?, split(h, kv)?, split(h + kv, kv)?])
}

/// Causal attention of the last T of S tokens, by several operations: queries `(B, H, T, d)`, keys and values
/// `(B, Hkv, S, d)`. Returns `(B, T, H d)` and the attention weights `(B, H, T, S)`, rows summing to 1.
pub fn reference_of_last(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    s: AttentionSpec,
    bias: &ScoreBias,
) -> Result<(Tensor, Tensor)> {
    let (b, h, t, d) = q.dims4()?;
    let (k, v) = (repeat_heads(k, h / s.kv_heads)?, repeat_heads(v, h / s.kv_heads)?);
    let scores = (q.matmul(&k.t()?)? / (d as f64).sqrt())?; // (B,H,T,S)
    let scores = if let Some(alibi) = &bias.alibi { scores.broadcast_sub(alibi)? } else { scores };
    let weights = softmax(&scores.broadcast_add(&bias.mask)?)?;
    let y = weights.matmul(&v)?.transpose(1, 2)?.reshape((b, t, h * d))?;
    Ok((y, weights))
}

/// Softmax over the last axis of scores `(.., N)`: in plain candle, and on a card by a kernel of its own.
fn softmax(scores: &Tensor) -> Result<Tensor> {
    #[cfg(feature = "cuda")]
    if crate::cuda::card([scores]).is_some() {
        return crate::cuda::softmax::softmax(scores);
    }
    candle_nn::ops::softmax(scores, D::Minus1)
}

/// Rotary embedding by position, of the positions from `first` on. x `(B, H, T, d)`.
pub fn rotate_from(x: &Tensor, first: usize, theta: f64) -> Result<Tensor> {
    let (_, _, t, d) = x.dims4()?;
    let half = d / 2;
    let (cos, sin) = angles(first + t, d, theta);
    let of = |all: Vec<f32>| Tensor::from_slice(&all[first * half..], (t, half), x.device())?.to_dtype(x.dtype());
    let (cos, sin) = (of(cos)?, of(sin)?);
    let (a, b) = (x.narrow(D::Minus1, 0, half)?, x.narrow(D::Minus1, half, half)?);
    let first = (a.broadcast_mul(&cos)? - b.broadcast_mul(&sin)?)?;
    let second = (b.broadcast_mul(&cos)? + a.broadcast_mul(&sin)?)?;
    Tensor::cat(&[first, second], D::Minus1)
}

/// Cosines and sines by position and pair, each `(T, d / 2)`.
fn angles(t: usize, d: usize, theta: f64) -> (Vec<f32>, Vec<f32>) {
    let frequency = |i: usize| (theta as f32).powf(-(2.0 * i as f32) / d as f32);
    let angles = (0..t).flat_map(|at| (0..d / 2).map(move |i| at as f32 * frequency(i)));
    angles.map(|angle| (angle.cos(), angle.sin())).unzip()
}

/// `(B, Hkv, T, d)` -> `(B, Hkv n, T, d)`: each head repeated n times.
pub fn repeat_heads(x: &Tensor, n: usize) -> Result<Tensor> {
    let (b, kv, t, d) = x.dims4()?;
    x.unsqueeze(2)?.expand((b, kv, n, t, d))?.reshape((b, kv * n, t, d))
}

/// ALiBi's bias and the causal mask of the scores of the last T of S tokens: that of all layers with
/// the same heads, window and past.
#[derive(Debug, Clone)]
pub struct ScoreBias {
    alibi: Option<Tensor>, // (H, T, S)
    mask: Tensor,          // (T, S)
}

impl ScoreBias {
    /// The bias of the scores of `t` tokens after `past`, on the device of `like` and in its type.
    pub fn new(s: AttentionSpec, past: usize, t: usize, like: &Tensor) -> Result<Self> {
        let alibi = if s.alibi { Some(alibi_bias(s.heads, past, t, like)?) } else { None };
        Ok(Self { alibi, mask: mask(past, t, s.window, like)? })
    }
}

/// The bias that ALiBi subtracts from the scores of the `t` tokens after `past`, `(H, T, past + T)`: slope times distance.
fn alibi_bias(heads: usize, past: usize, t: usize, like: &Tensor) -> Result<Tensor> {
    let all = past + t;
    let each = |slope: f32| (0..t * all).map(move |i| slope * (past + i / all).saturating_sub(i % all) as f32);
    let bias: Vec<f32> = alibi_slopes(heads).into_iter().flat_map(each).collect();
    Tensor::from_vec(bias, (heads, t, all), like.device())?.to_dtype(like.dtype())
}

/// The causal mask `(T, past + T)`: 0 where the query of a row, one of the `t` tokens after `past`, may attend to the key of
/// a column, -inf elsewhere.
fn mask(past: usize, t: usize, window: Option<usize>, like: &Tensor) -> Result<Tensor> {
    let all = past + t;
    let w = window.unwrap_or(all).max(1);
    let is_seen = |q: usize, k: usize| k <= q && q - k < w;
    let value = |i: usize| if is_seen(past + i / all, i % all) { 0.0 } else { f32::NEG_INFINITY };
    Tensor::from_vec((0..t * all).map(value).collect(), (t, all), like.device())?.to_dtype(like.dtype())
}

/// Applies the fused operation to qkv `(B, T, (H + 2 Hkv) d)`, with the QK norms if there are any.
fn apply(qkv: &Tensor, norms: Option<[&Tensor; 2]>, spec: AttentionSpec) -> Result<Tensor> {
    let (b, t, width) = qkv.dims3()?;
    let (h, kv, d) = (spec.heads, spec.kv_heads, spec.head_dim);
    if kv == 0 || !h.is_multiple_of(kv) || width != (h + 2 * kv) * d {
        bail!("attention: {width} channels are not {h} query and twice {kv} key heads of {d}");
    }
    let mut needs_backward = qkv.track_op();
    for norm in norms.iter().flatten() {
        if norm.elem_count() != d {
            bail!("attention: norm weights must have {d} values, a head's width");
        }
        needs_backward |= norm.track_op();
    }
    let op = cpu::Op::new(spec, t, norms.is_some(), needs_backward);
    let attention = Op(Attention { op, shape: [b, t, h * d], saved_for_backward: OnceLock::new() });
    match norms {
        Some([q_norm, k_norm]) => qkv.apply_op3(q_norm, k_norm, attention),
        None => qkv.apply_op1(attention),
    }
}

/// Attention of all batch rows, and what it saves for backward.
struct Attention {
    op: cpu::Op,
    /// Shape of the result.
    shape: [usize; 3],
    saved_for_backward: OnceLock<Vec<f32>>,
}

impl Attention {
    fn attend(&self, inputs: Inputs) -> (Vec<f32>, Shape) {
        let lens = [self.shape.iter().product(), self.shape[0] * self.op.saved_len()];
        let [y, saved] = build_vecs(lens, |[y, saved]| self.op.forward_all(inputs, saved, y));
        let _ = self.saved_for_backward.set(saved); // a forward pass runs once
        (y, self.shape.to_vec().into())
    }

    /// Gradients of qkv, and of both norm weights, concatenated.
    fn gradients(&self, inputs: Inputs, results: [&[f32]; 2]) -> Result<(Vec<f32>, Vec<f32>)> {
        let saved = match self.saved_for_backward.get() {
            Some(saved) if !saved.is_empty() => saved,
            _ => bail!("attention: nothing was saved for backward"),
        };
        let mut norms = vec![];
        let dqkv = build_vec(inputs.qkv.len(), |dqkv| norms = self.op.backward_all(inputs, saved, results, dqkv));
        Ok((dqkv, norms))
    }
}

impl FusedOp<3> for Attention {
    const NAME: &'static str = "attention";

    fn forward(&self, [qkv, q, k]: [&[f32]; 3], _: [&Shape; 3]) -> Result<(Vec<f32>, Shape)> {
        Ok(self.attend(Inputs { qkv, norms: Some([q, k]) }))
    }

    fn backward(&self, inputs: [&Tensor; 3], y: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let [qkv, q_norm, k_norm] = inputs;
        let (dqkv, mut dq) = storage::read_all(&[qkv, q_norm, k_norm, y, grad], |[qkv, q, k, y, grad]| {
            self.gradients(Inputs { qkv, norms: Some([q, k]) }, [y, grad])
        })?;
        let dk = dq.split_off(self.op.spec.head_dim);
        gradients_like([dqkv, dq, dk], inputs)
    }
}

impl FusedOp<1> for Attention {
    const NAME: &'static str = "attention without norms";

    fn forward(&self, [qkv]: [&[f32]; 1], _: [&Shape; 1]) -> Result<(Vec<f32>, Shape)> {
        Ok(self.attend(Inputs { qkv, norms: None }))
    }

    fn backward(&self, [qkv]: [&Tensor; 1], y: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let (dqkv, _) = storage::read_all(&[qkv, y, grad], |[qkv, y, grad]| {
            self.gradients(Inputs { qkv, norms: None }, [y, grad])
        })?;
        gradients_like([dqkv], [qkv])
    }
}
