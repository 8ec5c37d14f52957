//! Batches of a steering run, generated on demand in two stages: first the language, then the positions at which the
//! steering is asked for. Which stage a batch belongs to is a pure function of its number.
//!
//! In the first stage every id is a target. In the second the sentences have no noun that is held
//! out, and the only targets are where the word after the verb (or after its adverb) is to come; a
//! model then has the positions to steer at, and decides itself what to steer to. With a single prompt
//! every row is that prompt, and its only target is where it ends.

use super::{
    CorpusError, Position, Windows,
    generated::steering::{self, Sentence},
    stream::{BatchShape, IGNORE, Stream, window_rng},
    tokenizer::Tokenizer,
};
use rand_chacha::ChaCha8Rng;

/// A steering run of two stages; see [`generated::steering`](super::generated::steering). A batch whose number
/// ([`Position::drawn`]) is below `language_batches` is the language with every id a target; all later
/// ones have targets only where the steering is asked for, and no held-out noun.
#[derive(Debug, Clone, PartialEq)]
pub struct Steering {
    /// The number of batches of the first stage.
    pub language_batches: u64,
    /// Steer at this one prompt (as the source's demonstration did) rather than at many.
    pub prompt: Option<String>,
}

/// An endless stream of windows.
pub(super) struct SteeringStream {
    pub spec: Steering,
    pub seed: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum SteeringStage {
    Language = 1,
    Steering = 2,
    HeldOut = 3,
}

impl SteeringStream {
    /// `len + 1` ids that begin with a sentence, and for each whether it is one that steering asks for.
    fn row(
        &self,
        tokenizer: &Tokenizer,
        rng: &mut ChaCha8Rng,
        len: usize,
        stage: SteeringStage,
    ) -> Result<(Vec<u32>, Vec<bool>), CorpusError> {
        let (mut ids, mut asked) = (vec![], vec![]);
        let one_prompt = self.spec.prompt.is_some();
        let mut single = self.spec.prompt.as_deref().filter(|_| stage == SteeringStage::Steering);
        let mut add = |text: &str, asks: bool| -> Result<usize, CorpusError> {
            let glue = if ids.is_empty() || text == "." { "" } else { " " };
            let more = tokenizer.encode(&format!("{glue}{text}"))?;
            // The token asked for is the word after the space, the last one; at a single prompt it is the first one.
            let at = if one_prompt { 0 } else { more.len().saturating_sub(1) };
            asked.extend((0..more.len()).map(|i| asks && i == at));
            ids.extend(more);
            Ok(ids.len())
        };
        loop {
            let sentence = Sentence::draw(rng, stage == SteeringStage::Steering);
            match single.take() {
                None => {
                    add(&sentence.before, false)?;
                    sentence.adverb.map_or(Ok(0), |adverb| add(adverb, true))?;
                    add(sentence.adjective, true)?;
                }
                // The one prompt, a word after it that marks its end, and then padding.
                Some(prompt) => {
                    let n = add(prompt, false)?;
                    if n == 0 || n > len {
                        return Err(CorpusError::new(format!(
                            "The steering prompt has {n} tokens and the window {len}: the prompt needs at least one and must fit."
                        )));
                    }
                    add(sentence.adjective, true)?;
                }
            }
            if add(".", false)? > len {
                break;
            }
        }
        ids.truncate(len + 1);
        asked.truncate(len + 1);
        if self.spec.prompt.is_some() && stage == SteeringStage::Steering {
            let first = asked.iter().position(|a| *a).map_or(asked.len(), |i| i + 1);
            asked[first..].fill(false);
        }
        Ok((ids, asked))
    }

    /// Windows of a stage; `at` counts windows, not batches.
    fn windows(
        &self,
        tokenizer: &Tokenizer,
        stage: SteeringStage,
        at: Position,
        BatchShape { rows, len }: BatchShape,
    ) -> Result<Windows, CorpusError> {
        let mut made = Windows { rows, len, inputs: vec![], targets: vec![], answers: None };
        for row in 0..rows as u64 {
            let mut rng = window_rng(self.seed, at.seed, stage as u64, at.drawn.wrapping_add(row));
            let (ids, asked) = self.row(tokenizer, &mut rng, len, stage)?;
            made.inputs.extend(&ids[..len]);
            let counts = |asked: bool| stage != SteeringStage::Steering || asked;
            made.targets
                .extend(ids[1..].iter().zip(&asked[1..]).map(|(&id, &asked)| if counts(asked) { id } else { IGNORE }));
        }
        Ok(made)
    }
}

impl Stream for SteeringStream {
    fn describe(&self) -> String {
        match &self.spec.prompt {
            Some(prompt) => format!("endless, steered at the one prompt \"{prompt}\""),
            None => format!("endless, steered at {} nouns of 40", steering::NOUNS.len()),
        }
    }

    /// Text in which every word of the language occurs.
    fn sample(&self) -> Result<String, CorpusError> {
        Ok(format!("{} {}", steering::every_word(), self.spec.prompt.as_deref().unwrap_or_default()))
    }

    fn batch(&self, tokenizer: &Tokenizer, at: &Position, rows: usize, len: usize) -> Result<Windows, CorpusError> {
        let stage =
            if at.drawn < self.spec.language_batches { SteeringStage::Language } else { SteeringStage::Steering };
        let first = Position { seed: at.seed, drawn: at.drawn.wrapping_mul(rows as u64) };
        self.windows(tokenizer, stage, first, BatchShape { rows, len })
    }

    /// Windows of the language, every id a target: steering must leave the unsteered model's predictions here alone.
    fn held_out(&self, tokenizer: &Tokenizer, count: usize, len: usize) -> Result<Windows, CorpusError> {
        self.windows(tokenizer, SteeringStage::HeldOut, Position { seed: 0, drawn: 0 }, BatchShape { rows: count, len })
    }

    fn passage(&self, tokenizer: &Tokenizer, index: u64, len: usize) -> Vec<u32> {
        let stage = SteeringStage::HeldOut;
        let mut rng = window_rng(self.seed, 1, stage as u64, index);
        let Ok((mut ids, _)) = self.row(tokenizer, &mut rng, len, stage) else { return vec![] };
        ids.truncate(len);
        ids
    }
}
