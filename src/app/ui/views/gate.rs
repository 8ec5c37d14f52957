//! The gate over training: tanh(gamma) of every variant, and beneath it the gradient that moves it.

use crate::{
    telemetry::channels,
    ui::{
        plot::{Axis, Chart, Zone},
        seed_series::{SeedSeries, Seeds, SeriesStyle, groups},
        view::{Panel, PanelView, ViewCx},
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
}

impl Gate {
    fn gate_chart<'a>(&'a self, cx: &ViewCx<'a>) -> Chart<'a> {
        let y = Axis::new("tanh(\u{3b3})").include(&[-1.3 * PAPER_BAND, 1.3 * PAPER_BAND]);
        let mut chart = Chart::new("gate", Axis::steps().include(&[0.0]), y).empty(cx.why_no_curve(
            "No gate yet. Run a lab that has one, with a coupled variant: press Space, and \u{3b3} leaves zero with \
             the first step.",
            "No variant of this run has a gate.",
        ));
        self.gate.draw(
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

    fn gradient_chart<'a>(&'a self, cx: &ViewCx<'a>) -> Chart<'a> {
        let y = Axis::new("dLoss/d\u{3b3}, smoothed");
        let mut chart = Chart::new("gate gradient", Axis::steps().include(&[0.0]), y);
        let look = SeriesStyle { seeds: Seeds::Each, ..SeriesStyle::default() };
        self.gradient.draw(&mut chart, cx.mirror, channels::GATE_GRAD, cx.theme, look);
        chart.marker = cx.marker();
        chart.legend = false;
        chart
    }
}

impl PanelView for Gate {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        self.gate.follow(cx.mirror, channels::GATE, 0.0);
        self.gradient.follow(cx.mirror, channels::GATE_GRAD, GRADIENT_SMOOTHING);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let gradient = Panel::new(self.gradient_chart(cx), 0.4);
        vec![Panel::new(self.gate_chart(cx), 0.6), gradient.in_table("dLoss/d\u{3b3} ")]
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
}
