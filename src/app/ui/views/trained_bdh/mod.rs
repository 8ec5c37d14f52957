//! Views of an opened BDH: its properties, its prediction after every layer, the contexts of a neuron, and
//! interventions. They share the text under Reading.

mod card;
mod intervention;
mod logit_lens;
mod query_key_maps;
mod take_over;
mod top_contexts;

pub use card::Card;
pub use intervention::Intervention;
pub use logit_lens::LogitLensView;
pub use query_key_maps::QueryKeyMapsView;
pub(super) use take_over::{NeuronSet, take_over_ui};
pub use top_contexts::TopContextsView;

use crate::{labs::synapses::settings::ReadingSettings, ui::views::prelude::*};

/// The settings of the text, in a lab that has them.
pub(super) fn reading_settings(cx: &ViewCx<'_>) -> Option<ReadingSettings> {
    cx.config.get(ReadingSettings::text.name)?;
    cx.config.group().ok()
}

/// The setting whose control is [`text_ui`].
const TEXT_CONTROL: &[&str] = &[ReadingSettings::text.name];

/// The line in which the text under Reading is typed; nothing in a lab without that setting. `typed` holds it meanwhile.
pub(super) fn text_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, typed: &mut Option<String>) {
    let Ok(set) = cx.config.value(ReadingSettings::text) else { return };
    let mut text = typed.clone().unwrap_or(set);
    let response = text_line(ui, &mut text, "text to read", "type a text to read; empty for a held-out passage");
    if response.changed() {
        cx.set(ReadingSettings::text.name, Value::Text(text.clone()));
        *typed = Some(text);
    }
    if response.lost_focus() {
        *typed = None;
    }
}
