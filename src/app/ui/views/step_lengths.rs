//! Step lengths of a coupled model by layer and head, over training.

use eframe::egui::Ui;

use super::{View, ViewCx};
use crate::{
    telemetry::measurements::StepLengths as Measured,
    ui::plot::{Axis, Chart, ChartState, Line, Reference},
};

/// View `step_lengths`.
#[derive(Default)]
pub struct StepLengths {
    state: ChartState,
}

impl StepLengths {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    /// The variant in focus if its queries and keys evolve, else the first whose do.
    fn shown(cx: &ViewCx<'_>) -> Option<usize> {
        let all = std::iter::once(cx.selection.variant).chain(0..cx.mirror.variants().len());
        all.into_iter().find(|v| !cx.history::<Measured>(*v).is_empty())
    }

    fn chart<'a>(cx: &ViewCx<'a>) -> Chart<'a> {
        let y = Axis::new("step length Δt");
        let mut chart = Chart::new("step lengths", Axis::steps().include(&[0.0]), y)
            .empty("No step lengths yet. They are those of coupled variants: turn one on and press Space.");
        let Some(variant) = Self::shown(cx) else { return chart };
        let history = cx.history::<Measured>(variant);
        let Some((_, newest)) = history.last() else { return chart };
        for (place, of_layer) in newest.layers.iter().enumerate() {
            for head in 0..of_layer.dt.len() {
                let dt = |m: &Measured| m.layers.get(place).and_then(|l| l.dt.get(head).copied());
                let points: Vec<[f64; 2]> =
                    history.iter().filter_map(|(step, m)| Some([*step as f64, dt(m)?])).collect();
                let label = format!("layer {}, head {head}", of_layer.layer);
                let mut line = Line::new(label, cx.theme.series(place), points);
                line.short = Some(format!("layer {}", of_layer.layer));
                chart.lines.push(if head > 0 { line.unnamed() } else { line });
            }
        }
        let first = history.first().and_then(|(_, m)| m.layers.first()?.dt.first().copied());
        if let Some(at) = first.filter(|at| at.is_finite()) {
            chart.references.push(Reference { label: format!("at the start: {at:.3}"), at, vertical: false });
        }
        chart.marker = cx.marker();
        chart
    }
}

impl View for StepLengths {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        Self::chart(cx).show(ui, ui.available_size(), cx.theme, &mut self.state);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let label = Self::shown(cx).and_then(|v| cx.mirror.variants().get(v)).map(|v| v.label.as_str());
        cx.subtitle(&label.map_or_else(
            || "by head and layer".to_owned(),
            |label| format!("{label}: a line a head, a colour a layer"),
        ))
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::chart(cx).csv(&self.state)
    }

    fn draws_svg(&self) -> bool {
        true
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::chart(cx).svg(&self.state, cx.theme)
    }
}
