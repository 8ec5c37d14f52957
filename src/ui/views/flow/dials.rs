//! What the flow is asked with: the controls u, the solver, the prompt. One set for all tiles, so
//! that one question serves them all. It does not know what is drawn of the answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ANSWER, answer::Answer};
use crate::{
    config::Value,
    telemetry::{Args, RunInfo},
    ui::views::ViewCx,
};

/// Training steps after which an answer is stale and asked anew.
const STALE: u64 = 25;

/// A setting of the question.
struct Dial {
    /// Name of the probe's argument, and of the value in the answer's `used`.
    arg: &'static str,
    /// Key of the lab's setting that it begins with.
    key: &'static str,
    usual: f64,
}

const fn dial(arg: &'static str, key: &'static str, usual: f64) -> Dial {
    Dial { arg, key, usual }
}

const NUMBERS: [Dial; 8] = [
    dial("u0", "control.u0", 0.0),
    dial("u1", "control.u1", 0.0),
    dial("u2", "control.u2", 0.0),
    dial("u3", "control.u3", 0.0),
    dial("alpha", "control.alpha", 1.0),
    dial("rtol", "solver.rtol", 1e-3),
    dial("atol", "solver.atol", 1e-3),
    dial("steps", "solver.steps", 4.0),
];

/// Names of the controls, for arguments.
pub const U: [&str; 4] = ["u0", "u1", "u2", "u3"];

/// Shared by all views of the flow, in [`crate::ui::views::Selection`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dials {
    /// What a person has set; all else is the lab's.
    args: Args,
    /// Grows when a hand begins to change something: what was shown then is compared with.
    pub gesture: u64,
    /// The question last asked, and the model's step when it was.
    #[serde(skip)]
    asked: Option<(u64, u64, Args)>,
    /// The question for the field last asked.
    #[serde(skip)]
    pub field_asked: Option<u64>,
    /// When something last changed, by egui's clock.
    #[serde(skip)]
    changed_at: Option<f64>,
    #[serde(skip)]
    run: Option<Arc<RunInfo>>,
}

/// Changes further apart than this are two gestures, seconds.
const PAUSE: f64 = 0.7;

/// Dials that were not turned for so long are at rest, seconds.
pub const REST: f64 = 0.3;

impl Dials {
    /// A number as it is set, else as the answer used it, else as the lab has it.
    pub fn number(cx: &ViewCx<'_>, arg: &str) -> f64 {
        let told = || Answer::of(cx).and_then(|a| a.number("used", arg)).filter(|v| v.is_finite());
        let dial = NUMBERS.iter().find(|d| d.arg == arg);
        let lab = || dial.and_then(|d| cx.config.get(d.key)).and_then(Value::as_f64);
        let set = cx.selection.flow.args.get(arg).and_then(Value::as_f64);
        set.or_else(told).or_else(lab).unwrap_or(dial.map_or(0.0, |d| d.usual))
    }

    /// All four controls.
    pub fn u(cx: &ViewCx<'_>) -> [f64; 4] {
        U.map(|arg| Self::number(cx, arg))
    }

    /// A word (`method`, `policy`, `prompt`), likewise.
    pub fn word(cx: &ViewCx<'_>, arg: &str) -> String {
        if let Some(Value::Text(set)) = cx.selection.flow.args.get(arg) {
            return set.clone();
        }
        let place = match arg {
            "method" => 0,
            "policy" => 1,
            _ => 2,
        };
        if let Some(told) = Answer::of(cx).and_then(|a| a.words("used_words").get(place)) {
            return told.clone();
        }
        let (key, usual) = match arg {
            "method" => ("solver.method", "dopri5"),
            "policy" => ("solver.policy", "interpolate"),
            _ => ("steer.prompt", ""),
        };
        match cx.config.get(key) {
            Some(Value::Text(text)) => text.clone(),
            _ => usual.to_owned(),
        }
    }

    /// Sets an argument; [`Dials::keep_fresh`] asks. `now`: egui's clock.
    pub fn set(&mut self, arg: &str, value: Value, now: f64) {
        if self.args.get(arg) == Some(&value) {
            return;
        }
        if self.changed_at.is_none_or(|at| now - at > PAUSE) {
            self.gesture += 1;
        }
        self.changed_at = Some(now);
        self.args.insert(arg.to_owned(), value);
    }

    /// Back to the lab's values.
    pub fn clear(&mut self, now: f64) {
        if !self.args.is_empty() {
            (self.gesture, self.changed_at) = (self.gesture + 1, Some(now));
            self.args.clear();
        }
    }

    pub fn is_touched(&self) -> bool {
        !self.args.is_empty()
    }

    /// The arguments of a question, the followed token among them.
    pub fn args(cx: &ViewCx<'_>) -> Args {
        let mut args = cx.selection.flow.args.clone();
        if let Some(token) = cx.selection.token {
            args.insert("token".to_owned(), Value::Int(token as i64));
        }
        args
    }

    /// Asks when there is no answer to the question as it now stands, or the model has moved on.
    /// Every view of the flow calls this each frame; only the first one of a frame asks.
    pub fn keep_fresh(cx: &mut ViewCx<'_>) {
        let same = match (&cx.selection.flow.run, &cx.mirror.info) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        if !same {
            Self::take_up_run(cx);
        }
        if !cx.can_ask() {
            return;
        }
        let args = Self::args(cx);
        let fresh = cx.selection.flow.asked.as_ref().is_some_and(|(_, step, asked)| {
            *asked == args && !(cx.follow && cx.mirror.step >= step + STALE || cx.mirror.step < *step)
        });
        if !fresh {
            // Every variant that has a flow answers.
            let request = cx.ask("flow", None, args.clone());
            cx.selection.flow.asked = Some((request, cx.mirror.step, args));
        }
    }

    /// Of a new run of the same preset the dials stay where they are.
    fn take_up_run(cx: &mut ViewCx<'_>) {
        let preset = |info: &Option<Arc<RunInfo>>| info.as_ref().map(|i| (i.lab.clone(), i.config.preset.clone()));
        let (old, new) = (preset(&cx.selection.flow.run), preset(&cx.mirror.info));
        let flow = &mut cx.selection.flow;
        if old.is_some() && old != new {
            flow.args.clear();
            cx.selection.token = None;
        }
        (flow.asked, flow.field_asked) = (None, None);
        flow.run.clone_from(&cx.mirror.info);
    }

    /// Whether nothing has been turned for a moment: time for questions that take longer.
    pub fn rest(&self, now: f64) -> bool {
        self.changed_at.is_none_or(|at| now - at > REST)
    }

    /// Whether what is shown answers what was last asked, field and all.
    pub fn is_answered(cx: &ViewCx<'_>) -> bool {
        let flow = &cx.selection.flow;
        let told = |channel: &str| cx.answer(channel).and_then(|(_, s)| s.request);
        let reached = |channel: &str, asked: u64| told(channel).is_some_and(|r| r >= asked);
        flow.asked.as_ref().is_some_and(|(request, _, _)| reached(ANSWER, *request))
            && flow.field_asked.is_none_or(|request| reached(super::FIELD, request))
    }
}
