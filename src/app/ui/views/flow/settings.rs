//! The settings of a question to the flow (controls u, solver, prompt), which all tiles share with its one answer.

use super::answer::Answer;
use crate::{
    labs::ode_flow::settings::{ControlSettings, FieldSettings, OdeFlowSettings, SolverSettings, SteerSettings},
    ui::views::prelude::*,
};

/// A number that the flow is asked with: the lab's setting of this key, on the left and in the tiles alike.
pub struct NumberSetting {
    pub key: &'static str,
    /// Reads the value that an answer was solved with.
    used: fn(&FlowAnswer) -> f64,
}

/// A text that the flow is asked with.
pub struct TextSetting {
    pub key: &'static str,
    /// Reads the value from the question; `None` where it is left to the probe.
    asked: fn(&FlowArgs) -> Option<String>,
    /// Reads the value that an answer was solved with.
    used: fn(&FlowAnswer) -> String,
}

pub const U: [NumberSetting; 4] = [
    NumberSetting { key: ControlSettings::u0.name, used: |a| a.control.u[0] },
    NumberSetting { key: ControlSettings::u1.name, used: |a| a.control.u[1] },
    NumberSetting { key: ControlSettings::u2.name, used: |a| a.control.u[2] },
    NumberSetting { key: ControlSettings::u3.name, used: |a| a.control.u[3] },
];
pub const ALPHA: NumberSetting = NumberSetting { key: ControlSettings::alpha.name, used: |a| a.control.alpha };
pub const RTOL: NumberSetting = NumberSetting { key: SolverSettings::rtol.name, used: |a| a.solver.rtol };
pub const ATOL: NumberSetting = NumberSetting { key: SolverSettings::atol.name, used: |a| a.solver.atol };
pub const STEPS: NumberSetting = NumberSetting { key: SolverSettings::steps.name, used: |a| a.solver.steps as f64 };

pub const METHOD: TextSetting = TextSetting {
    key: SolverSettings::method.name,
    asked: |a| Some(a.method.id().to_owned()),
    used: |a| a.solver.method.clone(),
};
pub const POLICY: TextSetting = TextSetting {
    key: SolverSettings::policy.name,
    asked: |a| Some(a.policy.id().to_owned()),
    used: |a| a.solver.policy.id().to_owned(),
};
pub const PROMPT: TextSetting = TextSetting {
    key: SteerSettings::prompt.name,
    asked: |a| a.prompt.clone(),
    used: |a| a.language().map_or(String::new(), |l| l.prompt.clone()),
};

/// The settings of the dials, of the prompt and of the solver.
pub const CONTROLS: &[&str] = &[
    U[0].key, U[1].key, U[2].key, U[3].key, ALPHA.key, PROMPT.key, METHOD.key, POLICY.key, RTOL.key, ATOL.key,
    STEPS.key,
];
/// Those of a flow in the plane, which has two directions and no words.
pub const PLANE_CONTROLS: &[&str] =
    &[U[0].key, U[1].key, ALPHA.key, FieldSettings::kind.name, METHOD.key, POLICY.key, RTOL.key, ATOL.key, STEPS.key];

impl NumberSetting {
    /// The value of the setting; on the page of another lab, the value that the answer was solved with.
    pub fn value(&self, cx: &ViewCx<'_>) -> f64 {
        let used = || Answer::in_focus(cx).map(|a| (self.used)(a.value)).filter(|v| v.is_finite());
        cx.setting(self.key).and_then(|v| v.as_f64()).or_else(used).unwrap_or_default()
    }
}

impl TextSetting {
    /// The value in the question; where it is left to the probe, the value that the answer was solved with.
    pub fn value(&self, cx: &ViewCx<'_>) -> String {
        let asked = OdeFlowSettings::args_with_control(&cx.config_now()).and_then(|args| (self.asked)(&args));
        let used = || Answer::in_focus(cx).map(|a| (self.used)(a.value));
        asked.or_else(used).unwrap_or_default()
    }
}

/// Tracks changes of the settings, for all views of the flow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlowSettings {
    /// Grows when the user begins to change something: the answer shown then becomes the ghost.
    pub gesture: u64,
    /// Time of the last change, by egui's clock.
    changed_at: Option<f64>,
    /// The last change was so short a time ago that questions that take longer wait.
    pub is_moving: bool,
    /// The arguments at the last comparison; the defaults before the first one.
    args: FlowArgs,
    run: Option<Arc<RunInfo>>,
}

impl Slot for FlowSettings {}

/// Changes further apart than this are two gestures, seconds.
const GESTURE_PAUSE: f64 = 0.7;

/// Settings that were not changed for so long are at rest, seconds.
pub const REST_SECONDS: f64 = 0.3;

impl FlowSettings {
    pub fn u(cx: &ViewCx<'_>) -> [f64; 4] {
        U.map(|setting| setting.value(cx))
    }

    /// True if a dial that is not locked differs from the preset.
    pub fn differs_from_preset(cx: &ViewCx<'_>) -> bool {
        Self::dials().any(|key| !cx.is_restricted(&[key]) && cx.setting(key) != cx.preset.get(key).cloned())
    }

    /// Resets the dials that are not locked to the preset's values.
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

    /// The arguments of a question, including the followed token.
    pub fn args(cx: &ViewCx<'_>) -> FlowArgs {
        let args = OdeFlowSettings::args_with_control(&cx.config_now()).unwrap_or_default();
        FlowArgs { token: cx.selection.token.map_or(args.token, |token| token as i64), ..args }
    }

    /// Records a change since the last call; the clock is that of the frame.
    pub fn watch(ui: &Ui, cx: &mut ViewCx<'_>) {
        let (args, now) = (Self::args(cx), ui.input(|i| i.time));
        cx.selection.update(|flow: &mut Self| {
            if flow.args != args && flow.args != FlowArgs::default() {
                flow.gesture += u64::from(flow.changed_at.is_none_or(|at| now - at > GESTURE_PAUSE));
                flow.changed_at = Some(now);
            }
            flow.args = args;
            flow.is_moving = flow.changed_at.is_some_and(|at| now - at <= REST_SECONDS);
        });
    }

    /// Stops following a token when a run of another preset begins.
    fn follow_run(cx: &mut ViewCx<'_>) {
        let before = cx.selection.get::<Self>().and_then(|flow| flow.run.clone());
        if before.as_ref().map(Arc::as_ptr) == cx.mirror.info.as_ref().map(Arc::as_ptr) {
            return;
        }
        let preset = |info: &Option<Arc<RunInfo>>| info.as_ref().map(|i| (i.lab.clone(), i.config.preset.clone()));
        let (old, new) = (preset(&before), preset(&cx.mirror.info));
        if old.is_some() && old != new {
            cx.selection.token = None;
        }
        cx.selection.update(|flow: &mut Self| flow.run.clone_from(&cx.mirror.info));
    }
}

/// Asks for the answer with the settings as they are, of every variant that has a flow.
pub fn keep_fresh(cx: &mut ViewCx<'_>) {
    FlowSettings::follow_run(cx);
    cx.ask::<FlowAnswer>(None, &FlowSettings::args(cx), Freshness::OFTEN);
}

/// True if the latest question, and that for the field behind the paths, have been answered.
pub fn is_answered(cx: &ViewCx<'_>) -> bool {
    let field = || Answer::in_focus(cx).is_some_and(|a| cx.is_waiting_for::<FlowField>(Some(a.variant)));
    !cx.is_waiting_for::<FlowAnswer>(None) && !field()
}
