//! Predicts the input of a block from the slow trace, and from the past where the predictor is an attention. All forms
//! but full softmax attention are strictly causal in what they look up: the current token is not among the values.

use super::{Predictor, PredictorValues, SpenSpec};
use crate::{
    models::prelude::*,
    nn::{fused::unit_rows::unit_rows, layers::input_proj},
};

/// Decay of linear attention's past at every token.
const DECAY: f64 = 0.999;

#[derive(Debug, Clone)]
pub(super) enum Prediction {
    Static(Tensor), // (D, D)
    Attention { maps: [Tensor; 3], values: PredictorValues, softmax: Option<Softmax> },
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Softmax {
    heads: usize,
    /// True if the current token is looked up too.
    attends_to_self: bool,
}

/// The part of the past that a predictor keeps while it streams.
#[derive(Debug, Clone)]
pub(super) enum PredictorPast {
    /// Sum over the past of decayed k v^T, `(B, D, D)`.
    Sum(Tensor),
    /// Keys and values `(B, H, T, d)`.
    All([Tensor; 2]),
}

impl Prediction {
    /// Parameters `<path>.pred.weight`, or `<path>.pred.{wq,wk,wv}.weight`. Errors name the size that does not fit.
    pub fn new(params: &mut Params, path: &str, spec: &SpenSpec) -> Result<Self> {
        let d = spec.d_model;
        let mut map = |name: &str| input_proj(params, &format!("{path}.{name}.weight"), d, d);
        let of_heads = |attends_to_self| Some(Softmax { heads: spec.heads, attends_to_self });
        let softmax = match spec.predictor {
            Predictor::Static => return Ok(Self::Static(map("pred")?)),
            Predictor::LinearAttention => None,
            Predictor::SoftmaxAttention => of_heads(false),
            Predictor::FullSoftmaxAttention => of_heads(true),
        };
        let is_even = spec.heads > 0 && d.is_multiple_of(spec.heads);
        ensure!(softmax.is_none() || is_even, "d_model {d} must be a multiple of heads {}", spec.heads);
        Ok(Self::Attention { maps: [map("pred.wq")?, map("pred.wk")?, map("pred.wv")?], values: spec.values, softmax })
    }

    /// The map `(D, D)` of the static predictor.
    pub fn trained_map(&self) -> Option<&Tensor> {
        match self {
            Self::Static(map) => Some(map),
            Self::Attention { .. } => None,
        }
    }

    /// Slow trace and input `(B, T, D)`, and what was kept of the past -> prediction `(B, T, D)`, and what to keep.
    /// Softmax attention offers its weights `(B, H, T, N)` over the N tokens that were read so far as `<path>.attn.weights`;
    /// where the current token is not looked up, the row of the first token of all, which sees nothing, is 0.
    pub fn forward(
        &self,
        slow: &Tensor,
        x: &Tensor,
        past: Option<PredictorPast>,
        (path, tap): (&str, &mut Tap),
    ) -> Result<(Tensor, Option<PredictorPast>)> {
        let direction = unit_rows(slow)?;
        let (maps, values, softmax) = match self {
            Self::Static(map) => return Ok((linear(&direction, map)?, None)),
            Self::Attention { maps, values, softmax } => (maps, values, softmax),
        };
        let [wq, wk, wv] = maps;
        let source = match values {
            PredictorValues::Traces => &direction,
            PredictorValues::Input => x,
        };
        let (q, k, v) = (linear(&direction, wq)?, linear(&direction, wk)?, linear(source, wv)?);
        let (prediction, past) = match softmax {
            None => linear_attention(&q, &k, &v, past)?,
            Some(form) => {
                let (prediction, past, weights) = softmax_attention([&q, &k, &v], *form, past)?;
                tap.offer(&format!("{path}.attn.weights"), || Ok(weights))?;
                (prediction, past)
            }
        };
        Ok((prediction, Some(past)))
    }
}

/// A constant matrix with the type and device of `like`.
fn constant(values: Vec<f32>, shape: (usize, usize), like: &Tensor) -> Result<Tensor> {
    Tensor::from_vec(values, shape, like.device())?.to_dtype(like.dtype())
}

/// sum over s < t of decay^(t-1-s) (q_t . k_s) v_s, with q, k, v `(B, T, D)`.
fn linear_attention(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    past: Option<PredictorPast>,
) -> Result<(Tensor, PredictorPast)> {
    let (b, t, d) = q.dims3()?;
    let before = match past {
        Some(PredictorPast::Sum(sum)) => sum,
        _ => Tensor::zeros((b, d, d), q.dtype(), q.device())?,
    };
    let power = |n: usize| DECAY.powi(n as i32) as f32;
    let weight = |t: usize, s: usize| if s < t { power(t - 1 - s) } else { 0.0 };
    let table: Vec<f32> = (0..t).flat_map(|row| (0..t).map(move |col| weight(row, col))).collect();
    let table = constant(table, (t, t), q)?;
    let scores = q.matmul(&k.t()?)?.broadcast_mul(&table)?; // (B,T,T)
    let since = constant((0..t).map(power).collect(), (t, 1), q)?;
    let y = (scores.matmul(v)? + q.matmul(&before)?.broadcast_mul(&since)?)?;
    let until = constant((0..t).rev().map(power).collect(), (t, 1), q)?;
    let added = k.broadcast_mul(&until)?.t()?.contiguous()?.matmul(v)?; // (B,D,D)
    Ok((y, PredictorPast::Sum(((before * f64::from(power(t)))? + added)?)))
}

/// Softmax over the tokens before the current one, or up to it; where the first of all sees nothing, it predicts
/// nothing. Returns the weights `(B, H, T, N)` too.
fn softmax_attention(
    [q, k, v]: [&Tensor; 3],
    Softmax { heads, attends_to_self }: Softmax,
    past: Option<PredictorPast>,
) -> Result<(Tensor, PredictorPast, Tensor)> {
    let (b, t, wide) = q.dims3()?;
    let d = wide / heads;
    let by_head = |x: &Tensor| x.reshape((b, t, heads, d))?.transpose(1, 2)?.contiguous();
    let (q, k, v) = (by_head(q)?, by_head(k)?, by_head(v)?);
    let (k, v) = match past {
        Some(PredictorPast::All([ks, vs])) => (Tensor::cat(&[&ks, &k], 2)?, Tensor::cat(&[&vs, &v], 2)?),
        _ => (k, v),
    };
    let n = k.dim(2)?;
    let seen = |row: usize| n - t + row + usize::from(attends_to_self);
    // A row that sees nothing would be 0 / 0, so it attends to itself and its result is then set to zero.
    let hidden = |row: usize, col: usize| if col < seen(row).max(1) { 0.0 } else { f32::MIN };
    let mask: Vec<f32> = (0..t).flat_map(|row| (0..n).map(move |col| hidden(row, col))).collect();
    let mask = constant(mask, (t, n), &q)?;
    let reads: Vec<f32> = (0..t).map(|row| if seen(row) == 0 { 0.0 } else { 1.0 }).collect();
    let reads = constant(reads, (t, 1), &q)?;
    let scores = (q.matmul(&k.t()?)? / (d as f64).sqrt())?.broadcast_add(&mask)?; // (B,H,T,N)
    let weights = candle_nn::ops::softmax(&scores, D::Minus1)?.broadcast_mul(&reads)?;
    let y = weights.matmul(&v)?.transpose(1, 2)?.reshape((b, t, wide))?;
    Ok((y, PredictorPast::All([k, v]), weights))
}
