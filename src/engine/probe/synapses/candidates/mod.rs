//! Under which number of layers, and in which tokens, a BDH reads a text best: what its file may not tell. The window's
//! probe and the commands that open a checkpoint read the same windows, the first of the text, and decide by one procedure
//! ([`compare`]).

mod choice;

use crate::{
    corpus::{self, BYTES, CorpusError, NamedTokenizer, TextSpan, TokenizerKind, TokenizerSpec},
    nn::IGNORE,
    probe::prelude::*,
};
pub use choice::{Candidate, CandidateChoice, ComparedWindows, KnownFacts, WindowLosses};
use choice::{DEFAULT_WINDOW, decide, known_choice};

/// Candidates have from one to this many layers.
const MAX_LAYERS: usize = 12;
/// Windows that candidates read: fewer where the model is large.
const MIN_WINDOWS: usize = 4;
const MAX_WINDOWS: usize = 16;
/// The limit of neurons times tokens that candidates read, down to the fewest windows.
const MAX_ACTIVATIONS: usize = 1 << 24;
/// Tokens of the shortest window that a short text is cut into.
const MIN_WINDOW: usize = 32;
/// A token stands for no more bytes than this, on average.
const BYTES_PER_TOKEN: usize = 8;

/// The reason why nothing is chosen.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    /// No tokeniser can read the text.
    #[error(transparent)]
    Text(#[from] CorpusError),
    /// The text is too short.
    #[error(
        "the beginning of the text is too short to tell which layers and tokens the model was trained with: give both, or a longer text"
    )]
    TooShort,
    /// The device, or memory.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl KnownFacts {
    /// The facts that a checkpoint states; a number of layers that was asked for takes precedence.
    pub fn new(facts: &CheckpointFacts, layers: Option<usize>) -> Self {
        let asked = layers.map(|value| KnownNumber { value, from: Evidence::Asked });
        Self { layers: asked.or(facts.layers), window: facts.window }
    }

    fn windows(&self, shape: &SynapseShape) -> ComparedWindows {
        let usual = KnownNumber { value: DEFAULT_WINDOW, from: Evidence::Assumed };
        let KnownNumber { value, from } = self.window.unwrap_or(usual);
        let length = value.clamp(2, max_parallel_tokens(shape).max(2));
        let count = (MAX_ACTIVATIONS / (shape.neurons * length).max(1)).clamp(MIN_WINDOWS, MAX_WINDOWS);
        ComparedWindows { count, length, from }
    }
}

/// Chooses the tokens and the number of layers with which a model predicts the beginning of a text best, as far as no
/// file gives them. `open` builds the model with this many layers.
///
/// # Errors
/// If no candidate can read the beginning of the text.
pub fn choose<M: SynapseModel>(
    open: impl Fn(usize) -> Result<M>,
    tokenizers: &[NamedTokenizer],
    text: &[u8],
    known: &KnownFacts,
) -> std::result::Result<CandidateChoice, ChoiceError> {
    if let (Some(layers), [only]) = (known.layers, tokenizers) {
        return Ok(known_choice(layers, evidence(only)));
    }
    let model = open(known.layers.map_or(MAX_LAYERS, |layers| layers.value))?;
    let windows = known.windows(model.shape());
    let head = beginning(text, windows.count * windows.length * BYTES_PER_TOKEN);
    let (mut refusal, mut texts) = (None, vec![]);
    for one in tokenizers {
        let ids = one.tokenizer.encode(head).map_err(|e| refusal.get_or_insert(e)).ok();
        let bytes = move |ids: &[u32]| one.tokenizer.decode(ids).len();
        texts.push(CandidateText {
            beginning: ids.and_then(TextBeginning::running),
            from: evidence(one),
            bytes: Box::new(bytes),
        });
    }
    let found = compare(&model, known, windows, &texts, Progress::none())?;
    match (found, refusal) {
        (Some(found), _) => Ok(found),
        (None, Some(refusal)) => Err(refusal.into()),
        (None, None) => Err(ChoiceError::TooShort),
    }
}

