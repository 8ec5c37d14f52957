//! What merging with another model would keep: held-out losses of this model, of the other and of both
//! side by side, on every text at hand. The merge itself is [`crate::models::bdh::merge`].

use std::path::Path;

use super::super::{Finding, Probe, ProbeInputs};
use crate::{
    corpus::{Corpus, CorpusError, Source, Spec, TokenizerSpec, Windows},
    models::{
        self, Model,
        bdh::{
            BdhSpec, SynapseModel, import_state_dict,
            merge::{Parent, merge},
        },
    },
    nn::{Batch, Device, Result, Tensor, host},
    telemetry::{
        Array,
        measurements::{self, MergingArgs, ModelLosses},
    },
};

/// Generated texts on which losses are measured beside the run's own, where tokens are bytes.
const TEXTS: [&str; 4] = ["harbour", "garden", "observatory", "letters"];
const BYTES: usize = 256;

/// Makes a [`measurements::Merging`].
pub struct Merging;

impl Probe for Merging {
    type Args = MergingArgs;
    type Subject<'m> = &'m dyn SynapseModel;

    const TAKES_LONG: bool = true;

    fn subject(model: &mut dyn Model) -> Option<&dyn SynapseModel> {
        model.synapses()
    }

    fn ask(model: &dyn SynapseModel, args: &MergingArgs, cx: &ProbeInputs<'_>) -> Result<Vec<Finding>> {
        let with = args.with.trim();
        if with.is_empty() {
            return Ok(vec![]);
        }
        let (count, len, device) = (args.windows, args.window, cx.device);
        let weights = model.params().iter().map(|(n, v)| (n.to_owned(), v.as_tensor().detach())).collect();
        let mine = Parent { name: "this model".into(), spec: model.spec().clone(), weights };
        let file = import_state_dict::open(Path::new(with), model.spec())?;
        let weights = file.load(device)?.into_iter().map(|(n, t)| (n.to_owned(), t)).collect();
        let name = Path::new(with).file_stem().map_or(with.to_owned(), |n| n.to_string_lossy().into_owned());
        let other = Parent { name: name.clone(), spec: file.spec.clone(), weights };
        let merged = merge(&mine, &other)?;
        let vocab = cx.corpus.vocab();
        let build = |spec, weights: &[_]| build(spec, weights, vocab, device);
        let texts = texts(cx.corpus, count, len).map_err(|e| candle_core::Error::Msg(e.to_string()))?;
        let (other_model, merged_model) = (build(&other.spec, &other.weights)?, build(&merged.spec, &merged.weights)?);
        let losses = |model: &dyn Model| losses(model, &texts, device);
        let merging = measurements::Merging {
            this: ModelLosses { name: "this".into(), neurons: mine.spec.neurons, losses: losses(model)? },
            other: ModelLosses { name, neurons: other.spec.neurons, losses: losses(other_model.as_ref())? },
            merged: ModelLosses {
                name: "merged".into(),
                neurons: merged.spec.neurons,
                losses: losses(merged_model.as_ref())?,
            },
            notes: merged.notes,
            texts: texts.iter().map(|t| t.0.clone()).collect(),
        };
        let about = format!("{count} held-out windows of {len} tokens a text");
        Ok(vec![Finding::new(merging, about, vec![])])
    }
}

/// One a text, nats a token. `texts`: names and windows.
fn losses(model: &dyn Model, texts: &[(String, Windows)], device: &Device) -> Result<Array> {
    let losses = texts.iter().map(|(_, windows)| Ok(loss(model, windows, device)? as f32));
    Array::new([texts.len()], losses.collect::<Result<_>>()?).map_err(candle_core::Error::wrap)
}

/// A model of these sizes and weights; the state that a run carries on is left out.
fn build(spec: &BdhSpec, weights: &[(String, Tensor)], vocab: usize, device: &Device) -> Result<Box<dyn Model>> {
    let model = models::Spec::Bdh(spec.clone()).build(vocab, 0, device)?;
    weights.iter().filter(|(n, _)| !n.starts_with("carried.")).try_for_each(|(n, t)| model.params().load(n, t))?;
    Ok(model)
}

/// Names and held-out windows of the texts; the run's own comes first.
fn texts(corpus: &Corpus, count: usize, len: usize) -> std::result::Result<Vec<(String, Windows)>, CorpusError> {
    let about = corpus.describe();
    let own = about.split([',', '(']).next().unwrap_or_default().trim().to_owned();
    let mut all = vec![(own.clone(), corpus.held_out(count, len)?)];
    if corpus.vocab() != BYTES || !about.ends_with("bytes") {
        return Ok(all);
    }
    for id in TEXTS.iter().filter(|id| **id != own) {
        let spec = Spec {
            source: Source::Generated((*id).to_owned()),
            tokenizer: TokenizerSpec::Byte { vocab: BYTES },
            held_out: 0.1,
            seed: 1,
        };
        all.push(((*id).to_owned(), Corpus::open(&spec)?.held_out(count, len)?));
    }
    Ok(all)
}

/// Mean nats a token.
fn loss(model: &dyn Model, w: &Windows, device: &Device) -> Result<f64> {
    host::scalar(&model.evaluate(&Batch::from_ids(&w.inputs, &w.targets, w.rows, w.len, device)?)?)
}
