//! Does harder input take more steps? Steps of dopri5 for a token and for the prompt up to it, compared with their
//! surprise.

use std::cell::RefCell;

use super::{
    super::{embedded, end_as_trained},
    Columns, FlowInput, SolveParams, Sweep,
};
use crate::{
    analysis::rank_correlation::{ROTATIONS, shift_test},
    ode::{self, Method, SolverOptions},
    probe::{position_losses::token_losses, prelude::*},
};

/// Held-out prompts, their tokens at most, and the tokens of each that are points.
const PROMPTS: usize = 32;
const LENGTH: usize = 16;
const POINTS: usize = 3;

/// The positions of a prompt of `len` tokens that are measured: evenly spread, the last one included.
fn measured_positions(len: usize) -> Vec<usize> {
    (1..=POINTS).map(|i| (len * i / POINTS).saturating_sub(1)).filter(|at| *at > 0).collect()
}

/// Steps of dopri5 on held-out prompts at the asked control and tolerance.
pub fn difficulty<'a>(input: &'a FlowInput<'_>, params: &SolveParams, cx: &'a ProbeInputs<'_>) -> Result<Sweep<'a>> {
    let Some(model) = input.model() else { bail!("points of the plane are not text; choose a model that reads one") };
    let text = cx.corpus.held_out(PROMPTS, LENGTH.min(model.positions()))?;
    let places = measured_positions(text.len);
    ensure!(!places.is_empty(), "the model reads too short a text: two tokens at least are needed");
    let (total, prompts) = (text.rows * places.len(), text.rows);
    let options = SolverOptions { method: Method::DOPRI5, ..params.options.clone() };
    let about = format!(
        "dopri5, rtol {:e}, atol {:e}, {prompts} held-out prompts of {} tokens",
        options.rtol, options.atol, text.len
    );
    let (params, seed) = (params.clone(), cx.seed);
    // the losses of the prompt that was read last, because several of its places are asked one after another
    let last = RefCell::new((usize::MAX, vec![]));
    let measure = move |i: usize| -> Result<Vec<f64>> {
        let (prompt, at) = (i / places.len(), places[i % places.len()]);
        let mut last = last.borrow_mut();
        if last.0 != prompt {
            *last = (prompt, losses(model, &params, &text, prompt, cx)?);
        }
        let losses = &last.1;
        // the loss at a place is that of the token after it
        let mean = mean(&losses[..at]);
        let ids = &text.inputs[prompt * text.len..][..=at];
        let start = embedded(model, ids, cx.device)?; // (1, T, D)
        let (values, width) = (start.elem_count(), start.dim(2)?);
        let field = model.field(params.control)?;
        let steps = |only| -> f64 {
            let solved = ode::solve_for(&*field, &start, ode::Span::UNIT, &options, only);
            solved.map_or(f64::NAN, |solution| solution.trace.attempts.len() as f64)
        };
        Ok(vec![losses[at - 1], losses[at], mean, steps(values - width..values), steps(0..values)])
    };
    Ok(Sweep::new(about, total, measure, move |columns: &Columns| {
        let [surprise, next, prompt, token_steps, prompt_steps] = [0, 1, 2, 3, 4].map(|i| columns.column(i));
        let is_whole = columns.progress.done == columns.progress.total;
        // over the points where both are known, once all were measured
        let correlation = |steps: &Numbers, of: &Numbers| -> RankCorrelation {
            let pairs = steps.iter().zip(of).filter(|(a, b)| is_whole && a.is_finite() && b.is_finite());
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.map(|(a, b)| (*a, *b)).unzip();
            shift_test(&a, &b, ROTATIONS, &mut ChaCha8Rng::seed_from_u64(seed)).into()
        };
        FlowSweepDifficulty {
            progress: columns.progress,
            token_with_surprise: correlation(&token_steps, &surprise),
            token_with_next: correlation(&token_steps, &next),
            prompt_with_surprise: correlation(&prompt_steps, &prompt),
            surprise,
            next,
            prompt,
            token_steps,
            prompt_steps,
        }
    }))
}

/// -ln p of the token after each of a prompt, as the model was trained: in its own Euler steps.
fn losses(
    model: &dyn LanguageFlow,
    params: &SolveParams,
    text: &Windows,
    prompt: usize,
    cx: &ProbeInputs<'_>,
) -> Result<Vec<f64>> {
    let of_prompt = prompt * text.len..(prompt + 1) * text.len;
    let end = end_as_trained(model, params.control, &embedded(model, &text.inputs[of_prompt.clone()], cx.device)?)?;
    token_losses(&model.finish(&end)?, &text.targets[of_prompt])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_spread_over_a_prompt() {
        assert_eq!(measured_positions(16), [4, 9, 15]);
        assert_eq!(measured_positions(3), [1, 2], "the first token has no surprise");
        assert!(measured_positions(1).is_empty());
    }

    /// Two independent values, one at rest and the other swinging fast: the error of either alone asks for its own
    /// steps, and that of both for no fewer than the faster.
    #[test]
    fn steps_answer_to_the_error_of_the_values_that_count() -> Result<()> {
        let field = |t: f64, y: &Tensor| -> Result<Tensor> {
            Tensor::from_vec(vec![1.0f64, 40.0 * (40.0 * t).cos()], y.shape(), &Device::Cpu)
        };
        let y0 = Tensor::zeros((1, 2, 1), candle_core::DType::F64, &Device::Cpu)?;
        let options = SolverOptions { rtol: 1e-6, atol: 1e-6, ..SolverOptions::default() };
        let steps = |only| -> Result<usize> {
            Ok(ode::solve_for(&field, &y0, ode::Span::UNIT, &options, only)?.trace.attempts.len())
        };
        let (calm, fast, both) = (steps(0..1)?, steps(1..2)?, steps(0..2)?);
        assert!(calm < 12 && fast > 2 * calm && both > 2 * calm, "{calm} {fast} {both}");
        assert_eq!(both, ode::solve(&field, &y0, ode::Span::UNIT, &options)?.trace.attempts.len());
        Ok(())
    }
}
