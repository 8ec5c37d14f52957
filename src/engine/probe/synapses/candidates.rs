//! Under which number of layers, and in which tokens, a BDH reads a text best: what its file may not tell. The window's
//! probe and the commands that open a checkpoint decide by one procedure.

use candle_core::D;

use super::super::{Answer, Probe, ProbeInputs, Progress};
use crate::{
    corpus::{self, Corpus, CorpusError, NamedTokenizer, TokenizerSpec, Windows},
    models::{
        Trainable,
        capabilities::{ReadingForm, SynapseModel, TextLoss, TextReader, nats_by_depth},
    },
    nn::{Error, Result, Tensor, host},
    telemetry::measurements::{ReadingCandidate, ReadingCandidates, ReadingCandidatesArgs},
};

/// The most layers that are tried.
const MAX_LAYERS: usize = 12;
/// Bytes of the beginning of a text that candidates read; fewer where the model is large, but never fewer than the least.
const MAX_BYTES: usize = 4 << 10;
const MIN_BYTES: usize = 512;
/// The limit of neurons times bytes that candidates read.
const MAX_ACTIVATIONS: usize = 1 << 24;
/// A model's bytes have at least so many ids.
const BYTES: usize = 256;
const HELD_OUT: f64 = 0.1;

/// A tokeniser and a number of layers, and what the text costs with them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The index of the best tokeniser.
    pub tokenizer: usize,
    pub layers: usize,
    pub loss: TextLoss,
}

/// Every candidate, by tokeniser, then by layers. `known`: the number of layers, where no other may be. `read` gives the
/// losses of one tokeniser after 1, 2, .. layers, or with the known number alone; nothing where it cannot read the text.
fn compare(
    tokenizers: usize,
    known: Option<usize>,
    mut read: impl FnMut(usize) -> Result<Option<Vec<TextLoss>>>,
) -> Result<Vec<Candidate>> {
    let mut tried = vec![];
    for tokenizer in 0..tokenizers {
        let losses = read(tokenizer)?.unwrap_or_default();
        let by_layers = (known.unwrap_or(1)..).zip(losses);
        tried.extend(by_layers.map(|(layers, loss)| Candidate { tokenizer, layers, loss }));
    }
    Ok(tried)
}

/// The candidate with the fewest bits a byte, which can be compared between tokenisers.
fn best(tried: &[Candidate]) -> Option<&Candidate> {
    let measured = tried.iter().filter(|c| c.loss.bits_per_byte().is_finite());
    measured.min_by(|a, b| a.loss.bits_per_byte().total_cmp(&b.loss.bits_per_byte()))
}

/// The candidates, and the best of them.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateChoice {
    /// Candidates by tokeniser, then by layers; empty where there was nothing to choose.
    pub tried: Vec<Candidate>,
    /// Place of the best among the tokenisers.
    pub tokenizer: usize,
    pub layers: usize,
    /// Bytes of the beginning of the text that the candidates read.
    pub bytes: usize,
}

