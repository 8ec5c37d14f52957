//! Models that describe every word of a sentence: by vectors, which a probe reads, or by tags that they were trained
//! for.

use std::ops::Range;

use candle_core::Result;

/// A model that represents every word of a sentence by vectors, level by level, trained without labels of the words.
pub trait SentenceEncoder {
    /// The encoder with the present weights, which reads any number of sentences and learns nothing.
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
    /// Columns of the present activation, of all directions.
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
    /// Settles on a sentence (ids) that is read from the left or from the right, with the present weights, learning
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
