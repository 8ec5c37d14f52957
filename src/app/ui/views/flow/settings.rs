//! The settings of a question to the flow (controls u, solver, prompt), which all tiles share with its one answer, and the
//! controls that choose a solver and its settings.

use super::answer::Answer;
use crate::{
    analysis::runge_kutta::Method,
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
/// The settings of a flow in the plane, which has two control dimensions and no prompt.
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
        Self::dial_keys().any(|key| !cx.is_restricted(&[key]) && cx.setting(key) != cx.preset.get(key).cloned())
    }

    /// Resets the dials that are not locked to the preset's values.
    pub fn reset_dials(cx: &mut ViewCx<'_>) {
        for key in Self::dial_keys() {
            if let Some(value) = cx.preset.get(key) {
                cx.set(key, value.clone());
            }
        }
    }

    fn dial_keys() -> impl Iterator<Item = &'static str> {
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

fn is_fixed(method: &str) -> bool {
    Method::from_id(method).is_some_and(|m| !m.is_adaptive())
}

/// Chooses the field of the playground, where the answer has one.
pub fn field_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, shown: &str) {
    const FIELD_LABELS: [(&str, &str); 4] =
        [("linear", "linear"), ("spiral", "spiral"), ("van_der_pol", "van der Pol"), ("mlp", "trained MLP")];
    cx.setting_ui(ui, &[FieldSettings::kind.name], |ui, cx| {
        let buttons = FIELD_LABELS.map(|(id, words)| (id, words, ""));
        let chosen = ui.horizontal_wrapped(|ui| choice_buttons(ui, &shown, buttons)).inner;
        if let Some(id) = chosen {
            cx.set(FieldSettings::kind.name, Value::Text(id.to_owned()));
        }
    });
}

/// The method and its settings: a number of steps, or a policy and tolerances.
pub fn solver_ui(ui: &mut Ui, cx: &mut ViewCx<'_>) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        let (method, steps) = (METHOD.value(cx), STEPS.value(cx) as i64);
        cx.setting_ui(ui, &[METHOD.key], |ui, cx| method_ui(ui, cx, &method));
        if is_fixed(&method) {
            cx.edit_setting_ui(ui, STEPS.key, steps, |ui, steps| {
                let tip = "Steps of a solver with fixed steps. The model was trained with four of Euler's.";
                let label = ui.label("m").id;
                let field = DragValue::new(steps).range(1..=256).speed(0.1).update_while_editing(false);
                ui.add(field).labelled_by(label).on_hover_text(tip)
            });
        } else {
            cx.setting_ui(ui, &[POLICY.key], policy_ui);
        }
    });
    if !is_fixed(&METHOD.value(cx)) {
        let tolerances = [
            (RTOL, "rtol", "Error that a step may make, relative to the state. Smaller takes more steps."),
            (ATOL, "atol", "Error that a step may make where the state is near zero. Smaller takes more steps."),
        ];
        ui.horizontal(|ui| {
            for (setting, name, tip) in tolerances {
                let value = setting.value(cx);
                cx.edit_setting_ui(ui, setting.key, value, |ui, value| tolerance_ui(ui, value, name, tip));
            }
        });
    }
}

fn method_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, method: &str) {
    let shown = Method::from_id(method).map_or(method, |m| m.name());
    let mut chosen = method;
    let methods = Method::ALL.iter().map(|each| (each.id(), each.name()));
    let list = choice_box(ui, "solver", 108.0, shown, &mut chosen, methods).on_hover_text(
        "How the flow is solved from \u{3c4} = 0 to 1. Adaptive methods, which are listed first, choose their steps \
         by the tolerances; the others take fixed ones.",
    );
    if list.changed() {
        cx.set(METHOD.key, Value::Text(chosen.to_owned()));
    }
}

fn policy_ui(ui: &mut Ui, cx: &mut ViewCx<'_>) {
    let choices = [
        (
            "interpolate",
            "interpolate",
            "As torchdiffeq: the last step may reach over \u{3c4} = 1 and the end is read off a quartic. Evaluations \
             are comparable only within one policy.",
        ),
        (
            "clip",
            "clip",
            "As diffrax: the last step is cut to end at \u{3c4} = 1. The field is never asked beyond its end.",
        ),
    ];
    if let Some(id) = choice_buttons(ui, &POLICY.value(cx).as_str(), choices) {
        cx.set(POLICY.key, Value::Text(id.to_owned()));
    }
}

fn tolerance_ui(ui: &mut Ui, value: &mut f64, name: &str, tip: &str) -> Response {
    let (label, speed) = (ui.label(name).id, (*value * 0.02).max(1e-9));
    let field = DragValue::new(value)
        .range(1e-8..=1.0)
        .speed(speed)
        .custom_formatter(|v, _| number::short(v))
        .custom_parser(|t| t.trim().replace(',', ".").parse().ok())
        .update_while_editing(false);
    ui.add(field).labelled_by(label).on_hover_text(tip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_methods_are_known() {
        assert!(["euler", "midpoint", "heun2", "rk4"].into_iter().all(is_fixed));
        assert!(!["dopri5", "bosh3", "", "tsit5"].into_iter().any(is_fixed));
    }
}
