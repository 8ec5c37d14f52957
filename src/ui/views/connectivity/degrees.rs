//! In- and out-degrees on logarithmic axes, with the likeliest power law and lognormal of their tails.

use eframe::egui::{RichText, Ui, vec2};

use super::{EMPTY, fact, keep_fresh, part, points, sample, subtitle};
use crate::{
    telemetry::channels,
    ui::{
        plot::{Axis, Chart, ChartState, Line, Mark, Stroke},
        theme,
        views::{View, ViewCx},
    },
};

const SIDES: [(&str, &str); 2] = [("out", "edges out of a neuron"), ("in", "edges into a neuron")];

/// View `graph_degrees`.
#[derive(Default)]
pub struct Degrees {
    states: [ChartState; 2],
}

impl Degrees {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    fn chart(cx: &ViewCx<'_>, k: usize) -> Chart<'static> {
        let (side, words) = SIDES[k];
        let y = Axis::new("share of neurons").log();
        let mut chart = Chart::new(format!("{side}-degrees"), Axis::new(words).log(), y).empty(EMPTY);
        let Some(series) = part(sample(cx, channels::GRAPH_DEGREES), side) else { return chart };
        let fit = |label: &str, name: &str, colour| {
            Line::new(format!("{side}: {label}"), colour, points(series, name)).stroke(Stroke::Dashed)
        };
        // room for the signs at both ends
        let most = series.x.last().copied().unwrap_or(1.0);
        chart.x = chart.x.include(&[0.8, 1.25 * most]);
        let mut all = vec![
            Line::new(format!("{side}-degree"), cx.theme.text, points(series, "density"))
                .stroke(Stroke::Marks(Mark::Ring)),
            fit("power law", "power law", cx.theme.variant(0)),
            fit("lognormal", "lognormal", cx.theme.variant(1)),
        ];
        for (line, short) in all.iter_mut().zip(["neurons", "power law", "lognormal"]) {
            line.short = Some(short.to_owned());
        }
        chart.lines.extend(all.into_iter().filter(|l| !l.data.is_empty()));
        chart.least_left = 48.0;
        chart
    }

    /// The fit in words.
    fn words(cx: &ViewCx<'_>, side: &str) -> String {
        let found = sample(cx, channels::GRAPH_DEGREES);
        let get = |name: &str| fact(found, &format!("{side}_{name}"));
        let (Some(alpha), Some(from), Some(d), Some(tail)) = (get("alpha"), get("k_min"), get("distance"), get("tail"))
        else {
            return "too few neurons for a fit".to_owned();
        };
        let better = match (get("log_ratio"), get("p")) {
            (Some(r), Some(p)) if p < 0.05 => {
                format!("{} fits better (p {p:.0e})", if r > 0.0 { "power law" } else { "lognormal" })
            }
            (Some(_), Some(p)) => format!("power law or lognormal: cannot tell (p {p:.2})"),
            _ => String::new(),
        };
        format!("\u{3b1} = {alpha:.2} from {from:.0} on ({tail:.0} neurons, KS {d:.3}); {better}")
    }
}

impl View for Degrees {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        keep_fresh(cx);
        let room = ui.available_size();
        let charts = [Self::chart(cx, 0), Self::chart(cx, 1)];
        if charts.iter().all(Chart::is_empty) {
            charts[0].show(ui, room, cx.theme, &mut self.states[0]);
            return;
        }
        let beside = room.x > 1.2 * room.y;
        let wide = if beside { ((room.x - 12.0) / 2.0).floor() } else { room.x };
        let words_high = if beside && wide < 420.0 { 38.0 } else { 22.0 };
        let high = if beside { room.y - words_high } else { (room.y / 2.0).floor() - words_high - 4.0 };
        let mut one = |ui: &mut Ui, k: usize| {
            ui.vertical(|ui| {
                ui.set_width(wide);
                ui.spacing_mut().item_spacing.y = 2.0;
                charts[k].show(ui, vec2(wide, high), cx.theme, &mut self.states[k]);
                let words = Self::words(cx, SIDES[k].0);
                ui.label(RichText::new(words).size(theme::SMALL).color(cx.theme.secondary));
            });
        };
        if beside {
            ui.horizontal_top(|ui| (0..2).for_each(|k| one(ui, k)));
        } else {
            (0..2).for_each(|k| one(ui, k));
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        subtitle(cx, channels::GRAPH_DEGREES, "how many edges leave and enter a neuron")
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        super::table(&[Self::chart(cx, 0), Self::chart(cx, 1)])
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::chart(cx, 0).svg(&self.states[0], cx.theme)
    }
}
