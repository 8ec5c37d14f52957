//! A reader that runs a model of synapses over texts: as one stream, in windows, or in parallel rows.

use candle_core::{Result, Tensor};

use super::{State, SynapseModel, SynapseShape, stretch};
use crate::nn::Tap;

/// The form in which a text is read that may be longer than the window of training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadingForm {
    /// The text is one stream: every token depends on all tokens before it. A short text is read by the parallel form,
    /// a longer one by the exact recurrence.
    Streamed,
    /// Windows of this many tokens by the parallel form, each from an empty state. A window predicts the token after
    /// each of its own, the first of the next window included, so that every token but the text's first is scored once.
    Windows(usize),
}

impl std::fmt::Display for ReadingForm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Streamed => f.write_str("as one stream, every token after all before it"),
            Self::Windows(n) => write!(
                f,
                "in windows of {n} tokens by the parallel form, each from an empty state and without the others' past"
            ),
        }
    }
}

/// Activations of one kind, neurons times tokens, that the parallel form may hold at once.
const ACTIVATIONS: usize = 1 << 25;
/// The number of tokens from which the recurrent form is at least as fast as the parallel one.
const MAX_PARALLEL_TOKENS: usize = 2048;

/// The length in tokens of the longest text that the parallel form reads at once: up to there it is the faster form,
/// with the same result.
pub fn max_parallel_tokens(shape: &SynapseShape) -> usize {
    (ACTIVATIONS / shape.neurons.max(1)).min(MAX_PARALLEL_TOKENS)
}

/// The tokens of one call, with their activations.
pub struct ReadTokens<'t> {
    /// Position of the first of them in the text.
    pub from: usize,
    /// The ids, row by row.
    pub ids: &'t [u32],
    /// The logits after each token, `(rows, T, V)`.
    pub logits: Tensor,
    /// The activations that were asked for.
    pub tap: Tap,
}

/// Reads texts with a model. Every method passes on the tokens that were read in one call, in their order.
pub struct TextReader<'a> {
    model: &'a dyn SynapseModel,
    paths: Vec<String>,
}

impl<'a> TextReader<'a> {
    /// Creates a reader that reads with the whole model and changes nothing.
    pub fn new(model: &'a dyn SynapseModel) -> Self {
        Self { model, paths: vec![] }
    }

    /// Also keeps the activations whose paths have these prefixes.
    pub fn tapping<P: Into<String>>(self, paths: impl IntoIterator<Item = P>) -> Self {
        Self { paths: paths.into_iter().map(Into::into).collect(), ..self }
    }

    /// Rows of equal length side by side, each from an empty state, by the parallel form.
    pub fn rows<'t>(&self, ids: &'t [u32], rows: usize) -> Result<ReadTokens<'t>> {
        self.pass(0, ids, rows, None)
    }

    /// Reads the text as one stream by the recurrent form, this many tokens at once.
    pub fn stream<'t>(
        &self,
        ids: &'t [u32],
        chunk: usize,
        mut each: impl FnMut(ReadTokens<'t>) -> Result<()>,
    ) -> Result<()> {
        let mut state = State::empty(self.model.shape(), 1, self.model.params().device())?;
        let mut from = 0;
        for part in ids.chunks(chunk.max(1)) {
            each(self.pass(from, part, 1, Some(&mut state))?)?;
            from += part.len();
        }
        Ok(())
    }

    /// Reads the text in windows that follow one another, each from an empty state, as many side by side as a stretch
    /// of a stream has tokens; the last is as long as the text has tokens left.
    pub fn windows<'t>(
        &self,
        ids: &'t [u32],
        window: usize,
        mut each: impl FnMut(ReadTokens<'t>) -> Result<()>,
    ) -> Result<()> {
        let window = window.max(1);
        let most = (stretch(self.model.shape()) / window).max(1);
        let mut from = 0;
        while from < ids.len() {
            let (rows, tokens) = match (ids.len() - from) / window {
                0 => (1, ids.len() - from),
                whole => (most.min(whole), window),
            };
            each(self.pass(from, &ids[from..from + rows * tokens], rows, None)?)?;
            from += rows * tokens;
        }
        Ok(())
    }

    /// Reads the text in this form.
    pub fn read<'t>(
        &self,
        ids: &'t [u32],
        form: ReadingForm,
        mut each: impl FnMut(ReadTokens<'t>) -> Result<()>,
    ) -> Result<()> {
        match form {
            ReadingForm::Streamed if !ids.is_empty() && ids.len() <= max_parallel_tokens(self.model.shape()) => {
                each(self.rows(ids, 1)?)
            }
            ReadingForm::Streamed => self.stream(ids, stretch(self.model.shape()), each),
            ReadingForm::Windows(window) => self.windows(ids, window, each),
        }
    }

    fn pass<'t>(&self, from: usize, ids: &'t [u32], rows: usize, state: Option<&mut State>) -> Result<ReadTokens<'t>> {
        let paths: Vec<&str> = self.paths.iter().map(String::as_str).collect();
        let mut tap = if paths.is_empty() { Tap::off() } else { Tap::on(&paths) };
        let tokens = Tensor::from_slice(ids, (rows, ids.len() / rows.max(1)), self.model.params().device())?;
        let logits = match state {
            Some(state) => self.model.read(&tokens, state, &mut tap)?,
            None => self.model.logits(&tokens, &mut tap)?,
        };
        Ok(ReadTokens { from, ids, logits, tap })
    }
}
