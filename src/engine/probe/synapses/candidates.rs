//! Under which number of layers, and in which tokens, an opened BDH reads the text best: what its file may not tell.

use candle_core::{D, bail};

use super::super::{Finding, Probe, ProbeInputs};
use crate::{
    corpus::{self, Corpus, TokenizerSpec, Windows},
    models::{Model, capabilities::SynapseModel},
    nn::{Result, Tap, Tensor, host},
    telemetry::measurements::{ReadingCandidate, ReadingCandidates, ReadingCandidatesArgs},
};

/// Makes a [`ReadingCandidates`].
pub struct Candidates;

/// The most layers that are tried.
const MOST_LAYERS: usize = 12;
/// A model's bytes have at least so many ids.
const BYTES: usize = 256;
const HELD_OUT: f64 = 0.1;

impl Probe for Candidates {
    type Args = ReadingCandidatesArgs;
    type Subject<'m> = &'m dyn SynapseModel;

    const TAKES_LONG: bool = true;

    fn subject(model: &mut dyn Model) -> Option<&dyn SynapseModel> {
        // the gates' logits are a mean over layers, so that a deeper model is another one
        model.synapses().filter(|m| !m.shape().gated)
    }

    fn ask(model: &dyn SynapseModel, args: &ReadingCandidatesArgs, cx: &ProbeInputs<'_>) -> Result<Vec<Finding>> {
        let (count, len) = (args.windows, args.window);
        let (used, layers_known) = (model.shape().layers, model.layers_are_known());
        let deepest = if layers_known { used } else { MOST_LAYERS.max(used) };
        let deep = model.with_layers(deepest)?;
        let Some(deep) = deep.synapses() else { bail!("a deeper model of the same kind has no synapses") };
        let others = other_tokens(cx.corpus, cx.seed);
        let all = others.len() + 1;
        let mut candidates = vec![];
        for (k, (tokenizer, corpus)) in
            std::iter::once(("", cx.corpus)).chain(others.iter().map(|(id, c)| (*id, c))).enumerate()
        {
            let windows = corpus.held_out(count, len).map_err(|e| candle_core::Error::Msg(e.to_string()))?;
            let nats = losses(deep, &windows, cx, (k, all))?;
            let bytes: usize = windows.targets.chunks(windows.len).map(|row| corpus.decode(row).len()).sum();
            let depths = if layers_known { deepest..=deepest } else { 1..=deepest };
            for layers in depths {
                let loss = nats[layers - 1];
                candidates.push(ReadingCandidate {
                    tokenizer: tokenizer.to_owned(),
                    tokens: corpus.describe(),
                    layers,
                    loss,
                    bits_per_byte: loss * windows.targets.len() as f64 / bytes.max(1) as f64 / std::f64::consts::LN_2,
                    is_used: tokenizer.is_empty() && layers == used,
                });
            }
        }
        let about = format!("{count} held-out windows of {len} tokens");
        Ok(vec![Finding::new(ReadingCandidates { candidates, layers_known }, about, vec![])])
    }
}

/// The text in other tokens that fit the model's number of them.
fn other_tokens(corpus: &Corpus, seed: u64) -> Vec<(&'static str, Corpus)> {
    let vocab = corpus.vocab();
    let spec = |tokenizer| corpus::Spec { source: corpus.source().clone(), tokenizer, held_out: HELD_OUT, seed };
    let bytes = (vocab >= BYTES).then(|| ("byte", spec(TokenizerSpec::Byte { vocab })));
    let characters = Some(("sorted_char", spec(TokenizerSpec::SortedChar { max_vocab: vocab })));
    let own = corpus.describe();
    let opened =
        [bytes, characters].into_iter().flatten().filter_map(|(id, spec)| Some((id, Corpus::open(&spec).ok()?)));
    // what cannot read the text, or knows another number of tokens, is no candidate
    opened.filter(|(_, c)| c.vocab() == vocab && c.describe() != own).collect()
}

/// Mean loss after 1, 2, .. layers, nats a token. `piece`: which of how many texts this is.
fn losses(
    model: &dyn SynapseModel,
    windows: &Windows,
    cx: &ProbeInputs<'_>,
    piece: (usize, usize),
) -> Result<Vec<f64>> {
    let (layers, progress) = (model.shape().layers, cx.progress.piece(piece.0, piece.1));
    let mut sums = vec![0.0; layers];
    for row in 0..windows.rows {
        progress.at(row, windows.rows)?;
        let span = row * windows.len..(row + 1) * windows.len;
        let tokens = Tensor::from_slice(&windows.inputs[span.clone()], (1, windows.len), cx.device)?;
        let targets = Tensor::from_slice(&windows.targets[span], (windows.len, 1), cx.device)?;
        let paths: Vec<String> = (1..layers).map(|l| format!("layers.{l}.v")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let mut tap = Tap::on(&paths);
        let last = model.logits(&tokens, &mut tap)?;
        for (layer, sum) in (1..=layers).zip(&mut sums) {
            let logits = match tap.get(&format!("layers.{layer}.v")) {
                Some(v) => model.head(v)?,
                None => last.clone(),
            };
            let log_probs = candle_nn::ops::log_softmax(&logits.squeeze(0)?, D::Minus1)?; // (T, V)
            let found = host::to_f64(&log_probs.gather(&targets, 1)?)?;
            *sum -= found.iter().sum::<f64>() / (windows.rows * windows.len) as f64;
        }
    }
    Ok(sums)
}
