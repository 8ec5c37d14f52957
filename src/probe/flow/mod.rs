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
        capabilities::{FlowControl, FlowModel, LanguageFlow, PlanarFlow},
        ode_flow::Steering,
        plane::PlanarField,
    },
    nn::{Result, Tensor, host},
    ode::{Method, Options, Policy},
    telemetry::{Args, Line, Payload, Series},
};

/// What is asked for when nobody types a prompt.
const PROMPT: &str = "The tea was";
/// Starts of the playground lie on a ring of this radius.
const STARTS: usize = 12;
const RING: f64 = 2.0;

/// Anything that can be solved: `(t, state) -> velocity`.
pub(super) type Law<'a> = Box<dyn Fn(f64, &Tensor) -> Result<Tensor> + 'a>;

pub(super) fn applies(model: &dyn Model) -> bool {
    model.flow().is_some()
}

/// How the flow is driven and solved, from the arguments; what they lack is as the runtime parameters stand.
#[derive(Debug, Clone)]
pub(super) struct Drive {
    pub u: [f64; 4],
    pub alpha: f64,
    pub options: Options,
}

impl Drive {
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
        Ok(Self { u, alpha: number("alpha", standing.alpha), options })
    }

    /// In words, for `about`.
    fn describe(&self) -> String {
        let o = &self.options;
        let how = if o.method.is_adaptive() {
            format!("{} ({}), rtol {:e}, atol {:e}", o.method.id(), o.policy.id(), o.rtol, o.atol)
        } else {
            format!("{} in {} steps", o.method.id(), o.steps)
        };
        format!("u = ({}, {}, {}, {}), {how}", self.u[0], self.u[1], self.u[2], self.u[3])
    }
}

/// What is carried: a prompt's hidden states, or points of the plane.
pub(super) struct Course<'a> {
    kind: Kind<'a>,
    /// State at tau = 0: `(1, T, D)` of a prompt, `(N, 2)` of the plane.
    pub start: Tensor,
    pub ids: Vec<u32>,
    pub tokens: Vec<String>,
    pub prompt: String,
    /// Whose state is followed.
    pub token: usize,
}

#[derive(Clone, Copy)]
enum Kind<'a> {
    Words(&'a dyn LanguageFlow),
    Plane(&'a dyn PlanarFlow, PlanarField),
}

impl<'a> Course<'a> {
    /// Course and drive of a question; it applies to the model ([`applies`]).
    fn of(cx: &'a ProbeContext<'_>) -> Result<(Self, Drive)> {
        let model = match cx.model.flow() {
            Some(FlowModel::Language(model)) => model,
            Some(FlowModel::Planar(model)) => return Self::of_plane(model, cx),
            None => candle_core::bail!("this is a question for a model with a flow in it"),
        };
        let drive = Drive::of(cx.args, model.control())?;
        let prompt = match cx.args.get("prompt").map(ToString::to_string).filter(|t| !t.trim().is_empty()) {
            Some(typed) => typed,
            None if model.steering().is_some() => PROMPT.to_owned(),
            None => cx.corpus.decode(&cx.corpus.passage(0, 16)),
        };
        let course = Self::of_words(model, cx, &prompt)?;
        Ok((course, drive))
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
        Ok(Self { kind: Kind::Words(model), start, ids, tokens, prompt: prompt.to_owned(), token })
    }

    fn of_plane(model: &'a dyn PlanarFlow, cx: &ProbeContext<'_>) -> Result<(Self, Drive)> {
        let drive = Drive::of(cx.args, model.control())?;
        let text = |name: &str| cx.args.get(name).map(ToString::to_string).filter(|t| !t.is_empty());
        // `kind` too, where it does not say which sweep
        let kind = match (text("field"), text("kind").and_then(|id| PlanarField::from_id(&id))) {
            (None, kind) => kind.unwrap_or(model.default_field()),
            (Some(id), _) => match PlanarField::from_id(&id) {
                Some(kind) => kind,
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
        let kind = Kind::Plane(model, kind);
        Ok((Self { kind, start, ids: vec![], tokens, prompt: String::new(), token }, drive))
    }

    /// The law at a control and a multiplier of the field; depth runs from 0 to 1 (in the plane: over
    /// the whole time).
    pub fn law(&self, u: [f64; 4], alpha: f64) -> Result<Law<'a>> {
        let control = FlowControl { u, alpha };
        let field = match self.kind {
            Kind::Words(model) => model.field(control)?,
            Kind::Plane(model, kind) => model.field(kind, control),
        };
        Ok(Box::new(move |t, y| field.at(t, y)))
    }

    /// The rows of a state, one a token or start: `(1, T, D)` or `(N, 2)`.
    pub fn rows(&self, state: &Tensor) -> Result<Vec<Vec<f64>>> {
        let dims = state.dim(candle_core::D::Minus1)?;
        Ok(host::to_f64(state)?.chunks(dims).map(<[f64]>::to_vec).collect())
    }

    /// The model, where words come out at the end.
    pub fn model(&self) -> Option<&'a dyn LanguageFlow> {
        match self.kind {
            Kind::Words(model) => Some(model),
            Kind::Plane(..) => None,
        }
    }

    pub fn playground(&self) -> Option<PlanarField> {
        match self.kind {
            Kind::Words(_) => None,
            Kind::Plane(_, kind) => Some(kind),
        }
    }

    fn describe(&self) -> String {
        match self.kind {
            Kind::Words(_) => format!("\"{}\"", self.prompt),
            Kind::Plane(_, kind) => format!("{} starts in the field {}", self.tokens.len(), kind.id()),
        }
    }
}

/// Argument `token`, counted from the end when negative; the last one if there is none.
fn followed(args: &Args, n: usize) -> usize {
    let asked = args.get("token").and_then(Value::as_f64).unwrap_or(-1.0);
    let at = if asked < 0.0 { n as f64 + asked } else { asked };
    (at.max(0.0) as usize).min(n.saturating_sub(1))
}

/// A series of named lines.
pub(super) fn series(labels: (&str, &str), x: Vec<f64>, lines: Vec<(&str, Vec<f64>)>) -> Payload {
    Payload::Series(Series {
        x_label: labels.0.to_owned(),
        y_label: labels.1.to_owned(),
        x,
        lines: lines.into_iter().map(|(name, y)| Line { name: name.to_owned(), y }).collect(),
    })
}

/// Named single numbers: a series with one point.
pub(super) fn numbers(named: Vec<(&str, f64)>) -> Payload {
    series(("", ""), vec![0.0], named.into_iter().map(|(n, v)| (n, vec![v])).collect())
}
