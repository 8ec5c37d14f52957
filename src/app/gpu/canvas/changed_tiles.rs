//! The parts of a window in which the shapes differ from those of an earlier frame. It compares shapes and draws nothing.

use std::sync::Arc;

use eframe::egui::{
    Rect, Shape,
    epaint::{ClippedShape, TextShape},
    pos2,
};

/// Side of a tile in pixels: that of the tiles in which Mesa's software rasteriser works.
pub(super) const TILE: u32 = 64;
/// If more than this share of tiles changed, all are drawn: one rectangle costs less than many.
const MAX_CHANGED_SHARE: f32 = 0.7;
/// Points in pixels by which a shape may exceed its bounds: rounding to whole pixels, and the soft edge.
const EDGE_PIXELS: f32 = 3.0;

/// A rectangle of whole pixels, the right and the lower edge outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PixelRect {
    pub left: u32,
    pub top: u32,
    pub right: u32,
    pub bottom: u32,
}

impl PixelRect {
    pub fn from_size([right, bottom]: [u32; 2]) -> Self {
        Self { left: 0, top: 0, right, bottom }
    }

    pub fn area(self) -> u64 {
        u64::from(self.right - self.left) * u64::from(self.bottom - self.top)
    }

    fn in_points(self, pixels_per_point: f32) -> Rect {
        let point = |x: u32, y: u32| pos2(x as f32 / pixels_per_point, y as f32 / pixels_per_point);
        Rect::from_min_max(point(self.left, self.top), point(self.right, self.bottom))
    }
}

/// The shapes of a frame, with the shapes that overlap each tile.
pub(super) struct FrameShapes {
    pub shapes: Vec<ClippedShape>,
    /// For each tile, row by row from the top, the indices of its shapes in drawing order.
    tiles: Vec<Vec<u32>>,
    columns: u32,
    size: [u32; 2],
    pixels_per_point: f32,
}

impl FrameShapes {
    /// Sorts the shapes into the tiles of a window of `size` pixels.
    pub fn new(shapes: Vec<ClippedShape>, size: [u32; 2], pixels_per_point: f32) -> Self {
        let [columns, rows] = size.map(|side| side.div_ceil(TILE));
        let mut tiles = vec![vec![]; columns as usize * rows as usize];
        for (i, shape) in shapes.iter().enumerate() {
            let bounds = bounds(shape, pixels_per_point);
            let tile = |points: f32| points * pixels_per_point / TILE as f32;
            // `as` saturates, so a coordinate out of range becomes the nearest `u32`
            let (left, top) = (tile(bounds.left()).floor() as u32, tile(bounds.top()).floor() as u32);
            let (right, bottom) = (tile(bounds.right()).ceil() as u32, tile(bounds.bottom()).ceil() as u32);
            for row in top..bottom.min(rows) {
                for column in left..right.min(columns) {
                    if let Some(tile) = tiles.get_mut((row * columns + column) as usize) {
                        tile.push(i as u32);
                    }
                }
            }
        }
        Self { shapes, tiles, columns, size, pixels_per_point }
    }

    /// The rectangles that differ from an earlier frame; all of the window where their sizes differ.
    pub fn changed_since(&self, earlier: &Self) -> Vec<PixelRect> {
        if (self.size, self.pixels_per_point) != (earlier.size, earlier.pixels_per_point) {
            return vec![PixelRect::from_size(self.size)];
        }
        let mut comparison = Comparison::new(self, earlier);
        let tiles = self.tiles.iter().zip(&earlier.tiles);
        let changed: Vec<bool> = tiles.map(|(new, old)| !comparison.are_equal(new, old)).collect();
        let count = changed.iter().filter(|changed| **changed).count();
        if count as f32 > MAX_CHANGED_SHARE * changed.len() as f32 {
            return vec![PixelRect::from_size(self.size)];
        }
        self.rectangles(&changed)
    }

