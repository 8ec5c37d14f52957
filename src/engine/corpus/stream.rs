//! The interface of every kind of source: windows of ids, each a pure function of its position.

use std::collections::BTreeSet;

use super::{
    chunks::{TextChunk, TextSpan},
    omission::Omission,
    prelude::*,
    text_file::{CharCursor, CharPosition, Encoding},
    tokenizer::Tokenizer,
};

/// A target that asks nothing.
pub(super) const IGNORE: u32 = u32::MAX;

/// The subset of a corpus that a generated window belongs to: training, held out, or what a tokeniser learns from.
#[derive(Clone, Copy)]
pub(super) enum Subset {
    Train = 1,
    HeldOut = 2,
    Sample = 3,
}

/// The random numbers of a generated window, by the seed of its corpus, that of the batches, the number of its subset or
/// stage, and its index there.
pub(super) fn window_rng(corpus_seed: u64, seed: u64, subset: u64, index: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(scramble(scramble(corpus_seed ^ scramble(seed)) ^ scramble(index) ^ subset))
}

/// The set that sentences whose words have roles belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentenceSet {
    /// Sentences for training, about animals where they are of the grammar. Probes are fitted to them too.
    Train = 1,
    /// Other sentences of the same vocabulary.
    TestWithin = 2,
    /// Sentences about vehicles, which a treebank lacks.
    TestTransfer = 3,
}

/// A sentence whose words have roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaggedSentence {
    /// The ids of the words.
    pub words: Vec<u32>,
    /// The index of each word's role.
    pub roles: Vec<u8>,
}

/// The shape of a batch of windows.
#[derive(Clone, Copy)]
pub(super) struct BatchShape {
    /// Number of windows.
    pub rows: usize,
    /// Ids of a window.
    pub len: usize,
}

/// An opened source. Windows are `rows` of `len` ids with as many targets.
pub(super) trait Stream: Send + Sync {
    /// The part of the description after the corpus's name: its size, or the questions of the task.
    fn describe(&self) -> String;

    /// Text that a tokeniser learns its symbols from.
    fn sample(&self) -> Result<String, CorpusError>;

    /// The first character of the source that is wanted, in the order of the text.
    fn find_char(&self, wanted: &mut dyn FnMut(char) -> bool) -> Result<Option<CharPosition>, CorpusError> {
        Ok(CharCursor::default().find(&self.sample()?, wanted))
    }

    /// Leaves the characters that are not known out of a running text; `None` where windows are generated on demand, whose
    /// questions would become others.
    fn leave_out(&mut self, _is_known: &dyn Fn(char) -> bool) -> Result<Option<Omission>, CorpusError> {
        Ok(None)
    }

    /// Every character of the source once, by code point.
    fn alphabet(&self) -> Result<String, CorpusError> {
        let mut distinct = BTreeSet::new();
        self.find_char(&mut |c| {
            distinct.insert(c);
            false
        })?;
        Ok(distinct.into_iter().collect())
    }

    fn encoding(&self) -> Encoding {
        Encoding::Utf8
    }

    /// Prepares the stream; called once, after the tokeniser is known and before the first window is requested.
    fn measure(&mut self, _tokenizer: &Tokenizer) -> Result<(), CorpusError> {
        Ok(())
    }

    /// The accuracy of guessing the answers; `None` if this source has no questions.
    fn chance_accuracy(&self) -> Option<f64> {
        None
    }

    fn batch(&self, tokenizer: &Tokenizer, at: &Position, rows: usize, len: usize) -> Result<Windows, CorpusError>;

    /// Same as [`Stream::batch`], but each row continues its window of the previous batch, for `every` batches in a row;
    /// `None` where no window follows another.
    fn batch_along(
        &self,
        _tokenizer: &Tokenizer,
        _at: &Position,
        _shape: BatchShape,
        _every: u64,
    ) -> Result<Option<Windows>, CorpusError> {
        Ok(None)
    }

    /// The first `count` held-out windows, or all of them if there are fewer.
    fn held_out(&self, tokenizer: &Tokenizer, count: usize, len: usize) -> Result<Windows, CorpusError>;

    /// About `len` held-out ids that begin at a sentence; `index` selects which.
    fn passage(&self, tokenizer: &Tokenizer, index: u64, len: usize) -> Vec<u32>;

    /// The number of sentences of a set; 0 where words have no roles.
    fn count(&self, _set: SentenceSet) -> usize {
        0
    }

    /// The sentence with this index in a set; `None` after its last, or if the corpus has no roles.
    fn sentence(&self, _set: SentenceSet, _index: usize) -> Option<TaggedSentence> {
        None
    }

    /// Bytes of a span of the text; 0 where there is no running text.
    fn span_bytes(&self, _span: TextSpan) -> usize {
        0
    }

    /// The ids from a byte of a span on; `None` at its end, and where there is no running text.
    fn chunk(&self, _tokenizer: &Tokenizer, _span: TextSpan, _from: usize) -> Result<Option<TextChunk>, CorpusError> {
        Ok(None)
    }
}