/// Counts the bytes that ids stand for.
type ByteCount<'a> = Box<dyn Fn(&[u32]) -> usize + 'a>;

/// A text in the tokens of a candidate.
struct CandidateText<'a> {
    /// `None` if these tokens cannot say the text, or it has fewer than two of them.
    beginning: Option<TextBeginning>,
    /// The reason why these tokens would be taken were they the only ones.
    from: Evidence,
    bytes: ByteCount<'a>,
}

/// The part of a text that candidates read.
#[derive(PartialEq)]
enum TextBeginning {
    /// The first ids of a running text, two or more.
    Running(Vec<u32>),
    /// Windows that are generated on demand, which have no text around them.
    Generated(Windows),
}

impl TextBeginning {
    fn running(ids: Vec<u32>) -> Option<Self> {
        (ids.len() > 1).then_some(Self::Running(ids))
    }

    /// Reads as much of a corpus as these windows need.
    ///
    /// # Errors
    /// If the text cannot be read in the corpus's tokens.
    fn read(corpus: &Corpus, windows: ComparedWindows) -> Result<Option<Self>> {
        let (mut ids, mut from) = (vec![], 0);
        while ids.len() <= windows.count * windows.length {
            let Some(chunk) = corpus.chunk(TextSpan::Whole, from)? else { break };
            ids.extend(chunk.ids);
            from = chunk.end;
        }
        match from {
            0 => Ok(Some(Self::Generated(corpus.held_out(windows.count, windows.length)?))),
            _ => Ok(Self::running(ids)),
        }
    }

    /// The longest window that can be cut.
    fn longest(&self) -> usize {
        match self {
            Self::Running(ids) => ids.len() - 1,
            Self::Generated(_) => usize::MAX,
        }
    }

    fn windows(&self, windows: ComparedWindows) -> Windows {
        match self {
            Self::Running(ids) => cut(ids, windows),
            Self::Generated(windows) => windows.clone(),
        }
    }
}