    /// Rectangles that cover the changed tiles and nothing else, without overlap.
    fn rectangles(&self, changed: &[bool]) -> Vec<PixelRect> {
        let mut found: Vec<PixelRect> = vec![];
        for (row, tiles) in changed.chunks(self.columns.max(1) as usize).enumerate() {
            let (top, mut column) = (row as u32 * TILE, 0);
            while column < tiles.len() {
                let run = tiles[column..].iter().take_while(|changed| **changed).count();
                if run == 0 {
                    column += 1;
                    continue;
                }
                let [left, right] = [column, column + run].map(|c| (c as u32 * TILE).min(self.size[0]));
                let bottom = (top + TILE).min(self.size[1]);
                column += run;
                let above = found.iter_mut().find(|r| (r.left, r.right, r.bottom) == (left, right, top));
                match above {
                    Some(above) => above.bottom = bottom,
                    None => found.push(PixelRect { left, top, right, bottom }),
                }
            }
        }
        found
    }

    /// Returns the shapes that reach into the tiles of a rectangle, in the order of drawing, each clipped to it.
    pub fn within(&self, rect: PixelRect) -> Vec<ClippedShape> {
        let clip = rect.in_points(self.pixels_per_point);
        let [left, top] = [rect.left, rect.top].map(|edge| edge / TILE);
        let [right, bottom] = [rect.right, rect.bottom].map(|edge| edge.div_ceil(TILE));
        let mut indices: Vec<u32> = vec![];
        for row in top..bottom {
            let tiles = self.tiles.get((row * self.columns + left) as usize..(row * self.columns + right) as usize);
            indices.extend(tiles.into_iter().flatten().flatten());
        }
        indices.sort_unstable();
        indices.dedup();
        let clipped = |i: &u32| {
            let clipped = self.shapes.get(*i as usize)?.clone();
            Some(ClippedShape { clip_rect: clipped.clip_rect.intersect(clip), ..clipped })
        };
        indices.iter().filter_map(clipped).collect()
    }
}

/// The rectangle that contains all marks of a shape, points.
fn bounds(clipped: &ClippedShape, pixels_per_point: f32) -> Rect {
    let ClippedShape { clip_rect, shape, transform_after_tessellation } = clipped;
    // a corner of a line reaches beyond half its width, by less than half as much again
    let corner = if let Shape::Path(path) = shape { 0.25 * path.stroke.width } else { 0.0 };
    let bounds = shape.visual_bounding_rect().expand(EDGE_PIXELS / pixels_per_point + corner);
    let bounds = *transform_after_tessellation * bounds;
    if bounds.any_nan() { *clip_rect } else { bounds.intersect(*clip_rect) }
}

/// Compares the shapes of two frames and remembers the result for the next tile that has the same pair.
struct Comparison<'a> {
    new: &'a [ClippedShape],
    old: &'a [ClippedShape],
    /// For each shape of the new frame, the old one that it was last compared with, and true if they are equal.
    known: Vec<Option<(u32, bool)>>,
}

impl<'a> Comparison<'a> {
    fn new(new: &'a FrameShapes, old: &'a FrameShapes) -> Self {
        Self { new: &new.shapes, old: &old.shapes, known: vec![None; new.shapes.len()] }
    }

    /// True if both tiles have equal shapes in the same order.
    fn are_equal(&mut self, new: &[u32], old: &[u32]) -> bool {
        new.len() == old.len() && new.iter().zip(old).all(|(new, old)| self.is_same(*new, *old))
    }

    fn is_same(&mut self, new: u32, old: u32) -> bool {
        let Some(known) = self.known.get_mut(new as usize) else { return false };
        match *known {
            Some((with, same)) if with == old => same,
            _ => {
                let pair = self.new.get(new as usize).zip(self.old.get(old as usize));
                let same = pair.is_some_and(|(a, b)| is_same(a, b));
                *known = Some((old, same));
                same
            }
        }
    }
}

fn is_same(a: &ClippedShape, b: &ClippedShape) -> bool {
    let ClippedShape { clip_rect, shape, transform_after_tessellation } = a;
    (*clip_rect, *transform_after_tessellation) == (b.clip_rect, b.transform_after_tessellation)
        && is_same_shape(shape, &b.shape)
}

