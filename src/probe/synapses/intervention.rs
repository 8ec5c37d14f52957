//! What a text becomes while chosen neurons are silenced, scaled or held at a value, beside random neurons that fire as
//! often.

use candle_core::{D, bail};
use rand::{SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

use super::{
    super::{
        Finding, Probe, ProbeContext,
        prompt::{Prompt, likely_tokens},
    },
    firing::{self, Activation},
    model,
};
use crate::{
    models::{
        Model,
        bdh::{Action, BdhSpec, Intervention, Part, State, SynapseModel},
    },
    nn::{Result, Tap, Tensor, host},
    telemetry::{Args, measurements::InterventionEffect, neuron_name, read_neurons},
};

/// Arguments: `neurons` (`head:index`, parted by commas), `part` (`x` or `y`), `action` (`silence`, `scale` or `clamp`),
/// `amount` (the factor or the value), `layer` (from 0; every layer where none is given), `text` (else a held-out passage,
/// `passage` its number), `longest` (128 tokens), `draws` of random neurons (8), `length` of the continuations (24 tokens).
/// Makes an [`InterventionEffect`]; nothing where no neuron is named.
pub struct InterventionProbe;

/// A random neuron is one of so many whose firing is nearest.
const ALIKE: usize = 32;
/// Likely tokens listed.
const LIKELY: usize = 8;

impl Probe for InterventionProbe {
    fn id(&self) -> &'static str {
        "intervention"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        model.synapses().is_some()
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let (longest, draws) = (cx.count("longest", 128, 2..=1024), cx.count("draws", 8, 0..=100));
        let length = cx.count("length", 24, 0..=256);
        let spec = model(cx)?.spec().clone();
        let (change, words) = change(cx.args, &spec)?;
        if change.neurons.is_empty() {
            return Ok(vec![]);
        }
        let prompt = Prompt::of(cx, longest)?;
        let bdh = model(cx)?;
        let before = Reading::of(bdh, cx, &prompt.ids, None, length)?;
        let after = Reading::of(bdh, cx, &prompt.ids, Some(&change), length)?;
        let firing = firing_shares(bdh, cx, &prompt.ids)?;
        let mut rng = ChaCha8Rng::seed_from_u64(cx.seed ^ 0x6e75_6c6c);
        let (mut null, mut null_draws, mut null_firing) = (vec![0.0; prompt.ids.len()], vec![], 0.0);
        for draw in 0..draws {
            cx.progress.at(draw, draws)?;
            let Some(neurons) = alike(&change.neurons, &firing, &spec, &mut rng) else { break };
            null_firing += mean_of(&firing, &neurons) / draws as f64;
            let random = Reading::of(bdh, cx, &prompt.ids, Some(&Intervention { neurons, ..change.clone() }), 0)?;
            let divergence = before.divergence(&random)?;
            null_draws.push(divergence.iter().sum::<f64>() / divergence.len() as f64);
            null.iter_mut().zip(divergence).for_each(|(sum, d)| *sum += d / draws as f64);
        }
        if null_draws.is_empty() {
            null.fill(f64::NAN);
            null_firing = f64::NAN;
        }
        let names = change.neurons.iter().map(|n| neuron_name(*n, spec.per_head())).collect();
        let measured = InterventionEffect {
            is_typed: cx.is_typed(),
            neurons: names,
            action: words,
            firing: mean_of(&firing, &change.neurons),
            null_firing,
            divergence: before.divergence(&after)?.into(),
            null_divergence: null.into(),
            null_draws: null_draws.into(),
            before: likely_tokens(&before.last, cx.corpus, LIKELY),
            after: likely_tokens(&after.last, cx.corpus, LIKELY),
            continuation_before: cx.corpus.decode(&before.continuation),
            continuation_after: cx.corpus.decode(&after.continuation),
            loss_before: before.loss.into(),
            loss_after: after.loss.into(),
        };
        Ok(vec![Finding::new(measured, prompt.about, prompt.tokens)])
    }
}

/// What is asked for, and it in words. No neuron where none is named.
fn change(args: &Args, spec: &BdhSpec) -> Result<(Intervention, String)> {
    let text = |name: &str| args.get(name).map(ToString::to_string).unwrap_or_default();
    let neurons = read_neurons(&text("neurons"), spec.heads, spec.per_head()).map_err(candle_core::Error::Msg)?;
    let amount = args.get("amount").and_then(|v| v.as_f64()).unwrap_or(0.0);
    let (action, done) = match text("action").as_str() {
        "" | "silence" => (Action::Scale(0.0), "silenced".to_owned()),
        "scale" => (Action::Scale(amount), format!("times {amount}")),
        "clamp" => (Action::Clamp(amount), format!("held at {amount}")),
        other => bail!("`{other}` is nothing to do to a neuron: silence, scale or clamp"),
    };
    let part = if text("part") == "y" { Part::Y } else { Part::X };
    let layer = args.get("layer").and_then(|v| v.as_f64()).filter(|l| *l >= 0.0).map(|l| l as usize);
    let named = if part == Part::Y { "y" } else { "x and y" };
    let place = layer.map_or("every layer".to_owned(), |l| format!("layer {l}"));
    Ok((Intervention { neurons, part, action, layer }, format!("{named} {done} in {place}")))
}

