//! The rows and columns in which a number of pictures are largest.

use eframe::egui::{Pos2, Rect, Vec2, vec2};

/// The gap between pictures.
const GAP: f32 = 8.0;
/// The minimum size of a picture, points.
const MIN_CELL: Vec2 = vec2(340.0, 260.0);
/// Width of a picture for its height, where there is a choice.
const ASPECT_RATIO: f32 = 1.5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    pub cols: usize,
    pub rows: usize,
    pub cell: Vec2,
}

impl Grid {
    /// The grid with the largest cells that the room allows; higher than the room if even the smallest do not fit.
    pub fn in_room(room: Vec2, count: usize) -> Self {
        let count = count.max(1);
        let with_columns = |cols: usize| {
            let rows = count.div_ceil(cols);
            let width = (room.x + GAP) / cols as f32 - GAP;
            let height = ((room.y + GAP) / rows as f32 - GAP).max(MIN_CELL.y);
            Self { cols, rows, cell: vec2(width.floor(), height.floor()) }
        };
        let size = |grid: &Self| grid.cell.x.min(grid.cell.y * ASPECT_RATIO);
        let fitting = (1..=count).map(with_columns).filter(|grid| grid.cols == 1 || grid.cell.x >= MIN_CELL.x);
        fitting.reduce(|a, b| if size(&b) > size(&a) { b } else { a }).unwrap_or_else(|| with_columns(1))
    }

    /// A grid of cells of this size, with about as many rows as columns.
    pub fn with_cell_size(cell: Vec2, count: usize) -> Self {
        let count = count.max(1);
        let cols = (1..=count).find(|cols| cols * cols >= count).unwrap_or(count);
        Self { cols, rows: count.div_ceil(cols), cell }
    }

    pub fn size(&self) -> Vec2 {
        let gaps = vec2((self.cols - 1) as f32, (self.rows - 1) as f32) * GAP;
        vec2(self.cols as f32, self.rows as f32) * self.cell + gaps
    }

    /// The rectangle of a picture by its index, row by row.
    pub fn cell(&self, from: Pos2, i: usize) -> Rect {
        let step = self.cell + Vec2::splat(GAP);
        Rect::from_min_size(from + vec2((i % self.cols) as f32, (i / self.cols) as f32) * step, self.cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_disjoint_and_wide_enough() {
        for room in [vec2(1248.0, 620.0), vec2(400.0, 900.0), vec2(3800.0, 2000.0), vec2(300.0, 200.0)] {
            for count in 1..=31 {
                let grid = Grid::in_room(room, count);
                let words = format!("{count} in {room:?}: {grid:?}");
                assert!(grid.cols * grid.rows >= count && grid.size().x <= room.x + 0.5, "{words}");
                assert!(grid.cell.x >= MIN_CELL.x.min(room.x.floor()) && grid.cell.y >= MIN_CELL.y, "{words}");
                let cells: Vec<Rect> = (0..count).map(|i| grid.cell(Pos2::ZERO, i)).collect();
                for (i, a) in cells.iter().enumerate() {
                    assert!(cells[i + 1..].iter().all(|b| !a.intersects(*b)));
                }
            }
        }
    }

    #[test]
    fn two_stand_beside_each_other_where_the_room_is_wide() {
        assert_eq!(Grid::in_room(vec2(1248.0, 500.0), 2).cols, 2);
        assert_eq!(Grid::in_room(vec2(500.0, 1248.0), 2).cols, 1);
        assert_eq!((Grid::with_cell_size(MIN_CELL, 5).cols, Grid::with_cell_size(MIN_CELL, 5).rows), (3, 2));
    }
}
