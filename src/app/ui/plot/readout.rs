//! The values under the pointer: a line, a dot on each curve, and all of them in one box.

use std::sync::Arc;

use eframe::egui::{self, FontId, Galley, Painter, Rect, StrokeKind, pos2, vec2};

use super::{
    ChartState, Line,
    geometry::{ROW_HEIGHT, SWATCH_WIDTH, TEXT_SIZE},
    layout::{nearest_point, value_before},
    mark::paint_swatch,
    paint::Canvas,
    scale::value_label,
};
use crate::experiments::short_number::grouped;

/// Points that a line's first point may lie beyond the pointer's line to be read there.
const MAX_DISTANCE: f32 = 8.0;

/// A line's value under the pointer.
struct ReadoutRow<'a> {
    line: &'a Line<'a>,
    label: String,
    value: String,
}

impl Line<'_> {
    /// The label of the line's values, which says if they are smoothed.
    pub fn values_label(&self) -> String {
        format!("{}{}", self.label, if self.is_smoothed { ", smoothed" } else { "" })
    }
}

impl Canvas<'_> {
    /// The line under the pointer, a dot on each line, and all their values in one box.
    /// The box is painted by `over`, which lies above all tiles.
    pub(super) fn cursor(&self, x: f64, over: Option<&Painter>, state: &ChartState) {
        // a point at an end of the axis is visible, however its position is rounded
        let (layout, theme, area) = (self.layout, self.theme, self.area().expand(0.5));
        let place = |x: f64| layout.x_of(x) + self.corner.x;
        let read_lines = || self.chart.lines.iter().filter(|l| !l.faint && !state.hides(l));
        let nearest = |line: &Line<'_>, x: f64| nearest_point(line, x, layout.x_scale);
        let places = read_lines().filter_map(|line| nearest(line, x)).map(|[px, _]| px);
        let far = |px: &f64| (place(*px) - place(x)).abs();
        let closest = places.min_by(|a, b| far(a).total_cmp(&far(b)));
        let x = closest.filter(|px| area.x_range().contains(place(*px))).unwrap_or(x);
        let at_x = place(x);
        if !area.x_range().contains(at_x) {
            return;
        }
        self.painter.vline(at_x, area.y_range(), egui::Stroke::new(1.0, theme.secondary.gamma_multiply(0.7)));
        // a line that begins further on has no value here
        let has_begun = |line: &Line<'_>, nearest: f32| {
            value_before(&line.data, x).is_some() || (nearest - at_x).abs() <= MAX_DISTANCE
        };
        let mut read: Vec<(&Line<'_>, [f64; 2])> = vec![];
        for line in read_lines() {
            // what is measured at fewer steps than another line is known there from its last step
            let point = if self.chart.x.integer_ticks { value_before(&line.data, x) } else { nearest(line, x) };
            let Some(point) = point.filter(|[px, _]| has_begun(line, place(*px))) else { continue };
            let dot = layout.at(point) + self.corner;
            if area.contains(dot) {
                self.painter.circle(dot, 3.0, line.colour, egui::Stroke::new(1.0, theme.panel));
            }
            read.push((line, point));
        }
        let off = |px: &f64| (px - x).abs();
        let named = read.iter().map(|(_, [px, _])| *px).min_by(|a, b| off(a).total_cmp(&off(b)));
        if let (Some(over), Some(x)) = (over, named) {
            read.retain(|(line, _)| !line.label.is_empty());
            let rows = read.into_iter().map(|(line, [px, py])| {
                let other_x = Some(px).filter(|px| *px != x);
                ReadoutRow { line, label: self.row_label(line, other_x), value: value_label(py) }
            });
            self.readout(over, at_x, &self.place_label(x), &rows.collect::<Vec<_>>());
        }
    }

    /// A place along the chart: "step 23".
    fn place_label(&self, x: f64) -> String {
        format!("{} {}", self.chart.x.label, x_label(x))
    }

    /// The name of a line's values, and where its value is from a place other than the head names.
    fn row_label(&self, line: &Line<'_>, other_x: Option<f64>) -> String {
        let place = other_x.map_or(String::new(), |x| format!(", {}", self.place_label(x)));
        format!("{}{place}", line.values_label())
    }

    /// Lists as many rows as the screen has room for, in as many columns as it takes, wholly on the screen.
    fn readout(&self, over: &Painter, at_x: f32, head: &str, rows: &[ReadoutRow<'_>]) {
        let (theme, screen) = (self.theme, over.ctx().content_rect().shrink(4.0));
        let words = |t: &str, font: FontId, colour| over.layout_no_wrap(t.to_owned(), font, colour);
        let labels: Vec<_> =
            rows.iter().map(|r| words(&r.label, FontId::proportional(TEXT_SIZE), theme.text)).collect();
        let figures: Vec<_> = rows.iter().map(|r| words(&r.value, FontId::monospace(TEXT_SIZE), theme.text)).collect();
        let head = words(head, FontId::monospace(TEXT_SIZE), theme.secondary);
        let widest = |all: &[Arc<Galley>]| all.iter().map(|g| g.size().x).fold(0.0, f32::max);
        let column = SWATCH_WIDTH + 4.0 + widest(&labels) + 12.0 + widest(&figures);
        let high = (((screen.height() - 12.0) / ROW_HEIGHT).floor() as usize).saturating_sub(1).max(1);
        let columns = rows.len().div_ceil(high).max(1);
        let high = rows.len().div_ceil(columns);
        let width = (column * columns as f32 + 16.0 * (columns - 1) as f32).max(head.size().x) + 16.0;
        let size = vec2(width, 12.0 + ROW_HEIGHT * (high + 1) as f32);
        let right = at_x + 12.0 + width <= screen.right() || at_x - 12.0 - width < screen.left();
        let left = if right { at_x + 12.0 } else { at_x - 12.0 - width };
        let max = screen.max - size;
        let corner = pos2(left.min(max.x).max(screen.left()), (self.area().top() + 4.0).min(max.y).max(screen.top()));
        let box_rect = Rect::from_min_size(corner, size);
        let ground = theme.panel.gamma_multiply(0.95);
        over.rect(box_rect, 6.0, ground, egui::Stroke::new(1.0, theme.line), StrokeKind::Inside);
        let centre = |g: &Galley, x: f32, y: f32| pos2(x, y - g.size().y / 2.0);
        let (left, first) = (box_rect.left() + 8.0, box_rect.top() + 6.0 + ROW_HEIGHT / 2.0);
        over.galley(centre(&head, left, first), head.clone(), theme.secondary);
        for (i, ((row, label), figure)) in rows.iter().zip(labels).zip(figures).enumerate() {
            let x = left + (i / high.max(1)) as f32 * (column + 16.0);
            let y = first + ROW_HEIGHT * (i % high.max(1) + 1) as f32;
            paint_swatch(over, pos2(x, y), row.line.stroke, row.line.colour);
            over.galley(centre(&label, x + SWATCH_WIDTH + 4.0, y), label, theme.text);
            let end = if columns == 1 { box_rect.right() - 8.0 } else { x + column };
            over.galley(centre(&figure, end - figure.size().x, y), figure, theme.text);
        }
    }
}

/// Steps, tokens and positions are whole, as is what has four digits before its point; anything else has four digits.
fn x_label(x: f64) -> String {
    let place = if x.abs() >= 1e3 { x.round() } else { x };
    if place.fract() != 0.0 || place.abs() >= 1e12 {
        return value_label(x);
    }
    format!("{}{}", if place < 0.0 { "\u{2212}" } else { "" }, grouped(place.abs() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_groups_of_digits() {
        let labels = [921_600.0, -1_200.0, 5_898.24, 23.0, 0.5, f64::NAN].map(x_label);
        assert_eq!(labels, ["921\u{a0}600", "\u{2212}1\u{a0}200", "5\u{a0}898", "23", "0.5000", "no value"]);
    }
}
