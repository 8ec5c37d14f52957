//! Sparse predictive column networks (SPCN, arXiv 2604.08556, section 3): hierarchies of frozen random projections with
//! sparse states, one reading from left to right and one from right to left, that learn only to predict each level from
//! the one above, by a precision-gated Hebbian rule and without any gradient.
//!
//! How a network without gradients fits into the data flow:
//! - Its update is [`LocalLearning::learn`]: the trainer hands it a batch, whose rows are sentences, and it reads them one
//!   after another, learning after each word. One pass over the training sentences is as many steps as there are batches;
//!   then its stage ends, and it stays as it is.
//! - What it learns (feedback weights) lies in parameters, and what the rule needs besides (running variances of errors)
//!   in buffers, so that snapshots, checkpoints, resuming and time travel are those of any model.
//! - It offers its vectors as a [`SentenceEncoder`]; probes measure what can be decoded from them.
//!
//! Each direction learns on a thread of its own, since the two share nothing. Sentences do not depend on each other once
//! the network is frozen, so all threads read them. Neither changes a bit of the result.

pub mod feedforward;
mod hierarchy;
mod reading;
mod spec;

use feedforward::FeedforwardRule;
use hierarchy::{Hierarchy, Level};
use reading::{DirectionReader, Encoder};

use crate::{models::prelude::*, nn::kernels::threads};

pub use crate::nn::kernels::sparse::Sparse;
pub use spec::{LevelSpec, SpcnSpec};

/// The names of the two reading directions: left to right and right to left.
const DIRECTIONS: [&str; 2] = ["forward", "backward"];
const VARIANCE: &str = "variance.";

/// A network of one hierarchy or two.
pub struct Spcn {
    spec: SpcnSpec,
    vocab: usize,
    params: Params,
}

struct Pass {
    reader: DirectionReader,
    /// Sum of the squared errors of what level 0 was predicted to be, and words.
    error: f64,
    words: usize,
}

impl Spcn {
    /// Frozen weights are drawn from `seed` and their names; errors name the size that does not fit.
    pub fn new(spec: &SpcnSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        spec.check()?;
        let mut params = Params::new(seed, device, DType::F32);
        for direction in spec.directions() {
            let mut inputs = vocab;
            for (l, level) in spec.levels.iter().enumerate().filter(|_| spec.network) {
                let d = level.units;
                let name = |what: &str| format!("{direction}.{l}.{what}");
                params.normal(&name("feedforward"), (inputs, d), 1.0 / (inputs as f64).sqrt())?;
                params.normal(&name("lateral"), (d, d), 1.0 / (d as f64).sqrt())?;
                if let Some(above) = spec.levels.get(l + 1) {
                    params.zeros(&name("feedback"), (above.units, d))?;
                    params.ones(&format!("{VARIANCE}{direction}.{l}"), d)?;
                }
                match spec.feedforward_rule {
                    FeedforwardRule::Foldiak => drop(params.zeros(&name("inhibition"), (d, d))?),
                    FeedforwardRule::Surprise => drop(params.zeros(&surprise(direction, l), 1)?),
                    FeedforwardRule::Frozen | FeedforwardRule::Sanger | FeedforwardRule::ForwardForward => {}
                }
                inputs = d;
            }
        }
        params.register_buffers(VARIANCE);
        Ok(Self { spec: spec.clone(), vocab, params })
    }

    fn values(&self, name: &str) -> Result<Vec<f32>> {
        self.params.get(name).map_or_else(|| Ok(vec![]), |var| host::to_f32(var.as_tensor()))
    }

