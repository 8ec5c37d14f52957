//! What a steering claims, by the measure that it was trained on, beside what it does to words: the same
//! model asked on prompts whose nouns no steering prompt had, for the words of both classes.

use super::{
    Course, Drive, numbers,
    sweep::classes::{groups, shares},
    words,
};
use crate::{
    config::Value,
    corpus::generated::steering::{self, BAD, GOOD, HELD_OUT_NOUNS},
    models::capabilities::{FlowModel, LanguageFlow},
    nn::{Result, Tensor},
    ode::{self, Method, Options},
    probe::{Finding, Probe, ProbeContext},
    telemetry::{Payload, channels},
};

/// Arguments as `flow`'s, and `published`: true where the prompt is the one that was steered at. Answers a
/// bundle: `own` and `words` (plus at u0 = 1, minus at -1, both at 0; the number of prompts), `classes`,
/// and `says` (the prompt and how it goes on at u0 = 1, 0, -1). In the model's own Euler steps.
pub struct FlowClaims;

impl Probe for FlowClaims {
    fn id(&self) -> &'static str {
        "flow_claims"
    }

    fn applies(&self, model: &dyn crate::models::Model) -> bool {
        matches!(model.flow(), Some(FlowModel::Language(m)) if m.steering().is_some())
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let (course, drive) = Course::of(cx)?;
        let Some((model, classes)) = course.model().and_then(|m| m.steering().map(|s| (m, s))) else {
            candle_core::bail!("this model was not made to be steered; choose a steering preset")
        };
        let one = classes.prompt.is_some() || cx.args.get("published") == Some(&Value::Switch(true));
        let (good, bad) = (words::whole(cx.corpus, &GOOD), words::whole(cx.corpus, &BAD));
        let held_out = steering::prompts(&HELD_OUT_NOUNS);
        let of_words = match good.is_empty() || bad.is_empty() {
            true => Reached { prompts: 0, ..Reached::NOTHING },
            false => {
                let groups = groups(&held_out, model, cx)?;
                Reached::of(held_out.len(), |u0| shares(model, &drive, u0, &groups, &[&good, &bad]))?
            }
        };
        let own = match (one, of_words.prompts) {
            (false, 1..) => of_words,
            (false, _) => {
                let groups = groups(&held_out, model, cx)?;
                Reached::of(held_out.len(), |u0| shares(model, &drive, u0, &groups, &[&classes.plus, &classes.minus]))?
            }
            (true, _) => Reached::of(1, |u0| {
                let p = next_at(&course, &drive, model, u0)?;
                Ok([&classes.plus, &classes.minus].map(|ids| words::mass(&p, ids)).to_vec())
            })?,
        };
        let text = |ids: &[u32]| ids.iter().map(|&id| cx.corpus.token_text(id)).collect::<Vec<_>>();
        let mut told = text(&classes.plus);
        told.push("|".to_owned());
        told.extend(text(&classes.minus));
        let says = [1.0, 0.0, -1.0].map(|u0| said(&course, &drive, model, cx, u0));
        Ok(vec![Finding {
            channel: channels::FLOW_CLAIMS,
            about: format!("{}, euler in {} steps", course.describe(), model.training_steps()),
            tokens: course.tokens.clone(),
            payload: Payload::Bundle(vec![
                ("own".into(), own.payload()),
                ("words".into(), of_words.payload()),
                ("classes".into(), Payload::Text(told)),
                ("says".into(), Payload::Text(says.into_iter().collect::<Result<_>>()?)),
            ]),
        }])
    }
}

/// Shares of the classes by one measure.
#[derive(Clone, Copy)]
struct Reached {
    prompts: usize,
    plus: f64,
    minus: f64,
    still: [f64; 2],
}

impl Reached {
    const NOTHING: Self = Self { prompts: 0, plus: f64::NAN, minus: f64::NAN, still: [f64::NAN; 2] };

    /// From the shares of plus and of minus at a control.
    fn of(prompts: usize, at: impl Fn(f64) -> Result<Vec<f64>>) -> Result<Self> {
        let both = |u0: f64| -> Result<[f64; 2]> {
            let all = at(u0)?;
            Ok([0, 1].map(|i| all.get(i).copied().unwrap_or(f64::NAN)))
        };
        Ok(Self { prompts, plus: both(1.0)?[0], minus: both(-1.0)?[1], still: both(0.0)? })
    }

    fn payload(self) -> Payload {
        numbers(vec![
            ("plus", self.plus),
            ("minus", self.minus),
            ("plus0", self.still[0]),
            ("minus0", self.still[1]),
            ("prompts", self.prompts as f64),
        ])
    }
}

fn as_trained(model: &dyn LanguageFlow) -> Options {
    Options::fixed(Method::Euler, model.training_steps())
}

fn end_at(course: &Course<'_>, drive: &Drive, model: &dyn LanguageFlow, u0: f64) -> Result<Tensor> {
    let law = course.law([u0, drive.u[1], drive.u[2], drive.u[3]], drive.alpha)?;
    Ok(ode::solve(&law, &course.start, 0.0, 1.0, &as_trained(model))?.end)
}

fn next_at(course: &Course<'_>, drive: &Drive, model: &dyn LanguageFlow, u0: f64) -> Result<Vec<f64>> {
    words::next(model, &end_at(course, drive, model, u0)?)
}

/// The prompt and how it goes on.
fn said(
    course: &Course<'_>,
    drive: &Drive,
    model: &dyn LanguageFlow,
    cx: &ProbeContext<'_>,
    u0: f64,
) -> Result<String> {
    let drive = Drive { u: [u0, drive.u[1], drive.u[2], drive.u[3]], ..drive.clone() };
    let first = words::top(&next_at(course, &drive, model, u0)?, 1).first().copied().unwrap_or_default();
    let mut ids = course.ids.clone();
    ids.extend(words::continuation(course, model, &drive, cx, first)?);
    Ok(cx.corpus.decode(&ids))
}
