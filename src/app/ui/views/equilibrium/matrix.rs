//! Draws the rates as a map of cells.

use super::{
    canvas::{BAR, colour_of, frame, inner, paint_cells, sequential},
    rate::{Rate, name_ui, rate_at_pointer},
};
use crate::ui::views::painting::*;

/// A narrower picture has no colour bar, points.
const NARROW_WIDTH: f32 = 220.0;

fn has_bar(sheet: Rect) -> bool {
    sheet.width() >= NARROW_WIDTH
}

/// The rectangle of the cells, without the colour bar.
fn cells(sheet: Rect) -> Rect {
    let right = if has_bar(sheet) { BAR } else { 0.0 };
    inner(Rect::from_min_max(sheet.min, sheet.max - vec2(right, 0.0)), Some(1.0))
}

/// The rate of the cell at a position in the picture; `None` on the diagonal and outside of the cells.
pub fn rate_at(sheet: Rect, state: &GeneratorState, at: Pos2) -> Option<Rate> {
    let (rect, n) = (cells(sheet), state.states().max(1));
    let share = (at - rect.min) / rect.size();
    let (col, row) = ((share.x * n as f32).floor(), (share.y * n as f32).floor());
    let is_inside = (0.0..n as f32).contains(&col) && (0.0..n as f32).contains(&row) && col != row;
    is_inside.then_some((col as usize, row as usize))
}

/// Draws the matrix: row i, column j is the rate from j to i, the diagonal open. Returns the pointed rate too.
pub fn matrix_ui(ui: &mut Ui, theme: &Theme, size: Vec2, state: &GeneratorState) -> (Response, Option<Rate>) {
    let n = state.states().max(1);
    let words = format!("rates between {n} states: drag a cell up or down, double-click to remove");
    let (sheet, response, painter) = canvas_ui(ui, size, Sense::click_and_drag(), words);
    let rect = cells(sheet);
    let values = state.matrix.data();
    let rate = |to: usize, from: usize| f64::from(values[to * n + from]);
    let largest = values.iter().filter(|v| v.is_finite()).fold(1e-9f32, |a, b| a.max(*b));
    let colours = sequential([0.0, largest]);
    paint_cells(&painter, rect, (n, n), |to, from| match rate(to, from) {
        v if to != from && v > 0.0 && v.is_finite() => Some(colour_of(colours, v)),
        _ => None,
    });
    let has_range = !has_bar(sheet) && rect.width() >= 120.0;
    let range = if has_range { format!("0 to {} \u{b7} ", number::short(largest.into())) } else { String::new() };
    frame(&painter, rect, theme, "rates A, to state \u{2193}", &format!("{range}from state \u{2192}"));
    if has_bar(sheet) {
        let bar = Rect::from_min_max(pos2(rect.right() + 8.0, rect.top()), pos2(rect.right() + 18.0, rect.bottom()));
        colour_bar(&painter, bar, colours, theme);
    }
    let marked = rate_at_pointer(ui, &response, |at| rate_at(sheet, state, at));
    if let Some((from, to)) = marked {
        let side = rect.width() / n as f32;
        let cell = Rect::from_min_size(rect.min + vec2(from as f32, to as f32) * side, Vec2::splat(side));
        painter.rect_stroke(cell, 0.0, Stroke::new(2.0, theme.text), StrokeKind::Outside);
        name_ui(&response, (from, to), rate(to, from));
    }
    (response, marked)
}
