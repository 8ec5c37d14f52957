//! What the flow is asked with: the controls u, the solver, the prompt. One set for all tiles, so
//! that one question serves them all. It does not know what is drawn of the answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use crate::{
    config::Value,
    telemetry::{
        Args, RunInfo,
        measurements::{FlowAnswer, FlowField},
    },
    ui::{
        questions::{Freshness, same_run},
        views::ViewCx,
    },
};

/// Training steps after which an answer is stale and asked anew.
const STALE: u64 = 25;

/// A number that the flow is asked with.
pub struct NumberSetting {
    /// Name of the probe's argument.
    pub arg: &'static str,
    /// Key of the lab's setting that it begins with.
    key: &'static str,
    default: f64,
    /// What an answer was solved with.
    used: fn(&FlowAnswer) -> f64,
}

/// A text that the flow is asked with.
pub struct TextSetting {
    /// Name of the probe's argument.
    pub arg: &'static str,
    /// Key of the lab's setting that it begins with.
    key: &'static str,
    default: &'static str,
    /// What an answer was solved with.
    used: fn(&FlowAnswer) -> String,
}

/// The controls.
pub const U: [NumberSetting; 4] = [
    NumberSetting { arg: "u0", key: "control.u0", default: 0.0, used: |a| a.control.u[0] },
    NumberSetting { arg: "u1", key: "control.u1", default: 0.0, used: |a| a.control.u[1] },
    NumberSetting { arg: "u2", key: "control.u2", default: 0.0, used: |a| a.control.u[2] },
    NumberSetting { arg: "u3", key: "control.u3", default: 0.0, used: |a| a.control.u[3] },
];
pub const ALPHA: NumberSetting =
    NumberSetting { arg: "alpha", key: "control.alpha", default: 1.0, used: |a| a.control.alpha };
pub const RTOL: NumberSetting =
    NumberSetting { arg: "rtol", key: "solver.rtol", default: 1e-3, used: |a| a.solver.rtol };
pub const ATOL: NumberSetting =
    NumberSetting { arg: "atol", key: "solver.atol", default: 1e-3, used: |a| a.solver.atol };
pub const STEPS: NumberSetting =
    NumberSetting { arg: "steps", key: "solver.steps", default: 4.0, used: |a| a.solver.steps as f64 };

pub const METHOD: TextSetting =
    TextSetting { arg: "method", key: "solver.method", default: "dopri5", used: |a| a.solver.method.clone() };
pub const POLICY: TextSetting =
    TextSetting { arg: "policy", key: "solver.policy", default: "interpolate", used: |a| a.solver.policy.to_string() };
pub const PROMPT: TextSetting = TextSetting {
    arg: "prompt",
    key: "steer.prompt",
    default: "",
    used: |a| a.language().map_or(String::new(), |l| l.prompt.clone()),
};

impl NumberSetting {
    /// As it is set, else as the answer used it, else as the lab has it.
    pub fn value(&self, cx: &ViewCx<'_>) -> f64 {
        let set = cx.selection.flow.args.get(self.arg).and_then(Value::as_f64);
        let used = || Answer::of_focus(cx).map(|a| (self.used)(a.value)).filter(|v| v.is_finite());
        let lab = || cx.config.get(self.key).and_then(Value::as_f64);
        set.or_else(used).or_else(lab).unwrap_or(self.default)
    }
}

impl TextSetting {
    /// As it is set, else as the answer used it, else as the lab has it.
    pub fn value(&self, cx: &ViewCx<'_>) -> String {
        if let Some(Value::Text(set)) = cx.selection.flow.args.get(self.arg) {
            return set.clone();
        }
        if let Some(answer) = Answer::of_focus(cx) {
            return (self.used)(answer.value);
        }
        match cx.config.get(self.key) {
            Some(Value::Text(text)) => text.clone(),
            _ => self.default.to_owned(),
        }
    }
}

/// Shared by all views of the flow, in [`crate::ui::views::Selection`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowSettings {
    /// What a person has set; all else is the lab's.
    args: Args,
    /// Grows when a hand begins to change something: what was shown then is compared with.
    pub gesture: u64,
    /// When something last changed, by egui's clock.
    #[serde(skip)]
    changed_at: Option<f64>,
    #[serde(skip)]
    run: Option<Arc<RunInfo>>,
}

/// Changes further apart than this are two gestures, seconds.
const PAUSE: f64 = 0.7;

/// Settings that were not changed for so long are at rest, seconds.
pub const REST: f64 = 0.3;

impl FlowSettings {
    /// All four controls.
    pub fn u(cx: &ViewCx<'_>) -> [f64; 4] {
        U.map(|setting| setting.value(cx))
    }

    /// Sets an argument; [`keep_fresh`] asks. `now`: egui's clock.
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

    /// In a new run of the same preset the settings stay as they are; in another they are the lab's.
    fn follow_run(cx: &mut ViewCx<'_>) {
        if same_run(&cx.selection.flow.run, &cx.mirror.info) {
            return;
        }
        let preset = |info: &Option<Arc<RunInfo>>| info.as_ref().map(|i| (i.lab.clone(), i.config.preset.clone()));
        let (old, new) = (preset(&cx.selection.flow.run), preset(&cx.mirror.info));
        if old.is_some() && old != new {
            cx.selection.flow.args.clear();
            cx.selection.token = None;
        }
        cx.selection.flow.run.clone_from(&cx.mirror.info);
    }

    /// Whether nothing has been changed for a moment: time for questions that take longer.
    pub fn rest(&self, now: f64) -> bool {
        self.changed_at.is_none_or(|at| now - at > REST)
    }
}

/// Asks for the answer with the settings as they are, of every variant that has a flow.
pub fn keep_fresh(cx: &mut ViewCx<'_>) {
    FlowSettings::follow_run(cx);
    let args = FlowSettings::args(cx);
    cx.keep_fresh::<FlowAnswer>(None, args, Freshness::Steps(STALE));
}

/// Whether what is shown answers what was last asked, the field behind the paths and all.
pub fn is_answered(cx: &ViewCx<'_>) -> bool {
    let field = || Answer::of_focus(cx).is_some_and(|a| cx.is_waiting_for::<FlowField>(Some(a.variant)));
    !cx.is_waiting_for::<FlowAnswer>(None) && !field()
}
