//! The dense decoders that fast-slow is measured against. They do not know what they are compared
//! with.

use candle_core::{DType, Device, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::{Loss, Model, Spec, capabilities::AttentionLayer};
use crate::nn::{
    Batch, Params, Tap,
    fused::{cross_entropy::head_cross_entropy, embedding::embedding, linear::linear, mlp::Act, norm::rms_norm},
    layers::{self, Block, BlockSpec, EPS, MlpKind},
};

/// The gated MLP's activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GatedAct {
    #[default]
    Swiglu,
    Geglu,
}

/// Sizes. The default is the larger baseline: 1,025,408 parameters at a vocabulary of 320.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DenseSpec {
    pub d_model: usize,
    pub layers: usize,
    pub heads: usize,
    pub kv_heads: usize,
    /// Width of the gated MLP.
    pub hidden: usize,
    pub act: GatedAct,
    /// Query t sees keys t-window+1..=t; `None` sees the whole past.
    pub window: Option<usize>,
}

impl Default for DenseSpec {
    fn default() -> Self {
        Self { d_model: 128, layers: 4, heads: 4, kv_heads: 2, hidden: 512, act: GatedAct::Swiglu, window: None }
    }
}

impl DenseSpec {
    /// The smaller baseline: 584,736 parameters at a vocabulary of 320.
    pub fn small() -> Self {
        Self { d_model: 96, hidden: 384, act: GatedAct::Geglu, ..Self::default() }
    }
}

#[derive(Clone)]
struct Net {
    embed: Tensor, // (V, D)
    layers: Vec<Block>,
    norm: Tensor, // (D)
}

impl Net {
    /// tokens `(B, T)` -> normalised `(B, T, D)`
    fn encode(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        let x = layers::run(&self.layers, &embedding(&self.embed, tokens)?, tap, None)?;
        tap.offer("final", || Ok(x.clone()))?;
        rms_norm(&x, &self.norm, EPS)
    }

    fn cross_entropy(&self, batch: &Batch) -> Result<Tensor> {
        head_cross_entropy(&self.encode(&batch.tokens, &mut Tap::off())?, &self.embed, &batch.targets)
    }
}

/// A decoder with gated MLPs and a tied head. Taps: `layers.i.attn.weights`, `final`.
pub struct Dense {
    spec: DenseSpec,
    params: Params,
    net: Net,
    still: Net,
}

impl Dense {
    /// Weights are drawn from `seed`; errors name the size that does not fit.
    pub fn new(spec: &DenseSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        let mut p = Params::new(seed, device, DType::F32);
        let block = BlockSpec {
            d_model: spec.d_model,
            heads: spec.heads,
            kv_heads: spec.kv_heads,
            window: spec.window,
            hidden: spec.hidden,
            mlp: MlpKind::Gated(match spec.act {
                GatedAct::Swiglu => Act::Silu,
                GatedAct::Geglu => Act::Gelu,
            }),
            writers: 2 * spec.layers,
        };
        let net = Net {
            embed: p.normal("embed.weight", (vocab, spec.d_model), layers::EMBEDDING_STD)?,
            layers: (0..spec.layers)
                .map(|i| Block::new(&mut p, &format!("layers.{i}"), &block))
                .collect::<Result<_>>()?,
            norm: p.ones("norm.weight", spec.d_model)?,
        };
        let still = Net {
            embed: net.embed.detach(),
            layers: net.layers.iter().map(Block::detach).collect(),
            norm: net.norm.detach(),
        };
        Ok(Self { spec: spec.clone(), params: p, net, still })
    }

    pub fn spec(&self) -> &DenseSpec {
        &self.spec
    }
}

impl Model for Dense {
    fn params(&self) -> &Params {
        &self.params
    }

    fn loss(&self, batch: &Batch) -> Result<Loss> {
        let cross_entropy = self.net.cross_entropy(batch)?;
        Ok(Loss { total: cross_entropy.clone(), cross_entropy, parts: vec![] })
    }

    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        self.still.cross_entropy(batch)
    }

    fn logits(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        linear(&self.still.encode(tokens, tap)?, &self.still.embed)
    }

    fn to_spec(&self) -> Spec {
        Spec::Dense(self.spec.clone())
    }

    fn attention_layers(&self) -> Vec<AttentionLayer> {
        AttentionLayer::stack("layers", self.spec.layers, self.spec.window)
    }
}
