//! Activation steering as the baseline of a trained control: without control, one vector is added once, to every state at
//! the end of the flow. It is the difference of the mean states at which the language prefers a word of either class, over
//! the nouns that steering was trained on, and is as long at strength 1 as half the mean
//! distance between a state at u0 = 1 and at u0 = -1.

use super::{
    super::end_as_trained,
    Columns, FlowInput, SolveParams, Sweep,
    classes::{class_ids, groups, mean_shares, steered},
    linspace,
};
use crate::{
    corpus::generated::steering::{self, HELD_OUT_NOUNS, NOUNS},
    nn::fused::cross_entropy::cross_entropy,
    probe::prelude::*,
};

const CONTROL_STRENGTHS: usize = 33;
/// Held-out windows of the language whose perplexity is measured.
const WINDOWS: usize = 16;

/// A model solved in its own Euler steps.
struct SolvedModel<'a> {
    model: &'a dyn LanguageFlow,
    params: SolveParams,
}

impl SolvedModel<'_> {
    /// States at the end of the flow `(B, T, D)` of tokens `(B, T)`.
    fn end(&self, tokens: &Tensor, u0: f64) -> Result<Tensor> {
        end_as_trained(self.model, self.params.control_at_u0(u0), &self.model.embed(tokens)?.detach())
    }

    /// The states of the last tokens of all prompts, where the next word is decided.
    fn last_states(&self, groups: &[Tensor], u0: f64) -> Result<Vec<Vec<f64>>> {
        let mut states = vec![];
        for group in groups {
            let end = self.end(group, u0)?;
            states.extend(host::rows_f64(&end.narrow(1, end.dim(1)? - 1, 1)?)?);
        }
        Ok(states)
    }
}

/// The vector of strength 1, `(D)`.
fn vector(solved: &SolvedModel<'_>, cx: &ProbeInputs<'_>) -> Result<Vec<f64>> {
    let of_nouns = |prefers_good: bool| {
        let nouns: Vec<&str> = NOUNS.into_iter().filter(|noun| steering::prefers_good(noun) == prefers_good).collect();
        groups(&steering::prompts(&nouns), solved.model, cx)
    };
    let (good, bad) = (of_nouns(true)?, of_nouns(false)?);
    let apart = difference(&mean_row(&solved.last_states(&good, 0.0)?), &mean_row(&solved.last_states(&bad, 0.0)?));
    let mut distances = vec![];
    for groups in [&good, &bad] {
        let (plus, minus) = (solved.last_states(groups, 1.0)?, solved.last_states(groups, -1.0)?);
        distances.extend(plus.iter().zip(&minus).map(|(a, b)| norm(&difference(a, b)) / 2.0));
    }
    let moved = distances.iter().sum::<f64>() / distances.len().max(1) as f64;
    let scale = moved / norm(&apart).max(f64::MIN_POSITIVE);
    Ok(apart.iter().map(|x| x * scale).collect())
}

/// A batch of prompts or windows, with its unsteered states at the end of the flow.
struct Unsteered {
    tokens: Tensor,
    end: Tensor, // (B, T, D)
}

/// The steered states at the end of the flow, `(B, T, D)`.
type Steering<'a> = &'a dyn Fn(&Unsteered) -> Result<Tensor>;

/// Both ways of steering against their strength: shares of the classes on held-out nouns, and the perplexity of text.
pub fn activation<'a>(input: &'a FlowInput<'_>, params: &SolveParams, cx: &'a ProbeInputs<'_>) -> Result<Sweep<'a>> {
    let (model, classes) = steered(input)?;
    let solved = SolvedModel { model, params: params.clone() };
    let vector = vector(&solved, cx)?;
    let unsteered = |tokens: Tensor| -> Result<Unsteered> { Ok(Unsteered { end: solved.end(&tokens, 0.0)?, tokens }) };
    let held_out = groups(&steering::prompts(&HELD_OUT_NOUNS), model, cx)?;
    let prompts: Vec<Unsteered> = held_out.into_iter().map(unsteered).collect::<Result<_>>()?;
    let text = cx.corpus.held_out(WINDOWS, model.positions())?;
    let windows = unsteered(Tensor::from_slice(&text.inputs, (text.rows, text.len), cx.device)?)?;
    let targets = Tensor::from_slice(&text.targets, (text.rows, text.len), cx.device)?;
    let ids = class_ids(classes, cx);

    let x = linspace(-2.0, 2.0, CONTROL_STRENGTHS);
    let at = x.clone();
    let measure = move |i: usize| -> Result<Vec<f64>> {
        let push: Vec<f32> = vector.iter().map(|v| (v * at[i]) as f32).collect();
        let push = Tensor::from_vec(push, (1, 1, vector.len()), windows.end.device())?;
        let by_control = |of: &Unsteered| solved.end(&of.tokens, at[i]);
        let by_vector = |of: &Unsteered| of.end.broadcast_add(&push.to_dtype(of.end.dtype())?);
        let ways: [Steering<'_>; 2] = [&by_control, &by_vector];
        let mut columns = vec![];
        for steer in ways {
            columns.extend(mean_shares(solved.model, prompts.iter().map(steer), &ids.each_ref().map(Vec::as_slice))?);
            let loss = cross_entropy(&solved.model.finish(&steer(&windows)?)?, &targets)?;
            columns.push(host::scalar(&loss)?.exp());
        }
        Ok(columns)
    };
    let about = format!("held-out nouns, {} windows of text", text.rows);
    Ok(Sweep::new(about, CONTROL_STRENGTHS, measure, move |columns: &Columns| {
        let curves =
            |from: usize| SteeringCurves::new(columns.column(from), columns.column(from + 1), columns.column(from + 2));
        FlowSweepActivation {
            progress: columns.progress,
            strength: x.clone().into(),
            control: curves(0),
            vector: curves(3),
        }
    }))
}
