//! Compares the claim of a steering, by the measure that it was trained on, with its effect on words: the same model
//! asked on prompts whose nouns no steering prompt had, for the words of both classes.

use super::{
    FlowInput, SolveParams, end_as_trained,
    sweep::classes::{groups, shares},
    words,
};
use crate::{
    corpus::generated::steering::{self, BAD, GOOD, HELD_OUT_NOUNS},
    probe::prelude::*,
};

/// A flow of words with a control that was trained to steer it.
pub struct SteeredFlow<'m> {
    model: &'m dyn LanguageFlow,
    classes: &'m Steering,
}

impl<'m> FromShared<'m> for SteeredFlow<'m> {
    fn from_shared(model: &'m dyn Trainable) -> Option<Self> {
        let Some(FlowModel::Language(model)) = model.capabilities().flow else { return None };
        model.steering().map(|classes| Self { model, classes })
    }
}

/// The flow is solved with the model's own Euler steps.
impl Probe for FlowClaimsArgs {
    type Answer = FlowClaims;
    type Subject<'m> = SteeredFlow<'m>;
    const IS_SLOW: bool = true;

    fn ask(&self, steered: SteeredFlow<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let SteeredFlow { model, classes } = steered;
        let (input, params) = FlowInput::from_args(FlowModel::Language(model), &self.flow, cx)?;
        let one = classes.prompt.is_some() || self.published;
        let (good, bad) = (words::single_token_ids(cx.corpus, &GOOD), words::single_token_ids(cx.corpus, &BAD));
        let held_out = steering::prompts(&HELD_OUT_NOUNS);
        let next_at = |u0: f64| words::next(model, &end_as_trained(model, params.control_at_u0(u0), &input.start)?);
        let at_held_out = |classes: [&[u32]; 2]| -> Result<ClassShares> {
            let groups = groups(&held_out, model, cx)?;
            class_shares(held_out.len(), |u0| shares(model, &params, u0, &groups, &classes))
        };
        let words = if good.is_empty() || bad.is_empty() { None } else { Some(at_held_out([&good, &bad])?) };
        let own = match (one, words) {
            (false, Some(words)) => words,
            (false, None) => at_held_out([&classes.plus, &classes.minus])?,
            (true, _) => class_shares(1, |u0| {
                let p = next_at(u0)?;
                Ok([&classes.plus, &classes.minus].map(|ids| words::mass(&p, ids)).to_vec())
            })?,
        };
        let text = |ids: &[u32]| ids.iter().map(|&id| cx.corpus.token_text(id)).collect();
        let continued = |u0: f64| -> Result<String> {
            let params = SolveParams { control: params.control_at_u0(u0), ..params.clone() };
            let first = words::top(&next_at(u0)?, 1).first().copied().unwrap_or_default();
            let said = words::continuation(&input, model, &params, cx, first)?;
            Ok(cx.corpus.decode(&[input.ids.as_slice(), &said].concat()))
        };
        let claims = FlowClaims {
            classes: ClassTokens { plus: text(&classes.plus), minus: text(&classes.minus) },
            own,
            words,
            continuations: ClaimedContinuations {
                plus: continued(1.0)?,
                unsteered: continued(0.0)?,
                minus: continued(-1.0)?,
            },
        };
        let about = format!("{}, euler in {} steps", input.describe(), model.training_steps());
        Ok(Answer::new(claims, about, input.tokens))
    }
}

/// The class shares from the shares of plus and of minus at a control.
fn class_shares(prompts: usize, at: impl Fn(f64) -> Result<Vec<f64>>) -> Result<ClassShares> {
    let both = |u0: f64| -> Result<[f64; 2]> {
        let all = at(u0)?;
        Ok([0, 1].map(|i| all.get(i).copied().unwrap_or(f64::NAN)))
    };
    let ([plus, _], [_, minus], [plus_unsteered, minus_unsteered]) = (both(1.0)?, both(-1.0)?, both(0.0)?);
    Ok(ClassShares { prompts, plus, minus, plus_unsteered, minus_unsteered })
}
