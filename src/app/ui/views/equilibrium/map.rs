//! The error of a network that learns the stationary distribution, over the control and over training steps.

use super::{
    ARRANGEMENT, GAP, Y_LABELS,
    canvas::{COLOUR_BAR_WIDTH, inner_rect, largest, paint_bar, paint_cells, paint_frame},
    empty_reason, keep_fresh, settings, subtitle,
};
use crate::{
    analysis::fast_slow_plane::Bounds,
    labs::equilibrium::settings::{ControlSettings, EquilibriumSettings},
    ui::views::{flow::sheet::Sheet, prelude::*},
};

/// The paper's held-out mean error at n = 12 (Remark 31).
const PAPER_ERROR: f64 = 0.031;
const CANVAS_ID: &str = "error of the network over the control";

#[derive(Default)]
pub struct StationaryMapView;

impl StationaryMapView {
    /// The error over training, beside what a map that ignores the control makes.
    fn history(cx: &ViewCx<'_>) -> Chart<'static> {
        let mut chart = cx.training_chart("error of the map", Axis::new("mean |\u{3c6} \u{2212} p|\u{2081}").log());
        let history = cx.history::<StationaryMapError>(0);
        let line = |of: fn(&StationaryMapError) -> f64| {
            points_over_steps(&history, |m| Some(of(m)).filter(|error| *error > 0.0))
        };
        chart.add(Line::new("held out", cx.theme.series(0), line(|m| m.held_out)).dots());
        chart.add(Line::new("beyond the range", cx.theme.series(1), line(|m| m.outside)).dots());
        // the null model: one distribution as the answer to every control
        chart.add(Line::new("ignoring y", cx.theme.grey(), line(|m| m.ignoring)).null_baseline());
        if !chart.is_empty() {
            chart.horizontal_line("paper: .031, n = 12", PAPER_ERROR).claim = Some("A15");
        }
        chart.empty(cx.empty_reason::<StationaryMapError>("Measured while it trains: press Space."))
    }

    /// The error over the first two numbers of the control, with the current one.
    fn paint_map(ui: &mut Ui, theme: &Theme, size: Vec2, map: &StationaryMapError, control: [f64; 2]) -> Response {
        let (sheet, response, painter) = canvas_ui(ui, size, Sense::click_and_drag(), CANVAS_ID);
        let Some((plane, [rows, cols])) = plane_of(map, sheet) else { return response };
        let (rect, [_, reach], is_plane) = (plane.rect, plane.bounds.x, rows > 1);
        let values = map.error.data();
        let full = largest(values, 1e-6);
        // Row 0 is the smallest number of the control, which is below.
        let value = |row: usize, col: usize| Some(f64::from(values[(rows - 1 - row) * cols + col]));
        paint_cells(&painter, rect, (rows, cols), full, value);
        let inside = painter.with_clip_rect(rect);
        let range = if map.range.is_finite() { map.range.clamp(-reach, reach) } else { reach };
        let (low, high) = if is_plane { (-range, range) } else { (-reach, reach) };
        let trained = Rect::from_two_pos(plane.at([-range, low]), plane.at([range, high]));
        inside.rect_stroke(trained, 0.0, Pen::new(1.5, theme.page), StrokeKind::Outside);
        let (here, is_beyond) = clamp_to_map(reach, is_plane, control);
        // a marker at the edge is a thin ring, drawn whole
        let (marker, width) = if is_beyond { (&painter, 1.0) } else { (&inside, 2.0) };
        for pen in [Pen::new(width + 2.0, theme.page), Pen::new(width, theme.accent)] {
            marker.circle_stroke(plane.at(here), 6.0, pen);
        }
        paint_bar(&painter, rect, full, theme);
        let up = if is_plane { format!(", {} \u{2191}", Y_LABELS[1]) } else { String::new() };
        let along = format!("{} \u{2192}{up}", Y_LABELS[0]);
        paint_frame(&painter, rect, theme, "|\u{3c6} \u{2212} p|\u{2081}, box: trained", &along);
        response
    }
}

/// The largest number of the control that the map has.
fn reach_of(map: &StationaryMapError) -> f64 {
    if map.reach > 0.0 { map.reach.clamp(1e-6, 1e6) } else { 1.0 }
}

/// The place of the control on the map, held at its edge; true where the control lies beyond it.
fn clamp_to_map(reach: f64, is_plane: bool, [y0, y1]: [f64; 2]) -> ([f64; 2], bool) {
    let control = [y0, if is_plane { y1 } else { 0.0 }];
    let held = control.map(|y| y.clamp(-reach, reach));
    (held, held != control)
}

/// The plane of the control on a canvas, with the rows and columns of the error; `None` without an error.
fn plane_of(map: &StationaryMapError, sheet: Rect) -> Option<(Sheet, [usize; 2])> {
    let &[rows, cols] = map.error.shape() else { return None };
    let room = Rect::from_min_max(sheet.min, pos2(sheet.right() - COLOUR_BAR_WIDTH, sheet.bottom()));
    let rect = inner_rect(room, (rows > 1).then_some(1.0));
    let reach = reach_of(map);
    let bounds = Bounds { x: [-reach, reach], y: [-reach, reach] };
    (rows > 0 && cols > 0).then_some((Sheet { rect, bounds }, [rows, cols]))
}

fn verdict(map: &StationaryMapError) -> String {
    let errors = [map.held_out, map.held_out_largest, map.outside, map.ignoring];
    let [held_out, largest, outside, ignoring] = errors.map(number::short);
    format!("Held out {held_out} (largest entry {largest}), beyond the range {outside}, ignoring y {ignoring}.")
}

impl PanelView for StationaryMapView {
    const ARRANGEMENT: Arrangement = ARRANGEMENT;
    const SPACING: Vec2 = vec2(GAP, GAP);
    const CHOICE: &'static [&'static str] = &["over the control", "over steps"];

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        keep_fresh::<StationaryMapError>(cx, EquilibriumSettings::map_args);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let Some(map) = cx.answered::<StationaryMapError>().map(|m| m.value) else { return vec![] };
        let ControlSettings { y0, y1, .. } = settings(cx).control;
        let theme = cx.theme;
        let map = Panel::canvas(CANVAS_ID, move |ui, size| Self::paint_map(ui, theme, size, map, [y0, y1]));
        vec![map, Panel::new(Self::history(cx), 0.5)]
    }

    fn empty_reason(&self, cx: &ViewCx<'_>) -> String {
        empty_reason::<StationaryMapError>(cx)
    }

    fn explanation_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if let Some(m) = cx.answered::<StationaryMapError>() {
            let ControlSettings { y0, y1, .. } = settings(cx).control;
            let is_plane = m.value.error.shape().first().is_some_and(|rows| *rows > 1);
            let beyond = match clamp_to_map(reach_of(m.value), is_plane, [y0, y1]) {
                (_, true) => " The control lies beyond the map: its ring is held at the edge.",
                (_, false) => "",
            };
            note_ui(ui, cx.theme, verdict(m.value) + beyond);
        }
    }

    /// A click sets the first two numbers of the control.
    fn canvas_pointed(&mut self, cx: &mut ViewCx<'_>, on: &Response) {
        let map = cx.answered::<StationaryMapError>().map(|m| m.value);
        let Some((plane, [rows, _])) = map.and_then(|map| plane_of(map, on.rect)) else { return };
        let (is_plane, reach) = (rows > 1, plane.bounds.x[1]);
        let keys = [ControlSettings::y0.name, ControlSettings::y1.name];
        let is_pointed = on.clicked() || on.dragged();
        let can_move = !cx.is_restricted(if is_plane { &keys } else { &keys[..1] });
        if let Some(at) = on.interact_pointer_pos().filter(|_| is_pointed && can_move) {
            let tidy = |v: f64| (v.clamp(-reach, reach).clamp(-4.0, 4.0) * 100.0).round() / 100.0;
            let [y0, y1] = plane.value(at).map(tidy);
            cx.set(ControlSettings::y0.name, Value::Float(y0));
            if is_plane {
                cx.set(ControlSettings::y1.name, Value::Float(y1));
            }
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        subtitle::<StationaryMapError>(cx, "sum of |\u{3c6} \u{2212} p| over states")
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let map = cx.answered::<StationaryMapError>()?.value;
        let cols = map.error.shape().get(1).copied().unwrap_or(1).max(1);
        let rows = map.error.data().len() / cols;
        let mut table = Table::new(["y0", "y1", "error"]);
        let at = |i: usize, n: usize| if n > 1 { map.reach * (2.0 * i as f64 / (n - 1) as f64 - 1.0) } else { 0.0 };
        for (i, error) in map.error.data().iter().enumerate() {
            table.cells(&[&at(i % cols, cols), &at(i / cols, rows), error]);
        }
        Some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_beyond_the_map_is_held_at_its_edge() {
        assert_eq!(clamp_to_map(2.0, true, [1.5, -2.0]), ([1.5, -2.0], false));
        assert_eq!(clamp_to_map(2.0, true, [3.0, -0.5]), ([2.0, -0.5], true));
        assert_eq!(clamp_to_map(2.0, false, [1.0, 3.0]), ([1.0, 0.0], false), "a row has one number of the control");
    }
}
