//! The error of a network that learns the stationary distribution: over the control, inside and outside the range of
//! training, and over training steps.

use eframe::egui::Stroke as Pen;

use super::{
    GAP, Y,
    canvas::{BAR, Plane, colour_of, frame, inner, paint_cells, sequential},
    keep_fresh, settings, subtitle, two_pictures_ui, why_nothing,
};
use crate::{
    labs::equilibrium::settings::{ControlSettings, EquilibriumSettings},
    telemetry::measurements::StationaryMapError,
    ui::views::prelude::*,
};

/// The paper's held-out mean error at n = 12 (Remark 31).
const PAPER: f64 = 0.031;

/// The name of the canvas.
const CANVAS: &str = "error of the network over the control";

/// View `stationary_map`.
#[derive(Default)]
pub struct StationaryMapView {
    history: ChartState,
    /// The canvas with the error over the control where it is shown, screen points.
    canvas: Option<Rect>,
    /// The picture that a narrow tile shows: over the control, or over steps.
    shown: usize,
}

impl StationaryMapView {
    /// The error over training, beside what a map that ignores the control makes.
    fn history(cx: &ViewCx<'_>) -> Chart<'static> {
        let mut chart = Chart::new(
            "error of the map",
            Axis::steps().include(&[0.0]),
            Axis::new("mean |\u{3c6} \u{2212} p|\u{2081}").log(),
        );
        let history = cx.history::<StationaryMapError>(0);
        let line = |of: fn(&StationaryMapError) -> f64| -> Vec<[f64; 2]> {
            history.iter().map(|(step, m)| [*step as f64, of(m)]).filter(|p| p[1] > 0.0).collect()
        };
        chart.add(Line::new("held out", cx.theme.series(0), line(|m| m.held_out)).dots());
        chart.add(Line::new("beyond the range", cx.theme.series(1), line(|m| m.outside)).dots());
        let ignoring = line(|m| m.ignoring);
        chart.add(Line::new("ignoring y", cx.theme.grey(), ignoring).dashed());
        if !chart.is_empty() {
            chart.level("paper: .031, n = 12", PAPER).claim = Some("A15");
        }
        chart.marker = cx.marker();
        chart.empty(cx.why_nothing::<StationaryMapError>("Measured while it trains: press Space."))
    }

    /// The error over the first two numbers of the control, and where they lie on the canvas; `None` without an error.
    fn paint_map(ui: &mut Ui, cx: &ViewCx<'_>, size: Vec2, map: &StationaryMapError) -> (Response, Option<Plane>) {
        let (sheet, response, painter) = canvas_ui(ui, size, Sense::click_and_drag(), CANVAS);
        let room = Rect::from_min_max(sheet.min, pos2(sheet.right() - BAR, sheet.bottom()));
        let [rows, cols] = match map.error.shape() {
            [rows, cols] if *rows > 0 && *cols > 0 => [*rows, *cols],
            _ => return (response, None),
        };
        let is_plane = rows > 1;
        let rect = inner(room, is_plane.then_some(1.0));
        let reach = if map.reach > 0.0 { map.reach.clamp(1e-6, 1e6) } else { 1.0 };
        let plane = Plane { rect, x: [-reach, reach], y: [-reach, reach] };
        let values = map.error.data();
        let largest = values.iter().filter(|v| v.is_finite()).fold(1e-6f32, |a, b| a.max(*b));
        let colours = sequential([0.0, largest]);
        // Row 0 is the least number of the control, which stands below.
        let value = |row: usize, col: usize| f64::from(values[(rows - 1 - row) * cols + col]);
        paint_cells(&painter, rect, (rows, cols), |row, col| {
            Some(value(row, col)).filter(|v| v.is_finite()).map(|v| colour_of(colours, v))
        });
        let inside = painter.with_clip_rect(rect);
        let range = if map.range.is_finite() { map.range.clamp(-reach, reach) } else { reach };
        let (low, high) = if is_plane { (-range, range) } else { (-reach, reach) };
        let trained = Rect::from_two_pos(plane.at(-range, low), plane.at(range, high));
        inside.rect_stroke(trained, 0.0, Pen::new(1.5, cx.theme.page), StrokeKind::Outside);
        let s = settings(cx);
        let here = plane.at(s.control.y0, if is_plane { s.control.y1 } else { 0.0 });
        for pen in [Pen::new(4.0, cx.theme.page), Pen::new(2.0, cx.theme.accent)] {
            inside.circle_stroke(here, 6.0, pen);
        }
        let bar = Rect::from_min_max(pos2(rect.right() + 8.0, rect.top()), pos2(rect.right() + 18.0, rect.bottom()));
        colour_bar(&painter, bar, colours, cx.theme);
        let along =
            if is_plane { format!("{} \u{2192}, {} \u{2191}", Y[0], Y[1]) } else { format!("{} \u{2192}", Y[0]) };
        frame(&painter, rect, cx.theme, "|\u{3c6} \u{2212} p|\u{2081}, box: trained", &along);
        (response, Some(plane))
    }

    /// The error over the control, whose first two numbers a click sets; returns where the canvas is.
    fn map_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, size: Vec2, map: &StationaryMapError) -> Rect {
        let (response, plane) = Self::paint_map(ui, cx, size, map);
        let Some(plane) = plane else { return response.rect };
        let (is_plane, reach) = (map.error.shape().first().is_some_and(|rows| *rows > 1), plane.x[1]);
        let keys = [ControlSettings::y0.name, ControlSettings::y1.name];
        let is_pointed = response.clicked() || response.dragged();
        let can_move = !cx.is_restricted(if is_plane { &keys } else { &keys[..1] });
        if let Some(at) = response.interact_pointer_pos().filter(|_| is_pointed && can_move) {
            let tidy = |v: f64| (v.clamp(-reach, reach).clamp(-4.0, 4.0) * 100.0).round() / 100.0;
            let [y0, y1] = plane.value(at).map(tidy);
            cx.set(ControlSettings::y0.name, Value::Float(y0));
            if is_plane {
                cx.set(ControlSettings::y1.name, Value::Float(y1));
            }
        }
        response.rect
    }
}