/// The reason why nothing is chosen.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    /// No tokeniser can read the text.
    #[error(transparent)]
    Text(#[from] CorpusError),
    /// The text is too short.
    #[error("{0}")]
    Mismatch(String),
    /// The device, or memory.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// The candidate with the fewest bits a byte on the beginning of the text: 4 kB of it, or less for a large model. `open` gives
/// the model with so many layers; if `known` is given, no other number is tried.
///
/// # Errors
/// If no candidate can read the beginning of the text.
pub fn choose<M: SynapseModel>(
    open: impl Fn(usize) -> Result<M>,
    tokenizers: &[NamedTokenizer],
    text: &[u8],
    known: Option<usize>,
    form: ReadingForm,
) -> std::result::Result<CandidateChoice, ChoiceError> {
    if let (Some(layers), [_]) = (known, tokenizers) {
        return Ok(CandidateChoice { tried: vec![], tokenizer: 0, layers, bytes: 0 });
    }
    let model = open(known.unwrap_or(MAX_LAYERS))?;
    let head = beginning(text, (MAX_ACTIVATIONS / model.shape().neurons.max(1)).clamp(MIN_BYTES, MAX_BYTES));
    let mut refusal = None;
    let tried = compare(tokenizers.len(), known, |place| {
        let one = &tokenizers[place];
        let ids = match one.tokenizer.encode(head) {
            Ok(ids) => ids,
            Err(e) => {
                refusal.get_or_insert(e);
                return Ok(None);
            }
        };
        let nats = match known {
            Some(_) => vec![TextReader::new(&model).token_losses(&ids, form, &mut |_| ())?.iter().sum::<f64>()],
            None => nats_by_depth(&model, &ids, form)?,
        };
        let bytes = one.scored_bytes(&ids, head);
        Ok(Some(nats.into_iter().map(|nats| TextLoss::new(&ids, bytes, nats)).collect()))
    })?;
    match (best(&tried).copied(), refusal) {
        (Some(best), _) => Ok(CandidateChoice { tokenizer: best.tokenizer, layers: best.layers, tried, bytes: head.len() }),
        (None, Some(refusal)) => Err(refusal.into()),
        (None, None) => Err(ChoiceError::Mismatch(
            "the beginning of the text is too short to tell which layers and tokens the model was trained with: give both, or a longer text".to_owned(),
        )),
    }
}

/// The first bytes of a text, without a part of a character.
fn beginning(text: &[u8], most: usize) -> &[u8] {
    let mut end = text.len().min(most);
    while end < text.len() && end > most - 4 && text[end] & 0xC0 == 0x80 {
        end -= 1;
    }
    &text[..end]
}

/// Makes a [`ReadingCandidates`].
pub struct Candidates;

impl Probe for Candidates {
    type Args = ReadingCandidatesArgs;
    type Subject<'m> = &'m dyn SynapseModel;

    const TAKES_LONG: bool = true;

    fn subject(model: &mut dyn Trainable) -> Option<&dyn SynapseModel> {
        // the gates' logits are a mean over layers, so that a deeper model is another one
        model.capabilities().synapses.filter(|m| !m.shape().gated)
    }

    fn ask(model: &dyn SynapseModel, args: &ReadingCandidatesArgs, cx: &ProbeInputs<'_>) -> Result<Vec<Answer>> {
        let (used, layers_known) = (model.shape().layers, model.layers_are_known());
        let known = layers_known.then_some(used);
        let deep = model.with_layers(known.unwrap_or(MAX_LAYERS.max(used)))?;
        let others = other_tokens(cx.corpus, cx.seed);
        let texts: Vec<(&str, &Corpus)> =
            std::iter::once(("", cx.corpus)).chain(others.iter().map(|(id, c)| (*id, c))).collect();
        let tried = compare(texts.len(), known, |k| {
            let corpus = texts[k].1;
            let windows = corpus.held_out(args.windows, args.window).map_err(|e| Error::Msg(e.to_string()))?;
            let bytes: usize = windows.targets.chunks(windows.len).map(|row| corpus.decode(row).len()).sum();
            let all = window_nats(deep.as_ref(), &windows, cx.progress.piece(k, texts.len()))?;
            let from = if layers_known { all.len() - 1 } else { 0 };
            let loss = |nats: &f64| TextLoss { tokens: windows.targets.len(), bytes: bytes.max(1), nats: *nats };
            Ok(Some(all[from..].iter().map(loss).collect()))
        })?;
        let candidate = |c: &Candidate| ReadingCandidate {
            tokenizer: texts[c.tokenizer].0.to_owned(),
            tokens: texts[c.tokenizer].1.describe(),
            layers: c.layers,
            loss: c.loss.nats_per_token(),
            bits_per_byte: c.loss.bits_per_byte(),
            is_used: c.tokenizer == 0 && c.layers == used,
        };
        let candidates = tried.iter().map(candidate).collect();
        let about = format!("{} held-out windows of {} tokens", args.windows, args.window);
        Ok(vec![Answer::new(ReadingCandidates { candidates, layers_known }, about, vec![])])
    }
}

/// The text in other tokens that fit the model's number of them.
fn other_tokens(corpus: &Corpus, seed: u64) -> Vec<(&'static str, Corpus)> {
    let vocab = corpus.vocab();
    let spec = |tokenizer| corpus::CorpusSpec { source: corpus.source().clone(), tokenizer, held_out: HELD_OUT, seed };
    let bytes = (vocab >= BYTES).then(|| ("byte", spec(TokenizerSpec::Byte { vocab })));
    let characters = Some(("sorted_char", spec(TokenizerSpec::SortedChar { max_vocab: vocab })));
    let own = corpus.describe();
    let opened =
        [bytes, characters].into_iter().flatten().filter_map(|(id, spec)| Some((id, Corpus::open(&spec).ok()?)));
    // what cannot read the text, or knows another number of tokens, is no candidate
    opened.filter(|(_, c)| c.vocab() == vocab && c.describe() != own).collect()
}

/// The loss of all windows after 1, 2, .. layers, nats.
fn window_nats(model: &dyn SynapseModel, windows: &Windows, progress: Progress<'_>) -> Result<Vec<f64>> {
    let layers = model.shape().layers;
    let reader = TextReader::new(model).tapping((1..layers).map(|l| format!("layers.{l}.v")));
    let mut sums = vec![0.0; layers];
    for (row, (ids, targets)) in windows.inputs.chunks(windows.len).zip(windows.targets.chunks(windows.len)).enumerate()
    {
        progress.at(row, windows.rows)?;
        let read = reader.rows(ids, 1)?;
        let targets = Tensor::from_slice(targets, (targets.len(), 1), read.logits.device())?;
        for (layer, sum) in (1..=layers).zip(&mut sums) {
            let logits = match read.tap.get(&format!("layers.{layer}.v")) {
                Some(v) => model.head(v)?,
                None => read.logits.clone(),
            };
            let log_probs = candle_nn::ops::log_softmax(&logits.squeeze(0)?, D::Minus1)?; // (T, V)
            *sum -= host::to_f64(&log_probs.gather(&targets, 1)?)?.iter().sum::<f64>();
        }
    }
    Ok(sums)
}
