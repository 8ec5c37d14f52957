//! Linear attention with a learned decay (Yang et al. 2023): S_t = diag(a_t) S_{t-1} + k_t v_t^T, o_t = q_t S_t. The decay
//! is a gate for each channel of the keys, or one learned number a head. Theirs has a gate map of low rank and a Swish gate on
//! the result before W_O; here the map is of full rank, and no gate follows.

use std::sync::Arc;

use candle_core::{D, Result, Tensor};

use super::{Attention, TINY_WIDTH, TinyAttention, projections::Projections};
use crate::nn::{
    Params, Tap,
    fused::{
        linear::{linear, linear_biased},
        norm::rms_norm,
    },
    host,
    layers::{EPS, input_proj, residual_out_proj},
};

/// The root that is taken of the sigmoid (tau in the paper): it starts a decay near 1.
const DECAY_ROOT: f64 = 16.0;
/// Arguments of the sigmoid are clamped here, where it is 0 or 1 within the precision of f32.
const MAX_ARGUMENT: f64 = 60.0;
/// The positions of a chunk, which are summed at once; the state is carried from one chunk to the next.
const CHUNK: usize = 16;
/// The exponent of a key that is later than its query: exp of it is 0.
const MASKED: f32 = -1e30;

/// The source of the decay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecayKind {
    /// a_t = sigmoid(W x_t + b)^(1/16), one for each channel of the keys.
    Gate,
    /// a = sigmoid(b)^(1/16), one for each key head.
    Head,
}

/// Sizes and switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatedLinearSpec {
    /// Width D of the states.
    pub d_model: usize,
    /// Number of query heads.
    pub heads: usize,
    /// Number of key and value heads, each with a state of its own.
    pub kv_heads: usize,
    /// The source of the decay.
    pub decay: DecayKind,
    /// The number of times a forward pass adds to the residual stream.
    pub writers: usize,
}

#[derive(Debug, Clone)]
enum Decay {
    Gate { weight: Tensor, bias: Tensor }, // (Hkv d, D), (Hkv d)
    Head(Tensor),                          // (Hkv)
}

/// Linear attention with a decay. Queries, keys and results are normalised by an RMSNorm per head, and queries are divided
/// by sqrt(d). It has no positional encoding and no attention weights that sum to 1; it taps ln a_t instead, as
/// `<path>.log_decay`, `(B, T, Hkv, d)`, or `(1, 1, Hkv, 1)` for one decay per head.
#[derive(Debug, Clone)]
pub struct GatedLinearAttention {
    projections: Projections,
    decay: Decay,
    norms: [Tensor; 3], // gains for queries, keys and results (d)
    wo: Tensor,         // (D, H d)
    spec: GatedLinearSpec,
}

impl GatedLinearAttention {
    /// Its options at the sizes of tests.
    pub const TINY: &[TinyAttention] = &[
        TinyAttention::new("gated_linear, gate", |p| Self::tiny(p, DecayKind::Gate)),
        TinyAttention::new("gated_linear, one decay a head", |p| Self::tiny(p, DecayKind::Head)),
    ];

    fn tiny(params: &mut Params, decay: DecayKind) -> Result<Arc<dyn Attention>> {
        let spec = GatedLinearSpec { d_model: TINY_WIDTH, heads: 4, kv_heads: 2, decay, writers: 2 };
        Ok(Arc::new(Self::new(params, "attn", &spec)?))
    }

    /// Parameters `<path>.{wq,wk,wv,wo}.weight`, `<path>.{q_norm,k_norm,o_norm}.weight`, and
    /// `<path>.decay.{weight,bias}`; one decay per head has only the bias. Biases start at 0, decays at 0.5^(1/16) =
    /// 0.958. Errors name the size that does not fit.
    pub fn new(params: &mut Params, path: &str, spec: &GatedLinearSpec) -> Result<Self> {
        let GatedLinearSpec { d_model: d, heads: h, kv_heads: kv, decay, writers } = *spec;
        let fits = h > 0 && kv > 0 && d.is_multiple_of(h) && h.is_multiple_of(kv);
        ensure!(fits, "d_model {d} must be a multiple of heads {h}, and heads of kv_heads {kv}");
        let wide = d / h;
        let name = |part: &str| format!("{path}.{part}");
        Ok(Self {
            projections: Projections::new(params, path, d, [h, kv])?,
            decay: match decay {
                DecayKind::Gate => Decay::Gate {
                    weight: input_proj(params, &name("decay.weight"), kv * wide, d)?,
                    bias: params.zeros(&name("decay.bias"), kv * wide)?,
                },
                DecayKind::Head => Decay::Head(params.zeros(&name("decay.bias"), kv)?),
            },
            norms: [
                params.ones(&name("q_norm.weight"), wide)?,
                params.ones(&name("k_norm.weight"), wide)?,
                params.ones(&name("o_norm.weight"), wide)?,
            ],
            wo: residual_out_proj(params, &name("wo.weight"), (d, d), writers)?,
            spec: *spec,
        })
    }

