//! An intervention on one text against the model as it is, and against random targets.

use super::{Request, changed::ForwardPass, null::MatchedNull};
use crate::probe::prelude::*;

/// Options of an effect, other than the text itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffectOptions {
    /// The number of random targets.
    pub draws: usize,
    /// The number of tokens of the continuations.
    pub length: usize,
    /// The seed of the random targets.
    pub seed: u64,
}

/// The effect of an intervention on a text; lists have an entry for each token.
pub struct Effect {
    /// Share of tokens and layers where y of the neurons is above 0; NaN for synapses.
    pub firing: f64,
    /// The share for the random neurons.
    pub null_firing: f64,
    /// Mean sigma of the synapses after the text, without rotation; NaN for neurons.
    pub sigma: f64,
    /// The mean sigma of the random synapses.
    pub null_sigma: f64,
    /// The forward pass of the unchanged model.
    pub before: ForwardPass,
    /// The text read with the change.
    pub after: ForwardPass,
    /// Relative entropy of the next token's distribution as the model is to that with the change, nats.
    pub divergence: Vec<f64>,
    /// The relative entropy for random targets, mean over draws; NaN if there are none.
    pub null_divergence: Vec<f64>,
    /// Mean over the text of each draw, nats.
    pub null_draws: Vec<f64>,
}

/// Reads the text as the model is, with the change, and with random targets changed likewise.
///
/// # Errors
/// If the text is empty or too long, the change does not fit the model, or the question was cancelled.
pub fn effect(
    model: &dyn SynapseModel,
    ids: &[u32],
    asked: &Request,
    options: EffectOptions,
    progress: Progress<'_>,
) -> Result<Effect> {
    let readings = options.draws + 3;
    let read = |change: Option<&Intervention>, length: usize, at: usize| {
        ForwardPass::run(model, ids, change, length, progress.piece(at, readings))
    };
    let before = read(None, options.length, 0)?;
    let after = read(Some(&asked.change), options.length, 1)?;
    let null = MatchedNull::new(model, &[ids], &asked.change)?;
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed ^ 0x6e75_6c6c);
    let (mut null_divergence, mut null_draws, mut activity) = (vec![0.0; ids.len()], vec![], 0.0);
    for draw in 0..options.draws {
        let Some((target, own)) = null.draw(&asked.change.target, &mut rng) else { break };
        activity += own / options.draws as f64;
        let random = read(Some(&Intervention { target, ..asked.change.clone() }), 0, draw + 3)?;
        let divergence = before.divergence(&random)?;
        null_draws.push(mean(&divergence));
        null_divergence.iter_mut().zip(divergence).for_each(|(sum, d)| *sum += d / options.draws as f64);
    }
    if null_draws.len() < options.draws || options.draws == 0 {
        null_draws.clear();
        null_divergence.fill(f64::NAN);
        activity = f64::NAN;
    }
    let of_neurons = matches!(asked.change.target, Target::Neurons { .. });
    let only = |is_wanted: bool, value: f64| if is_wanted { value } else { f64::NAN };
    Ok(Effect {
        firing: only(of_neurons, null.activity()),
        null_firing: only(of_neurons, activity),
        sigma: only(!of_neurons, null.activity()),
        null_sigma: only(!of_neurons, activity),
        divergence: before.divergence(&after)?,
        null_divergence,
        null_draws,
        before,
        after,
    })
}
