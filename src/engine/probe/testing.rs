//! The text that tests of probes read, and what a probe measures on it.

use super::{AnyProbe, ProbeContext};
use crate::{
    config::Value,
    corpus::{Corpus, CorpusSpec, Source, TokenizerSpec},
    models::Trainable,
    nn::{Device, Result},
    telemetry::{Args, Measurement},
};

/// A generated text in bytes.
pub(super) fn text(source: Source) -> Result<Corpus> {
    Ok(Corpus::open(&CorpusSpec { source, tokenizer: TokenizerSpec::Byte { vocab: 320 }, held_out: 0.1, seed: 1 })?)
}

/// Prose in bytes.
pub(super) fn prose() -> Result<Corpus> {
    text(Source::Generated("harbour".into()))
}

/// The first measurement that a probe makes of a model with these arguments.
pub(super) fn measured<M: Measurement>(
    probe: &dyn AnyProbe,
    model: &mut dyn Trainable,
    corpus: &Corpus,
    args: &[(&str, Value)],
) -> Result<M> {
    let args: Args = args.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let found = probe.ask(&mut ProbeContext::alone(model, corpus, &Device::Cpu, &args))?;
    Ok(M::from_payload(&found[0].payload).cloned().expect("a measurement"))
}
