//! The share of each layer that fires, over training, beside random weights.

use super::layer_colour;
use crate::{
    telemetry::measurements::{self, FiringShare, LayerActivity},
    ui::{
        plot::{Axis, Chart, Line, Stroke},
        table::Table,
        view::{Panel, PanelView, ViewCx},
    },
};

/// View `activity`.
#[derive(Default)]
pub struct Activity;

/// The sparse vector that a chart shows.
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

impl PanelView for Activity {
    const LOW: f32 = 0.0;

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        cx.ask_if_missing::<measurements::Activity>();
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let (upper, mut lower) = (Self::chart(cx, Vector::Y), Self::chart(cx, Vector::X));
        lower.legend = false;
        vec![Panel::new(upper, 0.56), Panel::new(lower, 0.44)]
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.subtitle_of::<measurements::Activity>("share of neurons above zero, dashed: random weights")
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        cx.latest::<measurements::Activity>()?;
        let mut table = Table::new(["step", "layer", "x", "y", "x_random", "y_random"]);
        for (step, measured) in history(cx) {
            for (layer, LayerActivity { trained, random_weights }) in measured.layers.iter().enumerate() {
                let shares = [trained.x, trained.y, random_weights.x, random_weights.y].map(|share| share.to_string());
                table.row([step.to_string(), layer.to_string()].into_iter().chain(shares));
            }
        }
        Some(table)
    }
}
