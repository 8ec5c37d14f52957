//! Questions about a flow: where a prompt (or a ring of points in the plane) is carried, how the solver got there, and
//! what the words at the end are. This file reads the question and handles both kinds of flow; what is measured is in
//! the files beside it.

mod along;
mod answer;
mod basis;
mod claims;
mod plane_field;
pub mod sweep;
mod words;

use crate::{
    ode::{self, Method, SolverOptions},
    probe::prelude::*,
};

/// The default prompt.
const PROMPT: &str = "The tea was";
/// Starts of the playground lie on a ring of this radius.
const STARTS: usize = 12;
const RING: f64 = 2.0;

/// A right-hand side that can be solved: `(t, state) -> velocity`.
pub(super) type Rhs<'a> = Box<dyn Fn(f64, &Tensor) -> Result<Tensor> + 'a>;

/// The control and the solver of a flow; arguments that are left open take the runtime parameters.
#[derive(Debug, Clone)]
pub(super) struct SolveParams {
    pub control: FlowControl,
    pub options: SolverOptions,
}

impl SolveParams {
    fn new(args: &FlowArgs, standing: FlowControl) -> Self {
        let asked = [args.u0, args.u1, args.u2, args.u3];
        let mut u = standing.u;
        u.iter_mut().zip(asked).for_each(|(u, asked)| *u = asked.unwrap_or(*u));
        let options = SolverOptions {
            method: args.method,
            policy: args.policy,
            rtol: args.rtol,
            atol: args.atol,
            steps: args.steps,
            max_attempts: 2000,
            ..SolverOptions::default()
        };
        Self { control: FlowControl { u, alpha: args.alpha.unwrap_or(standing.alpha) }, options }
    }

    /// The control with another u0.
    pub fn control_at_u0(&self, u0: f64) -> FlowControl {
        let [_, u1, u2, u3] = self.control.u;
        FlowControl { u: [u0, u1, u2, u3], ..self.control }
    }

    /// A description for `about`.
    fn describe(&self) -> String {
        let (o, [u0, u1, u2, u3]) = (&self.options, self.control.u);
        let how = if o.method.is_adaptive() {
            format!("{} ({}), rtol {:e}, atol {:e}", o.method.id(), o.policy.id(), o.rtol, o.atol)
        } else {
            format!("{} in {} steps", o.method.id(), o.steps)
        };
        format!("u = ({u0}, {u1}, {u2}, {u3}), {how}")
    }
}

/// The states that flow: a prompt's hidden states, or points of the plane.
pub(super) struct FlowInput<'a> {
    target: FlowTarget<'a>,
    /// State at tau = 0: `(1, T, D)` of a prompt, `(N, 2)` of the plane.
    pub start: Tensor,
    pub ids: Vec<u32>,
    pub tokens: Vec<String>,
    pub prompt: String,
    /// The token whose state is followed.
    pub token: usize,
}

