//! Layers that model families are built from: attention, MLPs, the pre-norm block. It knows no
//! family; the mathematics of one operation is in `fused`.
//!
//! Initial weights: matrices that read the residual stream are normal with the standard deviation of
//! PyTorch's default, 1 / sqrt(3 inputs); matrices that write to it (`wo`, `down`) are smaller by
//! 1 / sqrt(writers), writers being how many times a forward pass adds to the stream, so that its size
//! does not grow with depth; norm weights are one. Tried on 100 steps of the default model, where it
//! ended 0.2 nats below 1 / sqrt(inputs).

use candle_core::{Result, Tensor};

use super::{
    Params, Tap,
    fused::{
        attention::{self, AttentionSpec},
        layer::{self, FlatWeights, LayerSpec, Style, flatten, layer},
        linear::linear,
        mlp::{self, Act},
        norm::rms_norm,
    },
};

/// Of every RMSNorm.
pub const EPS: f64 = 1e-6;
/// Base of the rotary frequencies.
pub const THETA: f64 = 1e4;
/// Standard deviation of embeddings: with a tied head the first logits are then small, and the first
/// loss is close to ln V.
pub const EMBEDDING_STD: f64 = 0.05;

/// Which MLP a block has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MlpKind {
    /// down(act(up(x)))
    Plain(Act),
    /// down(act(gate(x)) * up(x))
    Gated(Act),
}

/// Sizes of one block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockSpec {
    pub d_model: usize,
    pub heads: usize,
    pub kv_heads: usize,
    /// Query t sees keys t-window+1..=t; `None` sees the whole past.
    pub window: Option<usize>,
    pub hidden: usize,
    pub mlp: MlpKind,
    /// How many times a forward pass adds to the residual stream (two a block).
    pub writers: usize,
}

impl BlockSpec {
    /// The attention's sizes; errors name the size that does not fit.
    fn attention(&self) -> Result<AttentionSpec> {
        let (d, h, kv) = (self.d_model, self.heads, self.kv_heads);
        if h == 0 || kv == 0 || !d.is_multiple_of(h) || !h.is_multiple_of(kv) {
            candle_core::bail!("d_model {d} must be a multiple of heads {h}, and heads of kv_heads {kv}");
        }
        if !(d / h).is_multiple_of(2) {
            candle_core::bail!("d_model / heads = {} must be even: rotary embedding turns pairs of channels", d / h);
        }
        if self.window == Some(0) {
            candle_core::bail!("an attention window of 0 sees nothing; use 1 or more, or none");
        }
        Ok(AttentionSpec {
            heads: h,
            kv_heads: kv,
            head_dim: d / h,
            theta: Some(THETA),
            window: self.window,
            eps: EPS,
            alibi: false,
        })
    }
}

/// Weight `(outputs, inputs)` of a linear map that reads the residual stream.
pub fn input_proj(params: &mut Params, name: &str, outputs: usize, inputs: usize) -> Result<Tensor> {
    params.normal(name, (outputs, inputs), (3.0 * inputs as f64).powf(-0.5))
}

/// Weight `(outputs, inputs)` of a linear map that adds to the residual stream.
pub fn residual_out_proj(
    params: &mut Params,
    name: &str,
    (outputs, inputs): (usize, usize),
    writers: usize,
) -> Result<Tensor> {
    params.normal(name, (outputs, inputs), (3.0 * (inputs * writers.max(1)) as f64).powf(-0.5))
}

/// Causal grouped-query attention with QK-RMSNorm and rotary embedding, no bias.
#[derive(Debug, Clone)]
pub struct Attention {
    wq: Tensor, // (H d, D)
    wk: Tensor, // (Hkv d, D)
    wv: Tensor, // (Hkv d, D)
    wo: Tensor, // (D, H d)
    q_norm: Tensor,
    k_norm: Tensor,
    spec: AttentionSpec,
}

impl Attention {
    fn new(params: &mut Params, path: &str, s: &BlockSpec) -> Result<Self> {
        let spec = s.attention()?;
        let (d, kv) = (s.d_model, spec.kv_heads * spec.head_dim);
        Ok(Self {
            wq: input_proj(params, &format!("{path}.wq.weight"), d, d)?,
            wk: input_proj(params, &format!("{path}.wk.weight"), kv, d)?,
            wv: input_proj(params, &format!("{path}.wv.weight"), kv, d)?,
            wo: residual_out_proj(params, &format!("{path}.wo.weight"), (d, d), s.writers)?,
            q_norm: params.ones(&format!("{path}.q_norm.weight"), spec.head_dim)?,
            k_norm: params.ones(&format!("{path}.k_norm.weight"), spec.head_dim)?,
            spec,
        })
    }

    /// x `(B, T, D)` -> `(B, T, D)`; `weights` is the path on which the tap may want `(B, H, T, T)`.
    fn forward(&self, x: &Tensor, tap: &mut Tap, weights: &str) -> Result<Tensor> {
        let w = Tensor::cat(&[&self.wq, &self.wk, &self.wv], 0)?;
        let qkv = linear(x, &w)?; // (B,T,(H+2Hkv)d)
        let y = if tap.wants(weights) {
            let (y, found) = attention::reference(&qkv, &self.q_norm, &self.k_norm, self.spec)?;
            tap.offer(weights, || Ok(found))?;
            y
        } else {
            attention::attention(&qkv, &self.q_norm, &self.k_norm, self.spec)?
        };
        linear(&y, &self.wo)
    }

