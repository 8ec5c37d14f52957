//! What the flow is asked with: the controls u, the solver, the prompt. One set for all tiles, so
//! that one question serves them all. It does not know what is drawn of the answer.

use std::sync::Arc;

use eframe::egui::Ui;

use super::answer::Answer;
use crate::{
    labs::ode_flow::settings::{ControlSettings, OdeFlowSettings, SolverSettings, SteerSettings},
    telemetry::{
        RunInfo,
        measurements::{FlowAnswer, FlowArgs, FlowField},
    },
    ui::{
        questions::{Freshness, same_run},
        selection::Slot,
        view::ViewCx,
    },
};

/// Training steps after which an answer is stale and asked anew.
const STALE: u64 = 25;

/// A number that the flow is asked with: the lab's setting of this key, on the left and in the tiles alike.
pub struct NumberSetting {
    pub key: &'static str,
    /// Name of the probe's argument.
    pub arg: &'static str,
    /// What an answer was solved with.
    used: fn(&FlowAnswer) -> f64,
}

/// A text that the flow is asked with.
pub struct TextSetting {
    pub key: &'static str,
    /// What the probe is asked with; `None` where it is left to the probe.
    asked: fn(&FlowArgs) -> Option<String>,
    /// What an answer was solved with.
    used: fn(&FlowAnswer) -> String,
}

/// The controls.
pub const U: [NumberSetting; 4] = [
    NumberSetting { key: ControlSettings::u0.name, arg: "u0", used: |a| a.control.u[0] },
    NumberSetting { key: ControlSettings::u1.name, arg: "u1", used: |a| a.control.u[1] },
    NumberSetting { key: ControlSettings::u2.name, arg: "u2", used: |a| a.control.u[2] },
    NumberSetting { key: ControlSettings::u3.name, arg: "u3", used: |a| a.control.u[3] },
];
pub const ALPHA: NumberSetting =
    NumberSetting { key: ControlSettings::alpha.name, arg: "alpha", used: |a| a.control.alpha };
pub const RTOL: NumberSetting = NumberSetting { key: SolverSettings::rtol.name, arg: "rtol", used: |a| a.solver.rtol };
pub const ATOL: NumberSetting = NumberSetting { key: SolverSettings::atol.name, arg: "atol", used: |a| a.solver.atol };
pub const STEPS: NumberSetting =
    NumberSetting { key: SolverSettings::steps.name, arg: "steps", used: |a| a.solver.steps as f64 };

pub const METHOD: TextSetting = TextSetting {
    key: SolverSettings::method.name,
    asked: |a| Some(a.method.id().to_owned()),
    used: |a| a.solver.method.clone(),
};
pub const POLICY: TextSetting = TextSetting {
    key: SolverSettings::policy.name,
    asked: |a| Some(a.policy.id().to_owned()),
    used: |a| a.solver.policy.to_string(),
};
pub const PROMPT: TextSetting = TextSetting {
    key: SteerSettings::prompt.name,
    asked: |a| a.prompt.clone(),
    used: |a| a.language().map_or(String::new(), |l| l.prompt.clone()),
};

impl NumberSetting {
    /// As it is set; where the settings are of another lab, as the answer has it.
    pub fn value(&self, cx: &ViewCx<'_>) -> f64 {
        let used = || Answer::in_focus(cx).map(|a| (self.used)(a.value)).filter(|v| v.is_finite());
        cx.setting(self.key).and_then(|v| v.as_f64()).or_else(used).unwrap_or_default()
    }
}

impl TextSetting {
    /// As it is asked; where it is left to the probe, as the answer has it.
    pub fn value(&self, cx: &ViewCx<'_>) -> String {
        let asked = OdeFlowSettings::held_args(&cx.config_now()).and_then(|args| (self.asked)(&args));
        let used = || Answer::in_focus(cx).map(|a| (self.used)(a.value));
        asked.or_else(used).unwrap_or_default()
    }
}

