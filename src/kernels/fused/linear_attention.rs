//! Strictly causal linear attention between two layers of ReLU neurons, the second gated by the first (BDH-GPU, arXiv
//! 2509.26507): the neurons are both queries and keys, and there is neither softmax nor scale.

use std::{f32::consts::TAU, ops::Range, sync::Arc};

use super::{attention::alibi_slopes, linear, norm};
use crate::fused::prelude::*;

mod cpu;
mod inference_pass;
mod recurrent;
mod rows;
mod saved;

pub use recurrent::Recurrence;

/// Epsilon of the LayerNorm between the two layers.
const EPS: f64 = 1e-5;
/// Base of the rotary frequencies.
const ROPE_BASE: f32 = 65536.0;

/// Switches of one attention.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearAttentionSpec {
    /// True if queries and keys get rotary embedding.
    pub rotary: bool,
    /// True if what a token adds to the state decays at every later token, by a factor for each head ([`decays`]).
    pub damped: bool,
    /// True if gradients reach keys and values, and so earlier tokens.
    pub through_past: bool,
    /// Rotation per token, in full turns, by pair of neurons `(N / 2)`, the same in every head; `None` for
    /// 65536^(-2 pair / N) / 2 pi.
    pub frequencies: Option<Arc<[f32]>>,
}

impl LinearAttentionSpec {
    /// Rotation per token, in full turns, for each pair of n neurons per head, `(N / 2)`.
    pub fn pair_frequencies(&self, n: usize) -> Vec<f32> {
        (0..n / 2).map(|i| self.pair_frequency(i, n)).collect()
    }

    /// Rotation per token, in full turns, of pair `pair` of n neurons per head.
    pub fn pair_frequency(&self, pair: usize, n: usize) -> f32 {
        match &self.frequencies {
            Some(table) => table.get(pair).copied().unwrap_or_default(),
            None => ROPE_BASE.powf(-((2 * pair) as f32 / n as f32)) / TAU,
        }
    }

    /// Checks that n neurons per head can be rotated in pairs with these frequencies.
    fn check(&self, n: usize) -> Result<()> {
        if self.rotary && !n.is_multiple_of(2) {
            bail!("{n} neurons per head cannot be rotated in pairs; choose an even number");
        }
        match &self.frequencies {
            Some(table) if table.len() != n / 2 => {
                bail!("{} frequencies do not fit {} pairs of neurons per head", table.len(), n / 2)
            }
            _ => Ok(()),
        }
    }
}

impl Default for LinearAttentionSpec {
    fn default() -> Self {
        Self { rotary: true, damped: false, through_past: true, frequencies: None }
    }
}

/// With x = relu(v E) and a = LN(tril(R(x) R(x)^T, -1) v): (relu(a E') x) W. v `(B, T, D)`, E above E'
/// `(2 H, D, N)`, W `(H N, O)`, neuron i of head h in row h N + i -> `(B, T, O)`.
pub fn linear_attention(v: &Tensor, encoders: &Tensor, decoder: &Tensor, spec: LinearAttentionSpec) -> Result<Tensor> {
    let (d, (twice, d_in, n), (rows, _)) = (v.dim(D::Minus1)?, encoders.dims3()?, decoder.dims2()?);
    if d_in != d || !twice.is_multiple_of(2) || rows != twice / 2 * n {
        bail!("{d} channels do not fit encoders {:?} and a decoder {:?}", encoders.shape(), decoder.shape());
    }
    spec.check(n)?;
    let (v, encoders, decoder) = (v.contiguous()?, encoders.contiguous()?, decoder.contiguous()?);
    if !storage::readable(&[&v, &encoders, &decoder]) {
        let (e, ev) = (encoders.narrow(0, 0, twice / 2)?, encoders.narrow(0, twice / 2, twice / 2)?);
        return linear::reference(&reference(&v, &e, &ev, spec)?.packed()?, &decoder.t()?);
    }
    cpu::apply(&v, &encoders, &decoder, spec)
}

/// Intermediate values of the reference form.
pub struct Parts {
    /// First layer, `(B, H, T, N)`.
    pub x: Tensor,
    /// Normalised attention, `(B, H, T, D)`.
    pub a: Tensor,
    /// Second layer, gated, `(B, H, T, N)`.
    pub y: Tensor,
}

impl Parts {
    /// The heads of y side by side, `(B, T, H N)`.
    pub fn packed(&self) -> Result<Tensor> {
        let (b, h, t, n) = self.y.dims4()?;
        self.y.transpose(1, 2)?.reshape((b, t, h * n))
    }
}

/// The reference form of the attention in plain candle. v `(B, T, D)`, encoder and encoder_v `(H, D, N)`.
pub fn reference(v: &Tensor, encoder: &Tensor, encoder_v: &Tensor, spec: LinearAttentionSpec) -> Result<Parts> {
    let x = v.unsqueeze(1)?.broadcast_matmul(&encoder.unsqueeze(0)?)?.relu()?; // (B,H,T,N)
    let (found, _) = past(&x, &v.unsqueeze(1)?, None, &spec)?;
    let a = norm::layer_norm_reference(&found, None, None, EPS)?; // (B,H,T,D)
    let y = (a.broadcast_matmul(&encoder_v.unsqueeze(0)?)?.relu()? * &x)?; // (B,H,T,N)
    Ok(Parts { x, a, y })
}

/// The decay factor of the state at every token, by head: exp(-s) with ALiBi's slope s ([`alibi_slopes`]).
pub fn decays(heads: usize) -> Vec<f32> {
    alibi_slopes(heads).into_iter().map(|slope| (-slope).exp()).collect()
}

