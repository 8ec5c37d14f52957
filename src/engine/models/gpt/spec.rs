//! Sizes of the GPT family: with learned positions, and with ALiBi.

use crate::{config::defaults, models::Carry, nn::residual_mixing::ResidualMixing};

/// The smallest width and the step of widths, and the step of small models that miss their count by more than [`COUNT_TOLERANCE`].
const STEP: usize = 8;
const FINE_STEP: usize = 4;
/// The share of the count within which the first step of widths is good enough.
const COUNT_TOLERANCE: f64 = 0.02;
/// The largest share by which two models of equal size may differ.
const TOLERANCE: f64 = 0.05;
/// The range of width over layers that a search covers, and the ratio of typical models.
const MIN_RATIO: usize = 6;
const MAX_RATIO: usize = 64;
const TYPICAL_RATIO: f64 = 20.0;
/// A head is at least this wide, if the model is; the most heads that divide the width are taken.
const HEAD_WIDTH: usize = 32;

defaults! {
    /// Sizes with learned positions. At width 256, 50,257 tokens and 128 positions: 30,503,424 parameters.
    pub struct PlainGptSpec {
        /// The width of the residual stream.
        pub d_model: usize = 128,
        /// The number of heads.
        pub heads: usize = 4,
        /// The number of layers.
        pub layers: usize = 6,
        /// The number of learned positions, the longest text in tokens.
        pub positions: usize = 128,
    }
}

defaults! {
    /// The sizes of a GPT with ALiBi, which needs no positional embedding.
    pub struct AlibiGptSpec {
        /// The width of the residual stream.
        pub d_model: usize = 128,
        /// The number of heads.
        pub heads: usize = 4,
        /// The number of layers.
        pub layers: usize = 6,
        /// The state that a layer reads of what those before it gave.
        pub residual: ResidualMixing = ResidualMixing::Fixed,
        /// Tokens that a token sees, itself among them; `None`: the whole text.
        pub window: Option<usize> = None,
        /// Keys and values that go on from batch to batch, those of the `window` last tokens first in, first out; `None`
        /// begins every batch without. The Transformer of the BDH paper has such a cache (arXiv 2509.26507, appendix B.2)
        /// in the manner of Transformer-XL: it is renewed once a batch, whose later tokens therefore see more. Here it goes
        /// token by token, so that a token sees as much wherever the text is cut into batches.
        pub carry: Option<Carry> = None,
        /// Share of the embedding, and of what attention and the MLP add to the stream, that an update drops. Weights of
        /// attention are never dropped, unlike in nanoGPT.
        pub dropout: f64 = 0.0,
    }
}

impl AlibiGptSpec {
    /// L (12 D^2 + 13 D) + 2 D + 2 V D, and the weights of a mixed residual.
    pub fn parameters(&self, vocab: usize) -> usize {
        let d = self.d_model;
        self.layers * (12 * d * d + 13 * d) + 2 * d + 2 * vocab * d + self.residual_weights()
    }

    /// Weights that mix what the layers read, those of the last norm's input among them.
    pub fn residual_weights(&self) -> usize {
        (1..=self.layers + 1).map(|sources| self.residual.parameters(sources, self.d_model)).sum()
    }

    /// The sizes that come closest to this many parameters; of two as close, the less unusual one.
    pub fn with_parameters_near(parameters: usize, vocab: usize) -> Self {
        let coarse = Self::nearest(parameters, vocab, STEP);
        if coarse.count_error(parameters, vocab) <= COUNT_TOLERANCE {
            return coarse;
        }
        let fine = Self::nearest(parameters, vocab, FINE_STEP);
        if fine.count_error(parameters, vocab) < coarse.count_error(parameters, vocab) { fine } else { coarse }
    }

    /// The sizes of a model that is as large as one of this many parameters; `None` where none comes within a
    /// twentieth.
    pub fn with_equal_parameters(parameters: usize, vocab: usize) -> Option<Self> {
        let near = Self::with_parameters_near(parameters, vocab);
        (near.count_error(parameters, vocab) <= TOLERANCE).then_some(near)
    }

    /// Floating-point operations of a training step for each token of a text of `tokens`: three times those of the
    /// forward pass. Attention reads half of the text on average, and less of it through a window; batches that carry keys
    /// and values are one text until these are reset.
    pub fn training_flops(&self, vocab: usize, tokens: usize) -> f64 {
        let (d, layers) = (self.d_model as f64, self.layers as f64);
        let tokens = tokens as f64 * self.carry.map_or(1.0, |carry| carry.every.max(1) as f64);
        let seen = self.window.map_or(tokens, |w| tokens.min(w as f64));
        let twice_read = seen * (2.0 - seen / tokens);
        6.0 * (layers * (12.0 * d * d + d * twice_read) + vocab as f64 * d)
    }

    /// The share of the wanted count by which it is missed.
    fn count_error(&self, parameters: usize, vocab: usize) -> f64 {
        self.parameters(vocab).abs_diff(parameters) as f64 / parameters.max(1) as f64
    }

    /// The best among widths that are multiples of `step`.
    fn nearest(parameters: usize, vocab: usize, step: usize) -> Self {
        let at = |d_model: usize, layers: usize| {
            let heads = (d_model / HEAD_WIDTH).max(1);
            // heads divide the width
            let heads = (1..=heads).rev().find(|h| d_model.is_multiple_of(*h)).unwrap_or(1);
            Self { d_model, heads, layers, ..Self::default() }
        };
        let widths = (STEP..=8192).step_by(step).take_while(|d| at(*d, 1).parameters(vocab) <= 2 * parameters.max(1));
        let shapes = widths.flat_map(|d| ((d / MAX_RATIO).max(1)..=(d / MIN_RATIO).max(1)).map(move |l| at(d, l)));
        // all sizes within a hundredth count as equal; among them the most typical shape wins
        let rank = |s: &Self| {
            let unusual = (s.d_model as f64 / s.layers as f64 / TYPICAL_RATIO).ln().abs();
            (s.count_error(parameters, vocab).max(0.01), unusual)
        };
        shapes.min_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal)).unwrap_or(at(STEP, 1))
    }
}