/// Equality of shapes that does not look into what both share.
fn is_same_shape(a: &Shape, b: &Shape) -> bool {
    match (a, b) {
        (Shape::Text(a), Shape::Text(b)) if Arc::ptr_eq(&a.galley, &b.galley) => {
            // every field is named, so that one that comes to it is not forgotten
            let TextShape { pos, galley: _, underline, fallback_color, override_text_color, opacity_factor, angle } = a;
            (*pos, *underline, *fallback_color) == (b.pos, b.underline, b.fallback_color)
                && (*override_text_color, *opacity_factor, *angle) == (b.override_text_color, b.opacity_factor, b.angle)
        }
        (Shape::Mesh(a), Shape::Mesh(b)) if Arc::ptr_eq(a, b) => true,
        (Shape::Vec(a), Shape::Vec(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_shape(a, b)),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::{Color32, Stroke, vec2};

    use super::*;

    const SIZE: [u32; 2] = [300, 200];

    fn square(x: f32, y: f32, side: f32) -> ClippedShape {
        let rect = Rect::from_min_size(pos2(x, y), vec2(side, side));
        ClippedShape::new(Rect::EVERYTHING, Shape::rect_filled(rect, 0.0, Color32::RED))
    }

    fn frame(shapes: &[ClippedShape]) -> FrameShapes {
        FrameShapes::new(shapes.to_vec(), SIZE, 1.0)
    }

    fn rect(left: u32, top: u32, right: u32, bottom: u32) -> PixelRect {
        PixelRect { left, top, right, bottom }
    }

    #[test]
    fn tiles_change_whose_shapes_or_their_order_do() {
        let (ground, a, b) = (square(0.0, 0.0, 300.0), square(10.0, 10.0, 20.0), square(15.0, 15.0, 20.0));
        let far = square(200.0, 100.0, 20.0);
        for (what, old, new, changed) in [
            ("equal frames", vec![ground.clone(), a.clone()], vec![ground.clone(), a.clone()], vec![]),
            ("a shape before others", vec![far.clone()], vec![a.clone(), far], vec![rect(0, 0, 64, 64)]),
            ("the order of drawing", vec![b.clone(), a.clone()], vec![a, b], vec![rect(0, 0, 64, 64)]),
            ("tiles below each other", vec![], vec![square(70.0, 10.0, 100.0)], vec![rect(64, 0, 192, 128)]),
            ("most tiles", vec![], vec![ground], vec![PixelRect::from_size(SIZE)]),
        ] {
            assert_eq!(frame(&new).changed_since(&frame(&old)), changed, "{what}");
        }
        let wide = FrameShapes::new(vec![], [400, 200], 1.0);
        assert_eq!(wide.changed_since(&frame(&[])), [PixelRect::from_size([400, 200])], "another size");
    }

    #[test]
    fn a_moved_shape_changes_its_old_and_its_new_tile() {
        let ground = square(0.0, 0.0, 300.0);
        let old = frame(&[ground.clone(), square(10.0, 10.0, 20.0)]);
        let new = frame(&[ground.clone(), square(150.0, 80.0, 20.0)]);
        let tiles = vec![rect(0, 0, 64, 64), rect(128, 64, 192, 128)];
        assert_eq!(new.changed_since(&old), tiles);
        let drawn = new.within(tiles[1]);
        assert_eq!(drawn.len(), 2, "the ground and the square");
        assert_eq!(drawn[1].clip_rect, tiles[1].in_points(1.0));
        assert_eq!(new.within(tiles[0]).len(), 1, "the ground alone");
    }

    #[test]
    fn clipped_and_unbounded_shapes_are_where_they_are_seen() {
        let mut clipped = square(0.0, 0.0, 300.0);
        clipped.clip_rect = Rect::from_min_max(pos2(70.0, 70.0), pos2(80.0, 80.0));
        assert_eq!(frame(&[clipped.clone()]).changed_since(&frame(&[])), [rect(64, 64, 128, 128)]);
        let line = |x: f32| Shape::line(vec![pos2(x, 0.0), pos2(75.0, 75.0)], Stroke::new(1.0, Color32::RED));
        for x in [f32::NAN, f32::INFINITY, -1e30] {
            let odd = ClippedShape { shape: line(x), ..clipped.clone() };
            assert_eq!(frame(&[odd]).changed_since(&frame(&[])), [rect(64, 64, 128, 128)], "{x}");
        }
        assert!(frame(&[ClippedShape { shape: Shape::Noop, ..clipped }]).changed_since(&frame(&[])).is_empty());
    }
}
