//! Step lengths of a coupled model by layer and head, over training.

use crate::{telemetry::measurements::StepLengths as Measured, ui::views::prelude::*};

#[derive(Default)]
pub struct StepLengths;

impl PanelView for StepLengths {
    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let y = Axis::new("step length Δt");
        let mut chart = cx.training_chart("step lengths", y).empty(cx.empty_reason::<Measured>(
            "No step lengths yet. They are those of coupled variants: turn one on and press Space.",
        ));
        let Some((_, history)) = cx.history_in_focus::<Measured>() else { return Panel::single(chart) };
        let Some((_, newest)) = history.last() else { return Panel::single(chart) };
        for (place, of_layer) in newest.layers.iter().enumerate() {
            for head in 0..of_layer.dt.len() {
                let points = points_over_steps(&history, |m| m.layers.get(place)?.dt.get(head).copied());
                let label = format!("layer {}, head {head}", of_layer.layer);
                let line = Line::new(label, cx.theme.series(place), points).short(format!("layer {}", of_layer.layer));
                chart.add(if head > 0 { line.unnamed() } else { line });
            }
        }
        let first = history.first().and_then(|(_, m)| m.layers.first()?.dt.first().copied());
        if let Some(at) = first.filter(|at| at.is_finite()) {
            chart.horizontal_line(format!("at the start: {at:.3}"), at);
        }
        Panel::single(chart)
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let shown = cx.history_in_focus::<Measured>().and_then(|(v, _)| cx.mirror.variants().get(v));
        cx.subtitle(&match shown {
            None => "by head and layer".to_owned(),
            Some(v) => format!("{}: a line a head, a colour a layer", v.label),
        })
    }
}
