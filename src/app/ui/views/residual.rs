//! The distance of the fast state from equilibrium, against passes, by method and round.

use eframe::egui::Color32;

use crate::{
    telemetry::{
        channels,
        measurements::{self, ResidualArgs, ResidualMethod},
    },
    ui::{
        plot::{Axis, Chart, Line, Stroke},
        questions::Freshness,
        seed_series::{SeedSeries, SeriesStyle},
        theme::Theme,
        view::{Panel, PanelView, ViewCx},
    },
};

/// View `residual`.
#[derive(Default)]
pub struct Residual {
    missed: SeedSeries,
}

/// The solves of each training step that stopped short; no lines where no variant solves an equation.
fn missed_chart<'a>(view: &'a Residual, cx: &ViewCx<'a>) -> Chart<'a> {
    let y = Axis::new("solves that stopped short, a step").include(&[0.0, 1.0]);
    let mut chart = Chart::new("missed solves", Axis::steps().include(&[0.0]), y);
    view.missed.draw(&mut chart, cx.mirror, channels::DEQ_MISSED, cx.theme, SeriesStyle::default());
    chart.marker = cx.marker();
    chart
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

/// Each method has a fixed colour, different from those of the variants.
fn colour(method: ResidualMethod, theme: &Theme) -> Color32 {
    match method {
        ResidualMethod::Passes => theme.text,
        ResidualMethod::Anderson => theme.fast,
        ResidualMethod::BackwardEuler => theme.slow,
        ResidualMethod::Deq => theme.warm,
        ResidualMethod::LearnedProjector => theme.trace(0),
    }
}

impl PanelView for Residual {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        let variant = Some(cx.selection.variant);
        cx.ask::<measurements::Residual>(variant, &ResidualArgs::default(), Freshness::IfMissing);
        self.missed.follow(cx.mirror, channels::DEQ_MISSED, 0.0);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let missed = missed_chart(self, cx);
        match missed.lines.is_empty() {
            true => Panel::whole(chart(cx)),
            false => vec![Panel::new(chart(cx), 0.6), Panel::new(missed, 0.4).in_table("missed solves ")],
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.subtitle_of::<measurements::Residual>("by method; earlier rounds dashed")
    }
}