    /// ln a_t: x `(B, T, D)` -> `(B, T, Hkv, d)`, or `(1, 1, Hkv, 1)` for one decay per head.
    fn log_decay(&self, x: &Tensor) -> Result<Tensor> {
        let (b, t, _) = x.dims3()?;
        let kv = self.spec.kv_heads;
        match &self.decay {
            Decay::Gate { weight, bias } => log_gate(&linear_biased(x, weight, bias)?)?.reshape((b, t, kv, ())),
            Decay::Head(bias) => log_gate(bias)?.reshape((1, 1, kv, 1)),
        }
    }
}

/// ln sigmoid(z)^(1/16) = -ln(1 + exp(-z)) / 16.
fn log_gate(z: &Tensor) -> Result<Tensor> {
    (z.clamp(-MAX_ARGUMENT, MAX_ARGUMENT)?.neg()?.exp()? + 1.0)?.log()? * (-1.0 / DECAY_ROOT)
}

/// The terms of the sum, cut into chunks of C positions: queries `(M, C, g, d)`; keys, values and the cumulative log
/// decays from the chunk's first position on, each `(M, C, d)`, with M = B Hkv N chunks in order.
struct Chunks {
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cum_log_decay: Tensor,
}

impl Chunks {
    /// Splits q `(B, T, H, d)`, k, v and ln a `(B, T, Hkv, d)` into chunks. Zeros fill the last one.
    fn new([q, k, v, log_a]: [&Tensor; 4]) -> Result<Self> {
        let (b, t, kv, d) = k.dims4()?;
        let n = t.div_ceil(CHUNK);
        let cut = |x: &Tensor| -> Result<Tensor> {
            let x = x.reshape((b, t, kv, ()))?.pad_with_zeros(1, 0, n * CHUNK - t)?;
            x.transpose(1, 2)?.contiguous()?.reshape((b * kv * n, CHUNK, ()))
        };
        let (q, log_a) = (cut(q)?, cut(log_a)?);
        let before: Vec<f32> = (0..CHUNK * CHUNK).map(|at| if at % CHUNK <= at / CHUNK { 1.0 } else { 0.0 }).collect();
        let before = Tensor::from_vec(before, (1, CHUNK, CHUNK), k.device())?.to_dtype(k.dtype())?;
        let cum_log_decay = before.broadcast_as((b * kv * n, CHUNK, CHUNK))?.contiguous()?.matmul(&log_a)?;
        Ok(Self { q: q.reshape((b * kv * n, CHUNK, (), d))?, k: cut(k)?, v: cut(v)?, cum_log_decay })
    }

    /// The contribution of the keys in the query's own chunk: `(M, C, g, d)`.
    fn intra_chunk(&self) -> Result<Tensor> {
        let (m, c, g, d) = self.q.dims4()?;
        let causal_mask: Vec<f32> = (0..c * c).map(|at| if at % c <= at / c { 0.0 } else { MASKED }).collect();
        let causal_mask = Tensor::from_vec(causal_mask, (1, c, c, 1), self.q.device())?.to_dtype(self.q.dtype())?;
        let ages = self.cum_log_decay.unsqueeze(2)?.broadcast_sub(&self.cum_log_decay.unsqueeze(1)?)?; // (M,C,C,d)
        let kept = ages.broadcast_add(&causal_mask)?.exp()?.broadcast_mul(&self.k.unsqueeze(1)?)?;
        let q = self.q.reshape((m * c, g, d))?.transpose(1, 2)?.contiguous()?; // (M C,d,g)
        let weights = kept.reshape((m * c, c, d))?.matmul(&q)?.reshape((m, c, c, g))?; // (M,queries,keys,g)
        let weights = weights.permute((0, 1, 3, 2))?.contiguous()?.reshape((m, c * g, c))?;
        weights.matmul(&self.v)?.reshape((m, c, g, d))
    }

