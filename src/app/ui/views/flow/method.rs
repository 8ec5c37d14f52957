//! Controls that choose a solver and its settings.

use super::settings::{ATOL, METHOD, POLICY, RTOL, STEPS};
use crate::{analysis::runge_kutta::Method, labs::ode_flow::settings::FieldSettings, ui::views::prelude::*};

/// True for a method that takes a fixed number of steps.
fn is_fixed(method: &str) -> bool {
    Method::from_id(method).is_some_and(|m| !m.is_adaptive())
}

/// Chooses the field of the playground, where the answer has one.
pub fn field_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, shown: &str) {
    const FIELDS: [(&str, &str); 4] =
        [("linear", "linear"), ("spiral", "spiral"), ("van_der_pol", "van der Pol"), ("mlp", "trained MLP")];
    cx.setting_ui(ui, &[FieldSettings::kind.name], |ui, cx| {
        ui.horizontal_wrapped(|ui| {
            if let Some(id) = choice_buttons(ui, &shown, FIELDS.map(|(id, words)| (id, words, ""))) {
                cx.set(FieldSettings::kind.name, Value::Text(id.to_owned()));
            }
        });
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
    let label = ui.label(name).id;
    let speed = (*value * 0.02).max(1e-9);
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
