//! The next tokens that a language model expects after a text, and its continuation.

use crate::probe::prelude::*;

/// The largest number of tokens of a prompt.
const MAX_PROMPT: usize = 128;

impl Probe for NextTokensArgs {
    type Answer = NextTokens;
    type Subject<'m> = &'m dyn Model;

    fn ask(&self, model: &dyn Model, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let is_typed = !self.text.is_empty();
        let read = |longest| Prompt::read(cx, &self.text, self.passage, longest);
        let (prompt, truth) = if is_typed { (read(MAX_PROMPT)?, None) } else { held_out(cx.corpus, read)? };
        let rows = logits(model, &prompt.ids, cx.device)?;
        let mut ids = prompt.ids.clone();
        let mut next = argmax(&rows);
        while let Some(id) = next.filter(|_| ids.len() < prompt.ids.len() + self.length) {
            ids.push(id as u32);
            // A model with a bounded context ends where that does.
            next = logits(model, &ids, cx.device).ok().and_then(|row| argmax(&row));
        }
        let measured = NextTokens {
            prompt: cx.corpus.decode(&prompt.ids),
            is_typed,
            truth: truth.map(|id| cx.corpus.token_text(id)),
            likely: likely_tokens(&rows, cx.corpus, self.count),
            continuation: cx.corpus.decode(&ids[prompt.ids.len()..]),
        };
        Ok(Answer::new(measured, prompt.about, prompt.tokens))
    }
}

/// A held-out passage and the token after it. If the text is a task, the passage ends at its first question.
fn held_out(corpus: &Corpus, read: impl Fn(usize) -> Result<Prompt>) -> Result<(Prompt, Option<u32>)> {
    let asked = corpus.held_out(1, MAX_PROMPT).ok().and_then(|w| {
        let at = w.answers.as_ref()?.iter().position(|is_answer| *is_answer)?;
        Some((w.inputs.get(..=at)?.to_vec(), *w.targets.get(at)?))
    });
    let Some((ids, answer)) = asked else {
        let mut prompt = read(MAX_PROMPT / 2)?;
        let truth = if prompt.ids.len() > 1 { prompt.ids.pop() } else { None };
        prompt.tokens.truncate(prompt.ids.len());
        return Ok((prompt, truth));
    };
    let tokens = ids.iter().map(|id| corpus.token_text(*id)).collect();
    let about = format!("held-out question, {} tokens", ids.len());
    Ok((Prompt { ids, tokens, about }, Some(answer)))
}

/// The logits after the last of these ids.
fn logits(model: &dyn Model, ids: &[u32], device: &Device) -> Result<Vec<f32>> {
    last_row(&model.logits(&text_batch(ids, device)?, &mut Tap::off())?)
}