    fn reader(&self, direction: &str) -> Result<DirectionReader> {
        if !self.spec.network {
            return Ok(DirectionReader::Words { vocab: self.vocab, traces: self.spec.traces(0) });
        }
        let level = |(l, level): (usize, &LevelSpec)| {
            let name = |what: &str| self.values(&format!("{direction}.{l}.{what}"));
            Ok(Level {
                units: level.units,
                active: level.active,
                traces: self.spec.traces(l),
                feedforward: name("feedforward")?,
                lateral: name("lateral")?,
                feedback: name("feedback")?,
                variance: self.values(&format!("{VARIANCE}{direction}.{l}"))?,
                inhibition: name("inhibition")?,
                surprise: self.values(&surprise(direction, l))?.first().copied().unwrap_or(0.0),
                precision: vec![],
            })
        };
        let levels = self.spec.levels.iter().enumerate().map(level).collect::<Result<Vec<_>>>()?;
        Ok(DirectionReader::Network(Box::new(Hierarchy::new(self.spec.clone(), levels))))
    }

    /// Reads a batch in every direction, learning or not.
    fn read(&self, batch: &Batch, learns: bool) -> Result<Vec<Pass>> {
        let sentences = sentences(batch, self.vocab)?;
        let pass = |direction: &&str| Ok(Pass { reader: self.reader(direction)?, error: 0.0, words: 0 });
        let mut passes = self.spec.directions().iter().map(pass).collect::<Result<Vec<_>>>()?;
        threads::run_chunks(&mut passes, 1, |direction, pass| {
            let [Pass { reader, error, words }] = pass else { return };
            for sentence in &sentences {
                *error += reader.read_through(sentence, direction == 1, learns);
                *words += sentence.len();
            }
        });
        Ok(passes)
    }

    fn store_learned(&self, direction: &str, hierarchy: &mut Hierarchy) -> Result<()> {
        let learns = self.spec.feedforward_rule != FeedforwardRule::Frozen;
        for (l, level) in hierarchy.levels().iter().enumerate() {
            let (d, device) = (level.units, self.params.device());
            let load = |name: String, values: &[f32]| {
                self.params.load(&name, &Tensor::from_slice(values, (values.len() / d, d), device)?)
            };
            if !level.feedback.is_empty() {
                load(format!("{direction}.{l}.feedback"), &level.feedback)?;
                self.params
                    .load(&format!("{VARIANCE}{direction}.{l}"), &Tensor::from_slice(&level.variance, d, device)?)?;
            }
            if learns {
                load(format!("{direction}.{l}.feedforward"), &level.feedforward)?;
            }
            if !level.inhibition.is_empty() {
                load(format!("{direction}.{l}.inhibition"), &level.inhibition)?;
            }
            if self.spec.feedforward_rule == FeedforwardRule::Surprise {
                self.params.load(&surprise(direction, l), &Tensor::from_slice(&[level.surprise], 1, device)?)?;
            }
        }
        Ok(())
    }

