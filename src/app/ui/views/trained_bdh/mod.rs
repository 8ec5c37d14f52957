//! Views of an opened BDH: properties, predictions after layers, contexts of neurons, interventions on one text.

mod card;
mod intervention;
mod logit_lens;
mod query_key_maps;
mod top_contexts;

pub use card::TrainedBdhView;
pub use intervention::Intervention;
pub use logit_lens::LogitLensView;
pub use query_key_maps::QueryKeyMapsView;
pub use top_contexts::TopContextsView;

use crate::{
    config::SettingKey,
    labs::{synapses::settings::ReadingSettings, trained_bdh::settings::ChangeSettings},
    telemetry::read_neurons,
    ui::views::prelude::*,
};

/// The settings of the text, in a lab that has them.
pub(super) fn reading_settings(cx: &ViewCx<'_>) -> Option<ReadingSettings> {
    cx.config.get(ReadingSettings::text.name)?;
    cx.config.group().ok()
}

/// The field in which a neuron is chosen; gives another one. `last` is the greatest, and `sizes` are the heads of the model
/// and the neurons of each, 0 where they are not known.
pub(super) fn neuron_field_ui(
    ui: &mut Ui,
    is_enabled: bool,
    mut neuron: u32,
    last: u32,
    (heads, per_head): (usize, usize),
) -> Option<u32> {
    let tip = "head:index, both counted from 0. Drag it, or click and type: 2:517, or its number over all heads.";
    let label = ui.label("neuron").on_hover_text(tip).id;
    let drag = DragValue::new(&mut neuron)
        .range(0..=last)
        .speed(0.2)
        .custom_formatter(|n, _| neuron_name(n as usize, per_head))
        .custom_parser(|text| match read_neurons(text, heads, per_head) {
            Ok(neurons) => neurons.first().map(|n| *n as f64),
            Err(_) => text.trim().parse().ok(),
        });
    ui.add_enabled(is_enabled, drag).labelled_by(label).changed().then_some(neuron)
}

/// A button for each choice of a setting, with its tooltip, which may be empty; true if one was clicked.
fn choices_ui<C: Choice>(
    ui: &mut Ui,
    cx: &mut ViewCx<'_>,
    setting: &SettingKey<C>,
    now: C,
    tip: fn(C) -> &'static str,
) -> bool {
    let choices = C::all().into_iter().map(|choice| (choice, choice.id(), tip(choice)));
    let clicked = cx.setting_ui(ui, &[setting.name], |ui, _| choice_buttons(ui, &now, choices)).flatten();
    clicked.inspect(|choice| cx.set(setting.name, Value::Text(choice.id().to_owned()))).is_some()
}

/// The setting whose control is [`text_ui`].
const TEXT_CONTROL: &[&str] = &[ReadingSettings::text.name];

/// The line in which the text under Reading is typed; nothing in a lab without that setting.
pub(super) fn text_ui(ui: &mut Ui, cx: &mut ViewCx<'_>) {
    let Ok(text) = cx.config.value(ReadingSettings::text) else { return };
    cx.edit_setting_ui(ui, ReadingSettings::text.name, text, |ui, text| {
        text_line(ui, text, "text to read", "type a text to read; empty for a held-out passage")
    });
}

/// A button for a neuron, and one for its community, where it has one, of this number and these neurons, in a lab that
/// intervenes; nothing in another. Neurons are named by `head:index`, or by their numbers in the model.
pub(super) fn take_over_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, neuron: String, community: Option<(u32, Vec<String>)>) {
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
    cx.controls_ui(ui, |ui, cx| ui.horizontal_wrapped(|ui| cx.setting_ui(ui, &keys, buttons_ui)));
}
