//! Linear attention strictly over the past, between two layers of ReLU neurons, the second gated by
//! the first (BDH-GPU, arXiv 2509.26507): neurons are queries and keys alike, there is no softmax and
//! no scale.

use std::{f32::consts::TAU, ops::Range, sync::Arc};

use candle_core::{D, Result, Tensor, bail};

use super::{matrix, norm};

mod fused;
mod kept;
mod past;
mod rows;

pub use past::past;

/// Of the norm between the two layers.
const EPS: f64 = 1e-5;
/// Base of the rotary frequencies.
const THETA: f32 = 65536.0;

/// Switches of one attention.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearAttentionSpec {
    /// Whether queries and keys turn with their position.
    pub rotary: bool,
    /// Whether a token's trace fades by a factor of its head's at every later token (ALiBi's slopes).
    pub damped: bool,
    /// Whether gradients reach keys and values, and so what earlier tokens have done.
    pub through_past: bool,
    /// Turns a token by pair of neurons `(N / 2)`, the same in every head; `None` for [`turns_a_token`].
    pub frequencies: Option<Arc<[f32]>>,
}

impl LinearAttentionSpec {
    /// Turns a token of each pair of n neurons a head, `(N / 2)`.
    pub fn turns(&self, n: usize) -> Vec<f32> {
        (0..n / 2).map(|i| self.turns_of(i, n)).collect()
    }

    /// Turns a token of pair `pair` of n neurons a head.
    pub fn turns_of(&self, pair: usize, n: usize) -> f32 {
        match &self.frequencies {
            Some(table) => table.get(pair).copied().unwrap_or_default(),
            None => turns_a_token(pair, n),
        }
    }

    /// Errors if n neurons a head cannot turn so.
    fn check(&self, n: usize) -> Result<()> {
        if self.rotary && !n.is_multiple_of(2) {
            bail!("{n} neurons a head do not turn in pairs; choose an even number");
        }
        match &self.frequencies {
            Some(table) if table.len() != n / 2 => {
                bail!("{} frequencies for {} pairs of neurons a head", table.len(), n / 2)
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
    if !matrix::readable(&[&v, &encoders, &decoder]) {
        let (e, ev) = (encoders.narrow(0, 0, twice / 2)?, encoders.narrow(0, twice / 2, twice / 2)?);
        return mapped_reference(&reference(&v, &e, &ev, spec)?.packed()?, &decoder);
    }
    fused::apply(&v, &encoders, &decoder, spec)
}

/// y `(B, T, I)` times w `(I, O)`.
fn mapped_reference(y: &Tensor, w: &Tensor) -> Result<Tensor> {
    super::linear::reference(y, &w.t()?)
}

/// What the reference form finds on its way.
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

pub fn reference(v: &Tensor, encoder: &Tensor, encoder_v: &Tensor, spec: LinearAttentionSpec) -> Result<Parts> {
    let x = v.unsqueeze(1)?.broadcast_matmul(&encoder.unsqueeze(0)?)?.relu()?; // (B,H,T,N)
    let (found, _) = past(&x, &v.unsqueeze(1)?, None, &spec)?;
    let a = norm::layer_norm_reference(&found, None, None, EPS)?; // (B,H,T,D)
    let y = (a.broadcast_matmul(&encoder_v.unsqueeze(0)?)?.relu()? * &x)?; // (B,H,T,N)
    Ok(Parts { x, a, y })
}

/// What is left of a trace after one token, by head: ALiBi's slopes 2^(-8 (h + 1) / H), as factors.
pub fn decays(heads: usize) -> Vec<f32> {
    (1..=heads).map(|h| (-(2f32.powf(-8.0 * h as f32 / heads as f32))).exp()).collect()
}

/// Turns pairs of neurons, 2i with 2i + 1, by position, the first token's being `from`, as fast as `spec`
/// says. x `(B, H, T, N)`.
pub fn rotate(x: &Tensor, from: usize, spec: &LinearAttentionSpec) -> Result<Tensor> {
    let (b, h, t, n) = x.dims4()?;
    spec.check(n)?;
    let (cos, sin) = angles(from..from + t, &spec.turns(n));
    let table = |values| Tensor::from_vec(values, (t, n / 2, 1), x.device())?.to_dtype(x.dtype());
    let (cos, sin) = (table(cos)?, table(sin)?);
    let pairs = x.reshape((b * h, t, n / 2, 2))?;
    let (first, second) = (pairs.narrow(3, 0, 1)?, pairs.narrow(3, 1, 1)?);
    let turned = [
        (first.broadcast_mul(&cos)? - second.broadcast_mul(&sin)?)?,
        (second.broadcast_mul(&cos)? + first.broadcast_mul(&sin)?)?,
    ];
    Tensor::cat(&turned, 3)?.reshape((b, h, t, n))
}

/// Turns a token of pair `pair` of n neurons a head: 65536^(-2 pair / n) / 2 pi.
pub fn turns_a_token(pair: usize, n: usize) -> f32 {
    THETA.powf(-((2 * pair) as f32 / n as f32)) / TAU
}

/// Cosines and sines by position and pair, each `(T, N / 2)`, from turns a token by pair; only what is
/// left of whole turns counts, in f32.
fn angles(positions: Range<usize>, turns: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let phases = positions.flat_map(|at| turns.iter().map(move |f| (at as f32 * f).fract() * TAU));
    phases.map(|p| (p.cos(), p.sin())).unzip()
}
