//! The share of neurons that fire while a word is new, and when it is known.

use crate::ui::views::prelude::*;

#[derive(Default)]
pub struct SurpriseView {
    by_octave: bool,
}

/// Letters of the warm-up, and of a word: the task's, arXiv 2509.26507 section 6.4.
const WARM: f64 = 13.0;
const WORD: f64 = 8.0;
/// Later repetitions than this many count as known.
const KNOWN_AFTER: f64 = 4.0;

const EMPTY: &str = "Nothing measured yet. The preset \u{201c}Surprise\u{201d} trains on repeated words: press Space.";

impl SurpriseView {
    fn spans(chart: &mut Chart<'_>, cx: &ViewCx<'_>) {
        let known = WARM + KNOWN_AFTER * WORD;
        chart.vertical_span("warm-up", cx.theme.line, [0.0, WARM]);
        chart.vertical_span("new", cx.theme.warm, [WARM, WARM + WORD]);
        chart.vertical_span("known", cx.theme.cool, [known, WARM + 8.0 * WORD]);
    }

    fn firing(cx: &ViewCx<'_>) -> Chart<'static> {
        let x = Axis::new("position in the period (letters)").integer_ticks();
        let mut chart = Chart::new("firing along a period", x, Axis::new("share of y that fires").include(&[0.0]))
            .empty(cx.why_nothing::<measurements::Surprise>(EMPTY));
        let Some(measured) = cx.latest::<measurements::Surprise>() else { return chart };
        for (layer, of_layer) in measured.trained.layers.iter().enumerate() {
            chart.add(Line::new(format!("layer {layer}"), cx.theme.series(layer), by_place(&of_layer.firing.y)));
        }
        for (layer, of_layer) in measured.random_weights.layers.iter().enumerate() {
            let label = format!("layer {layer}, random weights");
            let line = Line::new(label, cx.theme.series(layer), by_place(&of_layer.firing.y));
            chart.add_of_kind("random weights", line.null_baseline());
        }
        Self::spans(&mut chart, cx);
        chart
    }

    fn loss(cx: &ViewCx<'_>) -> Chart<'static> {
        let x = Axis::new("position in the period (letters)").integer_ticks();
        let mut chart = Chart::new("loss along a period", x, Axis::new("loss (nats)").include(&[0.0]));
        let Some(measured) = cx.latest::<measurements::Surprise>() else { return chart };
        chart.add(Line::new("trained", cx.theme.text, by_place(&measured.trained.loss)));
        let random = Line::new("random weights", cx.theme.secondary, by_place(&measured.random_weights.loss));
        chart.add(random.null_baseline());
        Self::spans(&mut chart, cx);
        chart
    }

    fn octaves(cx: &ViewCx<'_>) -> Chart<'static> {
        let x = Axis::new("eighth of the neurons by rotation (0 fastest, 7 slowest)").integer_ticks();
        let mut chart = Chart::new("firing by rotation", x, Axis::new("share of y that fires").include(&[0.0]));
        let Some(measured) = cx.latest::<measurements::Surprise>() else { return chart };
        for (layer, of_layer) in measured.octaves.iter().enumerate() {
            let colour = cx.theme.series(layer);
            let new = Line::new(format!("layer {layer}, new"), colour, by_place(&of_layer.memorised));
            chart.add(new.dots());
            let known = Line::new(format!("layer {layer}, known"), colour, by_place(&of_layer.known));
            chart.add_of_kind("known", known.dashed());
        }
        chart
    }
}

impl PanelView for SurpriseView {
    const LOW: f32 = 0.0;

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        cx.ask_if_missing::<measurements::Surprise>();
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let firing = Self::firing(cx);
        match self.by_octave && !firing.is_empty() {
            true => Panel::single(Self::octaves(cx)),
            false => vec![Panel::new(firing, 0.56), Panel::new(Self::loss(cx), 0.44)],
        }
    }

    fn above_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if Self::firing(cx).is_empty() {
            return;
        }
        ui.horizontal_wrapped(|ui| {
            cx.controls_ui(ui, |ui, _| {
                ui.selectable_value(&mut self.by_octave, false, "along the period");
                let tip =
                    "Neurons grouped by how fast they turn: solid while the word is new, dashed when it is known.";
                ui.selectable_value(&mut self.by_octave, true, "by rotation").on_hover_text(tip);
            });
            if let Some(m) = cx.latest::<measurements::Surprise>() {
                let layers = m.value.trained.layers.iter();
                let all: Vec<String> = layers.map(|l| number::signed(l.loss_correlation, 2)).collect();
                note_ui(ui, cx.theme, format!("correlation with the loss, by layer: {}", all.join("  ")));
            }
        });
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.subtitle_of::<measurements::Surprise>("share of y above zero, dotted: random weights")
    }
}
