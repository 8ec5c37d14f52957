//! How much of each layer fires, over training, beside random weights.

use eframe::egui::Ui;

use super::{layer_colour, points};
use crate::{
    telemetry::{Payload, channels},
    ui::{
        plot::{Axis, Chart, ChartState, Line, Stroke},
        views::{RunTracker, View, ViewCx},
        widgets::stacked_charts::stacked_ui,
    },
};

/// View `activity`.
#[derive(Default)]
pub struct Activity {
    states: [ChartState; 2],
    run_tracker: RunTracker,
}

impl Activity {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    /// One line a layer over training, and one dashed for random weights.
    fn chart(cx: &ViewCx<'_>, which: &str) -> Chart<'static> {
        let y = Axis::new(format!("share of {which} that fires")).include(&[0.0]);
        let mut chart = Chart::new(format!("sparsity of {which}"), Axis::new("step"), y)
            .empty("Nothing measured yet. A BDH is measured at its start and as it trains: press Space.");
        let Some((variant, newest)) = cx.sample(channels::ACTIVITY) else { return chart };
        let kept = cx.mirror.samples(variant, channels::ACTIVITY);
        let told = if kept.is_empty() { std::slice::from_ref(newest) } else { kept };
        let at = |sample: &crate::telemetry::Sample, line: &str| -> Vec<f64> {
            let series = sample.payload.as_series();
            series.map_or(vec![], |s| points(s, line).into_iter().map(|p| p[1]).collect())
        };
        let layers = at(newest, which).len();
        for layer in 0..layers {
            let over = |line: &str| -> Vec<[f64; 2]> {
                told.iter().filter_map(|s| Some([s.step as f64, *at(s, line).get(layer)?])).collect()
            };
            let colour = layer_colour(cx.theme, layer);
            chart.lines.push(Line::new(format!("layer {layer}"), colour, over(which)).dots());
            let random = Line::new(format!("layer {layer}, random weights"), colour, over(&format!("{which} random")));
            chart.lines.push(random.stroke(Stroke::Dashed).unnamed());
        }
        chart.marker = cx.marker();
        chart
    }
}

impl View for Activity {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.run_tracker.ask_if_missing(cx, channels::ACTIVITY, "activity");
        let (upper, mut lower) = (Self::chart(cx, "y"), Self::chart(cx, "x"));
        if upper.is_empty() {
            upper.show(ui, ui.available_size(), cx.theme, &mut self.states[0]);
            return;
        }
        lower.legend = false;
        stacked_ui(ui, cx.theme, [(upper, 0.56), (lower, 0.44)], &mut self.states.each_mut());
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.sample_subtitle(channels::ACTIVITY, "share of neurons above zero, dashed: random weights")
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let (variant, newest) = cx.sample(channels::ACTIVITY)?;
        let kept = cx.mirror.samples(variant, channels::ACTIVITY);
        let mut csv = "step,layer,x,y,x_random,y_random\n".to_owned();
        for sample in if kept.is_empty() { std::slice::from_ref(newest) } else { kept } {
            let Payload::Series(s) = sample.payload.as_ref() else { continue };
            for (k, layer) in s.x.iter().enumerate() {
                let of = |name: &str| s.lines.iter().find(|l| l.name == name).and_then(|l| l.y.get(k)).copied();
                let all = ["x", "y", "x random", "y random"].map(|n| of(n).map_or(String::new(), |v| v.to_string()));
                csv.push_str(&format!("{},{layer},{}\n", sample.step, all.join(",")));
            }
        }
        Some(csv)
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::chart(cx, "y").svg(&self.states[0], cx.theme)
    }
}
