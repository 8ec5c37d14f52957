//! The units of a level as a small picture of cells.

use crate::ui::views::prelude::*;

/// Columns and rows of the picture of a number of units: about square, and wider than high.
pub fn cells(units: usize) -> [usize; 2] {
    let mut columns = 1;
    while columns * columns < units {
        columns *= 2;
    }
    [columns.max(1), units.div_ceil(columns.max(1)).max(1)]
}

/// The size of the picture at this size of a cell, points.
pub fn size(units: usize, cell: f32) -> Vec2 {
    let [columns, rows] = cells(units);
    vec2(columns as f32 * cell, rows as f32 * cell)
}

/// Draws values as cells from `corner` on; those without a colour show the ground.
pub fn draw(
    painter: &Painter,
    corner: Pos2,
    cell: f32,
    values: &[f32],
    ground: Color32,
    colour: impl Fn(f32) -> Option<Color32>,
) {
    let [columns, _] = cells(values.len());
    let whole = Rect::from_min_size(corner, size(values.len(), cell));
    painter.rect_filled(whole, 0.0, ground);
    grid(painter, corner, cell, (columns, values), colour);
}

/// Paints the cells like [`draw`], with a given number of columns and no background.
pub fn grid(
    painter: &Painter,
    corner: Pos2,
    cell: f32,
    (columns, values): (usize, &[f32]),
    colour: impl Fn(f32) -> Option<Color32>,
) {
    let mut mesh = Mesh::default();
    for (i, value) in values.iter().enumerate() {
        if let Some(colour) = colour(*value) {
            let at = pos2((i % columns.max(1)) as f32, (i / columns.max(1)) as f32).to_vec2() * cell;
            mesh.add_colored_rect(Rect::from_min_size(corner + at, vec2(cell, cell)), colour);
        }
    }
    painter.add(Shape::mesh(mesh));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_about_square_and_hold_all_units() {
        for (units, wanted) in
            [(512, [32, 16]), (256, [16, 16]), (128, [16, 8]), (64, [8, 8]), (1, [1, 1]), (24, [8, 3])]
        {
            assert_eq!(cells(units), wanted, "{units}");
        }
        assert!((1..600).all(|n| cells(n)[0] * cells(n)[1] >= n));
    }
}
