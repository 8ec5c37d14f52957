//! Capabilities of models that read texts, other than predicting the next token: vectors or tags of every word of a
//! sentence, the class of a whole text, the tokens that were read some steps ago, and the logits of a text that is read
//! part by part.

use std::ops::Range;

use candle_core::{Result, Tensor};

/// A model that represents every word of a sentence by vectors, level by level, trained without labels of the words.
pub trait SentenceEncoder {
    /// The encoder with the current weights, which reads any number of sentences and learns nothing.
    fn freeze(&self) -> Result<Box<dyn FrozenEncoder>>;

    /// The maps from each level's input to its units, over all directions; empty for an encoder without such maps.
    fn feedforward_weights(&self) -> Result<Vec<FeedforwardWeights>> {
        Ok(vec![])
    }
}

/// A map from a level's input to its units.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedforwardWeights {
    /// The level, from 0.
    pub level: usize,
    /// The number of units.
    pub units: usize,
    /// `(inputs, units)`, row by row.
    pub values: Vec<f32>,
}

/// An encoder whose weights are frozen.
pub trait FrozenEncoder: Send + Sync {
    /// The features of each level, lowest first.
    fn levels(&self) -> Vec<LevelFeatures>;

    /// The features of all words of all sentences (ids), in order: for each level `(words, width)`, row by row.
    fn encode(&self, sentences: &[&[u32]]) -> Vec<Vec<f32>>;
}

/// The layout of the features of a level in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelFeatures {
    /// The number of features of the level.
    pub width: usize,
    /// Columns of the current activation, of all directions.
    pub activation: Range<usize>,
    /// Columns of the traces, of all directions.
    pub traces: Range<usize>,
}

/// A supervised model that tags every word of a sentence.
pub trait SequenceTagger {
    /// The tag of every word of every sentence (ids), in order.
    fn tags(&self, sentences: &[&[u32]]) -> Result<Vec<u8>>;
}

/// A model whose levels settle on every word of a sentence before the next is read.
pub trait SettlingModel {
    /// Settles on a sentence (ids) that is read from the left or from the right, with the current weights, learning
    /// nothing. Fails if it does not read in this direction.
    fn settle(&self, sentence: &[u32], from_right: bool) -> Result<Vec<SettledLevel>>;
}

/// The values of one level while a sentence was read; words in the order of the sentence, in whichever direction it was
/// read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SettledLevel {
    /// The number of units of the level.
    pub units: usize,
    /// x after every sweep, `(words, sweeps, units)`.
    pub states: Vec<f32>,
    /// x - W_fb x(l+1) once settled, `(words, units)`.
    pub errors: Vec<f32>,
    /// The fast trace and the slow one, `(words, units)` each.
    pub traces: [Vec<f32>; 2],
    /// pi, `(units)`.
    pub precision: Vec<f32>,
    /// W_fb, `(units above, units)`; empty at the top.
    pub feedback: Vec<f32>,
}

/// A model with a classification head in place of next tokens.
pub trait TextClassifier {
    /// The number of classes, K.
    fn classes(&self) -> usize;

    /// Tokens u32 `(B, T)` -> logits of the classes after each token `(B, T, K)`, without gradients. Those after a text's
    /// last token are what the text is classified by.
    fn class_logits(&self, tokens: &Tensor) -> Result<Tensor>;
}

/// A model that answers which token was read k steps ago, for all its distances at once.
pub trait RecoveryModel {
    /// Distances k that are asked, in tokens, ascending; K of them.
    fn distances(&self) -> &[usize];

    /// Positions of a window of `len` tokens that have a token at every distance, every `stride`th of
    /// them; P of them. An error where the window is too short.
    fn positions(&self, len: usize, stride: usize) -> Result<Vec<usize>>;

    /// Tokens u32 `(B, T)` -> logits `(P, B, K, V)` at these positions.
    fn answers(&self, tokens: &Tensor, positions: &[usize]) -> Result<Tensor>;

    /// The tokens that should be named: u32 `(P, B, K)`.
    fn target_ids(&self, tokens: &Tensor, positions: &[usize]) -> Result<Tensor>;
}

/// A model that reads texts part by part.
pub trait StreamingModel {
    /// A stream of texts that are read from their beginnings.
    fn stream(&self) -> Box<dyn TextStream + '_>;

    /// True if it keeps every token that was read, so that later tokens cost more.
    fn keeps_all_tokens(&self) -> bool;

    /// The coefficient of the slowest moving average, if it is the same for every channel and token and never trained.
    fn slowest_rate(&self) -> Option<f64>;
}

/// A model whose predictors can continue learning while it reads.
pub trait FastWeightModel {
    /// A stream of texts that are read from their beginnings, each with fast weights of its own.
    fn stream_with_fast_weights(&self, rule: &FastWeightRule) -> Box<dyn TextStream + '_>;
}

/// Texts that are being read, side by side.
pub trait TextStream {
    /// The next tokens of each text, u32 `(B, T)` -> logits `(B, T, V)`.
    fn read(&mut self, tokens: &Tensor) -> Result<Tensor>;

    /// Mean over channels and blocks of 1 / pi at every token that was read last, `(B, T)`; empty without fast weights.
    fn uncertainty(&self) -> Vec<f32> {
        vec![]
    }
}

/// The learning rule of fast weights on the tokens of a text: W <- W + eta pi e h^T.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FastWeightRule {
    /// eta.
    pub rate: f64,
    /// pi_max, the largest precision 1 / v of the error.
    pub max_precision: f64,
    /// True if they add to the trained weights; else they replace them.
    pub has_base: bool,
}
