//! The causality probe: change one token and see which logits change. No logit before it may change.

use crate::{nn::pooling::Upsample, probe::prelude::*};

/// A model with a gate between two streams.
pub struct GatedModel<'m> {
    model: &'m mut dyn CouplingModel,
    /// Tokens of a block of the slow stream, P.
    pool: usize,
}

const LIKELY_TOKENS: usize = 5;
/// A gate below this counts as shut: its effect is not measurable.
const SHUT_GATE: f64 = 0.02;
/// The gate at which the wrong upsampling is shown then.
const OPEN_GATE: f64 = 0.5;

impl<'m> FromModel<'m> for GatedModel<'m> {
    fn from_model(model: &'m mut dyn Trainable) -> Option<Self> {
        let pool = model.capabilities().two_timescales.map_or(1, |t| t.pool.max(1));
        model.capabilities_mut().coupling.map(|model| Self { model, pool })
    }
}

impl Probe for CausalityArgs {
    type Answer = Causality;
    type Subject<'m> = GatedModel<'m>;

    fn ask(&self, mut gated: GatedModel<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let passage = Prompt::read(cx, &self.text, self.passage, Prompt::MAX_TOKENS)?;
        let edit = TokenEdit::new(passage, cx.corpus, self, gated.pool)?;
        let settings = gated.model.coupling_settings();
        let measured = measure(&mut gated, &edit, self, cx);
        // The settings are restored even after an error.
        gated.model.set_coupling_settings(settings);
        let measured = measured?;
        let Prompt { about, tokens, .. } = edit.passage;
        let about: Vec<String> = std::iter::once(about).chain(measured.edit_label(&tokens)).collect();
        Ok(Answer::new(measured, about.join(", "), tokens))
    }
}

struct TokenEdit {
    passage: Prompt,
    position: usize,
    /// The passage with the change.
    ids: Vec<u32>,
}

impl TokenEdit {
    fn new(passage: Prompt, corpus: &Corpus, args: &CausalityArgs, pool: usize) -> Result<Self> {
        let n = passage.ids.len();
        let position = match args.position {
            None if args.show_wrong => (n / 2 / pool * pool + pool - 1).min(n - 1),
            None => n / 2,
            Some(p) if p < n => p,
            Some(p) => bail!("position {p} is outside the passage; choose 0 to {}", n - 1),
        };
        let here = passage.ids[position];
        let replacement = match args.replacement.as_str() {
            "" => {
                let around = passage.ids[position..].iter().chain(&passage.ids);
                around.copied().find(|id| *id != here).unwrap_or(if here == 0 { 1 } else { here - 1 })
            }
            text => match corpus.encode_typed(text)?.first() {
                Some(id) => *id,
                None => bail!("`{text}` is not a token of this corpus; type another replacement"),
            },
        };
        let mut ids = passage.ids.clone();
        ids[position] = replacement;
        Ok(Self { passage, position, ids })
    }
}

fn measure(
    gated: &mut GatedModel<'_>,
    edit: &TokenEdit,
    args: &CausalityArgs,
    cx: &ProbeInputs<'_>,
) -> Result<Causality> {
    let (model, pool) = (&mut *gated.model, gated.pool);
    let (corpus, device) = (cx.corpus, cx.device);
    let own = model.coupling_settings();
    let coupling_scale = args.coupling_scale.unwrap_or(own.coupling_scale);
    let asked = CouplingSettings { coupling_scale, gate: args.gate.or(own.gate), ..own };
    model.set_coupling_settings(asked);
    let (original, edited) = (logits(model, &edit.passage.ids, device)?, logits(model, &edit.ids, device)?);
    let delta = deltas(&original, &edited);
    let effective_gate = model.effective_gate()?;
    let mut leaky_upsample = None;
    if args.show_wrong {
        // A shut gate would pass nothing, not even the leak.
        let gate = if effective_gate.abs() < SHUT_GATE { OPEN_GATE } else { effective_gate };
        model.set_coupling_settings(CouplingSettings { gate: Some(gate), upsample: Upsample::Leaky, ..asked });
        let wrong = deltas(&logits(model, &edit.passage.ids, device)?, &logits(model, &edit.ids, device)?);
        let before_max = before(&wrong, edit.position);
        leaky_upsample = Some(LeakyUpsample { before_max, delta: wrong.into(), gate, pool });
    }
    Ok(Causality {
        original: corpus.decode(&edit.passage.ids),
        edited: corpus.decode(&edit.ids),
        position: edit.position,
        replacement: corpus.token_text(edit.ids[edit.position]),
        before_max: before(&delta, edit.position),
        delta: delta.into(),
        effective_gate,
        leaky_upsample,
        predictions: Predictions {
            original: likely_tokens(last(&original), corpus, LIKELY_TOKENS),
            edited: likely_tokens(last(&edited), corpus, LIKELY_TOKENS),
        },
    })
}

/// The logits after the last position.
fn last(rows: &[Vec<f32>]) -> &[f32] {
    rows.last().map_or(&[], Vec::as_slice)
}

/// Logits, one row for each position.
fn logits(model: &dyn CouplingModel, ids: &[u32], device: &Device) -> Result<Vec<Vec<f32>>> {
    let found = model.logits(&text_batch(ids, device)?, &mut Tap::off())?; // (1,T,V)
    let vocab = found.dim(2)?;
    Ok(host::to_f32(&found)?.chunks(vocab).map(<[f32]>::to_vec).collect())
}

fn deltas(a: &[Vec<f32>], b: &[Vec<f32>]) -> Vec<f64> {
    let largest = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from((a - b).abs())).fold(0.0, f64::max);
    a.iter().zip(b).map(|(a, b)| largest(a, b)).collect()
}

fn before(delta: &[f64], position: usize) -> f64 {
    delta[..position].iter().copied().fold(0.0, f64::max)
}
