//! What the flow is asked with: the controls u, the solver, the prompt. One set for all tiles, so
//! that one question serves them all. It does not know what is drawn of the answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use crate::{
    config::{Config, Value},
    labs::ode_flow::settings::{ControlSettings, SolverSettings, SteerSettings},
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
    /// The lab's setting that it begins with.
    lab: fn(&Config) -> f64,
    /// What an answer was solved with.
    used: fn(&FlowAnswer) -> f64,
}

/// A text that the flow is asked with.
pub struct TextSetting {
    /// Name of the probe's argument.
    pub arg: &'static str,
    /// The lab's setting that it begins with.
    lab: fn(&Config) -> String,
    /// What an answer was solved with.
    used: fn(&FlowAnswer) -> String,
}

/// The controls.
pub const U: [NumberSetting; 4] = [
    NumberSetting { arg: "u0", lab: |c| control(c).u0, used: |a| a.control.u[0] },
    NumberSetting { arg: "u1", lab: |c| control(c).u1, used: |a| a.control.u[1] },
    NumberSetting { arg: "u2", lab: |c| control(c).u2, used: |a| a.control.u[2] },
    NumberSetting { arg: "u3", lab: |c| control(c).u3, used: |a| a.control.u[3] },
];
pub const ALPHA: NumberSetting = NumberSetting { arg: "alpha", lab: |c| control(c).alpha, used: |a| a.control.alpha };
pub const RTOL: NumberSetting = NumberSetting { arg: "rtol", lab: |c| solver(c).rtol, used: |a| a.solver.rtol };
pub const ATOL: NumberSetting = NumberSetting { arg: "atol", lab: |c| solver(c).atol, used: |a| a.solver.atol };
pub const STEPS: NumberSetting =
    NumberSetting { arg: "steps", lab: |c| solver(c).steps as f64, used: |a| a.solver.steps as f64 };

pub const METHOD: TextSetting =
    TextSetting { arg: "method", lab: |c| solver(c).method.id().to_owned(), used: |a| a.solver.method.clone() };
pub const POLICY: TextSetting =
    TextSetting { arg: "policy", lab: |c| solver(c).policy.id().to_owned(), used: |a| a.solver.policy.to_string() };
pub const PROMPT: TextSetting = TextSetting {
    arg: "prompt",
    lab: |c| c.value(SteerSettings::prompt).unwrap_or_default(),
    used: |a| a.language().map_or(String::new(), |l| l.prompt.clone()),
};

/// The lab's controls; the defaults where a lab has none.
fn control(config: &Config) -> ControlSettings {
    config.group().unwrap_or_default()
}

/// The lab's solver; the defaults where a lab has none.
fn solver(config: &Config) -> SolverSettings {
    config.group().unwrap_or_default()
}

impl NumberSetting {
    /// As it is set, else as the answer used it, else as the lab has it.
    pub fn value(&self, cx: &ViewCx<'_>) -> f64 {
        let set = cx.selection.flow.args.get(self.arg).and_then(Value::as_f64);
        let used = || Answer::of_focus(cx).map(|a| (self.used)(a.value)).filter(|v| v.is_finite());
        set.or_else(used).unwrap_or_else(|| (self.lab)(cx.config))
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
        (self.lab)(cx.config)
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

    /// The name of an argument that is another in `other`.
    pub fn changed_arg<'a>(&'a self, other: &'a Self) -> Option<&'a str> {
        let mut names = self.args.keys().chain(other.args.keys()).map(String::as_str);
        names.find(|name| self.args.get(*name) != other.args.get(*name))
    }

    /// Takes over the arguments of `other`, as undo does. `now`: egui's clock.
    pub fn restore(&mut self, other: Self, now: f64) {
        if self.args != other.args {
            (self.gesture, self.changed_at) = (self.gesture + 1, Some(now));
            self.args = other.args;
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
