//! How much of each layer fires, over training, beside random weights. It does not know how shares are
//! measured.

use std::fmt::Write as _;

use eframe::egui::Ui;

use super::layer_colour;
use crate::{
    telemetry::measurements::{self, ActivityArgs, FiringShare, LayerActivity},
    ui::{
        plot::{Axis, Chart, ChartState, Line, Stroke},
        questions::Freshness,
        views::{View, ViewCx},
        widgets::stacked_charts::stacked_ui,
    },
};

/// View `activity`.
#[derive(Default)]
pub struct Activity {
    states: [ChartState; 2],
}

/// Which of the two sparse vectors a chart shows.
#[derive(Clone, Copy)]
enum Vector {
    X,
    Y,
}

impl Vector {
    fn name(self) -> &'static str {
        match self {
            Self::X => "x",
            Self::Y => "y",
        }
    }

    fn share(self, of: FiringShare) -> f64 {
        match self {
            Self::X => of.x,
            Self::Y => of.y,
        }
    }
}

/// Every scheduled measurement of the shown variant with its step, or the one answer that there is.
fn history<'a>(cx: &ViewCx<'a>) -> Vec<(u64, &'a measurements::Activity)> {
    let Some(latest) = cx.latest::<measurements::Activity>() else { return vec![] };
    let scheduled = cx.history::<measurements::Activity>(latest.variant);
    if scheduled.is_empty() { vec![(latest.sample.step, latest.value)] } else { scheduled }
}

const EMPTY: &str = "Nothing measured yet. A BDH is measured at its start and as it trains: press Space.";

impl Activity {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    /// One line a layer over training, and one dashed for random weights.
    fn chart(cx: &ViewCx<'_>, which: Vector) -> Chart<'static> {
        let name = which.name();
        let y = Axis::new(format!("share of {name} that fires")).include(&[0.0]);
        let mut chart = Chart::new(format!("sparsity of {name}"), Axis::steps(), y)
            .empty(cx.why_nothing::<measurements::Activity>(EMPTY));
        let Some(latest) = cx.latest::<measurements::Activity>() else { return chart };
        let history = history(cx);
        for layer in 0..latest.layers.len() {
            let over = |of: fn(&LayerActivity) -> FiringShare| -> Vec<[f64; 2]> {
                let at = |(step, m): &(u64, &measurements::Activity)| {
                    Some([*step as f64, which.share(of(m.layers.get(layer)?))])
                };
                history.iter().filter_map(at).collect()
            };
            let colour = layer_colour(cx.theme, layer);
            chart.lines.push(Line::new(format!("layer {layer}"), colour, over(|l| l.trained)).dots());
            let random = Line::new(format!("layer {layer}, random weights"), colour, over(|l| l.random_weights));
            chart.lines.push(random.stroke(Stroke::Dashed).unnamed());
        }
        chart.marker = cx.marker();
        chart
    }
}

impl View for Activity {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let variant = Some(cx.selection.variant);
        cx.ask::<measurements::Activity>(variant, &ActivityArgs::default(), Freshness::IfMissing);
        let (upper, mut lower) = (Self::chart(cx, Vector::Y), Self::chart(cx, Vector::X));
        if upper.is_empty() {
            upper.show(ui, ui.available_size(), cx.theme, &mut self.states[0]);
            return;
        }
        lower.legend = false;
        stacked_ui(ui, cx.theme, [(upper, 0.56), (lower, 0.44)], &mut self.states.each_mut());
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.subtitle_of::<measurements::Activity>("share of neurons above zero, dashed: random weights")
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        cx.latest::<measurements::Activity>()?;
        let mut csv = "step,layer,x,y,x_random,y_random\n".to_owned();
        for (step, measured) in history(cx) {
            for (layer, LayerActivity { trained, random_weights }) in measured.layers.iter().enumerate() {
                let [x, y, x_random, y_random] = [trained.x, trained.y, random_weights.x, random_weights.y];
                let _ = writeln!(csv, "{step},{layer},{x},{y},{x_random},{y_random}");
            }
        }
        Some(csv)
    }

    fn draws_svg(&self) -> bool {
        true
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::chart(cx, Vector::Y).svg(&self.states[0], cx.theme)
    }
}