    /// The contribution of the state after the chunks before, with `n` chunks per sequence: `(M, C, g, d)`.
    fn inter_chunk(&self, n: usize) -> Result<Tensor> {
        let (m, c, g, d) = self.q.dims4()?;
        let last = self.cum_log_decay.narrow(1, c - 1, 1)?; // (M,1,d)
        let keys = (&self.k * last.broadcast_sub(&self.cum_log_decay)?.exp()?)?;
        let added = keys.transpose(1, 2)?.contiguous()?.matmul(&self.v)?.reshape((m / n, n, d, d))?;
        let kept = last.exp()?.reshape((m / n, n, d, 1))?;
        let mut state = added.narrow(1, 0, 1)?.zeros_like()?; // (B Hkv,1,d,d)
        let mut states = vec![];
        for at in 0..n {
            states.push(state.clone());
            state = (state.broadcast_mul(&kept.narrow(1, at, 1)?)? + added.narrow(1, at, 1)?)?;
        }
        let q = self.q.broadcast_mul(&self.cum_log_decay.exp()?.unsqueeze(2)?)?.reshape((m, c * g, d))?;
        q.matmul(&Tensor::cat(&states, 1)?.reshape((m, d, d))?)?.reshape((m, c, g, d))
    }
}

/// Computes o_t = q_t S_t: q `(B, T, H, d)`, k, v and ln a `(B, T, Hkv, d)` -> `(B, T, H, d)`.
fn decayed_sums(qkv_log_a: [&Tensor; 4]) -> Result<Tensor> {
    let [q, k, ..] = qkv_log_a;
    let ((b, t, h, d), kv) = (q.dims4()?, k.dim(2)?);
    let chunks = Chunks::new(qkv_log_a)?;
    let n = t.div_ceil(CHUNK);
    let o = if n > 1 { (chunks.intra_chunk()? + chunks.inter_chunk(n)?)? } else { chunks.intra_chunk()? };
    o.reshape((b, kv, n * CHUNK, h / kv * d))?.transpose(1, 2)?.narrow(1, 0, t)?.contiguous()?.reshape((b, t, h, d))
}

impl Attention for GatedLinearAttention {
    fn forward(&self, x: &Tensor, tap: &mut Tap, path: &str) -> Result<Tensor> {
        let (b, t, wide) = x.dims3()?;
        let GatedLinearSpec { heads: h, kv_heads: kv, .. } = self.spec;
        let d = wide / h;
        let log_a = self.log_decay(x)?;
        let path = path.strip_suffix(".weights").unwrap_or(path);
        tap.offer(&format!("{path}.log_decay"), || Ok(log_a.clone()))?;
        let qkv = self.projections.forward(x)?;
        let part = |from: usize, n: usize| qkv.narrow(D::Minus1, from * d, n * d)?.contiguous()?.reshape((b, t, n, d));
        let [q_norm, k_norm, o_norm] = &self.norms;
        let q = (rms_norm(&part(0, h)?, q_norm, EPS)? * (d as f64).powf(-0.5))?;
        let (k, v) = (rms_norm(&part(h, kv)?, k_norm, EPS)?, part(h + kv, kv)?);
        let o = decayed_sums([&q, &k, &v, &log_a.broadcast_as((b, t, kv, d))?.contiguous()?])?;
        linear(&rms_norm(&o, o_norm, EPS)?.reshape((b, t, wide))?, &self.wo)
    }
}

