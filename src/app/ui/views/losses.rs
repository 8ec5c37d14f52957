//! Training and held-out loss of every variant. Smoothing is TensorBoard's; the raw line stays
//! faintly behind. Seeds of one variant become mean and band.

use eframe::egui::{self, Ui, vec2};

use super::{View, ViewCx};
use crate::{
    telemetry::channels,
    ui::{
        plot::{Axis, Chart, ChartState, Stroke},
        seed_series::{SeedSeries, Seeds, SeriesStyle},
    },
};

/// Which losses are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Both,
    Train,
    HeldOut,
}

/// View `losses`.
pub struct Losses {
    state: ChartState,
    smoothing: f64,
    shown: Shown,
    train: SeedSeries,
    held_out: SeedSeries,
}

impl Losses {
    pub fn make() -> Box<dyn View> {
        Box::new(Self {
            state: ChartState::default(),
            smoothing: 0.9,
            shown: Shown::Both,
            train: SeedSeries::default(),
            held_out: SeedSeries::default(),
        })
    }

    fn chart<'a>(train: &'a SeedSeries, held_out: &'a SeedSeries, shown: Shown, cx: &ViewCx<'a>) -> Chart<'a> {
        let mut chart = Chart::new("losses", Axis::steps(), Axis::new("loss (nats a token)"))
            .empty("No losses yet. Press Space to train; the first step appears at once.");
        if shown != Shown::HeldOut {
            let suffix = if shown == Shown::Both { ", train" } else { "" };
            let look = SeriesStyle { suffix, ..SeriesStyle::default() };
            train.draw(&mut chart, cx.mirror, channels::LOSS_TRAIN, cx.theme, look);
        }
        if shown != Shown::Train {
            let stroke = if shown == Shown::Both { Stroke::Dashed } else { Stroke::Solid };
            let suffix = if shown == Shown::Both { ", held out" } else { "" };
            let look = SeriesStyle { stroke, suffix, unnamed: shown == Shown::Both, seeds: Seeds::Spread };
            held_out.draw(&mut chart, cx.mirror, channels::LOSS_HELD_OUT, cx.theme, look);
        }
        // The legend names each variant once; which stroke is which is said in the subtitle.
        if shown == Shown::Both && chart.lines.iter().all(|l| !l.named) {
            chart.lines.iter_mut().for_each(|l| l.named = true);
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
            let label = ui.label("smooth").id;
            ui.spacing_mut().slider_width = (ui.available_width() - 68.0).clamp(24.0, 90.0);
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
        self.train.follow(cx.mirror, channels::LOSS_TRAIN, self.smoothing);
        self.held_out.follow(cx.mirror, channels::LOSS_HELD_OUT, 0.0);
        let chart = Self::chart(&self.train, &self.held_out, self.shown, cx);
        if chart.is_empty() {
            chart.show(ui, ui.available_size(), cx.theme, &mut self.state);
            return;
        }
        let room = ui.available_size() - vec2(0.0, cx.height_of_controls(32.0));
        chart.show(ui, room, cx.theme, &mut self.state);
        drop(chart);
        if cx.has_controls {
            self.controls_ui(ui);
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.subtitle(match self.shown {
            Shown::Both => "training (solid) and held out (dashed)",
            Shown::Train => "training batches",
            Shown::HeldOut => "held-out windows",
        })
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::chart(&self.train, &self.held_out, self.shown, cx).csv(&self.state)
    }

    fn draws_svg(&self) -> bool {
        true
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::chart(&self.train, &self.held_out, self.shown, cx).svg(&self.state, cx.theme)
    }
}
