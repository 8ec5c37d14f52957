//! Draws the rates as a map of cells, and returns edits of the rates.

use super::canvas::{BAR, colour_of, frame, inner, paint_cells, sequential};
use crate::{telemetry::measurements::GeneratorState, ui::views::painting::*};

/// A narrower picture has no colour bar, points.
const NARROW: f32 = 220.0;

/// A rate: the state that is left and the state that is gone to.
pub type Rate = (usize, usize);

/// A change that the pointer makes to a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateGesture {
    /// Points upwards since the press.
    Dragged(f32),
    Removed,
}

/// Draws the matrix: row i, column j is the rate from j to i; the diagonal stays open. Returns the rate under the
/// pointer, and the change made to it.
pub fn matrix_ui(
    ui: &mut Ui,
    theme: &Theme,
    size: Vec2,
    state: &GeneratorState,
) -> (Option<Rate>, Option<(Rate, RateGesture)>) {
    let n = state.states().max(1);
    let words = format!("rates between {n} states: drag a cell up or down, double-click to remove");
    let (sheet, response, _) = canvas_ui(ui, size, Sense::click_and_drag(), words);
    let has_bar = size.x >= NARROW;
    let right = if has_bar { BAR } else { 0.0 };
    let rect = inner(Rect::from_min_max(sheet.min, sheet.max - Vec2::new(right, 0.0)), Some(1.0));
    let painter = ui.painter_at(sheet);
    let values = state.matrix.data();
    let rate = |to: usize, from: usize| f64::from(values[to * n + from]);
    let largest = values.iter().filter(|v| v.is_finite()).fold(1e-9f32, |a, b| a.max(*b));
    let colours = sequential([0.0, largest]);
    paint_cells(&painter, rect, (n, n), |to, from| match rate(to, from) {
        v if to != from && v > 0.0 && v.is_finite() => Some(colour_of(colours, v)),
        _ => None,
    });
    frame(&painter, rect, theme, "rates A, to state \u{2193}", "from state \u{2192}");
    if has_bar {
        let bar = Rect::from_min_max(pos2(rect.right() + 8.0, rect.top()), pos2(rect.right() + 18.0, rect.bottom()));
        colour_bar(&painter, bar, colours, theme);
    }
    let at = |p: eframe::egui::Pos2| -> Option<Rate> {
        let share = (p - rect.min) / rect.size();
        let (col, row) = ((share.x * n as f32).floor(), (share.y * n as f32).floor());
        let is_inside = (0.0..n as f32).contains(&col) && (0.0..n as f32).contains(&row) && col != row;
        is_inside.then_some((col as usize, row as usize))
    };
    let pressed = ui.input(|i| i.pointer.press_origin()).and_then(at);
    let hovered = response.hover_pos().and_then(at);
    let touched = touch(ui, &response);
    let held = if response.dragged() { pressed } else { hovered };
    if let Some((from, to)) = held {
        let side = rect.width() / n as f32;
        let cell = Rect::from_min_size(rect.min + Vec2::new(from as f32, to as f32) * side, Vec2::splat(side));
        painter.rect_stroke(cell, 0.0, Stroke::new(2.0, theme.text), StrokeKind::Outside);
        let words = format!("{} \u{2192} {}: {}", from + 1, to + 1, number::short(rate(to, from)));
        response.clone().on_hover_ui_at_pointer(|ui| {
            ui.monospace(words);
        });
    }
    let of = if response.double_clicked() { hovered } else { pressed };
    (held, of.zip(touched))
}

/// Reads a drag or a double click as a change of the rate under the pointer.
pub fn touch(ui: &Ui, response: &Response) -> Option<RateGesture> {
    if response.double_clicked() {
        return Some(RateGesture::Removed);
    }
    let (origin, now) = ui.input(|i| (i.pointer.press_origin(), i.pointer.latest_pos()));
    let (origin, now) = origin.zip(now).filter(|_| response.dragged())?;
    Some(RateGesture::Dragged(origin.y - now.y))
}
