//! Takes neurons of other views over into the intervention.

use crate::{labs::trained_bdh::settings::ChangeSettings, ui::views::prelude::*};

/// A button for a neuron, and one for its community, where it has one, of this number and these neurons, in a lab that
/// intervenes; nothing in another. Neurons are named by `head:index`, or by their numbers in the model.
pub(in crate::ui::views) fn take_over_ui(
    ui: &mut Ui,
    cx: &mut ViewCx<'_>,
    neuron: String,
    community: Option<(u32, Vec<String>)>,
) {
    if cx.setting(ChangeSettings::neurons.name).is_none() {
        return;
    }
    let community = community.map(|(number, neurons)| (format!("community {number}"), neurons));
    let sets = [Some(("it".to_owned(), vec![neuron])), community];
    let buttons_ui = |ui: &mut Ui, cx: &mut ViewCx<'_>| {
        note_ui(ui, cx.theme, "intervene on");
        for (name, neurons) in sets.into_iter().flatten() {
            let words = match neurons.len() {
                1 => name,
                n => format!("{name} ({})", grouped(n as u64)),
            };
            let tip = "Opens it in the view Intervention, where it is silenced, scaled or held beside random neurons \
                       that fire as often.";
            if ui.small_button(words).on_hover_text(tip).clicked() {
                cx.set(ChangeSettings::target.name, Value::Text("neurons".to_owned()));
                cx.set(ChangeSettings::neurons.name, Value::Text(neurons.join(", ")));
            }
        }
    };
    let keys = [ChangeSettings::target.name, ChangeSettings::neurons.name];
    cx.controls_ui(ui, |ui, cx| {
        ui.horizontal_wrapped(|ui| cx.setting_ui(ui, &keys, buttons_ui));
    });
}
