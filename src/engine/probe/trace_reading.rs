//! A text read by a model of trace blocks, token by token: surprise, prediction error and traces, and what the model
//! writes after it.

use super::{position_losses::token_losses, tapped::TraceModel};
use crate::probe::prelude::*;

type StreamingTraces<'m> = (TraceModel<'m>, &'m dyn StreamingModel);

/// Ids of a prompt at most, and of a held-out one.
const MAX_PROMPT: usize = 256;
const DEFAULT_TOKENS: usize = 96;
/// The largest number of channels of a trace that are kept.
const CHANNELS: usize = 128;

impl Probe for TraceReadingArgs {
    type Answer = TraceReading;
    type Subject<'m> = StreamingTraces<'m>;

    fn ask(
        &self,
        ((model, sizes), streaming): StreamingTraces<'_>,
        cx: &ProbeInputs<'_>,
    ) -> Result<Answer<Self::Answer>> {
        let temperature = self.temperature;
        let is_typed = !self.text.is_empty();
        let prompt = Prompt::read(cx, &self.text, self.passage, if is_typed { MAX_PROMPT } else { DEFAULT_TOKENS })?;
        let mut rng = ChaCha8Rng::seed_from_u64(cx.seed);
        let mut ids = prompt.ids.clone();
        let mut text = streaming.stream();
        let mut read = 0;
        for _ in 0..self.length {
            let row = last_row(&text.read(&text_batch(&ids[read..], cx.device)?)?)?;
            read = ids.len();
            let Some(next) = drawn(&row, temperature, &mut rng) else { break };
            ids.push(next);
        }
        let mut tap = Tap::on(&["blocks."]);
        let logits = model.logits(&text_batch(&ids, cx.device)?, &mut tap)?;
        let blocks = (0..sizes.blocks).map(|block| read_block(&tap, &sizes, block)).collect::<Result<_>>()?;
        let later = token_losses(&logits, &ids[1..])?;
        let measured = TraceReading {
            is_typed,
            prompt: prompt.ids.len(),
            temperature,
            surprise: std::iter::once(f64::NAN).chain(later).collect(),
            blocks,
        };
        let tokens = ids.iter().map(|id| cx.corpus.token_text(*id)).collect();
        let written = ids.len() - prompt.ids.len();
        let about = match written {
            0 => prompt.about,
            _ => format!("{}, then {written} that it wrote", prompt.about),
        };
        Ok(Answer::new(measured, about, tokens))
    }
}

/// The token that these logits give at a temperature; the likeliest at 0; none where no logit is finite.
fn drawn(row: &[f32], temperature: f64, rng: &mut ChaCha8Rng) -> Option<u32> {
    let finite = || row.iter().enumerate().filter(|(_, v)| v.is_finite());
    let best = argmax(row)?;
    if temperature <= 0.0 {
        return Some(best as u32);
    }
    let weight = |v: &f32| (f64::from(v - row[best]) / temperature).exp();
    let mut left = rng.random::<f64>() * finite().map(|(_, v)| weight(v)).sum::<f64>();
    let passed = |(_, v): &(usize, &f32)| {
        left -= weight(v);
        left < 0.0
    };
    // Rounding may leave a little of the sum.
    Some(finite().find(passed).map_or(best, |(id, _)| id) as u32)
}

fn read_block(tap: &Tap, sizes: &TraceBlocks, block: usize) -> Result<BlockReading> {
    let values = |part: &str| host::to_f32(tap.require(&sizes.tap_path(block, part))?);
    let width = sizes.channels;
    let trace = |part: &str| -> Result<(Array, Vec<f64>)> {
        let all = values(part)?;
        let shown = width.min(CHANNELS);
        let kept: Vec<f32> = all.chunks(width).flat_map(|token| &token[..shown]).copied().collect();
        let array = Array::new([all.len() / width, shown], kept)?;
        Ok((array.half_precision(), lengths(&all, width)))
    };
    let [fast, medium, slow] = TraceBlocks::TRACES;
    let [(fast, of_fast), (medium, of_medium), (slow, of_slow)] = [trace(fast)?, trace(medium)?, trace(slow)?];
    let inputs = lengths(&values("input")?, width);
    let errors = lengths(&values("error")?, width);
    Ok(BlockReading {
        path: TraceBlocks::path(block),
        error: errors.iter().zip(inputs).map(|(error, input)| error / input).collect(),
        traces: [fast, medium, slow],
        norms: [of_fast.into(), of_medium.into(), of_slow.into()],
        channels: width,
    })
}

/// Length of every row of `(tokens, width)`.
fn lengths(x: &[f32], width: usize) -> Vec<f64> {
    x.chunks(width).map(|row| row.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_temperature_the_likeliest_is_taken() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        assert_eq!(drawn(&[0.0, f32::NAN, 3.0, 1.0], 0.0, &mut rng), Some(2));
        assert_eq!(drawn(&[f32::NAN; 3], 1.0, &mut rng), None);
    }

    #[test]
    fn with_temperature_tokens_come_as_often_as_they_are_probable() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let row = [0.0, 3.0f32.ln()];
        let ones = (0..4000).filter(|_| drawn(&row, 1.0, &mut rng) == Some(1)).count();
        // 3,000 are expected, with a standard deviation of 27.
        assert!((2890..3110).contains(&ones), "{ones}");
    }
}
