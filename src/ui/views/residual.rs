//! How far the fast state is from equilibrium, against passes, by method and round.

use eframe::egui::{Color32, Ui};

use super::{RunTracker, View, ViewCx};
use crate::{
    telemetry::channels,
    ui::{
        plot::{Axis, Chart, ChartState, Line, Stroke},
        theme::Theme,
    },
};

/// View `residual`.
#[derive(Default)]
pub struct Residual {
    state: ChartState,
    run_tracker: RunTracker,
}

impl Residual {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    fn chart<'a>(cx: &ViewCx<'a>) -> Chart<'a> {
        let found = cx.sample(channels::RESIDUAL).and_then(|(_, s)| s.payload.as_series());
        let words = |label: Option<&str>, usual: &str| label.filter(|l| !l.is_empty()).unwrap_or(usual).to_owned();
        let x = Axis::new(words(found.map(|s| s.x_label.as_str()), "passes")).whole();
        let y = Axis::new(words(found.map(|s| s.y_label.as_str()), "|x \u{2212} Post(x)| / |x|")).log();
        let mut chart = Chart::new("equilibrium residual", x, y)
            .empty("Not measured yet. It is asked of a fast-slow model at the start of a run: press Space.");
        let Some(series) = found else { return chart };
        let last = series.lines.iter().filter_map(|l| round_of(&l.name)).max();
        for line in &series.lines {
            let points: Vec<[f64; 2]> = series.x.iter().zip(&line.y).map(|(x, y)| [*x, *y]).collect();
            let earlier = round_of(&line.name).is_some_and(|r| Some(r) != last);
            let stroke = if earlier { Stroke::Dashed } else { Stroke::Solid };
            chart.lines.push(Line::new(&line.name, colour(&line.name, cx.theme), points).stroke(stroke).dots());
        }
        chart
    }
}

/// The round that a line's name ends with.
fn round_of(name: &str) -> Option<u32> {
    name.rsplit_once("round ").and_then(|(_, r)| r.trim().parse().ok())
}

/// A method has its colour whatever else is drawn; none of them is a variant's.
fn colour(name: &str, theme: &Theme) -> Color32 {
    match name {
        n if n.starts_with("Anderson") => theme.fast,
        n if n.starts_with("DEQ") => theme.warm,
        n if n.starts_with("learned") => theme.trace(0),
        _ => theme.text,
    }
}

impl View for Residual {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.run_tracker.ask_if_missing(cx, channels::RESIDUAL, "residual");
        let chart = Self::chart(cx);
        chart.show(ui, ui.available_size(), cx.theme, &mut self.state);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.sample_subtitle(channels::RESIDUAL, "by method; earlier rounds dashed")
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::chart(cx).csv(&self.state)
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::chart(cx).svg(&self.state, cx.theme)
    }
}