/// Describes the error of the network in words.
fn verdict(map: &StationaryMapError) -> String {
    let short = number::short;
    format!(
        "Held out {} (largest entry {}), beyond the range {}, ignoring y {}.",
        short(map.held_out),
        short(map.held_out_largest),
        short(map.outside),
        short(map.ignoring)
    )
}

impl View for StationaryMapView {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        keep_fresh::<StationaryMapError>(cx, EquilibriumSettings::map_args);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.spacing_mut().item_spacing = vec2(GAP, GAP);
        let Some(measured) = cx.answered::<StationaryMapError>() else {
            return cx.nothing_ui(ui, &why_nothing::<StationaryMapError>(cx));
        };
        self.history.put_out_of_sight();
        self.canvas = None;
        let map = measured.value;
        let names = ["over the control", "over steps"];
        two_pictures_ui(ui, cx, &mut self.shown, names, &verdict(map), |ui, cx, picture, size| match picture {
            0 => self.canvas = Some(Self::map_ui(ui, cx, size, map)),
            _ => drop(Self::history(cx).show(ui, size, cx.theme, &mut self.history)),
        });
        cx.open_asked_claim(&mut self.history);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        subtitle::<StationaryMapError>(cx, "sum of |\u{3c6} \u{2212} p| over states")
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let map = cx.answered::<StationaryMapError>()?.value;
        let cols = map.error.shape().get(1).copied().unwrap_or(1).max(1);
        let rows = map.error.data().len() / cols;
        let mut table = Table::new(["y0", "y1", "error"]);
        let at = |i: usize, n: usize| if n > 1 { map.reach * (2.0 * i as f64 / (n - 1) as f64 - 1.0) } else { 0.0 };
        for (i, error) in map.error.data().iter().enumerate() {
            table.cells(&[&at(i % cols, cols), &at(i / cols, rows), error]);
        }
        Some(table.finish())
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        let map = cx.answered::<StationaryMapError>()?.value;
        let mut all = shown_drawings([(Self::history(cx), &self.history)], cx.theme);
        let canvas = |size: Vec2| drawing(CANVAS, size, cx.theme, |ui| _ = Self::paint_map(ui, cx, size, map));
        all.extend(self.canvas.map(|place| (place.min, canvas(place.size()))));
        joined("learned map", all, cx.theme)
    }
}
