//! A painted picture with two axes: coloured cells, and labels at its edges.

use crate::ui::views::painting::*;

/// Room around a picture for its axes' words, points.
const LEFT_MARGIN: f32 = 30.0;
const BOTTOM_MARGIN: f32 = 20.0;
const TOP_MARGIN: f32 = 20.0;
/// Width of a colour bar with its labels.
pub const COLOUR_BAR_WIDTH: f32 = 56.0;

/// The part of `sheet` that the axes' labels leave, in this shape (width over height) if one is given.
pub fn inner_rect(sheet: Rect, shape: Option<f32>) -> Rect {
    let room = Rect::from_min_max(sheet.min + vec2(LEFT_MARGIN, TOP_MARGIN), sheet.max - vec2(6.0, BOTTOM_MARGIN));
    let Some(shape) = shape else { return room };
    let height = room.height().min(room.width() / shape).max(8.0);
    let size = Vec2::new(height * shape, height);
    Rect::from_min_size(pos2(room.left() + (room.width() - size.x) / 2.0, room.top()), size)
}

/// The largest finite value, and at least `least`.
pub fn largest(values: &[f32], least: f32) -> f32 {
    values.iter().copied().filter(|v| v.is_finite()).fold(least, f32::max)
}

/// Values from 0 to `full`, dark to light on either page.
fn colours(full: f32) -> Colours {
    Colours { map: ColourMap::Viridis, range: [0.0, full], log: false }
}

/// Fills a rectangle with cells in the colours of values from 0 to `full`, row 0 at the top; a cell without a finite value
/// is left open.
pub fn paint_cells(
    painter: &Painter,
    rect: Rect,
    (rows, cols): (usize, usize),
    full: f32,
    value: impl Fn(usize, usize) -> Option<f64>,
) {
    let mut mesh = Mesh::default();
    let edge = |n: usize, of: usize, from: f32, to: f32| from + (to - from) * n as f32 / of.max(1) as f32;
    for (row, col) in (0..rows * cols).map(|at| (at / cols, at % cols)) {
        let Some(value) = value(row, col).filter(|v| v.is_finite()) else { continue };
        let colour = colours(full).map.colour((value / f64::from(full)) as f32);
        let corner = |r, c| pos2(edge(c, cols, rect.left(), rect.right()), edge(r, rows, rect.top(), rect.bottom()));
        mesh.add_colored_rect(Rect::from_min_max(corner(row, col), corner(row + 1, col + 1)), colour);
    }
    painter.add(mesh);
}

/// The colour bar right of cells whose values go up to `full`.
pub fn paint_bar(painter: &Painter, rect: Rect, full: f32, theme: &Theme) {
    let bar = Rect::from_min_max(pos2(rect.right() + 8.0, rect.top()), pos2(rect.right() + 18.0, rect.bottom()));
    colour_bar(painter, bar, colours(full), theme);
}

/// An outline, a name over it and what runs along its sides.
pub fn paint_frame(painter: &Painter, rect: Rect, theme: &Theme, title: &str, along: &str) {
    painter.rect_stroke(rect, 0.0, Stroke::new(1.0, theme.line), StrokeKind::Outside);
    let font = theme::small();
    painter.text(rect.left_top() - vec2(0.0, 4.0), Align2::LEFT_BOTTOM, title, font.clone(), theme.secondary);
    painter.text(pos2(rect.right(), rect.bottom() + 4.0), Align2::RIGHT_TOP, along, font, theme.secondary);
}
