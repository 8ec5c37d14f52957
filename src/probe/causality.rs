//! The causality probe: change one token and see which logits hear of it. Nothing before the change
//! may.

use super::{Finding, Probe, ProbeContext, prompt::Prompt};
use crate::{
    corpus::Corpus,
    models::{
        Model,
        capabilities::{CouplingModel, CouplingSettings},
    },
    nn::{Device, Result, Tap, Tensor, host, pooling::Upsample},
    telemetry::{
        Args,
        measurements::{self, LeakyUpsample, LikelyToken, Predictions},
    },
};

/// Arguments: `text` (else a held-out passage), `position` (the middle), `replacement` (text of one
/// token; else the next token of the passage that differs), `coupling_scale` (s for this question
/// only), `gate` (an absolute gate in place of s tanh(gamma), for models whose gate is still shut),
/// `show_wrong` (also measure the upsampling that leaks the future). Makes a
/// [`measurements::Causality`].
pub struct Causality;

const LONGEST: usize = 96;

impl Probe for Causality {
    fn id(&self) -> &'static str {
        "causality"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        model.coupling().is_some()
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let passage = Prompt::of(cx, LONGEST)?;
        let edit = Edit::of(passage, cx.corpus, cx.args)?;
        let (corpus, device, args) = (cx.corpus, cx.device, cx.args);
        let Some(model) = cx.model.coupling_mut() else {
            candle_core::bail!("the causality probe needs a model with a gate between two streams")
        };
        let settings = model.coupling_settings();
        let measured = measure(model, &edit, corpus, (device, args));
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
    fn of(passage: Prompt, corpus: &Corpus, args: &Args) -> Result<Self> {
        let n = passage.ids.len();
        let position = match args.get("position").and_then(|v| v.as_f64()) {
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
    (device, args): (&Device, &Args),
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
    if matches!(args.get("show_wrong"), Some(crate::config::Value::Switch(true))) {
        model.set_coupling_settings(CouplingSettings { upsample: Upsample::Leaky, ..model.coupling_settings() });
        let wrong = deltas(&logits(model, &edit.passage.ids, device)?, &logits(model, &edit.ids, device)?);
        leaky_upsample = Some(LeakyUpsample { before_max: before(&wrong, edit.position), delta: wrong.into() });
    }
    Ok(measurements::Causality {
        original: corpus.decode(&edit.passage.ids),
        edited: corpus.decode(&edit.ids),
        position: edit.position,
        before_max: before(&delta, edit.position),
        delta: delta.into(),
        effective_gate,
        leaky_upsample,
        predictions: Predictions { original: likely_tokens(&original, corpus), edited: likely_tokens(&edited, corpus) },
    })
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

/// The five likeliest tokens after the text, likeliest first. `rows`: logits, one row a position.
fn likely_tokens(rows: &[Vec<f32>], corpus: &Corpus) -> Vec<LikelyToken> {
    let row = rows.last().map_or(&[][..], Vec::as_slice);
    let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total: f32 = row.iter().map(|v| (v - top).exp()).sum();
    let mut ids: Vec<usize> = (0..row.len()).collect();
    ids.sort_by(|a, b| row[*b].total_cmp(&row[*a]));
    let likely = |id: usize| LikelyToken {
        token: corpus.token_text(id as u32),
        probability: f64::from((row[id] - top).exp() / total),
    };
    ids.into_iter().take(5).map(likely).collect()
}