    /// True if every weight that learns is a finite number.
    fn is_finite(&self) -> Result<bool> {
        let learned = ["feedback", "feedforward", "inhibition"];
        for (_, var) in self.params.iter().filter(|(name, _)| learned.iter().any(|end| name.ends_with(end))) {
            if host::to_f32(var.as_tensor())?.iter().any(|w| !w.is_finite()) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn surprise(direction: &str, l: usize) -> String {
    format!("{VARIANCE}{direction}.{l}.surprise")
}

/// Mean squared error of level 0's prediction a word, over all directions.
fn mean_error(passes: &[Pass]) -> f64 {
    let (error, words) = passes.iter().fold((0.0, 0), |(e, w), p| (e + p.error, w + p.words));
    error / words.max(1) as f64
}

/// The words of each row, up to the first that has no target.
fn sentences(batch: &Batch, vocab: usize) -> Result<Vec<Vec<u32>>> {
    let (_, len) = batch.tokens.dims2()?;
    let (tokens, targets) = (host::to_u32(&batch.tokens)?, host::to_u32(&batch.targets)?);
    check_words(&tokens, vocab)?;
    let rows = tokens.chunks(len).zip(targets.chunks(len));
    let words = |(words, targets): (&[u32], &[u32])| {
        words.iter().zip(targets).take_while(|(_, t)| **t != IGNORE).map(|(w, _)| *w).collect()
    };
    Ok(rows.map(words).collect())
}

fn check_words(words: &[u32], vocab: usize) -> Result<()> {
    match words.iter().find(|w| **w as usize >= vocab) {
        Some(word) => candle_core::bail!("word {word} is not one of the {vocab} words that the network knows"),
        None => Ok(()),
    }
}

impl LocalLearning for Spcn {
    fn learn(&mut self, batch: &Batch) -> Result<LocalUpdate> {
        if !self.is_finite()? {
            return Ok(LocalUpdate { loss: f64::NAN, scalars: vec![], divergence: None });
        }
        let mut passes = self.read(batch, true)?;
        let loss = mean_error(&passes);
        for (direction, pass) in self.spec.directions().iter().zip(&mut passes) {
            if let DirectionReader::Network(hierarchy) = &mut pass.reader {
                self.store_learned(direction, hierarchy)?;
            }
        }
        let diverges = !loss.is_finite() || !self.is_finite()?;
        let divergence = diverges.then(|| {
            if self.spec.feedforward_rule != FeedforwardRule::Frozen {
                return format!(
                    "its numbers are no longer finite; its feedforward weights learn at the rate {}, and a smaller \
                     one helps",
                    self.spec.feedforward_rate
                );
            }
            format!(
                "its numbers are no longer finite. The update of the feedback weights has a gain of {} pi^2 |x|^2, \
                 which must stay below 2: unit norm keeps |x| at 1{}",
                self.spec.rate,
                if self.spec.unit_norm {
                    ", and a smaller rate or largest precision helps"
                } else {
                    " and is switched off"
                }
            )
        });
        Ok(LocalUpdate { loss: if diverges { f64::NAN } else { loss }, scalars: vec![], divergence })
    }
}

impl SentenceEncoder for Spcn {
    fn feedforward_weights(&self) -> Result<Vec<FeedforwardWeights>> {
        let names = self.spec.directions().iter().flat_map(|direction| {
            self.spec.levels.iter().enumerate().map(move |(l, level)| (direction, l, level.units))
        });
        let weights = |(direction, level, units): (&&str, usize, usize)| {
            Ok(FeedforwardWeights { level, units, values: self.values(&format!("{direction}.{level}.feedforward"))? })
        };
        names.filter(|_| self.spec.network).map(weights).collect()
    }

    fn freeze(&self) -> Result<Box<dyn FrozenEncoder>> {
        let readers = self.spec.directions().iter().map(|d| self.reader(d)).collect::<Result<Vec<_>>>()?;
        Ok(Box::new(Encoder { readers, traces: if self.spec.slow_trace { 2 } else { 1 } }))
    }
}

impl SettlingModel for Spcn {
    fn settle(&self, sentence: &[u32], from_right: bool) -> Result<Vec<SettledLevel>> {
        check_words(sentence, self.vocab)?;
        let Some(direction) = self.spec.directions().get(usize::from(from_right)) else {
            candle_core::bail!("this network reads from the left alone; switch on the direction from the right")
        };
        match self.reader(direction)? {
            DirectionReader::Network(mut hierarchy) => Ok(reading::settle(&mut hierarchy, sentence, from_right)),
            DirectionReader::Words { .. } => candle_core::bail!("words without a network do not settle"),
        }
    }
}

impl Trainable for Spcn {
    params_and_spec!(Spcn);

    /// Mean squared error of what level 0 was predicted to be, a word.
    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        Tensor::new(mean_error(&self.read(batch, false)?) as f32, self.params.device())
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let settling: Option<&dyn SettlingModel> = if self.spec.network { Some(self) } else { None };
        Capabilities { sentence_encoder: Some(self), settling, ..Capabilities::default() }
    }

    fn capabilities_mut(&mut self) -> CapabilitiesMut<'_> {
        CapabilitiesMut { local_learning: Some(self), ..CapabilitiesMut::default() }
    }
}

#[cfg(test)]
mod tests;
