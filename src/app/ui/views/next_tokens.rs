//! The next tokens that each variant predicts after a text, side by side, and its continuation.

use super::task::task_ui;
use crate::{telemetry::measurements::NextTokens as Likely, ui::views::prelude::*};

/// Width below which variants are under one another, points.
const MIN_COLUMN_WIDTH: f32 = 190.0;
/// Width of the scroll bar of a tile over its view, points: while the pointer is on it, it is wider than its margin.
const SCROLL_BAR_WIDTH: f32 = 6.0;

#[derive(Default)]
pub struct NextTokens {
    /// The text is what the user typed; if it is empty, a held-out passage is read.
    args: NextTokensArgs,
}

impl NextTokens {
    /// One measurement for each variant that answered: the one at the shown step, or the answer to the typed text.
    fn measured<'a>(&self, cx: &ViewCx<'a>) -> Vec<Measured<'a, Likely>> {
        let is_typed = !self.args.text.is_empty();
        // a program that trains the run elsewhere is asked in another view
        let is_shown = |m: &Likely| m.is_typed == is_typed || cx.is_trained_elsewhere();
        (0..cx.mirror.variants().len()).filter_map(|v| cx.measured(v, is_shown)).collect()
    }
}

/// One variant: its name, the likely tokens as bars, and its continuation.
fn variant_ui(ui: &mut Ui, cx: &ViewCx<'_>, measured: Measured<'_, Likely>) {
    let theme = cx.theme;
    let colour = variant_colour(cx.mirror, measured.variant, theme);
    let label = cx.mirror.variant_label(measured.variant);
    ui.label(RichText::new(label).color(colour));
    let sign = |token| if measured.truth.as_ref() == Some(token) { "\u{2713}" } else { "" };
    let bars = measured.likely.iter().map(|l| Bar::new(&l.token, colour, l.probability).sign(sign(&l.token)));
    bars_ui(ui, theme, &format!("next tokens of {label}"), bars, 1.0);
    // another program may have asked its model for the next token alone
    if !measured.continuation.is_empty() {
        let continuation = visible_text(&measured.continuation);
        wrapped_ui(ui, format!("goes on: {}", drawable_text(ui, &continuation)), theme.secondary);
    }
}

impl View for NextTokens {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        cx.ask::<Likely>(None, &self.args, Freshness::OFTEN);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let measured = self.measured(cx);
        if cx.has_controls {
            // the digits are at the right edge, and a picture is not scrolled
            ui.set_max_width(ui.available_width() - SCROLL_BAR_WIDTH);
        }
        ui.spacing_mut().item_spacing.y = 4.0;
        if !cx.is_trained_elsewhere() {
            cx.controls_ui(ui, |ui, _| {
                let hint = "a held-out passage; type a text of your own";
                text_line(ui, &mut self.args.text, "text to go on from", hint)
                    .on_hover_text("The text that is read. Every variant reads the same.");
            });
        }
        let Some(first) = measured.first() else {
            cx.shows_nothing();
            return cx.unmeasured_ui::<Likely>(ui, "No answer yet. A run is asked at its start: press Space.");
        };
        if !first.sample.tokens.is_empty() {
            token_strip_ui(ui, cx.theme, &first.sample.tokens, |_| TokenMark::default());
        }
        task_ui(ui, cx, &self.args.text);
        if let Some(truth) = &first.truth {
            note_ui(ui, cx.theme, format!("the text goes on with \u{201c}{truth}\u{201d} (\u{2713})"));
        }
        let fit = ((ui.available_width() / MIN_COLUMN_WIDTH).floor() as usize).clamp(1, measured.len());
        for row in measured.chunks(fit) {
            ui.columns(fit, |columns| {
                for (ui, measured) in columns.iter_mut().zip(row) {
                    // a column stretches the blanks of its lines to its width
                    ui.vertical(|ui| variant_ui(ui, cx, *measured));
                }
            });
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        sample_subtitle(self.measured(cx).first().map(|m| m.sample), "", "what comes after a text, by variant")
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let measured = self.measured(cx);
        let mut table = Table::new(["variant", "step", "prompt", "token", "probability", "goes on"]);
        for m in &measured {
            let (label, step) = (cx.mirror.variant_label(m.variant), m.sample.step);
            for next in &m.likely {
                table.cells(&[&label, &step, &m.prompt, &next.token, &next.probability, &m.continuation]);
            }
        }
        (!measured.is_empty()).then(|| table.finish())
    }
}