/// Rotates pairs of neurons, 2i with 2i + 1, by position, the first token's being `from`, as fast as `spec`
/// says. x `(B, H, T, N)`.
pub fn rotate(x: &Tensor, from: usize, spec: &LinearAttentionSpec) -> Result<Tensor> {
    let (b, h, t, n) = x.dims4()?;
    spec.check(n)?;
    // the same angles as `angles` gives, made where x is: of a long text they are many
    let positions = Tensor::arange(from as f32, (from + t) as f32, x.device())?.unsqueeze(1)?;
    let turns = positions.broadcast_mul(&Tensor::from_vec(spec.pair_frequencies(n), (1, n / 2), x.device())?)?;
    let phases = ((&turns - turns.floor()?)? * f64::from(TAU))?.unsqueeze(2)?; // (T, N/2, 1)
    let (cos, sin) = (phases.cos()?.to_dtype(x.dtype())?, phases.sin()?.to_dtype(x.dtype())?);
    let pairs = x.reshape((b * h, t, n / 2, 2))?;
    let (first, second) = (pairs.narrow(3, 0, 1)?, pairs.narrow(3, 1, 1)?);
    let rotated = [
        (first.broadcast_mul(&cos)? - second.broadcast_mul(&sin)?)?,
        (second.broadcast_mul(&cos)? + first.broadcast_mul(&sin)?)?,
    ];
    Tensor::cat(&rotated, 3)?.reshape((b, h, t, n))
}

/// Cosines and sines by position and pair, each `(T, N / 2)`, from frequencies in cycles per token; whole cycles are dropped
/// before the angle is formed, for precision in f32.
fn angles(positions: Range<usize>, frequencies: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let phases = positions.flat_map(|at| frequencies.iter().map(move |f| (at as f32 * f).fract() * TAU));
    phases.map(|p| (p.cos(), p.sin())).unzip()
}

/// The product of the query of each token with the key of each token before it, q = k = x turned by position, neither
/// scaled nor normalised: x `(B, H, T, N)` -> `(B, H, T, T)`, exactly 0 where the key is not before the query.
pub fn query_key_products(x: &Tensor, spec: &LinearAttentionSpec) -> Result<Tensor> {
    let q = if spec.rotary { rotate(x, 0, spec)? } else { x.clone() };
    decayed_scores(&q, &q, spec)
}

/// q k^T `(B, H, T, T)` of the tokens before each, decayed by how far they are apart.
fn decayed_scores(q: &Tensor, k: &Tensor, spec: &LinearAttentionSpec) -> Result<Tensor> {
    let (_, heads, t, _) = q.dims4()?;
    let products = q.matmul(&k.t()?)?;
    if !spec.damped {
        let before = (Tensor::tril2(t, q.dtype(), q.device())? - Tensor::eye(t, q.dtype(), q.device())?)?;
        return products.broadcast_mul(&before);
    }
    let kept = |d: f32, i: usize| if i % t < i / t { d.powi((i / t - i % t) as i32) } else { 0.0 };
    let all: Vec<f32> =
        decays(heads).iter().flat_map(|d| (0..t * t).map(|i| kept(*d, i)).collect::<Vec<_>>()).collect();
    products.broadcast_mul(&Tensor::from_vec(all, (heads, t, t), q.device())?.to_dtype(q.dtype())?)
}

/// Attention to past tokens as a composition: in the parallel form among the tokens given, and to all before them through a
/// recurrent state, a_t = q_t^T S, then S <- U (S + q_t v_t^T).
///
/// x `(B, H, T, N)`, values `(B, 1 or H, T, D)` -> `(B, H, T, D)`, not yet normalised. `before`: a state
/// `(B, H, N, D)` and the number of tokens it summarises; the state after these tokens is returned, detached.
pub fn past(
    x: &Tensor,
    values: &Tensor,
    before: Option<(&Tensor, usize)>,
    spec: &LinearAttentionSpec,
) -> Result<(Tensor, Option<Tensor>)> {
    let (_, heads, t, _) = x.dims4()?;
    let q = if spec.rotary { rotate(x, before.map_or(0, |(_, at)| at), spec)? } else { x.clone() };
    let (k, values) = if spec.through_past { (q.clone(), values.clone()) } else { (q.detach(), values.detach()) };
    let decays = if spec.damped { decays(heads) } else { vec![1.0; heads] };
    let table = |left: &dyn Fn(f32, usize) -> f32, n: usize| {
        let all: Vec<f32> = decays.iter().flat_map(|d| (0..n).map(|i| left(*d, i)).collect::<Vec<_>>()).collect();
        Tensor::from_vec(all, (heads, n), x.device())?.to_dtype(x.dtype())
    };
    let found = decayed_scores(&q, &k, spec)?.broadcast_matmul(&values)?; // (B,H,T,D)
    let Some((state, _)) = before else { return Ok((found, None)) };
    // token i lies i tokens after the initial state and T - i tokens before the final one
    let column = |left: &dyn Fn(f32, usize) -> f32| table(left, t)?.reshape((heads, t, 1));
    let of_state = q.broadcast_mul(&column(&|d, i| d.powi(i as i32))?)?.matmul(state)?;
    let keys = k.detach().broadcast_mul(&column(&|d, i| d.powi((t - i) as i32))?)?;
    let fresh = keys.t()?.contiguous()?.broadcast_matmul(&values.detach())?; // (B,H,N,D)
    let kept = match spec.damped {
        true => state.broadcast_mul(&table(&|d, _| d.powi(t as i32), 1)?.reshape((heads, 1, 1))?)?,
        false => state.clone(),
    };
    let after = (kept + fresh)?.detach();
    Ok(((found + of_state)?, Some(after)))
}
