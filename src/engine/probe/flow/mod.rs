//! Questions about a flow: where a prompt (or a ring of points in the plane) is carried, how the
//! solver got there, and what the words at the end are. This file reads the question and knows both
//! kinds of flow; what is measured stands in the files beside it.

mod along;
mod answer;
mod basis;
mod claims;
mod plane_field;
pub mod sweep;
mod words;

pub use along::FlowAlong;
pub use answer::FlowAnswer;
pub use claims::FlowClaims;
pub use plane_field::FlowField;
pub use sweep::FlowSweep;

use super::ProbeContext;
use crate::{
    config::Value,
    models::{
        Model,
        capabilities::PlanarField,
        capabilities::{FlowControl, FlowModel, LanguageFlow, PlanarFlow},
        ode_flow::Steering,
    },
    nn::{Result, Tensor, host},
    ode::{Method, Options, Policy},
    telemetry::Args,
};

/// What is asked for when nobody types a prompt.
const PROMPT: &str = "The tea was";
/// Starts of the playground lie on a ring of this radius.
const STARTS: usize = 12;
const RING: f64 = 2.0;

/// A right-hand side that can be solved: `(t, state) -> velocity`.
pub(super) type Rhs<'a> = Box<dyn Fn(f64, &Tensor) -> Result<Tensor> + 'a>;

pub(super) fn applies(model: &dyn Model) -> bool {
    model.flow().is_some()
}

/// How the flow is driven and solved, from the arguments; what they lack is as the runtime parameters stand.
#[derive(Debug, Clone)]
pub(super) struct SolveParams {
    pub control: FlowControl,
    pub options: Options,
}

impl SolveParams {
    fn of(args: &Args, standing: FlowControl) -> Result<Self> {
        let number = |name: &str, otherwise: f64| match args.get(name).and_then(Value::as_f64) {
            Some(x) if x.is_finite() => x,
            _ => otherwise,
        };
        let named = |name: &str, otherwise: &str| args.get(name).map_or(otherwise.to_owned(), ToString::to_string);
        let (method, policy) = (named("method", "dopri5"), named("policy", "interpolate"));
        let Some(method) = Method::from_id(&method) else { candle_core::bail!("there is no solver `{method}`") };
        let Some(policy) = Policy::from_id(&policy) else { candle_core::bail!("there is no step policy `{policy}`") };
        let mut u = standing.u;
        for (i, u) in u.iter_mut().enumerate() {
            *u = number(&format!("u{i}"), *u);
        }
        let options = Options {
            method,
            policy,
            rtol: number("rtol", 1e-3),
            atol: number("atol", 1e-3),
            steps: number("steps", 4.0).clamp(1.0, 4096.0) as usize,
            max_attempts: 2000,
            ..Options::default()
        };
        let alpha = number("alpha", standing.alpha);
        Ok(Self { control: FlowControl { u, alpha }, options })
    }

    /// The control with another u0.
    pub fn at_u0(&self, u0: f64) -> FlowControl {
        let [_, u1, u2, u3] = self.control.u;
        FlowControl { u: [u0, u1, u2, u3], ..self.control }
    }

    /// In words, for `about`.
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

/// What is carried: a prompt's hidden states, or points of the plane.
pub(super) struct FlowInput<'a> {
    target: Target<'a>,
    /// State at tau = 0: `(1, T, D)` of a prompt, `(N, 2)` of the plane.
    pub start: Tensor,
    pub ids: Vec<u32>,
    pub tokens: Vec<String>,
    pub prompt: String,
    /// Whose state is followed.
    pub token: usize,
}

