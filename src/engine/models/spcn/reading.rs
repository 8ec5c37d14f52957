//! Reading sentences word by word in one direction, with a network or without, and the features of their words.

use super::hierarchy::{Hierarchy, Level, State};
use crate::{
    models::capabilities::{FrozenEncoder, LevelFeatures, SettledLevel},
    nn::kernels::threads,
};

pub(super) enum DirectionReader {
    Network(Box<Hierarchy>),
    /// The words themselves, one-hot, and their traces with these coefficients.
    Words {
        vocab: usize,
        traces: [f32; 2],
    },
}

impl DirectionReader {
    /// Reads a sentence and learns from every word, or not. Returns the sum over words of the squared error of what level 0
    /// was predicted to be; without a network nothing is predicted, and the error of a word is 1.
    pub fn read_through(&mut self, sentence: &[u32], from_right: bool, learns: bool) -> f64 {
        let Self::Network(hierarchy) = self else { return sentence.len() as f64 };
        let mut state = hierarchy.start();
        let mut error = 0.0;
        for at in order(sentence.len(), from_right) {
            hierarchy.read(&mut state, sentence[at] as usize, &mut |_| {});
            error += hierarchy.error(&state);
            if learns {
                hierarchy.learn(&state, sentence[at] as usize);
            }
            hierarchy.remember(&mut state);
        }
        if learns && hierarchy.learns_from_negatives() {
            let mut state = hierarchy.start();
            for at in order(sentence.len(), !from_right) {
                hierarchy.read(&mut state, sentence[at] as usize, &mut |_| {});
                hierarchy.learn_negative(&state, sentence[at] as usize);
                hierarchy.remember(&mut state);
            }
        }
        error
    }

    /// Calls `word` with the position of every word of a sentence and the state after it is settled.
    fn visit(&self, sentence: &[u32], from_right: bool, mut word: impl FnMut(usize, &State)) {
        let mut state = self.start();
        for at in order(sentence.len(), from_right) {
            let id = sentence[at] as usize;
            match self {
                Self::Network(hierarchy) => hierarchy.read(&mut state, id, &mut |_| {}),
                Self::Words { traces, .. } => state.take_word(id, *traces),
            }
            word(at, &state);
            if let Self::Network(hierarchy) = self {
                hierarchy.remember(&mut state);
            }
        }
    }

    fn start(&self) -> State {
        match self {
            Self::Network(hierarchy) => hierarchy.start(),
            Self::Words { vocab, .. } => State::from_vocab(*vocab),
        }
    }

    fn units(&self) -> Vec<usize> {
        self.start().levels.iter().map(|l| l.dense.len()).collect()
    }
}

/// The positions of a sentence in the order of reading.
pub(super) fn order(len: usize, from_right: bool) -> impl Iterator<Item = usize> {
    (0..len).map(move |i| if from_right { len - 1 - i } else { i })
}

pub(super) fn settle(hierarchy: &mut Hierarchy, sentence: &[u32], from_right: bool) -> Vec<SettledLevel> {
    let (words, sweeps) = (sentence.len(), hierarchy.spec.sweeps);
    let start = |level: &Level| SettledLevel {
        units: level.units,
        states: vec![0.0; words * sweeps * level.units],
        errors: vec![0.0; words * level.units],
        traces: [vec![0.0; words * level.units], vec![0.0; words * level.units]],
        precision: level.precision.clone(),
        feedback: level.feedback.clone(),
    };
    let mut settled: Vec<SettledLevel> = hierarchy.levels().iter().map(start).collect();
    let mut state = hierarchy.start();
    for at in order(words, from_right) {
        let mut sweep = 0;
        hierarchy.read(&mut state, sentence[at] as usize, &mut |state| {
            for (settled, held) in settled.iter_mut().zip(&state.levels) {
                settled.states[(at * sweeps + sweep) * settled.units..][..settled.units].copy_from_slice(&held.dense);
            }
            sweep += 1;
        });
        for (settled, held) in settled.iter_mut().zip(&state.levels) {
            let place = at * settled.units..(at + 1) * settled.units;
            for ((error, x), xhat) in settled.errors[place.clone()].iter_mut().zip(&held.dense).zip(&held.predicted) {
                *error = x - xhat;
            }
            for (trace, held) in settled.traces.iter_mut().zip(&held.traces) {
                trace[place.clone()].copy_from_slice(held);
            }
        }
        hierarchy.remember(&mut state);
    }
    settled
}

/// All directions, frozen. A row of a level's features: activations by direction, then by direction the fast trace and
/// the slow one.
pub(super) struct Encoder {
    pub readers: Vec<DirectionReader>,
    /// The number of traces that are features: 1 is the fast one alone.
    pub traces: usize,
}

impl FrozenEncoder for Encoder {
    fn levels(&self) -> Vec<LevelFeatures> {
        let directions = self.readers.len();
        let level = |units: usize| {
            let (activation, width) = (directions * units, directions * units * (1 + self.traces));
            LevelFeatures { width, activation: 0..activation, traces: activation..width }
        };
        self.readers.first().map_or_else(Vec::new, |r| r.units().into_iter().map(level).collect())
    }

    fn encode(&self, sentences: &[&[u32]]) -> Vec<Vec<f32>> {
        let levels = self.levels();
        let mut encoded: Vec<Vec<Vec<f32>>> = vec![vec![]; sentences.len()];
        threads::run_chunks(&mut encoded, 1, |i, slot| slot[0] = self.sentence(sentences[i], &levels));
        (0..levels.len()).map(|l| encoded.iter().flat_map(|levels| levels[l].iter().copied()).collect()).collect()
    }
}

impl Encoder {
    fn sentence(&self, sentence: &[u32], levels: &[LevelFeatures]) -> Vec<Vec<f32>> {
        let mut rows: Vec<Vec<f32>> = levels.iter().map(|l| vec![0.0; l.width * sentence.len()]).collect();
        for (direction, reader) in self.readers.iter().enumerate() {
            reader.visit(sentence, direction == 1, |at, state| {
                for ((rows, level), held) in rows.iter_mut().zip(levels).zip(&state.levels) {
                    let d = held.dense.len();
                    let row = &mut rows[at * level.width..][..level.width];
                    row[direction * d..][..d].copy_from_slice(&held.dense);
                    for (i, trace) in held.traces.iter().take(self.traces).enumerate() {
                        row[level.traces.start + (direction * self.traces + i) * d..][..d].copy_from_slice(trace);
                    }
                }
            });
        }
        rows
    }
}
