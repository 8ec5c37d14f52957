//! Sizes of the GPT family: with learned positions, and with ALiBi.

use serde::{Deserialize, Serialize};

/// The step of widths.
const STEP: usize = 8;
/// Width over layers of usual models, and how far from it a search goes.
const SLIM: usize = 6;
const WIDE: usize = 64;
const USUAL: f64 = 20.0;
/// The approximate width of a head.
const HEAD: usize = 32;

/// Sizes with learned positions. At width 256, 50,257 tokens and 128 positions: 30,503,424 parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlainGptSpec {
    /// The width of the residual stream.
    pub d_model: usize,
    /// The number of heads.
    pub heads: usize,
    /// The number of layers.
    pub layers: usize,
    /// The number of learned positions, the longest text in tokens.
    pub positions: usize,
}

impl Default for PlainGptSpec {
    fn default() -> Self {
        Self { d_model: 128, heads: 4, layers: 6, positions: 128 }
    }
}

/// Sizes with ALiBi, and so without positions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AlibiGptSpec {
    /// The width of the residual stream.
    pub d_model: usize,
    /// The number of heads.
    pub heads: usize,
    /// The number of layers.
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
    pub fn with_parameters_near(parameters: usize, vocab: usize) -> Self {
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