    fn detach(&self) -> Self {
        Self {
            wq: self.wq.detach(),
            wk: self.wk.detach(),
            wv: self.wv.detach(),
            wo: self.wo.detach(),
            q_norm: self.q_norm.detach(),
            k_norm: self.k_norm.detach(),
            spec: self.spec,
        }
    }
}

/// A two-layer MLP, plain or gated, no bias.
#[derive(Debug, Clone)]
pub struct Mlp {
    gate: Option<Tensor>, // (F, D)
    up: Tensor,           // (F, D)
    down: Tensor,         // (D, F)
    act: Act,
}

impl Mlp {
    fn new(params: &mut Params, path: &str, s: &BlockSpec) -> Result<Self> {
        let (d, f) = (s.d_model, s.hidden);
        let (act, gated) = match s.mlp {
            MlpKind::Plain(act) => (act, false),
            MlpKind::Gated(act) => (act, true),
        };
        let gate = if gated { Some(input_proj(params, &format!("{path}.gate.weight"), f, d)?) } else { None };
        Ok(Self {
            gate,
            up: input_proj(params, &format!("{path}.up.weight"), f, d)?,
            down: residual_out_proj(params, &format!("{path}.down.weight"), (d, f), s.writers)?,
            act,
        })
    }

    /// x `(.., D)` -> `(.., D)`
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match &self.gate {
            None => mlp::mlp(x, &self.up, &self.down, self.act),
            Some(gate) => mlp::gated_mlp(x, &Tensor::cat(&[gate, &self.up], 0)?, &self.down, self.act),
        }
    }

    fn detach(&self) -> Self {
        Self {
            gate: self.gate.as_ref().map(Tensor::detach),
            up: self.up.detach(),
            down: self.down.detach(),
            act: self.act,
        }
    }
}

/// x += Attn(RMSNorm(x)); x += MLP(RMSNorm(x)).
#[derive(Debug, Clone)]
pub struct Block {
    path: String,
    norm1: Tensor,
    attn: Attention,
    norm2: Tensor,
    mlp: Mlp,
    /// The weights as they are trained, if they were gathered.
    gathered: Option<FlatWeights>,
}

impl Block {
    /// Parameters are named `<path>.norm1.weight`, `<path>.attn.wq.weight`, and so on.
    pub fn new(params: &mut Params, path: &str, s: &BlockSpec) -> Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            norm1: params.ones(&format!("{path}.norm1.weight"), s.d_model)?,
            attn: Attention::new(params, &format!("{path}.attn"), s)?,
            norm2: params.ones(&format!("{path}.norm2.weight"), s.d_model)?,
            mlp: Mlp::new(params, &format!("{path}.mlp"), s)?,
            gathered: None,
        })
    }

    /// With its weights laid out for training, for as many uses as a step makes of it.
    pub fn gathered(&self) -> Result<Self> {
        Ok(Self { gathered: Some(self.gather()?.with_shared_packing()), ..self.clone() })
    }

    /// The weights in the order of [`LayerSpec`].
    fn gather(&self) -> Result<FlatWeights> {
        if let Some(gathered) = &self.gathered {
            return Ok(gathered.clone());
        }
        let (a, m) = (&self.attn, &self.mlp);
        let attention = [&self.norm1, &a.wq, &a.wk, &a.wv, &a.q_norm, &a.k_norm, &a.wo, &self.norm2];
        flatten(&attention.into_iter().chain(&m.gate).chain([&m.up, &m.down]).collect::<Vec<_>>())
    }

    /// `(B, T, D)` -> `(B, T, D)`. Offers `<path>[.r<round>].attn.weights`, `(B, H, T, T)`.
    pub fn forward(&self, x: &Tensor, tap: &mut Tap, round: Option<usize>) -> Result<Tensor> {
        let weights = match round {
            _ if !tap.is_on() => String::new(),
            None => format!("{}.attn.weights", self.path),
            Some(r) => format!("{}.r{r}.attn.weights", self.path),
        };
        // one operation where the way back will be asked for
        if !tap.is_on() && layer::suits(x) && (x.track_op() || self.norm1.track_op()) {
            let (act, gated, hidden) = (self.mlp.act, self.mlp.gate.is_some(), self.mlp.up.dim(0)?);
            let attention = self.attn.spec;
            let spec = LayerSpec { style: Style::RmsNoBias, eps: EPS, attention, qk_norms: true, act, gated, hidden };
            return layer(x, &self.gather()?, spec);
        }
        let x = (x + self.attn.forward(&rms_norm(x, &self.norm1, EPS)?, tap, &weights)?)?;
        &x + self.mlp.forward(&rms_norm(&x, &self.norm2, EPS)?)?
    }

    /// The same weights (shared, so they follow training) with no part in gradients.
    pub fn detach(&self) -> Self {
        Self {
            path: self.path.clone(),
            norm1: self.norm1.detach(),
            attn: self.attn.detach(),
            norm2: self.norm2.detach(),
            mlp: self.mlp.detach(),
            gathered: None,
        }
    }
}

/// See [`Block::gathered`].
pub fn gathered(blocks: &[Block]) -> Result<Vec<Block>> {
    blocks.iter().map(Block::gathered).collect()
}

/// Blocks one after another.
pub fn run(blocks: &[Block], x: &Tensor, tap: &mut Tap, round: Option<usize>) -> Result<Tensor> {
    blocks.iter().try_fold(x.clone(), |x, block| block.forward(&x, tap, round))
}
