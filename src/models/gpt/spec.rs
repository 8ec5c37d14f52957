//! The transformer that BDH is measured against: GPT-2's layers without positions, whose attention falls
//! with distance (ALiBi, arXiv 2108.12409), and an untied head. It does not know what it is compared with
//! beyond a number of parameters.

use candle_core::{DType, Device, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::{Loss, Model, Spec, capabilities::AttentionLayer, plain_gpt::Net};
use crate::nn::{Batch, Params, Tap, prenorm::Layer};

/// Widths are multiples of this.
const STEP: usize = 8;
/// Width over layers of usual models, and how far from it a search goes.
const SLIM: usize = 6;
const WIDE: usize = 64;
const USUAL: f64 = 20.0;
/// Channels of a head, about.
const HEAD: usize = 32;

/// Sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AlibiGptSpec {
    pub d_model: usize,
    pub heads: usize,
    pub layers: usize,
}

impl Default for AlibiGptSpec {
    fn default() -> Self {
        Self { d_model: 128, heads: 4, layers: 6 }
    }
}

impl AlibiGptSpec {
    /// L (12 D^2 + 13 D) + 2 D + 2 V D
    pub fn parameters(&self, vocab: usize) -> usize {
        let d = self.d_model;
        self.layers * (12 * d * d + 13 * d) + 2 * d + 2 * vocab * d
    }

    /// The sizes that come closest to so many parameters; of two as close, the less unusual one.
    pub fn like(parameters: usize, vocab: usize) -> Self {
        let at = |d_model: usize, layers: usize| {
            let heads = (d_model / HEAD).max(1);
            // heads divide the width
            let heads = (1..=heads).rev().find(|h| d_model.is_multiple_of(*h)).unwrap_or(1);
            Self { d_model, heads, layers }
        };
        let widths = (STEP..=8192).step_by(STEP).take_while(|d| at(*d, 1).parameters(vocab) <= 2 * parameters.max(1));
        let shapes = widths.flat_map(|d| ((d / WIDE).max(1)..=(d / SLIM).max(1)).map(move |l| at(d, l)));
        let off = |s: &Self| {
            let unusual = (s.d_model as f64 / s.layers as f64 / USUAL).ln().abs();
            (s.parameters(vocab).abs_diff(parameters) as f64 / parameters.max(1) as f64, unusual)
        };
        // within a hundredth all are close: then the usual shape counts
        let rank = |s: &Self| {
            let (miss, unusual) = off(s);
            (miss.max(0.01), unusual)
        };
        shapes.min_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal)).unwrap_or(at(STEP, 1))
    }
}

/// A GPT with ALiBi. Taps: `layers.i.attn.weights`, `final`.
pub struct AlibiGpt {
    spec: AlibiGptSpec,
    params: Params,
    net: Net,
    still: Net,
}

impl AlibiGpt {
    /// Weights are drawn from `seed`; errors name the size that does not fit.
    pub fn new(spec: &AlibiGptSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        let mut p = Params::new(seed, device, DType::F32);
        let net = Net::new(&mut p, vocab, [spec.d_model, spec.heads, spec.layers], None, Layer::with_alibi)?;
        let still = net.detach();
        Ok(Self { spec: spec.clone(), params: p, net, still })
    }

    pub fn spec(&self) -> &AlibiGptSpec {
        &self.spec
    }
}

impl Model for AlibiGpt {
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
        self.still.logits(tokens, tap)
    }

    fn to_spec(&self) -> Spec {
        Spec::AlibiGpt(self.spec.clone())
    }

    fn attention_layers(&self) -> Vec<AttentionLayer> {
        AttentionLayer::stack("layers", self.spec.layers, None)
    }
}
