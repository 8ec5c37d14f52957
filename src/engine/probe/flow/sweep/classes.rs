//! Measures the effect of a control on words: the classes' shares against u, and the depth from which a linear
//! classifier can recognise from a state which way it was steered.

use super::{
    super::{embedded, end_as_trained, words},
    Columns, FlowInput, SolveParams, Sweep, linspace,
};
use crate::{
    analysis::linear_probe,
    corpus::generated::steering::{self, BAD, GOOD, HELD_OUT_NOUNS, NEUTRAL, NOUNS},
    ode,
    probe::prelude::*,
};

const CONTROLS: usize = 33;
/// The number of training nouns whose prompts are measured for comparison: the same number as held-out ones.
const TRAINED: usize = HELD_OUT_NOUNS.len();
/// Depths of the cuts, in quarters.
const CUT_DEPTHS: usize = 5;
/// Penalty of a cut, as a share of the points' mean squared length.
const RIDGE: f64 = 1e-3;
/// Accuracy of guessing between two controls.
const CHANCE: f64 = 0.5;

/// The ids of prompts, `(B, T)` for each length T. Prompts longer than the model's positions are left out (letter by letter
/// some are).
pub fn groups(prompts: &[String], model: &dyn LanguageFlow, cx: &ProbeInputs<'_>) -> Result<Vec<Tensor>> {
    let mut by_length: std::collections::BTreeMap<usize, Vec<u32>> = Default::default();
    let space = words::space_token(cx.corpus);
    for prompt in prompts {
        let mut ids = cx.corpus.encode(prompt);
        ids.extend(space); // the space belongs to the prompt, so that the next token is a word
        by_length.entry(ids.len()).or_default().extend(ids);
    }
    by_length
        .into_iter()
        .filter(|(len, _)| (1..=model.positions()).contains(len))
        .map(|(len, ids)| Tensor::from_slice(&ids, (ids.len() / len, len), cx.device))
        .collect()
}

/// The model and its classes. Errors: it was not made to be steered.
pub fn steered<'a>(input: &FlowInput<'a>) -> Result<(&'a dyn LanguageFlow, &'a Steering)> {
    match input.model().and_then(|m| m.steering().map(|s| (m, s))) {
        Some(found) => Ok(found),
        None => bail!("this model was not made to be steered; choose a steering preset"),
    }
}

/// Mean share of each of these classes over the prompts of all groups, as the model was trained: in its
/// own Euler steps.
pub fn shares(
    model: &dyn LanguageFlow,
    params: &SolveParams,
    u0: f64,
    groups: &[Tensor],
    classes: &[&[u32]],
) -> Result<Vec<f64>> {
    let end = |group| end_as_trained(model, params.control_at_u0(u0), &model.embed(group)?.detach());
    mean_shares(model, groups.iter().map(end), classes)
}

/// Mean share of each of these classes over the rows of all states at the end of a flow, each `(B, T, D)`.
pub fn mean_shares(
    model: &dyn LanguageFlow,
    ends: impl Iterator<Item = Result<Tensor>>,
    classes: &[&[u32]],
) -> Result<Vec<f64>> {
    let (mut total, mut count) = (vec![0.0; classes.len()], 0usize);
    for end in ends {
        for p in words::next_of_rows(model, &end?)? {
            total.iter_mut().zip(classes).for_each(|(t, ids)| *t += words::mass(&p, ids));
            count += 1;
        }
    }
    Ok(total.into_iter().map(|t| t / count.max(1) as f64).collect())
}

/// The tokens of both classes: of good and bad words where the tokeniser has a token for a space, since the word then
/// follows the space; else those that the model was steered to.
pub fn class_ids(classes: &Steering, cx: &ProbeInputs<'_>) -> [Vec<u32>; 2] {
    match words::space_token(cx.corpus) {
        Some(_) => [words::single_token_ids(cx.corpus, &GOOD), words::single_token_ids(cx.corpus, &BAD)],
        None => [classes.plus.clone(), classes.minus.clone()],
    }
}

