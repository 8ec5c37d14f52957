//! The causality probe: change one token and see which logits hear of it. Nothing before the change
//! may.

use super::{
    Finding, Probe, ProbeContext,
    prompt::{Prompt, likely_tokens},
};
use crate::{
    corpus::Corpus,
    models::{
        Model,
        capabilities::{CouplingModel, CouplingSettings},
    },
    nn::{Device, Result, Tap, Tensor, host, pooling::Upsample},
    telemetry::{
        Args,
        measurements::{self, LeakyUpsample, Predictions},
    },
};

/// Arguments: `text` (else a held-out passage), `position` (the middle; with `show_wrong` the last of its block, whose
/// change leaks to the whole block), `replacement` (text of one
/// token; else the next token of the passage that differs), `coupling_scale` (s for this question
/// only), `gate` (an absolute gate in place of s tanh(gamma), for models whose gate is still shut),
/// `show_wrong` (also measure the upsampling that leaks the future, through a gate that is open). Makes a
/// [`measurements::Causality`].
pub struct Causality;

const LONGEST: usize = 96;
/// Likely tokens that are told.
const LIKELY: usize = 5;
/// A gate below this is shut: what comes through is not seen.
const SHUT: f64 = 0.02;
/// The gate at which the wrong upsampling is shown then.
const OPENED: f64 = 0.5;

impl Probe for Causality {
    fn id(&self) -> &'static str {
        "causality"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        model.coupling().is_some()
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let passage = Prompt::of(cx, LONGEST)?;
        let pool = cx.model.two_timescales().map_or(1, |t| t.pool.max(1));
        let edit = Edit::of(passage, cx.corpus, cx.args, pool)?;
        let (corpus, device, args) = (cx.corpus, cx.device, cx.args);
        let Some(model) = cx.model.coupling_mut() else {
            candle_core::bail!("the causality probe needs a model with a gate between two streams")
        };
        let settings = model.coupling_settings();
        let measured = measure(model, &edit, corpus, (device, args, pool));
        // As it was found, whatever happened.
        model.set_coupling_settings(settings);
        let measured = measured?;
        let about = format!(
            "{}, token {} changed from {} to {}",
            edit.passage.about,
            edit.position,
            corpus.token_text(edit.passage.ids[edit.position]),
            corpus.token_text(edit.ids[edit.position])
        );
        Ok(vec![Finding::new(measured, about, edit.passage.tokens)])
    }
}

/// One changed token.
struct Edit {
    passage: Prompt,
    position: usize,
    /// The passage with the change.
    ids: Vec<u32>,
}

impl Edit {
    fn of(passage: Prompt, corpus: &Corpus, args: &Args, pool: usize) -> Result<Self> {
        let n = passage.ids.len();
        let position = match args.get("position").and_then(|v| v.as_f64()) {
            None if shows_wrong(args) => (n / 2 / pool * pool + pool - 1).min(n - 1),
            None => n / 2,
            Some(p) if p >= 0.0 && (p as usize) < n => p as usize,
            Some(p) => candle_core::bail!("position {p} is outside the passage; choose 0 to {}", n - 1),
        };
        let here = passage.ids[position];
        let replacement = match args.get("replacement").map(ToString::to_string).filter(|t| !t.is_empty()) {
            Some(text) => match corpus.encode(&text).first() {
                Some(id) => *id,
                None => candle_core::bail!("`{text}` is no token of this corpus; type another replacement"),
            },
            None => {
                let around = passage.ids[position..].iter().chain(&passage.ids);
                around.copied().find(|id| *id != here).unwrap_or(if here == 0 { 1 } else { here - 1 })
            }
        };
        let mut ids = passage.ids.clone();
        ids[position] = replacement;
        Ok(Self { passage, position, ids })
    }
}

fn measure(
    model: &mut dyn CouplingModel,
    edit: &Edit,
    corpus: &Corpus,
    (device, args, pool): (&Device, &Args, usize),
) -> Result<measurements::Causality> {
    if let Some(s) = args.get("coupling_scale").and_then(|v| v.as_f64()) {
        model.set_coupling_settings(CouplingSettings { coupling_scale: s, ..model.coupling_settings() });
    }
    if let Some(gate) = args.get("gate").and_then(|v| v.as_f64()) {
        model.set_coupling_settings(CouplingSettings { gate: Some(gate), ..model.coupling_settings() });
    }
    let (original, edited) = (logits(model, &edit.passage.ids, device)?, logits(model, &edit.ids, device)?);
    let delta = deltas(&original, &edited);
    let effective_gate = model.effective_gate()?;
    let mut leaky_upsample = None;
    if shows_wrong(args) {
        model.set_coupling_settings(CouplingSettings { upsample: Upsample::Leaky, ..model.coupling_settings() });
        // Nothing comes through a shut gate, neither rightly nor wrongly.
        let gate = if effective_gate.abs() < SHUT { OPENED } else { effective_gate };
        model.set_coupling_settings(CouplingSettings { gate: Some(gate), ..model.coupling_settings() });
        let wrong = deltas(&logits(model, &edit.passage.ids, device)?, &logits(model, &edit.ids, device)?);
        let before_max = before(&wrong, edit.position);
        leaky_upsample = Some(LeakyUpsample { before_max, delta: wrong.into(), gate, pool });
    }
    Ok(measurements::Causality {
        original: corpus.decode(&edit.passage.ids),
        edited: corpus.decode(&edit.ids),
        position: edit.position,
        before_max: before(&delta, edit.position),
        delta: delta.into(),
        effective_gate,
        leaky_upsample,
        predictions: Predictions {
            original: likely_tokens(last(&original), corpus, LIKELY),
            edited: likely_tokens(last(&edited), corpus, LIKELY),
        },
    })
}

fn shows_wrong(args: &Args) -> bool {
    matches!(args.get("show_wrong"), Some(crate::config::Value::Switch(true)))
}

/// The logits after the last position.
fn last(rows: &[Vec<f32>]) -> &[f32] {
    rows.last().map_or(&[], Vec::as_slice)
}

/// One row of logits for each position.
fn logits(model: &dyn CouplingModel, ids: &[u32], device: &Device) -> Result<Vec<Vec<f32>>> {
    let found = model.logits(&Tensor::from_slice(ids, (1, ids.len()), device)?, &mut Tap::off())?; // (1,T,V)
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
