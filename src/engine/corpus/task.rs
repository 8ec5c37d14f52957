//! Windows of a task, generated on demand: any number of them, each a pure function of seeds and index.

use super::{
    CorpusError, Position, Windows,
    generated::story::{self, FactStyle, Role},
    stream::{IGNORE, Stream, Subset, window_rng},
    tokenizer::Tokenizer,
};
use rand_chacha::ChaCha8Rng;

/// A task: a fact stated at the start of each window and asked for far later. Best read by
/// [`TokenizerSpec::Word`](crate::corpus::TokenizerSpec::Word), one id per word or symbol; distances are counted in ids.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The id of a generated corpus that is a task. Only `facts` and `facts_symbols` use the settings below.
    pub id: String,
    /// The fewest ids between a statement of the fact and the next question; 0 for the task's own (36 in
    /// the story, 32 in symbols: both beyond three passes of attention over 8 ids, which reach 21).
    pub spacing: usize,
    /// Only answers are targets; everything else is `u32::MAX`.
    pub answers_only: bool,
}

/// Windows and words a word tokeniser learns from; enough to have met every word.
const SAMPLED: u64 = 600;
const SAMPLED_WORDS: usize = 160;

/// An endless stream of windows.
pub(super) struct TaskStream {
    style: FactStyle,
    spacing: usize,
    answers_only: bool,
    seed: u64,
}

/// A row: `len + 1` ids, with a mask of those that answer.
struct TaskRow {
    ids: Vec<u32>,
    answers: Vec<bool>,
}

impl TaskStream {
    pub(super) fn new(style: FactStyle, task: &Task, seed: u64) -> Self {
        let spacing = if task.spacing == 0 { style.spacing() } else { task.spacing };
        Self { style, spacing, answers_only: task.answers_only, seed }
    }

    fn row(&self, tokenizer: &Tokenizer, rng: &mut ChaCha8Rng, len: usize) -> Result<TaskRow, CorpusError> {
        let measure = |text: &str| tokenizer.encode(text).map_or(text.len(), |ids| ids.len());
        let min_len = story::min_len(self.style, self.spacing, &measure);
        if len + 1 < min_len {
            return Err(CorpusError::new(format!(
                "A window of {len} tokens has no room for a question {} tokens after its fact: make the window at least {} long, or the spacing smaller.",
                self.spacing,
                min_len - 1
            )));
        }
        let mut row = TaskRow { ids: Vec::with_capacity(len + 1), answers: Vec::with_capacity(len + 1) };
        for piece in story::window(self.style, rng, (len + 1, self.spacing), &measure) {
            let answer = piece.role == Role::Answer;
            // If a space is an id of its own, it is not part of the answer.
            let own_space = matches!(tokenizer, Tokenizer::Byte { .. } | Tokenizer::Char(_));
            let spaces = usize::from(own_space && piece.text.starts_with(' '));
            let ids = tokenizer.encode(&piece.text)?;
            row.answers.extend((0..ids.len()).map(|i| answer && i >= spaces));
            row.ids.extend(ids);
        }
        row.ids.truncate(len + 1);
        row.answers.truncate(len + 1);
        Ok(row)
    }

    /// The windows of these subsets, seeds of batches, and indices.
    fn windows(
        &self,
        tokenizer: &Tokenizer,
        rows: impl Iterator<Item = (Subset, u64, u64)>,
        len: usize,
    ) -> Result<Windows, CorpusError> {
        let row = |(subset, seed, index): (Subset, u64, u64)| {
            self.row(tokenizer, &mut window_rng(self.seed, seed, subset as u64, index), len)
        };
        let rows = rows.map(row).collect::<Result<Vec<TaskRow>, _>>()?;
        let answers: Vec<bool> = rows.iter().flat_map(|r| &r.answers[1..=len]).copied().collect();
        let targets = rows.iter().flat_map(|r| &r.ids[1..=len]).zip(&answers);
        let targets = targets.map(|(&id, &answer)| if answer || !self.answers_only { id } else { IGNORE }).collect();
        let inputs = rows.iter().flat_map(|r| &r.ids[..len]).copied().collect();
        Ok(Windows { rows: rows.len(), len, inputs, targets, answers: Some(answers) })
    }
}

impl Stream for TaskStream {
    fn describe(&self) -> String {
        let targets = if self.answers_only { "answers only" } else { "every token" };
        format!("endless, asks at least {} tokens after the fact, learns from {targets}", self.spacing)
    }

    /// Text in which every word of the task occurs.
    fn sample(&self) -> Result<String, CorpusError> {
        let words = |text: &str| super::tokenizer::words(text).count();
        let mut out = String::new();
        for i in 0..SAMPLED {
            let mut rng = window_rng(self.seed, 0, Subset::Sample as u64, i);
            for piece in story::window(self.style, &mut rng, (SAMPLED_WORDS, 8), &words) {
                out.push_str(&piece.text);
                if self.style == FactStyle::Symbols {
                    out.push(' ');
                }
            }
            out.push(' ');
        }
        Ok(out)
    }

    fn chance_accuracy(&self) -> Option<f64> {
        Some(1.0 / self.style.facts() as f64)
    }

    fn batch(&self, tokenizer: &Tokenizer, at: &Position, rows: usize, len: usize) -> Result<Windows, CorpusError> {
        let first = at.drawn.wrapping_mul(rows as u64);
        self.windows(tokenizer, (0..rows as u64).map(|row| (Subset::Train, at.seed, first.wrapping_add(row))), len)
    }

    fn held_out(&self, tokenizer: &Tokenizer, count: usize, len: usize) -> Result<Windows, CorpusError> {
        self.windows(tokenizer, (0..count as u64).map(|i| (Subset::HeldOut, 0, i)), len)
    }

    /// A held-out window of at least the length that the task needs.
    fn passage(&self, tokenizer: &Tokenizer, index: u64, len: usize) -> Vec<u32> {
        let measure = |text: &str| tokenizer.encode(text).map_or(text.len(), |ids| ids.len());
        let len = len.max(story::min_len(self.style, self.spacing, &measure));
        let row = self.row(tokenizer, &mut window_rng(self.seed, 0, Subset::HeldOut as u64, index), len - 1);
        row.map_or_else(|_| vec![], |row| row.ids)
    }
}
