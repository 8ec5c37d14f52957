//! Lays out the small maps, the large maps and their scales in a tile of any shape.

use crate::ui::{
    plot::map::{NARROW, Title},
    views::prelude::*,
};

/// Height of the line of text and of the colour bars under the maps.
pub const FOOTER_HEIGHT: f32 = 64.0;
pub const GAP: f32 = 12.0;
/// Large maps at least so wide have numbers along their edges.
const ROOM_FOR_TICKS: f32 = 190.0;
/// The small maps take no more of the width than this share.
const MAX_SHARE: f32 = 0.42;
/// The minimum widths of a small map, and of all small maps with the names of the layers, points.
const MIN_SMALL: f32 = 15.0;
const MIN_MAP_WIDTH: f32 = 88.0;

pub struct Places {
    pub overview: Rect,
    /// One for each large map.
    pub slots: Vec<Rect>,
    pub foot: Rect,
}

/// The frame around a large map of this width, without its texts.
pub fn map_frame(width: f32) -> MapFrame {
    MapFrame { has_bar: false, has_ticks: width >= ROOM_FOR_TICKS, title: Some(Title::default()) }
}

/// The rows and columns in which squares with heads are largest.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Grid {
    cols: usize,
    /// Side of the map without its frame, points.
    side: f32,
    /// Size of a map with its title.
    slot: Vec2,
}

impl Grid {
    fn fit(room: Vec2, count: usize) -> Self {
        let with_columns = |cols: usize| {
            let rows = count.div_ceil(cols);
            let wide = (room.x + GAP) / cols as f32 - GAP;
            let high = (room.y + 6.0) / rows as f32 - 6.0;
            // the margins of a map depend on the width of its slot, which is smaller where the height limits it
            let widest = [wide, wide.min(ROOM_FOR_TICKS - 1.0), wide.min(NARROW - 1.0)];
            let slots = widest.map(|widest| {
                let margins = map_frame(widest).margins(widest);
                let (left, head, foot) = margins;
                let side = (widest - left - 2.0).min(high - head - foot).max(16.0);
                let slot = vec2(side + left + 2.0, side + head + foot);
                let is_so = map_frame(slot.x).margins(slot.x) == margins;
                (is_so, Self { cols, side, slot })
            });
            let [.., (_, narrow)] = slots;
            let so = slots.into_iter().filter(|(is_so, _)| *is_so).map(|(_, grid)| grid);
            so.reduce(|a, b| if b.side > a.side { b } else { a }).unwrap_or(narrow)
        };
        let all = (1..=count.max(1)).map(with_columns);
        all.reduce(|a, b| if b.side > a.side { b } else { a }).unwrap_or(with_columns(1))
    }
}

impl Places {
    /// `layers` and `heads` count the small maps, `names` is the width of the labels to their left in points, and `count`
    /// the number of large maps. The small maps get the room that the large ones cannot use.
    pub fn new(rect: Rect, layers: usize, heads: usize, names: f32, count: usize) -> Self {
        let shape = heads.max(1) as f32 / layers.max(1) as f32;
        let min = (names + heads as f32 * MIN_SMALL).min(rect.width() * MAX_SHARE).max(MIN_MAP_WIDTH);
        let max = (rect.height() * shape + names).min(rect.width() * MAX_SHARE).max(min);
        let room = |wide: f32| vec2(rect.width() - wide - GAP, rect.height() - FOOTER_HEIGHT);
        let widths = (0..=16).map(|i| min + (max - min) * i as f32 / 16.0);
        let all: Vec<(f32, Grid)> = widths.map(|wide| (wide, Grid::fit(room(wide), count))).collect();
        let largest = all.iter().map(|(_, grid)| grid.side).fold(0.0, f32::max);
        let fits = all.into_iter().rev().find(|(_, grid)| grid.side >= 0.9 * largest);
        let (wide, grid) = fits.unwrap_or((min, Grid::fit(room(min), count)));
        let left = rect.left() + wide + GAP;
        let slot = |i: usize| {
            let pitch = grid.slot + vec2(GAP, 6.0);
            let at = vec2((i % grid.cols) as f32, (i / grid.cols) as f32) * pitch;
            Rect::from_min_size(pos2(left, rect.top()) + at, grid.slot)
        };
        let slots: Vec<Rect> = (0..count).map(slot).collect();
        let bottom = slots.last().map_or(rect.top(), Rect::bottom);
        let foot =
            Rect::from_min_max(pos2(left, bottom), pos2(rect.right(), (bottom + FOOTER_HEIGHT).min(rect.bottom())));
        Self { overview: rect.with_max_x(rect.left() + wide), slots, foot }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_room_for_what_its_map_has_around_it() {
        for room in [vec2(480.0, 190.0), vec2(900.0, 200.0), vec2(900.0, 420.0), vec2(260.0, 700.0)] {
            for count in 1..=9 {
                let Grid { side, slot, .. } = Grid::fit(room, count);
                let (left, head, foot) = map_frame(slot.x).margins(slot.x);
                let left_over = slot - vec2(left + 2.0, head + foot);
                assert!((left_over - vec2(side, side)).length() < 0.1, "{side} of {slot:?} for {count} in {room:?}");
            }
        }
    }

    #[test]
    fn parts_stand_apart_and_inside_in_tiles_of_any_shape() {
        for size in
            [vec2(300.0, 200.0), vec2(600.0, 260.0), vec2(960.0, 540.0), vec2(500.0, 900.0), vec2(3000.0, 1400.0)]
        {
            let rect = Rect::from_min_size(pos2(10.0, 20.0), size);
            for count in 1..=9 {
                for (layers, heads) in [(2, 4), (8, 12), (4, 4), (1, 1)] {
                    let places = Places::new(rect, layers, heads, 40.0, count);
                    assert_eq!(places.slots.len(), count);
                    let mut all = places.slots.clone();
                    all.extend([places.overview, places.foot]);
                    for (i, a) in all.iter().enumerate() {
                        assert!(rect.expand(0.5).contains_rect(*a), "{a:?} leaves {rect:?}, {count} maps");
                        let overlaps = |b: &&Rect| a.intersect(**b).width() > 0.5 && a.intersect(**b).height() > 0.5;
                        assert_eq!(all[i + 1..].iter().find(overlaps), None, "{a:?} in {rect:?}, {count} maps");
                    }
                }
            }
        }
    }
}
