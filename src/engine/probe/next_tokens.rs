//! The next tokens that a language model expects after a text, and its continuation. It does not know families.

use super::{
    Finding, Probe, ProbeContext,
    prompt::{Prompt, likely_tokens},
};
use crate::{
    models::Model,
    nn::{Result, Tap, Tensor, host},
    telemetry::measurements::NextTokens as Measured,
};

/// Arguments: `text` (else a held-out passage; of a task, one that ends where an answer is asked for), `count` (likely
/// tokens, 8), `length` (tokens of the continuation, 24). Makes a [`Measured`].
pub struct NextTokens;

/// Ids of a prompt at most.
const LONGEST: usize = 128;

impl Probe for NextTokens {
    fn id(&self) -> &'static str {
        "next_tokens"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        model.recovery().is_none()
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let (count, length) = (cx.count("count", 8, 1..=32), cx.count("length", 24, 1..=128));
        let is_typed = cx.is_typed();
        let (prompt, truth) = if is_typed { (Prompt::of(cx, LONGEST)?, None) } else { held_out(cx)? };
        let rows = logits(cx, &prompt.ids)?;
        let mut ids = prompt.ids.clone();
        let mut next = likeliest(&rows);
        while let Some(id) = next.filter(|_| ids.len() < prompt.ids.len() + length) {
            ids.push(id);
            // A model with a bounded context ends where that does.
            next = logits(cx, &ids).ok().and_then(|row| likeliest(&row));
        }
        let measured = Measured {
            prompt: cx.corpus.decode(&prompt.ids),
            is_typed,
            truth: truth.map(|id| cx.corpus.token_text(id)),
            likely: likely_tokens(&rows, cx.corpus, count),
            continuation: cx.corpus.decode(&ids[prompt.ids.len()..]),
        };
        Ok(vec![Finding::new(measured, prompt.about, prompt.tokens)])
    }
}

/// A held-out passage and the token after it. Of a task, one that ends at its first question.
fn held_out(cx: &ProbeContext<'_>) -> Result<(Prompt, Option<u32>)> {
    let asked = cx.corpus.held_out(1, LONGEST).ok().and_then(|w| {
        let at = w.answers.as_ref()?.iter().position(|is_answer| *is_answer)?;
        Some((w.inputs.get(..=at)?.to_vec(), *w.targets.get(at)?))
    });
    let Some((ids, answer)) = asked else {
        let mut prompt = Prompt::of(cx, LONGEST / 2)?;
        let truth = if prompt.ids.len() > 1 { prompt.ids.pop() } else { None };
        prompt.tokens.truncate(prompt.ids.len());
        return Ok((prompt, truth));
    };
    let tokens = ids.iter().map(|id| cx.corpus.token_text(*id)).collect();
    let about = format!("held-out question, {} tokens", ids.len());
    Ok((Prompt { ids, tokens, about }, Some(answer)))
}

/// The logits after the last of these ids.
fn logits(cx: &ProbeContext<'_>, ids: &[u32]) -> Result<Vec<f32>> {
    let tokens = Tensor::from_slice(ids, (1, ids.len()), cx.device)?;
    let all = cx.model.logits(&tokens, &mut Tap::off())?; // (1, T, V)
    let (_, positions, _) = all.dims3()?;
    host::to_f32(&all.narrow(1, positions - 1, 1)?)
}

fn likeliest(row: &[f32]) -> Option<u32> {
    let best = row.iter().enumerate().filter(|(_, v)| v.is_finite()).max_by(|a, b| a.1.total_cmp(b.1));
    best.map(|(id, _)| id as u32)
}
