//! What a control does to words: the classes' shares against u, and at which depth a straight cut can
//! tell from a state which way it was steered.

use super::{super::words, Course, Drive, Sweep, columns, spread};
use crate::{
    analysis::{linear_probe, statistics::wilson},
    corpus::generated::steering::{self, BAD, GOOD, HELD_OUT_NOUNS, NEUTRAL, NOUNS},
    models::{
        capabilities::{FlowControl, LanguageFlow},
        ode_flow::Steering,
    },
    nn::{Result, Tensor, host},
    ode::{self, Method, Options},
    probe::ProbeContext,
};

const CONTROLS: usize = 33;
/// Nouns of the training whose prompts are measured beside the held-out ones: as many as those.
const TRAINED: usize = HELD_OUT_NOUNS.len();
/// Depths of the cuts, in quarters.
const QUARTERS: usize = 5;
/// Penalty of a cut, as a share of the points' mean squared length.
const RIDGE: f64 = 1e-3;

/// Prompts of one length: ids `(B, T)`.
pub struct Group {
    tokens: Tensor,
    rows: usize,
}

/// Prompts longer than the model's positions are left out (letter by letter some are).
pub fn groups(prompts: &[String], model: &dyn LanguageFlow, cx: &ProbeContext<'_>) -> Result<Vec<Group>> {
    let mut by_length: std::collections::BTreeMap<usize, Vec<u32>> = Default::default();
    let space = words::space(cx.corpus);
    for prompt in prompts {
        let mut ids = cx.corpus.encode(prompt);
        ids.extend(space); // a word is asked for, and not the space before it
        by_length.entry(ids.len()).or_default().extend(ids);
    }
    by_length
        .into_iter()
        .filter(|(len, _)| (1..=model.positions()).contains(len))
        .map(|(len, ids)| {
            let rows = ids.len() / len;
            Ok(Group { tokens: Tensor::from_vec(ids, (rows, len), cx.device)?, rows })
        })
        .collect()
}

fn steered<'a>(course: &Course<'a>) -> Result<(&'a dyn LanguageFlow, &'a Steering)> {
    match course.model().and_then(|m| m.steering().map(|s| (m, s))) {
        Some(found) => Ok(found),
        None => candle_core::bail!("this model was not made to be steered; choose a steering preset"),
    }
}

/// Mean share of each of these classes over the prompts of all groups, as the model was trained: in its
/// own Euler steps.
pub fn shares(
    model: &dyn LanguageFlow,
    drive: &Drive,
    u0: f64,
    groups: &[Group],
    classes: &[&[u32]],
) -> Result<Vec<f64>> {
    let field = model.field(FlowControl { u: [u0, drive.u[1], drive.u[2], drive.u[3]], alpha: drive.alpha })?;
    let options = Options::fixed(Method::Euler, model.training_steps());
    let (mut total, mut count) = (vec![0.0; classes.len()], 0usize);
    for group in groups {
        let start = model.embed(&group.tokens)?.detach(); // (B, T, D)
        let end = ode::solve(&*field, &start, 0.0, 1.0, &options)?.end;
        for p in words::next_of_rows(model, &end)? {
            total.iter_mut().zip(classes).for_each(|(t, ids)| *t += words::mass(&p, ids));
        }
        count += group.rows;
    }
    Ok(total.into_iter().map(|t| t / count.max(1) as f64).collect())
}

/// P(class) against u0, on prompts whose nouns no steering prompt had, and beside them on trained ones.
pub fn class<'a>(course: &'a Course<'_>, drive: &Drive, cx: &'a ProbeContext<'_>) -> Result<Sweep<'a>> {
    let (model, classes) = steered(course)?;
    let held_out = groups(&steering::prompts(&HELD_OUT_NOUNS), model, cx)?;
    let nouns: Vec<&str> = NOUNS.iter().step_by(NOUNS.len() / TRAINED).copied().collect();
    let trained = groups(&steering::prompts(&nouns), model, cx)?;
    let neutral = words::whole(cx.corpus, &NEUTRAL);
    // Where spaces are tokens the classes are of words all the same, whatever the model was steered to.
    let (plus, minus) = match words::space(cx.corpus) {
        Some(_) => (words::whole(cx.corpus, &GOOD), words::whole(cx.corpus, &BAD)),
        None => (classes.plus.clone(), classes.minus.clone()),
    };
    let x = spread(-2.0, 2.0, CONTROLS);
    let (drive, at) = (drive.clone(), x.clone());
    let prompts: usize = held_out.iter().map(|g| g.rows).sum();
    let measure = move |i: usize| -> Result<Vec<f64>> {
        let mut all = shares(model, &drive, at[i], &held_out, &[&plus, &minus, &neutral])?;
        all.extend(shares(model, &drive, at[i], &trained, &[&plus, &minus])?);
        Ok(all)
    };
    let names = ["plus", "minus", "neutral", "plus_train", "minus_train"];
    Ok(Sweep {
        about: format!("{prompts} prompts with held-out nouns"),
        labels: ("control u₀", "share of the class"),
        x,
        measure: Box::new(measure),
        lines: columns(names.map(str::to_owned).to_vec()),
    })
}

/// How often a cut that never saw a noun tells from the last token's state whether u0 was +1 or -1.
pub fn layers<'a>(course: &'a Course<'_>, drive: &Drive, cx: &'a ProbeContext<'_>) -> Result<Sweep<'a>> {
    let (model, _) = steered(course)?;
    let nouns: Vec<&str> = NOUNS.iter().chain(&HELD_OUT_NOUNS).copied().collect();
    let prompts: Vec<String> = nouns.iter().map(|n| steering::prompt(None, n, steering::VERBS[0])).collect();
    let x = spread(0.0, 1.0, QUARTERS);
    let (drive, at) = (drive.clone(), x.clone());
    let measure = move |i: usize| -> Result<Vec<f64>> {
        let (mut points, mut sides, mut kinds) = (vec![], vec![], vec![]);
        for (side, u0) in [(true, 1.0), (false, -1.0)] {
            let field = model.field(FlowControl { u: [u0, drive.u[1], drive.u[2], drive.u[3]], alpha: drive.alpha })?;
            for (which, prompt) in prompts.iter().enumerate() {
                let ids = cx.corpus.encode(prompt);
                let n = ids.len();
                let start = model.embed(&Tensor::from_vec(ids, (1, n), cx.device)?)?.detach();
                let state = match at[i] {
                    0.0 => start,
                    tau => ode::solve(&*field, &start, 0.0, tau, &drive.options)?.end,
                };
                points.push(host::to_f64(&state.narrow(1, n - 1, 1)?)?);
                sides.push(side);
                kinds.push(which);
            }
        }
        let verdict = linear_probe::leave_group_out(&points, &sides, &kinds, RIDGE);
        let (right, of) = (verdict.right as f64, verdict.of as f64);
        let (low, high) = wilson(right, of);
        Ok(vec![right / of.max(1.0), low, high, 0.5])
    };
    Ok(Sweep {
        about: format!("{} nouns, each left out once, u0 = ±1", nouns.len()),
        labels: ("depth τ", "accuracy of a linear cut"),
        x,
        measure: Box::new(measure),
        lines: columns(["accuracy", "low", "high", "chance"].map(str::to_owned).to_vec()),
    })
}
