//! The places of panels beside and below one another.

use eframe::egui::{Vec2, vec2};

use crate::ui::plot::MIN_SIZE;

/// Minimum width of a panel among others, points.
const MIN_PANEL_WIDTH: f32 = 260.0;
/// Height of a panel among others, points.
const PANEL_HEIGHT: f32 = 190.0;
/// Height of a panel's title, points.
pub(super) const TITLE_HEIGHT: f32 = 20.0;

/// Columns and rows of panels of one size.
#[derive(Debug, PartialEq)]
pub(super) struct PanelGrid {
    pub columns: usize,
    pub rows: usize,
    /// The size of a panel below its title.
    pub size: Vec2,
}

impl PanelGrid {
    /// A grid of panels that share the space.
    fn share_space(columns: usize, count: usize, room: Vec2, gap: Vec2) -> Self {
        let rows = count.div_ceil(columns);
        let width = ((room.x - gap.x * (columns - 1) as f32) / columns as f32).floor();
        let height = (room.y - (gap.y + TITLE_HEIGHT) * rows as f32) / rows as f32;
        Self { columns, rows, size: vec2(width - 2.0, height - 4.0) }
    }

    /// The grid of a tile, with as many panels per row as fit. A few panels fill the space; many are scrolled.
    pub fn in_tile(count: usize, room: Vec2, gap: Vec2) -> Self {
        let grid = Self::share_space(columns(MIN_PANEL_WIDTH, count, room, gap), count, room, gap);
        let height = grid.size.y.max(PANEL_HEIGHT - TITLE_HEIGHT).min((room.y - TITLE_HEIGHT - 4.0).max(90.0));
        Self { size: vec2(grid.size.x, height), ..grid }
    }

    /// The grid of an exported picture, which cannot be scrolled: its panels are smaller than in a tile, so that as
    /// many as possible fit. The picture grows for the others ([`PanelGrid::missing_height`]).
    pub fn in_picture(count: usize, room: Vec2, gap: Vec2) -> Self {
        let [wide, narrow] = [MIN_PANEL_WIDTH, MIN_SIZE.x].map(|least| columns(least, count, room, gap));
        let mut grids = (wide..=narrow).map(|columns| Self::share_space(columns, count, room, gap));
        grids.find(|grid| grid.size.y >= MIN_SIZE.y).unwrap_or_else(|| {
            let rows = (room.y / min_row_height(gap)).floor().max(1.0) as usize;
            let grid = Self::share_space(narrow, count.min(rows * narrow), room, gap);
            Self { size: grid.size.max(MIN_SIZE), ..grid }
        })
    }

    /// The height that this room lacks for `count` panels in the columns of the grid; 0 where the grid has them all.
    pub fn missing_height(&self, count: usize, room: Vec2, gap: Vec2) -> f32 {
        let rows = count.div_ceil(self.columns);
        // a point more than the rows need, so that rounding does not cost one of them
        if rows <= self.rows { 0.0 } else { (rows as f32 * min_row_height(gap) - room.y).ceil() + 1.0 }
    }
}

/// The height of a row of the smallest legible panels, with its title and the gap below, points.
fn min_row_height(gap: Vec2) -> f32 {
    MIN_SIZE.y + TITLE_HEIGHT + gap.y + 4.0
}

/// The number of columns of at least this width that fit.
fn columns(least: f32, count: usize, room: Vec2, gap: Vec2) -> usize {
    (((room.x + gap.x) / (least + gap.x)).floor() as usize).clamp(1, count.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Vec2 = vec2(8.0, 6.0);

    #[test]
    fn a_picture_has_every_panel_that_is_legible_in_it() {
        let room = vec2(928.0, 528.0);
        for count in 1..=24 {
            let grid = PanelGrid::in_picture(count, room, GAP);
            assert!(grid.columns * grid.rows >= count, "{count}: {grid:?}");
            assert!(grid.size.y >= MIN_SIZE.y && grid.size.x >= MIN_SIZE.x - 2.0, "{count}: {grid:?}");
            assert!((grid.size.y + TITLE_HEIGHT + GAP.y) * grid.rows as f32 <= room.y, "{count}: {grid:?}");
        }
        assert_eq!(PanelGrid::in_picture(5, room, GAP), PanelGrid::in_tile(5, room, GAP), "where few are");
        let many = PanelGrid::in_picture(100, room, GAP);
        assert_eq!((many.columns, many.rows), (6, 4));
        let higher = room + vec2(0.0, many.missing_height(100, room, GAP));
        let all = PanelGrid::in_picture(100, higher, GAP);
        assert_eq!((all.columns, all.rows, all.missing_height(100, higher, GAP)), (6, 17, 0.0));
        let tiny = PanelGrid::in_picture(9, vec2(40.0, 10.0), GAP);
        assert_eq!((tiny.columns, tiny.rows, tiny.size), (1, 1, MIN_SIZE));
    }

    #[test]
    fn a_grid_of_many_panels_is_taller_than_its_tile() {
        let grid = PanelGrid::in_tile(13, vec2(928.0, 528.0), GAP);
        assert_eq!((grid.columns, grid.rows, grid.size.y), (3, 5, PANEL_HEIGHT - TITLE_HEIGHT));
    }
}
