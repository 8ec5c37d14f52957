//! The distance of the fast state from equilibrium, against passes, by method and round.

use crate::ui::views::prelude::*;

#[derive(Default)]
pub struct Residual;

/// Each method has a fixed colour, different from those of the variants.
fn colour(method: ResidualMethod, theme: &Theme) -> Color32 {
    match method {
        ResidualMethod::Passes => theme.text,
        ResidualMethod::Anderson => theme.fast,
        ResidualMethod::BackwardEuler => theme.slow,
        ResidualMethod::Deq => theme.warm,
        ResidualMethod::LearnedProjector => theme.trace_colour(0),
    }
}

impl PanelView for Residual {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        cx.ask_if_missing::<measurements::Residual>();
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let x = Axis::new("passes of Post").integer_ticks();
        let y = Axis::new("relative residual").log();
        let mut chart = Chart::new("equilibrium residual", x, y).empty(cx.empty_reason::<measurements::Residual>(
            "Not measured yet. It is asked of a fast-slow model at the start of a run: press Space.",
        ));
        let Some(residual) = cx.latest::<measurements::Residual>() else { return Panel::single(chart) };
        let last = residual.curves.iter().map(|c| c.round).max().unwrap_or(0);
        for curve in &residual.curves {
            let stroke = if curve.round < last { Stroke::Dashed } else { Stroke::Solid };
            let label = format!("{}, round {}", curve.method, curve.round);
            let line = Line::new(label, colour(curve.method, cx.theme), by_place(&curve.residual));
            chart.add(line.stroke(stroke).dots());
        }
        Panel::single(chart)
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.subtitle_of::<measurements::Residual>("by method; earlier rounds dashed")
    }
}
