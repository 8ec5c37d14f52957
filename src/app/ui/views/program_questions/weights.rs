//! Asks for the neuron graph of any two weight matrices that another program has saved of its model.

use super::{MAX_FIELD, SentQuestion, outcome_ui, withdraw_ui};
use crate::{
    labs::foreign::{self, asks},
    ui::views::prelude::*,
};

/// The names of two matrices, and the question that was put last.
#[derive(Default)]
pub(super) struct Weights {
    from: String,
    to: String,
    pub(super) sent: Option<(SentQuestion, &'static [&'static str])>,
}

/// The channels of the answers whose views are offered.
const GRAPH: &[&str] = &[NeuronGraph::CHANNEL, EntryHistogram::CHANNEL];
const NULL_MODELS: &[&str] = &[GraphModularity::CHANNEL];

impl Weights {
    fn args(&self) -> Args {
        let name = |key: &str, name: &str| (key.to_owned(), Value::Text(name.trim().to_owned()));
        Args::from([name(asks::FROM, &self.from), name(asks::TO, &self.to)])
    }

    pub fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let steps = &cx.mirror.snapshots;
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return };
        let words = match steps.len() {
            1 => format!("The weights of step {first} are kept."),
            n => format!("The weights of {n} steps are kept, from {first} to {last}."),
        };
        ui.label(RichText::new("weights").strong());
        wrapped_ui(ui, words, cx.theme.secondary);
        cx.controls_ui(ui, |ui, cx| self.question_ui(ui, cx));
    }

    fn question_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.scope(|ui| {
            ui.set_max_width(ui.available_width().min(MAX_FIELD));
            let hint = "what neurons write by, such as h.0.mlp.2.weight";
            text_line(ui, &mut self.from, "matrix that neurons write by", hint);
            let hint = "what neurons read by, such as h.0.mlp.0.weight";
            text_line(ui, &mut self.to, "matrix that neurons read by", hint);
        });
        let (variant, now) = (Some(cx.selection.variant), ui.input(|i| i.time));
        let can_ask = !self.from.trim().is_empty() && !self.to.trim().is_empty();
        ui.horizontal_wrapped(|ui| {
            let button = |ui: &mut Ui, name: &str, tip: &str| {
                let button = ui.add_enabled(can_ask, Button::new(name));
                button.widget_info(|| WidgetInfo::labeled(Role::Button, can_ask, name));
                button.on_hover_text(tip).clicked()
            };
            let tip = "The graph of the strongest entries of their product at the step shown, with its communities.";
            if button(ui, "Draw as a graph", tip) {
                let request = cx.ask_with::<NeuronGraph>(variant, self.args());
                self.sent = Some((SentQuestion::new(request, now), GRAPH));
            }
            let tip = "Newman's Q of that graph by its number of edges, beside random graphs. It may take minutes.";
            if button(ui, "Compare with null models", tip) {
                let request = cx.ask_with::<GraphModularity>(variant, self.args());
                self.sent = Some((SentQuestion::new(request, now), NULL_MODELS));
            }
            self.answer_buttons_ui(ui, cx);
        });
        if let Some((sent, _)) = self.sent {
            outcome_ui(ui, cx, sent, "the kept weights", "");
        }
    }

    /// Opens the views of the answer, or withdraws the question.
    fn answer_buttons_ui(&self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some((sent, channels)) = self.sent else { return };
        withdraw_ui(ui, cx, sent, "The answer is no longer wanted.");
        if cx.mirror.answer_to(sent.request).is_none() {
            return;
        }
        for channel in channels {
            let view = foreign::view_of(channel);
            if ui.button(format!("Show {}", cx.title_of(view))).clicked() {
                cx.act(PageAction::ShowView(view));
            }
        }
    }
}
