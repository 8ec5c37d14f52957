//! The text that tests of probes read, and what a probe measures on it.

use super::{Answer, ProbeInputs, find};
use crate::{
    config::Value,
    corpus::{Corpus, CorpusSpec, Source, TokenizerSpec},
    models::{ModelSpec, Trainable},
    nn::{Device, Result},
    telemetry::{Args, Measurement},
};

/// A generated text in bytes.
pub(super) fn text(source: Source) -> Result<Corpus> {
    Ok(Corpus::open(&CorpusSpec::new(source, TokenizerSpec::Byte { vocab: 320 }))?)
}

pub(super) fn prose() -> Result<Corpus> {
    text(Source::Generated("harbour".into()))
}

/// An untrained model of prose, and the prose.
pub(super) fn model(spec: &ModelSpec) -> Result<(Box<dyn Trainable>, Corpus)> {
    let corpus = prose()?;
    Ok((spec.build(corpus.vocab(), 3, &Device::Cpu)?, corpus))
}

/// Returns the answers of the probe with this id about a model with these arguments.
pub(super) fn answers(
    probe: &str,
    model: &mut dyn Trainable,
    corpus: &Corpus,
    args: &[(&str, Value)],
) -> Result<Vec<Answer>> {
    let args: Args = args.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    (find(probe).expect("a probe").ask)(model, &args, &ProbeInputs::standalone(corpus, &Device::Cpu))
}

/// The measurement that its probe makes of a model with these arguments.
pub(super) fn measured<M: Measurement>(
    model: &mut dyn Trainable,
    corpus: &Corpus,
    args: &[(&str, Value)],
) -> Result<M> {
    let found = answers(M::PROBE, model, corpus, args)?;
    Ok(M::from_payload(&found[0].payload).cloned().expect("a measurement"))
}
