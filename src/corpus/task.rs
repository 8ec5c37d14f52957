//! Windows of a task, made to order: any number of them, each a pure function of seeds and index.

use super::{
    CorpusError, Position, Task, Windows,
    generated::story::{self, Kind, Role},
    permutation::scramble,
    tokenizer::Tokenizer,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// A target that asks nothing.
const IGNORE: u32 = u32::MAX;
/// Windows and words a word tokeniser learns from; enough to have met every word.
const SAMPLED: u64 = 600;
const SAMPLED_WORDS: usize = 160;

/// An endless stream of windows.
pub(super) struct Stream {
    kind: Kind,
    spacing: usize,
    answers_only: bool,
    seed: u64,
}

/// Which windows: those of training, those held out, those a tokeniser learns from.
#[derive(Clone, Copy)]
enum Part {
    Train = 1,
    HeldOut = 2,
    Sample = 3,
}

/// One row: `len + 1` ids and which of them answer.
struct Row {
    ids: Vec<u32>,
    answers: Vec<bool>,
}

impl Stream {
    pub(super) fn new(kind: Kind, task: &Task, seed: u64) -> Self {
        let spacing = if task.spacing == 0 { kind.spacing() } else { task.spacing };
        Self { kind, spacing, answers_only: task.answers_only, seed }
    }

    pub(super) fn describe(&self) -> String {
        let targets = if self.answers_only { "answers only" } else { "every token" };
        format!("endless, asks at least {} tokens after the fact, learns from {targets}", self.spacing)
    }

    /// The share of answers that guessing gets right.
    pub(super) fn guess(&self) -> f64 {
        1.0 / self.kind.facts() as f64
    }

    fn rng(&self, part: Part, seed: u64, index: u64) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(scramble(scramble(self.seed ^ scramble(seed)) ^ scramble(index) ^ part as u64))
    }

    /// Text in which every word of the task occurs.
    pub(super) fn sample(&self) -> String {
        let words = |text: &str| super::tokenizer::words(text).count();
        let mut out = String::new();
        for i in 0..SAMPLED {
            let mut rng = self.rng(Part::Sample, 0, i);
            for piece in story::window(self.kind, &mut rng, (SAMPLED_WORDS, 8), &words) {
                out.push_str(&piece.text);
                if self.kind == Kind::Symbols {
                    out.push(' ');
                }
            }
            out.push(' ');
        }
        out
    }

    fn row(&self, tokenizer: &Tokenizer, rng: &mut ChaCha8Rng, len: usize) -> Result<Row, CorpusError> {
        let measure = |text: &str| tokenizer.encode(text).map_or(text.len(), |ids| ids.len());
        let least = story::least(self.kind, self.spacing, &measure);
        if len + 1 < least {
            return Err(CorpusError(format!(
                "A window of {len} tokens has no room for a question {} tokens after its fact: make the window at least {} long, or the spacing smaller.",
                self.spacing,
                least - 1
            )));
        }
        let mut row = Row { ids: Vec::with_capacity(len + 1), answers: Vec::with_capacity(len + 1) };
        for piece in story::window(self.kind, rng, (len + 1, self.spacing), &measure) {
            let answer = piece.role == Role::Answer;
            // Where a space is an id of its own it is not part of the answer.
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

    fn windows(&self, rows: &[Row], len: usize) -> Windows {
        let answers: Vec<bool> = rows.iter().flat_map(|r| &r.answers[1..=len]).copied().collect();
        let targets = rows.iter().flat_map(|r| &r.ids[1..=len]).zip(&answers);
        let targets = targets.map(|(&id, &answer)| if answer || !self.answers_only { id } else { IGNORE }).collect();
        let inputs = rows.iter().flat_map(|r| &r.ids[..len]).copied().collect();
        Windows { rows: rows.len(), len, inputs, targets, answers: Some(answers) }
    }

    pub(super) fn batch(
        &self,
        tokenizer: &Tokenizer,
        at: &Position,
        rows: usize,
        len: usize,
    ) -> Result<Windows, CorpusError> {
        let first = at.drawn.wrapping_mul(rows as u64);
        let rows: Result<Vec<Row>, _> = (0..rows as u64)
            .map(|row| self.row(tokenizer, &mut self.rng(Part::Train, at.seed, first.wrapping_add(row)), len))
            .collect();
        Ok(self.windows(&rows?, len))
    }

    pub(super) fn held_out(&self, tokenizer: &Tokenizer, count: usize, len: usize) -> Result<Windows, CorpusError> {
        let rows: Result<Vec<Row>, _> =
            (0..count as u64).map(|i| self.row(tokenizer, &mut self.rng(Part::HeldOut, 0, i), len)).collect();
        Ok(self.windows(&rows?, len))
    }

    /// A held-out window, as long as the task needs at least.
    pub(super) fn passage(&self, tokenizer: &Tokenizer, index: u64, len: usize) -> Vec<u32> {
        let measure = |text: &str| tokenizer.encode(text).map_or(text.len(), |ids| ids.len());
        let len = len.max(story::least(self.kind, self.spacing, &measure));
        let row = self.row(tokenizer, &mut self.rng(Part::HeldOut, 0, index), len - 1);
        row.map_or_else(|_| vec![], |row| row.ids)
    }
}
