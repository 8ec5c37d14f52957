//! A model on every text of its run: the held-out loss, and the continuation of a prompt.

mod directions;

use crate::{corpus::generated::parliament::AUXILIARY, probe::prelude::*};

/// Tokens of a prompt.
const PROMPT: usize = 40;
/// Rows of a batch.
const ROWS: usize = 8;
const TEMPERATURE: f64 = 0.7;

impl Probe for TextLossesArgs {
    type Answer = TextLosses;
    type Subject<'m> = &'m dyn SynapseModel;
    const TAKES_LONG: bool = true;

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let (count, len, device) = (self.windows, self.window, cx.device);
        let corpora = if cx.texts.is_empty() { std::slice::from_ref(cx.corpus) } else { cx.texts };
        let mut texts = vec![];
        for (i, corpus) in corpora.iter().enumerate() {
            cx.progress.at(i, corpora.len())?;
            let windows = corpus.held_out(count, len)?;
            let prompt = corpus.passage(1, PROMPT);
            texts.push(TextLoss {
                name: corpus.name().split(" (").next().unwrap_or_default().to_owned(),
                loss: loss(model, &windows, device)?,
                continuation: corpus.decode(&continuation(model, &prompt, self.write, device)?),
                prompt: corpus.decode(&prompt),
                directions: directions::losses(model, corpus, &windows, device)?,
            });
        }
        let mut measured = TextLosses { texts, auxiliary: vec![] };
        let prompts = if self.write > 0 { measured.prompts_into_english(&AUXILIARY.sentence) } else { vec![] };
        for prompt in prompts {
            let written = continuation(model, &cx.corpus.encode(&prompt), self.write, device)?;
            let (english, continuation) = (AUXILIARY.english.clone(), cx.corpus.decode(&written));
            measured.auxiliary.push(AuxiliarySample { prompt, english, continuation });
        }
        let about = format!("{count} held-out windows of {len} tokens a text");
        Ok(Answer::new(measured, about, vec![]))
    }
}

/// Mean nats per token.
fn loss(model: &dyn SynapseModel, w: &Windows, device: &Device) -> Result<f64> {
    let mut sum = 0.0;
    for from in (0..w.rows).step_by(ROWS) {
        let rows = ROWS.min(w.rows - from);
        let span = from * w.len..(from + rows) * w.len;
        let batch = Batch::from_ids(&w.inputs[span.clone()], &w.targets[span], rows, w.len, device)?;
        sum += host::scalar(&model.evaluate(&batch)?)? * rows as f64;
    }
    Ok(sum / w.rows.max(1) as f64)
}

/// The tokens that the model writes after the prompt; the same draws for every model.
fn continuation(model: &dyn SynapseModel, prompt: &[u32], tokens: usize, device: &Device) -> Result<Vec<u32>> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut state = State::empty(model.shape(), 1, device)?;
    let (mut fresh, mut written) = (prompt.to_vec(), vec![]);
    while written.len() < tokens && !fresh.is_empty() {
        let logits = model.read(&one_text(&fresh, device)?, &mut state, &mut Tap::off())?; // (1,T,V)
        let next = draw(&last_row(&logits)?, TEMPERATURE, &mut rng);
        written.push(next);
        fresh = vec![next];
    }
    Ok(written)
}
