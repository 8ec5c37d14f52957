//! The signs of events on charts and strips, painted alike everywhere.

use eframe::egui::{self, Color32, Shape, vec2};

use super::{Mark, Stroke, clip, geometry::SWATCH_WIDTH};

/// Half the size of a sign, points.
pub(super) const MARK: f32 = 4.5;
/// Radius of a disc that is one of many, points.
pub(super) const DOT: f32 = 2.0;
/// Radius of a value that no line joins to another, points.
pub(super) const LONE: f32 = 3.5;

pub(super) fn shape_of(mark: Mark) -> egui_plot::MarkerShape {
    match mark {
        Mark::Cross => egui_plot::MarkerShape::Cross,
        Mark::Up => egui_plot::MarkerShape::Up,
        Mark::Ring | Mark::Dot => egui_plot::MarkerShape::Circle,
    }
}

/// A sign outside of the data: in a legend, on a strip.
pub fn paint_mark(painter: &egui::Painter, at: egui::Pos2, mark: Mark, colour: Color32) {
    let stroke = egui::Stroke::new(1.5, colour);
    match mark {
        Mark::Cross => {
            let r = MARK * std::f32::consts::FRAC_1_SQRT_2;
            painter.line_segment([at - vec2(r, r), at + vec2(r, r)], stroke);
            painter.line_segment([at + vec2(-r, r), at + vec2(r, -r)], stroke);
        }
        Mark::Up => {
            painter.add(Shape::convex_polygon(triangle(at).to_vec(), colour, egui::Stroke::NONE));
        }
        Mark::Ring => {
            painter.circle_stroke(at, MARK - 0.5, stroke);
        }
        Mark::Dot => {
            painter.circle_filled(at, DOT, colour);
        }
    }
}

/// The sign of a line before its name, in the line's stroke: with its left end in the middle of a row at `at`.
pub(super) fn paint_swatch(painter: &egui::Painter, at: egui::Pos2, stroke: Stroke, colour: Color32) {
    let swatch = [at, at + vec2(SWATCH_WIDTH, 0.0)];
    let pen = egui::Stroke::new(2.0, colour);
    match stroke {
        Stroke::Marks(mark) => paint_mark(painter, at + vec2(SWATCH_WIDTH / 2.0, 0.0), mark, colour),
        Stroke::Dashed => clip::paint_dashed(painter, &swatch, pen, 4.0, 2.5),
        Stroke::Dotted => clip::paint_dashed(painter, &swatch, pen, 2.0, 2.0),
        Stroke::Solid | Stroke::Stairs | Stroke::Stems => {
            painter.line_segment(swatch, pen);
        }
    }
}

/// The corners of the sign that points up.
pub(super) fn triangle(at: egui::Pos2) -> [egui::Pos2; 3] {
    [at + vec2(0.0, -MARK), at + vec2(0.87 * MARK, 0.5 * MARK), at + vec2(-0.87 * MARK, 0.5 * MARK)]
}
