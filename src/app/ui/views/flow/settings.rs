//! The settings of a question to the flow (controls u, solver, prompt), which all tiles share with its one answer, and the
//! controls that choose a solver and its settings.

use super::answer::Answer;
use crate::{
    analysis::runge_kutta::Method,
    labs::ode_flow::settings::{ControlSettings, FieldSettings, OdeFlowSettings, SolverSettings, SteerSettings},
    ui::views::prelude::*,
};

/// The keys of the lab's settings that the flow is asked with, on the left and in the tiles alike.
pub const U: [&str; 4] =
    [ControlSettings::u0.name, ControlSettings::u1.name, ControlSettings::u2.name, ControlSettings::u3.name];
pub const ALPHA: &str = ControlSettings::alpha.name;
const DIALS: [&str; 5] = [U[0], U[1], U[2], U[3], ALPHA];
pub const PROMPT: &str = SteerSettings::prompt.name;
const METHOD: &str = SolverSettings::method.name;
const POLICY: &str = SolverSettings::policy.name;
const RTOL: &str = SolverSettings::rtol.name;
const ATOL: &str = SolverSettings::atol.name;
const STEPS: &str = SolverSettings::steps.name;

/// The settings of the dials, of the prompt and of the solver.
pub const CONTROLS: &[&str] = &[U[0], U[1], U[2], U[3], ALPHA, PROMPT, METHOD, POLICY, RTOL, ATOL, STEPS];
/// The settings of a flow in the plane, which has two control dimensions and no prompt.
pub const PLANE_CONTROLS: &[&str] = &[U[0], U[1], ALPHA, FieldSettings::kind.name, METHOD, POLICY, RTOL, ATOL, STEPS];

/// The number that this setting has; on the page of another lab, the one that the answer was solved with.
pub fn number_setting(cx: &ViewCx<'_>, key: &str, used: impl Fn(&FlowAnswer) -> f64) -> f64 {
    let used = || Answer::in_focus(cx).map(|a| used(a.value)).filter(|v| v.is_finite());
    cx.setting(key).and_then(|v| v.as_f64()).or_else(used).unwrap_or_default()
}

/// A text of the question; where it is left to the probe, the one that the answer was solved with.
pub fn text_setting(
    cx: &ViewCx<'_>,
    asked: impl Fn(FlowArgs) -> Option<String>,
    used: impl Fn(&FlowAnswer) -> String,
) -> String {
    let asked = OdeFlowSettings::args_with_control(&cx.config_now()).and_then(asked);
    asked.or_else(|| Answer::in_focus(cx).map(|a| used(a.value))).unwrap_or_default()
}

fn method_setting(cx: &ViewCx<'_>) -> String {
    text_setting(cx, |args| Some(args.method.id().to_owned()), |answer| answer.solver.method.clone())
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

/// Settings that were not changed for this long are at rest, seconds.
pub const REST_SECONDS: f64 = 0.3;

impl FlowSettings {
    pub fn u(cx: &ViewCx<'_>) -> [f64; 4] {
        std::array::from_fn(|i| number_setting(cx, U[i], |answer| answer.control.u[i]))
    }

    /// True if a dial that is not locked differs from the preset.
    pub fn differs_from_preset(cx: &ViewCx<'_>) -> bool {
        DIALS.into_iter().any(|key| !cx.is_restricted(&[key]) && cx.setting(key) != cx.preset.get(key).cloned())
    }

    /// Resets the dials that are not locked to the preset's values.
    pub fn reset_dials(cx: &mut ViewCx<'_>) {
        for key in DIALS {
            if let Some(value) = cx.preset.get(key) {
                cx.set(key, value.clone());
            }
        }
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
        let method = method_setting(cx);
        cx.setting_ui(ui, &[METHOD], |ui, cx| method_ui(ui, cx, &method));
        if is_fixed(&method) {
            let steps = number_setting(cx, STEPS, |answer| answer.solver.steps as f64) as i64;
            cx.edit_setting_ui(ui, STEPS, steps, |ui, steps| {
                let tip = "Steps of a solver with fixed steps. The model was trained with four of Euler's.";
                let label = ui.label("m").id;
                let field = DragValue::new(steps).range(1..=256).speed(0.1).update_while_editing(false);
                ui.add(field).labelled_by(label).on_hover_text(tip)
            });
        } else {
            cx.setting_ui(ui, &[POLICY], policy_ui);
        }
    });
    if !is_fixed(&method_setting(cx)) {
        let rtol = number_setting(cx, RTOL, |answer| answer.solver.rtol);
        let atol = number_setting(cx, ATOL, |answer| answer.solver.atol);
        ui.horizontal(|ui| {
            for (key, value, name, of) in
                [(RTOL, rtol, "rtol", ", relative to the state"), (ATOL, atol, "atol", " where the state is near zero")]
            {
                let tip = format!("Error that a step may make{of}. Smaller takes more steps.");
                cx.edit_setting_ui(ui, key, value, |ui, value| tolerance_ui(ui, value, name, &tip));
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
        cx.set(METHOD, Value::Text(chosen.to_owned()));
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
    let policy =
        text_setting(cx, |args| Some(args.policy.id().to_owned()), |answer| answer.solver.policy.id().to_owned());
    if let Some(id) = choice_buttons(ui, &policy.as_str(), choices) {
        cx.set(POLICY, Value::Text(id.to_owned()));
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