/// Reads the beginning of a text with every candidate and chooses one. `model` has as many layers as are tried, or as
/// are known. Returns `None` if no candidate can read the text.
fn compare(
    model: &dyn SynapseModel,
    known: &KnownFacts,
    mut windows: ComparedWindows,
    texts: &[CandidateText<'_>],
    progress: Progress<'_>,
) -> Result<Option<CandidateChoice>> {
    let longest = texts.iter().filter_map(|text| text.beginning.as_ref()).map(TextBeginning::longest).max();
    windows.length = fitted_length(windows, longest.unwrap_or(0));
    let tokens_from: Vec<Evidence> = texts.iter().map(|text| text.from).collect();
    decide(known, windows, &tokens_from, |k| {
        let Some(beginning) = &texts[k].beginning else { return Ok(None) };
        let (progress, bytes) = (progress.piece(k, texts.len()), |ids: &[u32]| (texts[k].bytes)(ids));
        window_losses(model, known.layers.is_some(), &beginning.windows(windows), bytes, progress).map(Some)
    })
}

fn evidence(tokenizer: &NamedTokenizer) -> Evidence {
    match tokenizer.kind {
        TokenizerKind::Byte | TokenizerKind::SortedChar => Evidence::OnlyFit,
        TokenizerKind::Vocabulary | TokenizerKind::HuggingFace => Evidence::Sidecar,
    }
}

/// The length of windows in a text of this many tokens: that of training as long as one fits, and a usual one cut so
/// that there are several.
fn fitted_length(windows: ComparedWindows, tokens: usize) -> usize {
    let most = match windows.from {
        Evidence::Assumed => (tokens / MIN_WINDOWS).max(MIN_WINDOW),
        _ => tokens,
    };
    windows.length.min(most).min(tokens).max(1)
}

/// The first windows of a text, each followed by the next.
fn cut(ids: &[u32], windows: ComparedWindows) -> Windows {
    let len = windows.length.min(ids.len() - 1);
    let rows = ((ids.len() - 1) / len).min(windows.count);
    Windows { rows, len, inputs: ids[..rows * len].to_vec(), targets: ids[1..=rows * len].to_vec(), answers: None }
}

/// The first bytes of a text, without a part of a character.
fn beginning(text: &[u8], most: usize) -> &[u8] {
    let mut end = text.len().min(most);
    while end < text.len() && end > most - 4 && text[end] & 0xC0 == 0x80 {
        end -= 1;
    }
    &text[..end]
}

/// The losses of the windows of a text after 1, 2, .. layers, or after the last alone. `bytes`: those that ids of it stand
/// for.
fn window_losses(
    model: &dyn SynapseModel,
    last_alone: bool,
    windows: &Windows,
    bytes: impl Fn(&[u32]) -> usize,
    progress: Progress<'_>,
) -> Result<Vec<WindowLosses>> {
    let first = if last_alone { model.shape().layers - 1 } else { 0 };
    let mut by_layers = vec![vec![]; model.shape().layers - first];
    let (mut tokens, mut length) = (0, 0);
    for (row, (ids, targets)) in windows.inputs.chunks(windows.len).zip(windows.targets.chunks(windows.len)).enumerate()
    {
        progress.at(row, windows.rows)?;
        let asked: Vec<u32> = targets.iter().copied().filter(|target| *target != IGNORE).collect();
        if asked.is_empty() {
            continue;
        }
        (tokens, length) = (tokens + asked.len(), length + bytes(&asked));
        let nats = nats_by_depth(model, ids, targets)?;
        by_layers.iter_mut().zip(&nats[first..]).for_each(|(losses, nats)| losses.push(nats / asked.len() as f64));
    }
    let tokens_per_byte = tokens as f64 / length.max(1) as f64;
    Ok(by_layers.into_iter().map(|by_window| WindowLosses { by_window, tokens_per_byte }).collect())
}

impl Probe for ReadingCandidatesArgs {
    type Answer = ReadingCandidates;
    type Subject<'m> = &'m dyn SynapseModel;
    const IS_SLOW: bool = true;

    fn subject(model: &mut dyn Trainable) -> Option<&dyn SynapseModel> {
        // the gates' logits are a mean over layers, so that a model with more layers is a different model
        model.capabilities().synapses.filter(|m| !m.shape().gated)
    }

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let (used, layers_known) = (model.shape().layers, model.layers_are_known());
        let mut known = model.checkpoint().map_or_else(KnownFacts::default, |facts| KnownFacts::new(facts, None));
        if layers_known {
            let from = known.layers.map_or(Evidence::Asked, |layers| layers.from);
            known.layers = Some(KnownNumber { value: used, from });
        }
        let mut windows = known.windows(model.shape());
        if self.window > 0 {
            (windows.length, windows.from) = (self.window.max(2), Evidence::Asked);
        }
        if self.windows > 0 {
            windows.count = self.windows;
        }
        let deep = model.with_layers(if layers_known { used } else { MAX_LAYERS.max(used) })?;
        let others = other_tokens(cx, model.checkpoint());
        let opened = std::iter::once(OpenedText { tokens: None, corpus: cx.corpus })
            .chain(others.iter().map(|(tokens, corpus)| OpenedText { tokens: Some(tokens), corpus }));
        let (mut named, mut texts): (Vec<OpenedText<'_>>, Vec<CandidateText<'_>>) = (vec![], vec![]);
        for one in opened {
            let beginning = TextBeginning::read(one.corpus, windows)?;
            // tokens that number the text as others do are the same candidate
            if texts.iter().all(|text| text.beginning != beginning) {
                let bytes = move |ids: &[u32]| one.corpus.byte_length(ids);
                texts.push(CandidateText { beginning, from: Evidence::OnlyFit, bytes: Box::new(bytes) });
                named.push(one);
            }
        }
        let found = compare(deep.as_ref(), &known, windows, &texts, cx.progress)?;
        let found = found.ok_or_else(|| Error::Msg("the text asks nothing of the model".to_owned()))?;
        let about = format!("the first {} windows of {} tokens", found.windows.count, found.windows.length);
        Ok(Answer::new(measurement(&found, &named, used, layers_known), about, vec![]))
    }
}