/// Returns -1 / ln a for every ln a, in positions: the distance after which a state has decayed to 1/e. It is at most a
/// million, which means no decay at all.
pub fn effective_memory(log_decays: &Tensor) -> Result<Vec<f64>> {
    const LARGEST: f64 = 1e6;
    Ok(host::to_f64(log_decays)?.into_iter().map(|ln_a| 1.0 / (-ln_a).max(1.0 / LARGEST)).collect())
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device, IndexOp};

    use super::*;

    fn random(name: &str, shape: (usize, usize, usize, usize)) -> Result<Tensor> {
        Params::new(3, &Device::Cpu, DType::F64).normal(name, shape, 1.0)
    }

    /// The recurrence, position by position: q `(T, H, d)`, the others `(T, Hkv, d)`.
    fn recurrence(parts: [&Tensor; 4]) -> Result<Vec<f64>> {
        let [(t, h, d), (_, kv, _)] = [parts[0].dims3()?, parts[1].dims3()?];
        let [q, k, v, log_a] = parts.map(host::to_f64);
        let (q, k, v, log_a) = (q?, k?, v?, log_a?);
        let mut state = vec![0.0; kv * d * d];
        let mut out = vec![];
        for at in 0..t {
            for (row, values) in state.chunks_mut(d).enumerate() {
                let key = at * kv * d + row;
                let head = row / d;
                for (channel, s) in values.iter_mut().enumerate() {
                    *s = log_a[key].exp() * *s + k[key] * v[(at * kv + head) * d + channel];
                }
            }
            for head in 0..h {
                let of_head = head / (h / kv) * d;
                for channel in 0..d {
                    let row = |row: usize| q[(at * h + head) * d + row] * state[(of_head + row) * d + channel];
                    out.push((0..d).map(row).sum());
                }
            }
        }
        Ok(out)
    }

    #[test]
    fn chunks_give_what_the_recurrence_gives() -> Result<()> {
        for t in [1, 15, 16, 17, 37] {
            let (b, h, kv, d) = (2, 4, 2, 3);
            let q = random("q", (b, t, h, d))?;
            let [k, v, z] = ["k", "v", "z"].map(|name| random(name, (b, t, kv, d)));
            let (k, v, log_a) = (k?, v?, (log_gate(&(z? * 3.0)?)? * 16.0)?);
            let together = decayed_sums([&q, &k, &v, &log_a])?;
            for row in 0..b {
                let parts = [&q, &k, &v, &log_a].map(|x| x.i(row));
                let [q, k, v, log_a] = parts;
                let expected = recurrence([&q?, &k?, &v?, &log_a?])?;
                for (found, wanted) in host::to_f64(&together.i(row)?)?.iter().zip(&expected) {
                    assert!((found - wanted).abs() < 1e-10, "{t} positions: {found} is not {wanted}");
                }
            }
        }
        Ok(())
    }

    fn attention(decay: DecayKind) -> Result<(GatedLinearAttention, Params)> {
        let mut params = Params::new(5, &Device::Cpu, DType::F32);
        let spec = GatedLinearSpec { d_model: 16, heads: 4, kv_heads: 2, decay, writers: 2 };
        Ok((GatedLinearAttention::new(&mut params, "a", &spec)?, params))
    }

    #[test]
    fn decays_begin_near_one_and_their_extremes_stay_finite() -> Result<()> {
        let x = Params::new(1, &Device::Cpu, DType::F32).normal("x", (1, 40, 16), 1.0)?;
        for decay in [DecayKind::Gate, DecayKind::Head] {
            let (attention, params) = attention(decay)?;
            let memory = effective_memory(&attention.log_decay(&(&x * 0.0)?)?)?;
            assert!(memory.iter().all(|m| (m - 16.0 / 2f64.ln()).abs() < 1e-3), "{decay:?}: {memory:?}");
            for extreme in [-300f32, 300.0] {
                let bias = params.get("a.decay.bias").ok_or(candle_core::Error::Msg("no bias".into()))?;
                params.load("a.decay.bias", &Tensor::full(extreme, bias.shape(), &Device::Cpu)?)?;
                let y = attention.forward(&x, &mut Tap::off(), "")?;
                let grads = y.sqr()?.sum_all()?.backward()?;
                assert!(host::to_f32(&y)?.iter().all(|v| v.is_finite()), "{decay:?} at {extreme}");
                for (name, var) in params.iter() {
                    let grad = grads.get(var).ok_or(candle_core::Error::Msg(format!("no gradient of {name}")))?;
                    assert!(host::to_f32(grad)?.iter().all(|v| v.is_finite()), "{decay:?} at {extreme}: {name}");
                }
            }
        }
        Ok(())
    }
}