/// The model that has the flow.
#[derive(Clone, Copy)]
pub(super) enum FlowTarget<'a> {
    Language(&'a dyn LanguageFlow),
    Plane(&'a dyn PlanarFlow, PlanarField),
}

impl<'a> FlowInput<'a> {
    /// Input and parameters of a question.
    fn from_args(model: FlowModel<'a>, args: &FlowArgs, cx: &ProbeInputs<'_>) -> Result<(Self, SolveParams)> {
        let input = match model {
            FlowModel::Language(model) => Self::from_prompt(model, args, cx)?,
            FlowModel::Planar(model) => Self::from_plane(model, args, cx)?,
        };
        Ok((input, SolveParams::new(args, model.control())))
    }

    fn from_prompt(model: &'a dyn LanguageFlow, args: &FlowArgs, cx: &ProbeInputs<'_>) -> Result<Self> {
        let prompt = match args.prompt.as_deref().filter(|typed| !typed.trim().is_empty()) {
            Some(typed) => typed.to_owned(),
            None if model.steering().is_some() => PROMPT.to_owned(),
            None => cx.corpus.decode(&cx.corpus.passage(0, 16)),
        };
        let mut ids = cx.corpus.encode(&prompt);
        ensure!(!ids.is_empty(), "the prompt has no tokens; type words that this corpus's tokeniser can encode");
        // The prompt of a steered model ends with a space, so that the model predicts a word. A model that was steered
        // at a single prompt predicts the token right after it.
        if let (Some(space), Some(Steering { prompt: None, .. })) = (words::space_token(cx.corpus), model.steering())
            && ids.last() != Some(&space)
        {
            ids.push(space);
        }
        ids.truncate(model.positions());
        let tokens = ids.iter().map(|&id| cx.corpus.token_text(id)).collect();
        let start = embedded(model, &ids, cx.device)?; // (1,T,D)
        let token = token_index(args.token, ids.len());
        Ok(Self { target: FlowTarget::Language(model), start, ids, tokens, prompt, token })
    }

    fn from_plane(model: &'a dyn PlanarFlow, args: &FlowArgs, cx: &ProbeInputs<'_>) -> Result<Self> {
        let field = args.field.unwrap_or(model.default_field());
        let ring: Vec<f64> = (0..STARTS)
            .flat_map(|i| {
                let angle = std::f64::consts::TAU * i as f64 / STARTS as f64;
                [RING * angle.cos(), RING * angle.sin()]
            })
            .collect();
        let start = Tensor::from_vec(ring, (STARTS, 2), cx.device)?.to_dtype(model.dtype())?;
        let tokens = (0..STARTS).map(|i| format!("start {i}")).collect();
        let token = token_index(args.token, STARTS);
        Ok(Self { target: FlowTarget::Plane(model, field), start, ids: vec![], tokens, prompt: String::new(), token })
    }

    /// The right-hand side at a control; depth runs from 0 to 1 (in the plane: over the whole time).
    pub fn rhs(&self, control: FlowControl) -> Result<Rhs<'a>> {
        let field = match self.target {
            FlowTarget::Language(model) => model.field(control)?,
            FlowTarget::Plane(model, field) => model.field(field, control),
        };
        Ok(Box::new(move |t, y| field.at(t, y)))
    }

    /// Returns the language model; `None` for a flow in the plane, which ends in no words.
    pub fn model(&self) -> Option<&'a dyn LanguageFlow> {
        if let FlowTarget::Language(model) = self.target { Some(model) } else { None }
    }

    pub fn planar_field(&self) -> Option<PlanarField> {
        if let FlowTarget::Plane(_, field) = self.target { Some(field) } else { None }
    }

    fn describe(&self) -> String {
        match self.target {
            FlowTarget::Language(_) => format!("\"{}\"", self.prompt),
            FlowTarget::Plane(_, field) => format!("{} starts in the field {}", self.tokens.len(), field.id()),
        }
    }
}

/// Embeds ids `(1, T)` as the initial states of the flow, `(1, T, D)`.
fn embedded(model: &dyn LanguageFlow, ids: &[u32], device: &Device) -> Result<Tensor> {
    Ok(model.embed(&text_batch(ids, device)?)?.detach())
}

/// The states at the end of a flow from these on, `(B, T, D)`, as the model was trained: in its own Euler steps.
fn end_as_trained(model: &dyn LanguageFlow, control: FlowControl, start: &Tensor) -> Result<Tensor> {
    let options = SolverOptions::fixed(Method::EULER, model.training_steps());
    Ok(ode::solve(&*model.field(control)?, start, ode::Span::UNIT, &options)?.end)
}

/// `n` values from low to high.
fn linspace(low: f64, high: f64, n: usize) -> Vec<f64> {
    (0..n).map(|i| low + (high - low) * i as f64 / (n - 1).max(1) as f64).collect()
}

/// The token of this number, counted from the end where it is negative.
fn token_index(asked: i64, n: usize) -> usize {
    let at = if asked < 0 { asked + n as i64 } else { asked };
    (at.max(0) as usize).min(n.saturating_sub(1))
}
