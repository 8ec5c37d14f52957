//! The causality probe: change one token and see which logits hear of it. Nothing before the change
//! may.

use super::{Finding, Probe, ProbeContext, passage::Passage};
use crate::{
    corpus::Corpus,
    models::{
        Model,
        fast_slow::{Dials, FastSlow, Upsample},
    },
    nn::{Device, Result, Tap, Tensor, host},
    telemetry::{Args, Line, Payload, Series, channels},
};

/// Arguments: `text` (else a held-out passage), `position` (the middle), `replacement` (text of one
/// token; else the next token of the passage that differs), `coupling_scale` (s for this question
/// only), `gate` (an absolute gate in place of s tanh(gamma), for models whose gate is still shut),
/// `show_wrong` (also measure the upsampling that leaks the future). Answers a bundle: `delta`,
/// `original`, `edited`, `position`, `before_max`, `effective_gate`, `prediction`, and `wrong_upsample`
/// and `wrong_before_max` where asked.
pub struct Causality;

const LONGEST: usize = 96;

impl Probe for Causality {
    fn id(&self) -> &'static str {
        "causality"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        model.as_any().is::<FastSlow>()
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let passage = Passage::of(cx, LONGEST)?;
        let edit = Edit::of(passage, cx.corpus, cx.args)?;
        let (corpus, device, args) = (cx.corpus, cx.device, cx.args);
        let Some(model) = cx.model.as_any_mut().downcast_mut::<FastSlow>() else {
            candle_core::bail!("the causality probe is a question for a fast-slow model")
        };
        let dials = model.dials();
        let parts = measure(model, &edit, corpus, (device, args));
        // As it was found, whatever happened.
        model.set_dials(dials);
        let parts = parts?;
        let about = format!(
            "{}, token {} changed from {} to {}",
            edit.passage.about,
            edit.position,
            corpus.token_text(edit.passage.ids[edit.position]),
            corpus.token_text(edit.ids[edit.position])
        );
        let tokens = edit.passage.tokens;
        Ok(vec![Finding { channel: channels::CAUSALITY, about, tokens, payload: Payload::Bundle(parts) }])
    }
}

/// One changed token.
struct Edit {
    passage: Passage,
    position: usize,
    /// The passage with the change.
    ids: Vec<u32>,
}

impl Edit {
    fn of(passage: Passage, corpus: &Corpus, args: &Args) -> Result<Self> {
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
    model: &mut FastSlow,
    edit: &Edit,
    corpus: &Corpus,
    (device, args): (&Device, &Args),
) -> Result<Vec<(String, Payload)>> {
    if let Some(s) = args.get("coupling_scale").and_then(|v| v.as_f64()) {
        model.set_dials(Dials { coupling_scale: s, ..model.dials() });
    }
    if let Some(gate) = args.get("gate").and_then(|v| v.as_f64()) {
        model.set_dials(Dials { gate: Some(gate), ..model.dials() });
    }
    let (original, edited) = (logits(model, &edit.passage.ids, device)?, logits(model, &edit.ids, device)?);
    let delta = deltas(&original, &edited);
    let text = |ids: &[u32]| Payload::Text(vec![corpus.decode(ids)]);
    let mut parts = vec![
        ("delta".to_owned(), series(&edit.passage, "max |delta logits|", &delta)),
        ("original".to_owned(), text(&edit.passage.ids)),
        ("edited".to_owned(), text(&edit.ids)),
        ("position".to_owned(), Payload::Scalar(edit.position as f64)),
        ("before_max".to_owned(), Payload::Scalar(before(&delta, edit.position))),
        ("effective_gate".to_owned(), Payload::Scalar(model.effective_gate()?)),
        ("prediction".to_owned(), prediction(&original, &edited, corpus)),
    ];
    if matches!(args.get("show_wrong"), Some(crate::config::Value::Switch(true))) {
        model.set_dials(Dials { upsample: Upsample::Leaky, ..model.dials() });
        let wrong = deltas(&logits(model, &edit.passage.ids, device)?, &logits(model, &edit.ids, device)?);
        parts.push(("wrong_upsample".to_owned(), series(&edit.passage, "with the wrong upsample, floor(t/P)", &wrong)));
        parts.push(("wrong_before_max".to_owned(), Payload::Scalar(before(&wrong, edit.position))));
    }
    Ok(parts)
}

/// One row of logits for each position.
fn logits(model: &FastSlow, ids: &[u32], device: &Device) -> Result<Vec<Vec<f32>>> {
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

fn series(passage: &Passage, name: &str, y: &[f64]) -> Payload {
    Payload::Series(Series {
        x_label: "position (tokens)".into(),
        y_label: "max |delta logits|".into(),
        x: passage.positions(),
        lines: vec![Line { name: name.into(), y: y.to_vec() }],
    })
}

/// The five likeliest tokens after the passage, before and after the change.
fn prediction(original: &[Vec<f32>], edited: &[Vec<f32>], corpus: &Corpus) -> Payload {
    let line = |what: &str, rows: &[Vec<f32>]| {
        let row = rows.last().map_or(&[][..], Vec::as_slice);
        let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let total: f32 = row.iter().map(|v| (v - top).exp()).sum();
        let mut ids: Vec<usize> = (0..row.len()).collect();
        ids.sort_by(|a, b| row[*b].total_cmp(&row[*a]));
        let likely: Vec<String> = ids
            .iter()
            .take(5)
            .map(|&id| format!("{} {:.2}", corpus.token_text(id as u32), (row[id] - top).exp() / total))
            .collect();
        format!("{what}: {}", likely.join("  "))
    };
    Payload::Text(vec![line("before", original), line("after", edited)])
}
