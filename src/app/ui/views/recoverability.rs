//! How often each reader names the token k steps back, against k: the picture of the data-processing inequality. Where layers
//! were measured instead, how much of one layer each later one can read.

use crate::ui::views::prelude::*;

/// Levels closer than this (accuracy) share a label, because two would overlap in a low tile.
const MIN_LABEL_DISTANCE: f64 = 0.12;

#[derive(Default)]
pub struct Recoverability;

fn points(x: &[usize], y: &[f64]) -> Vec<[f64; 2]> {
    x.iter().zip(y).map(|(x, y)| [*x as f64, *y]).collect()
}

impl Recoverability {
    fn chart(cx: &ViewCx<'_>) -> Chart<'static> {
        let (x, y) = (Axis::new("tokens back").log(), Axis::new("accuracy").fixed(0.0, 1.03));
        let hint = "How far back can a token still be named from a trace? Press \u{201c}Train the readers\u{201d} below, or \
                    Space: small readers learn while you watch, one for each trace, for all three, and for the raw tokens.";
        let mut chart =
            Chart::new("accuracy against distance", x, y).empty(cx.empty_reason::<measurements::Recoverability>(hint));
        let mut levels = None;
        let mut readers: Vec<_> = cx.each_variant(|v| cx.scheduled::<measurements::Recoverability>(v)).collect();
        // the reader that misses nothing is named first: a low tile has no room for all names
        readers.sort_by_key(|(variant, ..)| variant.group != "raw");
        for (variant, colour, measured) in readers {
            let points = |y: &[f64]| points(&measured.distances, y);
            let (label, faint) = (format!("{}, 95%", variant.label), cx.theme.faint(colour));
            chart.band(label, faint, points(&measured.low), points(&measured.high));
            // the curves of the two readers that keep the past coincide near 1
            let stroke = if variant.group == "past" { Stroke::Dashed } else { Stroke::Solid };
            chart.add(Line::new(&variant.label, colour, points(&measured.accuracy)).stroke(stroke).dots());
            levels = levels.or(Some((measured.most_common, measured.uniform)));
        }
        if let Some((common, uniform)) = levels {
            chart.horizontal_line(format!("most common token: {common:.2}"), common).stroke = NULL_BASELINE;
            if common - uniform >= MIN_LABEL_DISTANCE {
                chart.horizontal_line(format!("chance: {uniform:.2}"), uniform).stroke = NULL_BASELINE;
            }
        }
        chart
    }

    fn depth_chart(cx: &ViewCx<'_>) -> Chart<'static> {
        let hint = "How much of one layer can each later one still read? The preset \u{201c}Time and depth\u{201d} trains \
                    transformers in which this is measured.";
        let x = Axis::new("layer that reads; the last is the final norm").integer_ticks();
        let y = Axis::new("R\u{b2} of a linear map").include(&[0.0, 1.0]);
        let mut chart =
            Chart::new("what is left of a layer", x, y).empty(cx.empty_reason::<measurements::LayerReadout>(hint));
        for (variant, colour, measured) in cx.each_variant(|v| cx.scheduled::<measurements::LayerReadout>(v)) {
            let points = |y: &[f64]| points(&measured.readers, y);
            chart.add(Line::new(&variant.label, colour, points(&measured.explained)).dots());
            let label = format!("{}, tokens exchanged", variant.label);
            chart.add_of_kind("tokens exchanged", Line::new(label, colour, points(&measured.permuted)).null_baseline());
        }
        if !chart.lines.is_empty() {
            chart.horizontal_line("nothing is left", 0.0);
        }
        chart
    }

    /// True in a lab that trains layers and no readers of traces.
    fn is_over_depth(cx: &ViewCx<'_>) -> bool {
        cx.setting("depth.layers").is_some()
    }

    /// The button that begins, where nothing is being trained.
    fn begin_ui(ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let words = match &cx.mirror.state {
            None | Some(RunState::Paused) if cx.mirror.step == 0 => "small networks, less than a minute",
            Some(RunState::Paused) => "paused",
            _ => return,
        };
        ui.horizontal(|ui| {
            let label = if cx.mirror.step == 0 { "Train the readers" } else { "Go on training" };
            let tip =
                "Trains a small reader for each trace, for all three, and for the raw tokens. Space does the same.";
            if ui.button(label).on_hover_text(tip).clicked() {
                cx.act(RunAction::RunPause);
            }
            // beside a padlock a narrow tile has no room for it
            if note_width(ui.painter(), words) <= ui.available_width() {
                note_ui(ui, cx.theme, words);
            }
        });
    }
}

impl PanelView for Recoverability {
    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let depth = Self::depth_chart(cx);
        if !depth.lines.is_empty() {
            return Panel::single(depth);
        }
        let readers = Self::chart(cx);
        Panel::single(if readers.lines.is_empty() && Self::is_over_depth(cx) { depth } else { readers })
    }

    fn height_below(&self, _ui: &Ui, cx: &ViewCx<'_>, _room: Vec2, _is_empty: bool) -> f32 {
        if matches!(cx.mirror.state, None | Some(RunState::Paused)) && !Self::is_over_depth(cx) { 32.0 } else { 0.0 }
    }

    fn below_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, _height: f32) {
        cx.controls_ui(ui, Self::begin_ui);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let layers = (0..cx.mirror.variants().len()).find_map(|i| cx.scheduled::<measurements::LayerReadout>(i));
        if let Some(m) = layers {
            return cx.subtitle(&format!("what layer {} added, read later \u{b7} {}", m.layer, m.sample.about));
        }
        let readers = (0..cx.mirror.variants().len()).find_map(|i| cx.scheduled::<measurements::Recoverability>(i));
        let is_over_depth = Self::is_over_depth(cx);
        let what = if is_over_depth { "what later layers read of one" } else { "naming the token k steps back" };
        cx.subtitle(readers.map_or(what, |m| m.sample.about.as_str()))
    }
}