/// The text of a run in one kind of tokens.
#[derive(Clone, Copy)]
struct OpenedText<'a> {
    /// The tokeniser of the candidate; `None` for the run's own.
    tokens: Option<&'a TokenizerSpec>,
    corpus: &'a Corpus,
}

impl OpenedText<'_> {
    /// The file that lists the tokens, where it is not the run's settings that name it.
    fn list(&self) -> String {
        match self.tokens {
            Some(TokenizerSpec::Characters(path) | TokenizerSpec::HuggingFace(path)) => path.display().to_string(),
            _ => String::new(),
        }
    }
}

fn measurement(
    found: &CandidateChoice,
    texts: &[OpenedText<'_>],
    used: usize,
    layers_known: bool,
) -> ReadingCandidates {
    let candidate = |c: &Candidate| ReadingCandidate {
        tokenizer: texts[c.tokenizer].tokens.map_or("", TokenizerSpec::kind).to_owned(),
        list: texts[c.tokenizer].list(),
        tokens: texts[c.tokenizer].corpus.describe(),
        layers: c.layers,
        loss: c.loss.nats_per_token(),
        loss_error: c.loss.error(),
        bits_per_byte: c.loss.bits_per_byte(),
        is_used: c.tokenizer == 0 && c.layers == used,
        is_chosen: found.is_chosen(c),
        is_close: c.is_close,
    };
    ReadingCandidates {
        candidates: found.tried.iter().map(candidate).collect(),
        layers_known,
        layers_from: found.layers_from,
        tokens_from: found.tokens_from,
        window: found.windows.length,
        window_from: found.windows.from,
        windows: found.windows.count,
        warnings: found.warnings.clone(),
    }
}

/// The text in the other tokens that the model may have been trained with: those that a command tries
/// ([`corpus::fitting_tokenizers`]), with the list of them beside its file. A generated text supplies no characters, since
/// nobody gave it as the one that the model was trained on.
fn other_tokens(cx: &ProbeInputs<'_>, facts: Option<&CheckpointFacts>) -> Vec<(TokenizerSpec, Corpus)> {
    let vocab = cx.corpus.vocab();
    let bytes = (vocab >= BYTES).then_some(TokenizerSpec::Byte { vocab });
    let listed = facts.and_then(|facts| corpus::tokenizer_beside(&facts.path, vocab));
    let of_text = (!cx.corpus.source().is_generated()).then_some(TokenizerSpec::SortedChar { max_vocab: vocab });
    let specs = bytes.into_iter().chain(of_text).chain(listed);
    // a tokenizer that cannot read the text, or has a vocabulary of another size, is not a candidate
    let opened = specs.filter_map(|spec| Some((spec.clone(), cx.corpus.in_tokens(spec).ok()?)));
    opened.filter(|(_, corpus)| corpus.vocab() == vocab).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_have_the_length_of_training_where_it_is_told() {
        let shape = crate::models::bdh::BdhSpec::default().shape();
        let told = KnownNumber { value: 512, from: Evidence::Sidecar };
        let windows = KnownFacts { layers: None, window: Some(told) }.windows(&shape);
        assert_eq!((windows.length, windows.from, windows.count), (512, Evidence::Sidecar, 16));
        assert_eq!(
            (fitted_length(windows, 4096), fitted_length(windows, 700), fitted_length(windows, 99)),
            (512, 512, 99)
        );
        let usual = KnownFacts::default().windows(&shape);
        assert_eq!((usual.length, usual.from), (DEFAULT_WINDOW, Evidence::Assumed));
        // a short text is cut into several
        assert_eq!((fitted_length(usual, 4096), fitted_length(usual, 400), fitted_length(usual, 40)), (256, 100, 32));
        let ids: Vec<u32> = (0..401).collect();
        let cut = cut(&ids, ComparedWindows { length: 100, ..usual });
        assert_eq!((cut.rows, cut.len, cut.inputs.len(), cut.targets[399]), (4, 100, 400, 400));
    }
}