/// A text read once.
struct Reading {
    log_probs: Tensor, // (T, V)
    /// Logits after the last token.
    last: Vec<f32>,
    /// -ln p of each token; NaN at the first.
    loss: Vec<f64>,
    continuation: Vec<u32>,
}

impl Reading {
    fn of(
        model: &dyn SynapseModel,
        cx: &ProbeContext<'_>,
        ids: &[u32],
        change: Option<&Intervention>,
        length: usize,
    ) -> Result<Self> {
        let mut state = State::empty(model.spec(), 1, cx.device)?;
        let mut read = |ids: &[u32]| -> Result<Tensor> {
            let tokens = Tensor::from_slice(ids, (1, ids.len()), cx.device)?;
            let logits = match change {
                Some(change) => model.read_changed(&tokens, &mut state, change)?,
                None => model.read(&tokens, &mut state, &mut Tap::off())?,
            };
            logits.squeeze(0) // (T, V)
        };
        let logits = read(ids)?;
        let log_probs = candle_nn::ops::log_softmax(&logits, D::Minus1)?;
        let mut loss = vec![f64::NAN];
        if let Some((_, targets)) = ids.split_first().filter(|(_, targets)| !targets.is_empty()) {
            let targets = Tensor::from_slice(targets, (targets.len(), 1), cx.device)?;
            let found = log_probs.narrow(0, 0, ids.len() - 1)?.gather(&targets, 1)?;
            loss.extend(host::to_f64(&found)?.iter().map(|l| -l));
        }
        let last = host::to_f32(&logits.get(ids.len() - 1)?)?;
        let (mut row, mut continuation) = (last.clone(), vec![]);
        while continuation.len() < length {
            cx.progress.at(0, 1)?;
            let likeliest = row.iter().enumerate().filter(|(_, v)| v.is_finite()).max_by(|a, b| a.1.total_cmp(b.1));
            let Some((id, _)) = likeliest else { break };
            continuation.push(id as u32);
            row = host::to_f32(&read(&[id as u32])?)?;
        }
        Ok(Self { log_probs, last, loss, continuation })
    }

    /// KL(self || other) of the next token's distribution at each position, nats.
    fn divergence(&self, other: &Self) -> Result<Vec<f64>> {
        let each = (self.log_probs.exp()? * (&self.log_probs - &other.log_probs)?)?;
        // rounding takes a sum of nothing below zero
        Ok(host::to_f64(&each.sum(D::Minus1)?)?.into_iter().map(|kl| kl.max(0.0)).collect())
    }
}

/// Share of tokens and layers where y of each neuron is above zero, `(n)`.
fn firing_shares(model: &dyn SynapseModel, cx: &ProbeContext<'_>, ids: &[u32]) -> Result<Vec<f64>> {
    let mut counts = vec![0.0; model.spec().neurons];
    firing::read(model, ids, cx.device, |chunk| {
        for (layer, token) in chunk.layers.iter().flat_map(|l| (0..chunk.tokens).map(move |t| (l, t))) {
            let on = layer.row(Activation::Y, token).map(|v| f64::from(u8::from(v > 0.0)));
            counts.iter_mut().zip(on).for_each(|(count, on)| *count += on);
        }
        Ok(())
    })?;
    let all = (ids.len() * model.spec().layers).max(1) as f64;
    Ok(counts.into_iter().map(|count| count / all).collect())
}

fn mean_of(values: &[f64], at: &[usize]) -> f64 {
    at.iter().map(|i| values[*i]).sum::<f64>() / at.len().max(1) as f64
}

/// As many other neurons, each of the same head as one of these and about as active; none if there are too few others.
fn alike(neurons: &[usize], firing: &[f64], spec: &BdhSpec, rng: &mut ChaCha8Rng) -> Option<Vec<usize>> {
    let mut taken = neurons.to_vec();
    for &neuron in neurons {
        let head = neuron / spec.per_head();
        let heads = head * spec.per_head()..(head + 1) * spec.per_head();
        let mut others: Vec<usize> = heads.filter(|i| !taken.contains(i)).collect();
        let apart = |i: &usize| (firing[*i] - firing[neuron]).abs();
        others.sort_by(|a, b| apart(a).total_cmp(&apart(b)));
        others.truncate(ALIKE);
        taken.push(*others.choose(rng)?);
    }
    Some(taken.split_off(neurons.len()))
}
