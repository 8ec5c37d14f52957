//! How far the fast state is from equilibrium, against passes, by method and round.

use eframe::egui::{Color32, Ui};

use super::{View, ViewCx};
use crate::{
    telemetry::measurements::{self, ResidualArgs, ResidualMethod},
    ui::{
        plot::{Axis, Chart, ChartState, Line, Stroke},
        questions::Freshness,
        theme::Theme,
    },
};

/// View `residual`.
#[derive(Default)]
pub struct Residual {
    state: ChartState,
}

impl Residual {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    fn chart<'a>(cx: &ViewCx<'a>) -> Chart<'a> {
        let x = Axis::new("passes of Post").whole();
        let y = Axis::new("|x \u{2212} Post(x)| / |x|").log();
        let mut chart = Chart::new("equilibrium residual", x, y).empty(cx.why_nothing::<measurements::Residual>(
            "Not measured yet. It is asked of a fast-slow model at the start of a run: press Space.",
        ));
        let Some(residual) = cx.latest::<measurements::Residual>() else { return chart };
        let last = residual.curves.iter().map(|c| c.round).max().unwrap_or(0);
        for curve in &residual.curves {
            let points: Vec<[f64; 2]> = curve.residual.iter().enumerate().map(|(i, y)| [i as f64, *y]).collect();
            let stroke = if curve.round < last { Stroke::Dashed } else { Stroke::Solid };
            let label = format!("{}, round {}", curve.method, curve.round);
            chart.lines.push(Line::new(&label, colour(curve.method, cx.theme), points).stroke(stroke).dots());
        }
        chart
    }
}

/// A method has its colour whatever else is drawn; none of them is a variant's.
fn colour(method: ResidualMethod, theme: &Theme) -> Color32 {
    match method {
        ResidualMethod::Passes => theme.text,
        ResidualMethod::Anderson => theme.fast,
        ResidualMethod::Deq => theme.warm,
        ResidualMethod::LearnedProjector => theme.trace(0),
    }
}

impl View for Residual {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let variant = Some(cx.selection.variant);
        cx.ask::<measurements::Residual>(variant, &ResidualArgs::default(), Freshness::IfMissing);
        let chart = Self::chart(cx);
        chart.show(ui, ui.available_size(), cx.theme, &mut self.state);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.subtitle_of::<measurements::Residual>("by method; earlier rounds dashed")
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