/// How the settings change, shared by all views of the flow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlowSettings {
    /// Grows when a hand begins to change something: what was shown then is compared with.
    pub gesture: u64,
    /// When something last changed, by egui's clock.
    changed_at: Option<f64>,
    /// What was asked with when that was looked at last; the default before the first look.
    args: FlowArgs,
    run: Option<Arc<RunInfo>>,
}

impl Slot for FlowSettings {}

/// Changes further apart than this are two gestures, seconds.
const PAUSE: f64 = 0.7;

/// Settings that were not changed for so long are at rest, seconds.
pub const REST: f64 = 0.3;

impl FlowSettings {
    /// All four controls.
    pub fn u(cx: &ViewCx<'_>) -> [f64; 4] {
        U.map(|setting| setting.value(cx))
    }

    /// Whether a dial stands elsewhere than the preset has it.
    pub fn is_touched(cx: &ViewCx<'_>) -> bool {
        Self::dials().any(|key| cx.setting(key) != cx.preset.get(key).cloned())
    }

    /// The dials back to the preset's values.
    pub fn reset_dials(cx: &mut ViewCx<'_>) {
        for key in Self::dials() {
            if let Some(value) = cx.preset.get(key) {
                cx.set(key, value.clone());
            }
        }
    }

    fn dials() -> impl Iterator<Item = &'static str> {
        U.iter().map(|u| u.key).chain([ALPHA.key])
    }

    /// The arguments of a question, the followed token among them.
    pub fn args(cx: &ViewCx<'_>) -> FlowArgs {
        let args = OdeFlowSettings::held_args(&cx.config_now()).unwrap_or_default();
        FlowArgs { token: cx.selection.token.map_or(args.token, |token| token as i64), ..args }
    }

    /// Notes whether something was changed since the last look. `now`: egui's clock.
    fn watch(&mut self, args: &FlowArgs, now: f64) {
        if self.args == *args {
            return;
        }
        if self.args != FlowArgs::default() {
            if self.changed_at.is_none_or(|at| now - at > PAUSE) {
                self.gesture += 1;
            }
            self.changed_at = Some(now);
        }
        self.args.clone_from(args);
    }

    /// In a run of another preset no token is followed yet.
    fn follow_run(cx: &mut ViewCx<'_>) {
        let before = cx.selection.get::<Self>().and_then(|flow| flow.run.clone());
        if same_run(&before, &cx.mirror.info) {
            return;
        }
        let preset = |info: &Option<Arc<RunInfo>>| info.as_ref().map(|i| (i.lab.clone(), i.config.preset.clone()));
        let (old, new) = (preset(&before), preset(&cx.mirror.info));
        if old.is_some() && old != new {
            cx.selection.token = None;
        }
        cx.selection.update(|flow: &mut Self| flow.run.clone_from(&cx.mirror.info));
    }

    /// Whether nothing has been changed for a moment: time for questions that take longer.
    pub fn rest(&self, now: f64) -> bool {
        self.changed_at.is_none_or(|at| now - at > REST)
    }
}

/// Asks for the answer with the settings as they are, of every variant that has a flow.
pub fn keep_fresh(ui: &Ui, cx: &mut ViewCx<'_>) {
    FlowSettings::follow_run(cx);
    let args = FlowSettings::args(cx);
    let now = ui.input(|i| i.time);
    cx.selection.update(|flow: &mut FlowSettings| flow.watch(&args, now));
    cx.ask::<FlowAnswer>(None, &args, Freshness::Steps(STALE));
}

/// Whether what is shown answers what was last asked, the field behind the paths and all.
pub fn is_answered(cx: &ViewCx<'_>) -> bool {
    let field = || Answer::in_focus(cx).is_some_and(|a| cx.is_waiting_for::<FlowField>(Some(a.variant)));
    !cx.is_waiting_for::<FlowAnswer>(None) && !field()
}
