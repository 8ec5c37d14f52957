//! The gate over training: tanh(gamma) of every variant, and beneath it the gradient that moves it.

use eframe::egui::Ui;

use super::{View, ViewCx};
use crate::{
    telemetry::channels,
    ui::{
        plot::{Axis, Chart, ChartState, Zone},
        seed_series::{SeedSeries, Seeds, SeriesStyle, groups},
        widgets::stacked_charts::stacked_ui,
    },
};

/// The paper's gates stay within this of zero.
const PAPER_BAND: f64 = 0.01;
/// Weight of the past in the smoothed gradient.
const GRADIENT_SMOOTHING: f64 = 0.8;

/// View `gate`.
#[derive(Default)]
pub struct Gate {
    gate: SeedSeries,
    gradient: SeedSeries,
    states: [ChartState; 2],
}

impl Gate {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    fn gate_chart<'a>(gate: &'a SeedSeries, cx: &ViewCx<'a>) -> Chart<'a> {
        let y = Axis::new("tanh(\u{3b3})").include(&[-1.3 * PAPER_BAND, 1.3 * PAPER_BAND]);
        let mut chart = Chart::new("gate", Axis::steps().include(&[0.0]), y).empty(
            "No gate yet. Run a lab that has one, with a coupled variant: press Space, and \u{3b3} leaves zero with \
             the first step.",
        );
        gate.draw(
            &mut chart,
            cx.mirror,
            channels::GATE,
            cx.theme,
            SeriesStyle { seeds: Seeds::Each, ..SeriesStyle::default() },
        );
        chart.zones.push(Zone {
            label: "paper: stays closed, \u{b1}0.01".to_owned(),
            colour: cx.theme.secondary,
            from: -PAPER_BAND,
            to: PAPER_BAND,
        });
        chart.marker = cx.marker();
        chart
    }

    fn gradient_chart<'a>(gradient: &'a SeedSeries, cx: &ViewCx<'a>) -> Chart<'a> {
        let y = Axis::new("dLoss/d\u{3b3}, smoothed");
        let mut chart = Chart::new("gate gradient", Axis::steps().include(&[0.0]), y);
        gradient.draw(
            &mut chart,
            cx.mirror,
            channels::GATE_GRAD,
            cx.theme,
            SeriesStyle { seeds: Seeds::Each, ..SeriesStyle::default() },
        );
        chart.marker = cx.marker();
        chart.legend = false;
        chart
    }
}

impl View for Gate {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.gate.follow(cx.mirror, channels::GATE, 0.0);
        self.gradient.follow(cx.mirror, channels::GATE_GRAD, GRADIENT_SMOOTHING);
        let room = ui.available_size();
        let chart = Self::gate_chart(&self.gate, cx);
        let gradient = Self::gradient_chart(&self.gradient, cx);
        if gradient.is_empty() || room.y < 200.0 {
            chart.show(ui, room, cx.theme, &mut self.states[0]);
            return;
        }
        stacked_ui(ui, cx.theme, [(chart, 0.6), (gradient, 0.4)], &mut self.states.each_mut());
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let is_negative = (0..cx.mirror.variants().len())
            .filter_map(|v| cx.mirror.curve(v, channels::GATE)?.value_at(cx.step))
            .any(|gate| gate < 0.0);
        let sign = if is_negative { "; below zero it is as open as above" } else { "" };
        let several = cx.mirror.variants().len() > groups(cx.mirror).len();
        let seeds = if several { ", a line a seed" } else { "" };
        cx.subtitle(&format!("weight of the slow path{sign}, and its gradient{seeds}"))
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let mut chart = Self::gate_chart(&self.gate, cx);
        // One table: the gradient's columns beside the gate's.
        let gradient = Self::gradient_chart(&self.gradient, cx);
        for mut line in gradient.lines {
            line.label = format!("dLoss/d\u{3b3} {}", line.label);
            chart.lines.push(line);
        }
        chart.csv(&self.states[0])
    }

    fn draws_svg(&self) -> bool {
        true
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::gate_chart(&self.gate, cx).svg(&self.states[0], cx.theme)
    }
}
