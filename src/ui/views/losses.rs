//! Training and held-out loss of every variant. Smoothing is TensorBoard's; the raw line stays
//! faintly behind.

use std::collections::HashMap;

use eframe::egui::{self, Ui, vec2};

use super::{View, ViewCx};
use crate::{
    telemetry::channels,
    ui::{
        mirror::Mirror,
        plot::{Axis, Chart, ChartState, Line, Smoothed, Stroke},
    },
};

/// Which losses are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Shown {
    #[default]
    Both,
    Train,
    HeldOut,
}

/// View `losses`.
pub struct Losses {
    state: ChartState,
    smoothing: f64,
    shown: Shown,
    smoothed: HashMap<usize, Smoothed>,
}

impl Losses {
    pub fn make() -> Box<dyn View> {
        Box::new(Self { state: ChartState::default(), smoothing: 0.9, shown: Shown::Both, smoothed: HashMap::new() })
    }

    fn follow(&mut self, mirror: &Mirror) {
        for variant in 0..mirror.variants().len() {
            if let Some(raw) = mirror.curve(variant, channels::LOSS_TRAIN) {
                self.smoothed.entry(variant).or_default().follow(raw, self.smoothing);
            }
        }
    }

    fn chart<'a>(smoothed: &'a HashMap<usize, Smoothed>, shown: Shown, cx: &ViewCx<'a>) -> Chart<'a> {
        let (mirror, theme): (&'a Mirror, _) = (cx.mirror, cx.theme);
        let mut chart = Chart::new("losses", Axis::new("step"), Axis::new("loss (nats a token)"))
            .empty("No losses yet. Press Space to train; the first step appears at once.");
        for (i, variant) in mirror.variants().iter().enumerate() {
            let colour = theme.variant(i);
            if shown != Shown::HeldOut
                && let Some(raw) = mirror.curve(i, channels::LOSS_TRAIN)
            {
                let label =
                    if shown == Shown::Both { format!("{}, train", variant.label) } else { variant.label.clone() };
                let line = match smoothed.get(&i) {
                    Some(s) if !s.curve().is_empty() => Line::new(label, colour, s.curve()).raw(raw),
                    _ => Line::new(label, colour, raw),
                };
                chart.lines.push(line);
            }
            if shown != Shown::Train
                && let Some(held_out) = mirror.curve(i, channels::LOSS_HELD_OUT)
            {
                let (label, stroke) = match shown {
                    Shown::Both => (format!("{}, held out", variant.label), Stroke::Dashed),
                    _ => (variant.label.clone(), Stroke::Solid),
                };
                chart.lines.push(Line::new(label, colour, held_out).stroke(stroke).dots());
            }
        }
        chart.marker = cx.marker();
        chart
    }

    fn controls_ui(&mut self, ui: &mut Ui) {
        ui.horizontal(|ui| {
            for (choice, words) in [(Shown::Both, "both"), (Shown::Train, "train"), (Shown::HeldOut, "held out")] {
                ui.selectable_value(&mut self.shown, choice, words);
            }
            ui.add_space(8.0);
            let label = ui.label("smoothing").id;
            ui.spacing_mut().slider_width = 90.0;
            ui.add(egui::Slider::new(&mut self.smoothing, 0.0..=0.99).max_decimals(2))
                .on_hover_text(
                    "Weight of the past in the running average of the training loss, as TensorBoard draws it. The raw \
                     line stays faintly behind; held-out loss is never smoothed.",
                )
                .labelled_by(label);
        });
    }
}

impl View for Losses {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.follow(cx.mirror);
        let chart = Self::chart(&self.smoothed, self.shown, cx);
        if chart.is_empty() {
            chart.show(ui, ui.available_size(), cx.theme, &mut self.state);
            return;
        }
        let room = ui.available_size() - vec2(0.0, 32.0);
        chart.show(ui, room, cx.theme, &mut self.state);
        drop(chart);
        self.controls_ui(ui);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.subtitle("cross-entropy, training batches and held-out windows")
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::chart(&self.smoothed, self.shown, cx).csv(&self.state)
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::chart(&self.smoothed, self.shown, cx).svg(&self.state, cx.theme)
    }
}
