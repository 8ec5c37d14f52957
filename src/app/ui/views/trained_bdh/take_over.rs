//! Takes neurons of other views over into the intervention.

use crate::{labs::trained_bdh::settings::ChangeSettings, ui::views::prelude::*};

/// Neurons that can be taken over together.
pub(in crate::ui::views) struct NeuronSet {
    /// "neuron 0:12", "community 3".
    pub name: String,
    /// `head:index`, or numbers in the model.
    pub neurons: Vec<String>,
}

/// A button for each set, in a lab that intervenes; nothing in another.
pub(in crate::ui::views) fn take_over_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, sets: &[NeuronSet]) {
    if cx.setting(ChangeSettings::neurons.name).is_none() || sets.is_empty() {
        return;
    }
    let buttons_ui = |ui: &mut Ui, cx: &mut ViewCx<'_>| {
        note_ui(ui, cx.theme, "intervene on");
        for set in sets {
            let words = match set.neurons.len() {
                1 => set.name.clone(),
                n => format!("{} ({})", set.name, grouped(n as u64)),
            };
            let tip = "Opens it in the view Intervention, where it is silenced, scaled or held beside random neurons \
                       that fire as often.";
            if ui.small_button(words).on_hover_text(tip).clicked() {
                cx.set(ChangeSettings::target.name, Value::Text("neurons".to_owned()));
                cx.set(ChangeSettings::neurons.name, Value::Text(set.neurons.join(", ")));
            }
        }
    };
    let keys = [ChangeSettings::target.name, ChangeSettings::neurons.name];
    cx.controls_ui(ui, |ui, cx| {
        ui.horizontal_wrapped(|ui| cx.setting_ui(ui, &keys, buttons_ui));
    });
}
