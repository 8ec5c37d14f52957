//! The camera over the plane: the part that is visible, which is everything until the user zooms or pans.

use crate::{analysis::layout::bounds, gpu::graph, ui::views::prelude::*};

/// Points free at the rims when everything is seen.
pub const MARGIN: f32 = 28.0;
/// The range of magnifications relative to the whole picture.
const ZOOM_RANGE: (f32, f32) = (0.3, 60.0);

/// A graph leaves its legend some room where it is at least this share as large as in the whole canvas, and goes on to leave it
/// while it is at least the second.
const MIN_SHARE: f32 = 0.7;
const MIN_KEPT_SHARE: f32 = 0.6;
/// The other side of the legend is taken where the graph is larger there by this factor.
const MIN_GAIN: f32 = 1.1;
/// A graph nearer to its legend than this lies under it, points.
const LEGEND_MARGIN: f32 = 10.0;

/// The side of the legend, which is at the lower left, on which a graph is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LegendSide {
    Above,
    Right,
}

/// The user's choice; `None` shows everything.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Camera {
    window: Option<Window>,
}

/// Maps the plane to the screen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    pub centre: [f32; 2],
    /// Points for a unit.
    pub scale: f32,
}

impl Window {
    /// The window that shows all positions within `rect`.
    pub fn around(places: &[[f32; 2]], rect: Rect) -> Self {
        let b = bounds(places);
        let extent = [b[2] - b[0], b[3] - b[1]].map(|v| v.max(1e-3));
        let room = (rect.size() - Vec2::splat(2.0 * MARGIN)).max(vec2(1.0, 1.0));
        let scale = (room.x / extent[0]).min(room.y / extent[1]);
        Self { centre: [0.5 * (b[0] + b[2]), 0.5 * (b[1] + b[3])], scale }
    }

    pub fn at(&self, place: [f32; 2], rect: Rect) -> Pos2 {
        rect.center() + (Vec2::from(place) - Vec2::from(self.centre)) * self.scale
    }

    pub fn layout_position(&self, at: Pos2, rect: Rect) -> [f32; 2] {
        (Vec2::from(self.centre) + (at - rect.center()) / self.scale).into()
    }

    /// The node under the pointer: the nearest whose disc is hit, or nearly.
    pub fn pick(&self, places: &[[f32; 2]], radius: impl Fn(usize) -> f32, rect: Rect, pointer: Pos2) -> Option<u32> {
        let near = |(i, p): (usize, &[f32; 2])| {
            let far = (self.at(*p, rect) - pointer).length();
            let over = far - radius(i);
            (over < HIT_MARGIN).then_some((i as u32, over.max(0.0), far))
        };
        let found = places.iter().enumerate().filter_map(near);
        found.min_by(|a, b| a.1.total_cmp(&b.1).then(a.2.total_cmp(&b.2))).map(|(i, ..)| i)
    }
}

impl Camera {
    pub fn is_fitted(&self) -> bool {
        self.window.is_none()
    }

    pub fn fit(&mut self) {
        self.window = None;
    }

    pub fn window(&self, places: &[[f32; 2]], rect: Rect) -> Window {
        self.window.unwrap_or_else(|| Window::around(places, rect))
    }

    /// The camera in the form that the shader takes.
    pub fn for_picture(&self) -> graph::Camera {
        let chosen = self.window.map(|w| graph::Camera::At { centre: w.centre, scale: w.scale });
        chosen.unwrap_or(graph::Camera::Fit { margin: MARGIN })
    }

    /// The magnification relative to the view of everything.
    pub fn zoom(&self, places: &[[f32; 2]], rect: Rect) -> f32 {
        self.window.map_or(1.0, |w| w.scale / Window::around(places, rect).scale)
    }

    /// Zooms by `factor` and keeps the point under `about` at its position.
    pub fn zoom_by(&mut self, factor: f32, about: Pos2, places: &[[f32; 2]], rect: Rect) {
        let (window, whole) = (self.window(places, rect), Window::around(places, rect).scale);
        let scale = (window.scale * factor).clamp(whole * ZOOM_RANGE.0, whole * ZOOM_RANGE.1);
        let centre = Vec2::from(window.layout_position(about, rect)) - (about - rect.center()) / scale;
        self.window = Some(Window { centre: centre.into(), scale });
    }

    pub fn pan(&mut self, by: Vec2, places: &[[f32; 2]], rect: Rect) {
        let window = self.window(places, rect);
        let centre = Vec2::from(window.centre) - by / window.scale;
        self.window = Some(Window { centre: centre.into(), ..window });
    }

    /// Brings a place into the middle, near enough for its neighbours to be distinguished.
    pub fn go_to(&mut self, place: [f32; 2], places: &[[f32; 2]], rect: Rect) {
        let scale = self.window(places, rect).scale.max(2.5 * Window::around(places, rect).scale);
        self.window = Some(Window { centre: place, scale });
    }
}

/// The room of a graph on this side of a legend of this size; `None`: the whole canvas.
pub fn beside_legend(whole: Rect, legend: Vec2, side: Option<LegendSide>) -> Rect {
    match side {
        None => whole,
        Some(LegendSide::Above) => whole.with_max_y(whole.bottom() - legend.y),
        Some(LegendSide::Right) => whole.with_min_x(whole.left() + legend.x),
    }
}

