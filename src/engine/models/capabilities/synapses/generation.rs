//! Generates text after a prompt, token by token, by the recurrent form: the state has a fixed size, so that the cost
//! of a token does not grow with the number of tokens before it.

use candle_core::{Result, Tensor};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{State, SynapseModel, SynapseShape};
use crate::{
    analysis::statistics::argmax,
    nn::{Tap, host},
};

/// The sampling of the next token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Divides the logits; 0 always takes the likeliest token.
    pub temperature: f64,
    /// The seed of the random draws.
    pub seed: u64,
}

/// Reads the prompt and writes `count` tokens. `each` gets every token as soon as it is drawn, and returns whether to
/// continue. Only `known` ids are written.
///
/// # Errors
/// If the prompt is empty, or the device fails.
pub fn generate(
    model: &dyn SynapseModel,
    prompt: &[u32],
    count: usize,
    sampling: Sampling,
    known: usize,
    each: &mut dyn FnMut(u32) -> bool,
) -> Result<()> {
    let device = model.params().device();
    let mut state = State::empty(model.shape(), 1, device)?;
    let mut logits = vec![];
    for part in prompt.chunks(stretch(model.shape())) {
        logits =
            last_row(&model.read(&Tensor::from_slice(part, (1, part.len()), device)?, &mut state, &mut Tap::off())?)?;
    }
    ensure!(!logits.is_empty(), "the prompt is empty: the first token needs one before it");
    let mut rng = ChaCha8Rng::seed_from_u64(sampling.seed);
    let mut reader = model.token_recurrence(&state)?;
    if reader.is_some() {
        // the recurrence has its own copy of the state
        state.layers.clear();
    }
    for written in 1..=count {
        logits.truncate(known.max(1));
        let id = draw(&logits, sampling.temperature, &mut rng);
        if !each(id) || written == count {
            break;
        }
        logits = match &mut reader {
            Some(reader) => reader.read(id)?,
            None => last_row(&model.read(&Tensor::from_slice(&[id], (1, 1), device)?, &mut state, &mut Tap::off())?)?,
        };
    }
    Ok(())
}

/// Neurons times tokens of one stretch of a text that is read as a stream.
const MAX_CHUNK_VALUES: usize = 1 << 22;
const MIN_CHUNK_TOKENS: usize = 16;
const MAX_CHUNK_TOKENS: usize = 256;

/// Tokens of one stretch of a text that is read as a stream.
pub fn stretch(shape: &SynapseShape) -> usize {
    (MAX_CHUNK_VALUES / shape.neurons.max(1)).clamp(MIN_CHUNK_TOKENS, MAX_CHUNK_TOKENS)
}

/// The logits of the last position of `(1, T, V)`.
pub(crate) fn last_row(logits: &Tensor) -> Result<Vec<f32>> {
    host::to_f32(&logits.narrow(1, logits.dim(1)? - 1, 1)?)
}

/// The id that is drawn of softmax(logits / temperature); the likeliest at 0, of equal ones the first.
pub(crate) fn draw(logits: &[f32], temperature: f64, rng: &mut ChaCha8Rng) -> u32 {
    let likeliest = argmax(logits).unwrap_or(0);
    if temperature <= 0.0 {
        return likeliest as u32;
    }
    let most = logits.get(likeliest).map_or(0.0, |v| f64::from(*v));
    let weights: Vec<f64> = logits.iter().map(|v| ((f64::from(*v) - most) / temperature).exp()).collect();
    let mut left = rng.random::<f64>() * weights.iter().sum::<f64>();
    let drawn = weights.iter().position(|w| {
        left -= w;
        left < 0.0
    });
    drawn.unwrap_or(likeliest) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_softmax_and_zero_takes_the_likeliest() {
        let logits = [0.0, 1.0f32.exp().ln() + 1.0, f32::NEG_INFINITY, 0.0];
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        assert!((0..50).all(|_| draw(&logits, 0.0, &mut rng) == 1));
        let mut counts = [0usize; 4];
        (0..20_000).for_each(|_| counts[draw(&logits, 1.0, &mut rng) as usize] += 1);
        let weights = [1.0, 2.0f64.exp(), 0.0, 1.0];
        let total: f64 = weights.iter().sum();
        for (count, weight) in counts.iter().zip(weights) {
            assert!((*count as f64 / 20_000.0 - weight / total).abs() < 0.01, "{counts:?}");
        }
        assert_eq!(draw(&[2.0, 2.0], 0.0, &mut rng), 0, "ties go to the first");
    }
}