/// P(class) against u0, on prompts whose nouns no steering prompt had, and for comparison on trained ones.
pub fn class<'a>(input: &'a FlowInput<'_>, params: &SolveParams, cx: &'a ProbeInputs<'_>) -> Result<Sweep<'a>> {
    let (model, classes) = steered(input)?;
    let held_out = groups(&steering::prompts(&HELD_OUT_NOUNS), model, cx)?;
    let nouns: Vec<&str> = NOUNS.iter().step_by(NOUNS.len() / TRAINED).copied().collect();
    let trained = groups(&steering::prompts(&nouns), model, cx)?;
    let neutral = words::single_token_ids(cx.corpus, &NEUTRAL);
    let [plus, minus] = class_ids(classes, cx);
    let x = linspace(-2.0, 2.0, CONTROLS);
    let (params, at) = (params.clone(), x.clone());
    let prompts = held_out.iter().map(|group| group.dim(0)).sum::<Result<usize>>()?;
    let measure = move |i: usize| -> Result<Vec<f64>> {
        let mut all = shares(model, &params, at[i], &held_out, &[&plus, &minus, &neutral])?;
        all.extend(shares(model, &params, at[i], &trained, &[&plus, &minus])?);
        Ok(all)
    };
    let about = format!("{prompts} prompts with held-out nouns");
    Ok(Sweep::new(about, CONTROLS, measure, move |columns: &Columns| FlowSweepClass {
        progress: columns.progress,
        u0: x.clone().into(),
        held_out: ClassCurves { plus: columns.column(0), minus: columns.column(1) },
        neutral: columns.column(2),
        trained: ClassCurves { plus: columns.column(3), minus: columns.column(4) },
    }))
}

/// The accuracy with which a classifier that never saw a noun predicts from the last token's state whether u0 was +1 or
/// -1.
pub fn layers<'a>(input: &'a FlowInput<'_>, params: &SolveParams, cx: &'a ProbeInputs<'_>) -> Result<Sweep<'a>> {
    let (model, _) = steered(input)?;
    let nouns: Vec<&str> = NOUNS.iter().chain(&HELD_OUT_NOUNS).copied().collect();
    let prompts: Vec<String> = nouns.iter().map(|n| steering::prompt(None, n, steering::VERBS[0])).collect();
    let x = linspace(0.0, 1.0, CUT_DEPTHS);
    let (params, at) = (params.clone(), x.clone());
    let measure = move |i: usize| -> Result<Vec<f64>> {
        let (mut points, mut sides, mut kinds) = (vec![], vec![], vec![]);
        for (side, u0) in [(true, 1.0), (false, -1.0)] {
            let field = model.field(params.control_at_u0(u0))?;
            for (which, prompt) in prompts.iter().enumerate() {
                let ids = cx.corpus.encode(prompt);
                let start = embedded(model, &ids, cx.device)?;
                let state = match at[i] {
                    0.0 => start,
                    tau => ode::solve(&*field, &start, ode::Span { start: 0.0, end: tau }, &params.options)?.end,
                };
                points.push(host::to_f64(&state.narrow(1, ids.len() - 1, 1)?)?);
                sides.push(side);
                kinds.push(which);
            }
        }
        let verdict = linear_probe::leave_group_out(&points, &sides, &kinds, RIDGE);
        let (right, of) = (verdict.right as f64, verdict.total as f64);
        let (low, high) = wilson(right, of);
        Ok(vec![right / of.max(1.0), low, high])
    };
    let about = format!("{} nouns, each left out once, u0 = ±1", nouns.len());
    Ok(Sweep::new(about, CUT_DEPTHS, measure, move |columns: &Columns| FlowSweepLayers {
        progress: columns.progress,
        taus: x.clone().into(),
        accuracy: columns.column(0),
        low: columns.column(1),
        high: columns.column(2),
        chance: CHANCE,
    }))
}