/// The side of its legend on which the whole graph is drawn, the one with more room; `None` where it would become too small, or
/// would not reach the legend in the whole canvas and has no side yet. `before`: the side until now, which is kept, so that a
/// graph that moves does not jump.
pub fn side_of_legend(
    places: &[[f32; 2]],
    whole: Rect,
    legend: Vec2,
    before: Option<LegendSide>,
) -> Option<LegendSide> {
    let b = bounds(places);
    let corners = [[b[0], b[1]], [b[2], b[3]]];
    let window = Window::around(&corners, whole);
    let share = |side| Window::around(&corners, beside_legend(whole, legend, Some(side))).scale / window.scale;
    let [min, max] = corners.map(|corner| window.at(corner, whole));
    let graph = Rect::from_min_max(min, max);
    let of_legend = Rect::from_two_pos(whole.left_bottom(), whole.left_bottom() + vec2(legend.x, -legend.y));
    if before.is_none() && !graph.expand(LEGEND_MARGIN).intersects(of_legend) {
        return None;
    }
    let (side, other) = match before {
        Some(LegendSide::Right) => (LegendSide::Right, LegendSide::Above),
        _ => (LegendSide::Above, LegendSide::Right),
    };
    let gain = if before.is_some() { MIN_GAIN } else { 1.0 };
    let side = if share(other) > share(side) * gain { other } else { side };
    Some(side).filter(|side| share(*side) >= if before.is_some() { MIN_KEPT_SHARE } else { MIN_SHARE })
}

/// The distance beside a disc at which the pointer still hits it, points.
const HIT_MARGIN: f32 = 5.0;

#[cfg(test)]
mod tests {
    use super::*;

    const SHEET: Rect = Rect { min: Pos2::new(100.0, 50.0), max: Pos2::new(500.0, 350.0) };
    const PLACES: [[f32; 2]; 3] = [[-2.0, -1.0], [2.0, 1.0], [0.0, 0.0]];

    #[test]
    fn the_window_shows_every_place_and_its_inverse_map_is_exact() {
        let window = Window::around(&PLACES, SHEET);
        for p in PLACES {
            let at = window.at(p, SHEET);
            assert!(SHEET.shrink(MARGIN - 0.01).contains(at), "{at:?}");
            let back = window.layout_position(at, SHEET);
            assert!((back[0] - p[0]).abs() + (back[1] - p[1]).abs() < 1e-4);
        }
    }

    #[test]
    fn a_graph_is_drawn_where_its_legend_is_not() {
        let side = |[width, height]: [f32; 2], legend: Vec2, before| {
            let whole = Rect::from_min_size(pos2(10.0, 20.0), vec2(width, height));
            side_of_legend(&[[-1.0, -1.0], [1.0, 1.0]], whole, legend, before)
        };
        let (above, right) = (Some(LegendSide::Above), Some(LegendSide::Right));
        let legend = vec2(150.0, 210.0);
        assert_eq!(side([352.0, 545.0], legend, None), above, "it becomes a little smaller");
        assert_eq!(side([700.0, 500.0], legend, None), right, "it is as large as in the whole canvas");
        assert_eq!(side([1000.0, 500.0], legend, None), None, "it does not reach the legend");
        assert_eq!(side([1000.0, 500.0], legend, right), right, "it stays where it is");
        assert_eq!(side([1000.0, 500.0], legend, above), right, "it is much larger there");
        assert_eq!(side([336.0, 300.0], legend, None), None, "it would be too small");
        assert_eq!(side([336.0, 300.0], legend, above), None);
        assert_eq!(side([336.0, 300.0], Vec2::ZERO, None), None, "there is no legend");
    }

    #[test]
    fn zoom_keeps_what_is_under_the_pointer() {
        let mut camera = Camera::default();
        let pointer = pos2(200.0, 120.0);
        let before = camera.window(&PLACES, SHEET).layout_position(pointer, SHEET);
        camera.zoom_by(3.0, pointer, &PLACES, SHEET);
        let after = camera.window(&PLACES, SHEET).layout_position(pointer, SHEET);
        assert!((before[0] - after[0]).abs() + (before[1] - after[1]).abs() < 1e-4);
        assert!((camera.zoom(&PLACES, SHEET) - 3.0).abs() < 1e-4 && !camera.is_fitted());
        camera.zoom_by(1e9, pointer, &PLACES, SHEET);
        assert!(camera.zoom(&PLACES, SHEET) <= ZOOM_RANGE.1 * 1.001);
        camera.fit();
        assert!(camera.is_fitted());
    }

    #[test]
    fn the_disc_under_the_pointer_is_picked_and_of_two_the_nearer() {
        let window = Window::around(&PLACES, SHEET);
        let at = window.at(PLACES[1], SHEET);
        assert_eq!(window.pick(&PLACES, |_| 4.0, SHEET, at + vec2(6.0, 0.0)), Some(1));
        assert_eq!(window.pick(&PLACES, |_| 4.0, SHEET, at + vec2(12.0, 0.0)), None);
        let close = [[0.0, 0.0], [0.05, 0.0]];
        let window = Window { centre: [0.0, 0.0], scale: 100.0 };
        assert_eq!(window.pick(&close, |_| 8.0, SHEET, window.at([0.04, 0.0], SHEET)), Some(1));
    }
}
