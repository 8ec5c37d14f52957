//! Views of texts that are read on and on: warm-up, fast weights, uncertainty. A button starts what takes seconds.

mod adaptation;
mod fast_weights;
mod uncertainty;
mod warm_up;

pub use adaptation::AdaptationView;
pub use fast_weights::FastWeightsView;
pub use uncertainty::UncertaintyView;
pub use warm_up::WarmUpView;

use eframe::egui::ProgressBar;

use crate::ui::views::prelude::*;

/// Height of the row of controls, points.
const CONTROLS_HEIGHT: f32 = 26.0;
const VARIANTS_TIP: &str = "The variant that is asked and shown.";

/// The latest measurement of the variant in focus at or before the shown step.
fn shown_measurement<'a, M: Measurement>(cx: &ViewCx<'a>) -> Option<Measured<'a, M>> {
    cx.newest(cx.selection.variant)
}

/// The reason why nothing is shown. `where_absent` says what a model lacks that has answered without a measurement.
fn empty_reason<M: Measurement>(cx: &ViewCx<'_>, otherwise: &str, where_absent: &str) -> String {
    let variant = cx.selection.variant;
    if cx.is_answered_without::<M>(variant) {
        return format!("{}: {where_absent}", cx.mirror.variant_label(variant));
    }
    cx.empty_reason_before_asking::<M>(otherwise, "Not measured yet: press Measure.")
}

/// A subtitle with the step, the variant and the text of the measurement, followed by notes on what was left out.
fn subtitle_of<M: Measurement>(cx: &ViewCx<'_>, what: &str, notes: fn(&M) -> &Vec<String>) -> String {
    let Some(m) = shown_measurement::<M>(cx) else { return what.to_owned() };
    let notes: String = notes(m.value).iter().map(|note| format!(" \u{b7} {note}")).collect();
    m.subtitle(cx, "") + &notes
}

const STREAM_TOKENS_TIP: &str = "Tokens of each stream that the next measurement reads. Longer ones take longer.";

/// Chooses the number of tokens of the streams in the next measurement.
fn tokens_ui(ui: &mut Ui, tokens: &mut usize, choices: &[usize], tip: &str) {
    let words = format!("{} tokens", grouped(*tokens as u64));
    let choices = choices.iter().map(|choice| (*choice, grouped(*choice as u64)));
    choice_menu(ui, &words, tokens, choices, tip);
}

/// The button that measures, or how far it is.
fn measure_ui<M: Measurement>(ui: &mut Ui, cx: &mut ViewCx<'_>, args: &M::Args, tip: &str) {
    let (variant, shown) = (Some(cx.selection.variant), shown_measurement::<M>(cx));
    cx.shows_question::<M>(variant, args, shown.map(|m| m.sample));
    if cx.is_waiting_for::<M>(variant) {
        let state = cx.questions.request((M::PROBE, variant)).and_then(|r| cx.mirror.question(r));
        let share = if let Some(QuestionState::Working(Some(share))) = state { *share } else { 0.0 };
        let bar = ui.add(ProgressBar::new(share).desired_width(80.0).desired_height(14.0));
        bar.widget_info(|| WidgetInfo::labeled(Role::ProgressIndicator, true, format!("measured: {share:.2}")));
        if ui.button("cancel").on_hover_text("Stops measuring; what was measured before stays.").clicked() {
            cx.cancel::<M>(variant);
        }
        return;
    }
    let words = if shown.is_some() { "measure again" } else { "measure" };
    if ui.add_enabled(cx.can_ask(), Button::new(words)).on_hover_text(tip).clicked() {
        cx.ask_now::<M>(variant, args);
    }
}