/// What the flow belongs to.
#[derive(Clone, Copy)]
pub(super) enum Target<'a> {
    Words(&'a dyn LanguageFlow),
    Plane(&'a dyn PlanarFlow, PlanarField),
}

impl<'a> FlowInput<'a> {
    /// Input and parameters of a question; it applies to the model ([`applies`]).
    fn of(cx: &'a ProbeContext<'_>) -> Result<(Self, SolveParams)> {
        let model = match cx.model.flow() {
            Some(FlowModel::Language(model)) => model,
            Some(FlowModel::Planar(model)) => return Self::of_plane(model, cx),
            None => candle_core::bail!("this is a question for a model with a flow in it"),
        };
        let params = SolveParams::of(cx.args, model.control())?;
        let prompt = match cx.text("prompt") {
            Some(typed) => typed,
            None if model.steering().is_some() => PROMPT.to_owned(),
            None => cx.corpus.decode(&cx.corpus.passage(0, 16)),
        };
        let input = Self::of_words(model, cx, &prompt)?;
        Ok((input, params))
    }

    fn of_words(model: &'a dyn LanguageFlow, cx: &ProbeContext<'_>, prompt: &str) -> Result<Self> {
        let mut ids = cx.corpus.encode(prompt);
        if ids.is_empty() {
            candle_core::bail!("the prompt has no tokens; type words that this corpus's tokeniser can say");
        }
        // Asked for a word, not for the space before it, unless that is what it was steered to.
        if let (Some(space), Some(Steering { prompt: None, .. })) = (words::space(cx.corpus), model.steering())
            && ids.last() != Some(&space)
        {
            ids.push(space);
        }
        ids.truncate(model.positions());
        let tokens = ids.iter().map(|&id| cx.corpus.token_text(id)).collect();
        let start = model.embed(&Tensor::from_slice(&ids, (1, ids.len()), cx.device)?)?.detach(); // (1,T,D)
        let token = followed(cx.args, ids.len());
        Ok(Self { target: Target::Words(model), start, ids, tokens, prompt: prompt.to_owned(), token })
    }

    fn of_plane(model: &'a dyn PlanarFlow, cx: &ProbeContext<'_>) -> Result<(Self, SolveParams)> {
        let params = SolveParams::of(cx.args, model.control())?;
        let text = |name: &str| cx.args.get(name).map(ToString::to_string).filter(|t| !t.is_empty());
        // `kind` too, where it does not say which sweep
        let field = match (text("field"), text("kind").and_then(|id| PlanarField::from_id(&id))) {
            (None, field) => field.unwrap_or(model.default_field()),
            (Some(id), _) => match PlanarField::from_id(&id) {
                Some(field) => field,
                None => candle_core::bail!("there is no field `{id}` of the plane"),
            },
        };
        let ring: Vec<f64> = (0..STARTS)
            .flat_map(|i| {
                let angle = std::f64::consts::TAU * i as f64 / STARTS as f64;
                [RING * angle.cos(), RING * angle.sin()]
            })
            .collect();
        let start = Tensor::from_vec(ring, (STARTS, 2), cx.device)?.to_dtype(cx.model.params().dtype())?;
        let tokens = (0..STARTS).map(|i| format!("start {i}")).collect();
        let token = followed(cx.args, STARTS);
        let target = Target::Plane(model, field);
        Ok((Self { target, start, ids: vec![], tokens, prompt: String::new(), token }, params))
    }

    /// The right-hand side at a control; depth runs from 0 to 1 (in the plane: over the whole time).
    pub fn rhs(&self, control: FlowControl) -> Result<Rhs<'a>> {
        let field = match self.target {
            Target::Words(model) => model.field(control)?,
            Target::Plane(model, field) => model.field(field, control),
        };
        Ok(Box::new(move |t, y| field.at(t, y)))
    }

    /// The rows of a state, one a token or start: `(1, T, D)` or `(N, 2)`.
    pub fn rows(&self, state: &Tensor) -> Result<Vec<Vec<f64>>> {
        let dims = state.dim(candle_core::D::Minus1)?;
        Ok(host::to_f64(state)?.chunks(dims).map(<[f64]>::to_vec).collect())
    }

    pub fn target(&self) -> Target<'a> {
        self.target
    }

    /// The model, where words come out at the end.
    pub fn model(&self) -> Option<&'a dyn LanguageFlow> {
        match self.target {
            Target::Words(model) => Some(model),
            Target::Plane(..) => None,
        }
    }

    pub fn planar_field(&self) -> Option<PlanarField> {
        match self.target {
            Target::Words(_) => None,
            Target::Plane(_, field) => Some(field),
        }
    }

    fn describe(&self) -> String {
        match self.target {
            Target::Words(_) => format!("\"{}\"", self.prompt),
            Target::Plane(_, field) => format!("{} starts in the field {}", self.tokens.len(), field.id()),
        }
    }
}

/// Argument `token`, counted from the end when negative; the last one if there is none.
fn followed(args: &Args, n: usize) -> usize {
    let asked = args.get("token").and_then(Value::as_f64).unwrap_or(-1.0);
    let at = if asked < 0.0 { n as f64 + asked } else { asked };
    (at.max(0.0) as usize).min(n.saturating_sub(1))
}
