//! The share of neurons that fire while a word is new, and when it is known.

use crate::ui::views::prelude::*;

#[derive(Default)]
pub struct SurpriseView {
    by_octave: bool,
}

/// Letters of the warm-up, and of a word: the task's, arXiv 2509.26507 section 6.4.
const WARM_UP_LETTERS: f64 = 13.0;
const WORD_LETTERS: f64 = 8.0;
/// Later repetitions than this many count as known.
const KNOWN_AFTER: f64 = 4.0;

const EMPTY: &str = "Nothing measured yet. The preset \u{201c}Surprise\u{201d} trains on repeated words: press Space.";

const FIRING_TITLE: &str = "firing along a period";
const PERIOD_LABEL: &str = "position (letters)";
const FIRING_LABEL: &str = "share of y that fires";

fn chart(name: &str, x: &str, y: &str) -> Chart<'static> {
    Chart::new(name, Axis::new(x).integer_ticks(), Axis::new(y).include(&[0.0]))
}

fn spans(mut chart: Chart<'static>, theme: &Theme) -> Chart<'static> {
    let known = WARM_UP_LETTERS + KNOWN_AFTER * WORD_LETTERS;
    chart.vertical_span("warm-up", theme.line, [0.0, WARM_UP_LETTERS]);
    chart.vertical_span("new", theme.warm, [WARM_UP_LETTERS, WARM_UP_LETTERS + WORD_LETTERS]);
    chart.vertical_span("known", theme.cool, [known, WARM_UP_LETTERS + 8.0 * WORD_LETTERS]);
    chart
}

fn firing(m: &Surprise, theme: &Theme) -> Chart<'static> {
    let mut chart = chart(FIRING_TITLE, PERIOD_LABEL, FIRING_LABEL);
    for (layer, of_layer) in m.trained.layers.iter().enumerate() {
        chart.add(Line::new(format!("layer {layer}"), theme.series(layer), by_place(&of_layer.firing.y)));
    }
    for (layer, of_layer) in m.random_weights.layers.iter().enumerate() {
        let label = format!("layer {layer}, random weights");
        let line = Line::new(label, theme.series(layer), by_place(&of_layer.firing.y));
        chart.add_of_kind("random weights", line.null_baseline());
    }
    spans(chart, theme)
}

fn loss(m: &Surprise, theme: &Theme) -> Chart<'static> {
    let trained = Line::new("trained", theme.text, by_place(&m.trained.loss));
    let random = Line::new("random weights", theme.secondary, by_place(&m.random_weights.loss));
    spans(chart("loss along a period", PERIOD_LABEL, "loss (nats)").line(trained).line(random.null_baseline()), theme)
}

fn octaves(m: &Surprise, theme: &Theme) -> Chart<'static> {
    let x = "eighth of the neurons by rotation (0 fastest, 7 slowest)";
    let mut chart = chart("firing by rotation", x, FIRING_LABEL);
    for (layer, of_layer) in m.octaves.iter().enumerate() {
        let colour = theme.series(layer);
        let new = Line::new(format!("layer {layer}, new"), colour, by_place(&of_layer.memorised));
        chart.add(new.dots());
        let known = Line::new(format!("layer {layer}, known"), colour, by_place(&of_layer.known));
        chart.add_of_kind("known", known.dashed());
    }
    chart
}

impl PanelView for SurpriseView {
    const MIN_HEIGHT_FOR_ALL: f32 = 0.0;

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        cx.ask_if_missing::<Surprise>();
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let empty = cx.empty_reason::<Surprise>(EMPTY);
        let Some(m) = cx.latest::<Surprise>().map(|m| m.value) else {
            return Panel::single(chart(FIRING_TITLE, PERIOD_LABEL, FIRING_LABEL).empty(empty));
        };
        let firing = firing(m, cx.theme).empty(empty);
        match self.by_octave && !firing.is_empty() {
            true => Panel::single(octaves(m, cx.theme)),
            false => vec![Panel::new(firing, 0.56), Panel::new(loss(m, cx.theme), 0.44)],
        }
    }

    fn above_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(m) = cx.latest::<Surprise>().filter(|m| !firing(m.value, cx.theme).is_empty()) else { return };
        cx.controls_ui(ui, |ui, _| {
            ui.horizontal_wrapped(|ui| {
                ui.selectable_value(&mut self.by_octave, false, "along the period");
                let tip =
                    "Neurons grouped by how fast they turn: solid while the word is new, dashed when it is known.";
                ui.selectable_value(&mut self.by_octave, true, "by rotation").on_hover_text(tip);
            });
        });
        let layers = m.value.trained.layers.iter();
        let all: Vec<String> = layers.map(|l| number::signed(l.loss_correlation, 2)).collect();
        note_ui(ui, cx.theme, format!("correlation with the loss, by layer: {}", all.join("  ")));
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.subtitle_of::<Surprise>("share of y above zero, dotted: random weights")
    }
}
