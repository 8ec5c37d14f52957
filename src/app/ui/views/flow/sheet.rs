//! Maps the plane to a rectangle of the screen and back, and draws the ticks and names of its axes.

use crate::{
    analysis::fast_slow_plane::{Bounds, Point},
    ui::views::painting::*,
};

/// A part of the plane on the screen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sheet {
    pub rect: Rect,
    pub bounds: Bounds,
}

/// The largest magnification along each axis.
const MAX_ZOOM: f64 = 200.0;
/// Room for figures and names: left, above, right, below; points.
const LEFT_MARGIN: f32 = 34.0;
const TOP_MARGIN: f32 = 18.0;
const RIGHT_MARGIN: f32 = 10.0;
const BOTTOM_MARGIN: f32 = 18.0;

impl Sheet {
    /// A sheet inside of `outer`, with space for the axes.
    pub fn inside(outer: Rect, bounds: Bounds) -> Self {
        let size = outer.size() - vec2(LEFT_MARGIN + RIGHT_MARGIN, TOP_MARGIN + BOTTOM_MARGIN);
        let rect = Rect::from_min_size(outer.min + vec2(LEFT_MARGIN, TOP_MARGIN), size.max(vec2(8.0, 8.0)));
        Self { rect, bounds }
    }

    pub fn at(&self, [x, y]: Point) -> Pos2 {
        let across = ((x - self.bounds.x[0]) / self.bounds.width()) as f32;
        let up = ((y - self.bounds.y[0]) / self.bounds.height()) as f32;
        pos2(self.rect.left() + across * self.rect.width(), self.rect.bottom() - up * self.rect.height())
    }

    /// The point under a place of the screen, moved into the bounds.
    pub fn point_at(&self, at: Pos2) -> Point {
        self.value(self.rect.clamp(at))
    }

    /// The point under a place of the screen, which may lie outside of the bounds.
    pub fn value(&self, at: Pos2) -> Point {
        let across = f64::from((at.x - self.rect.left()) / self.rect.width());
        let up = f64::from((self.rect.bottom() - at.y) / self.rect.height());
        self.bounds.at(across, up)
    }

    /// The visible bounds scaled by `factor` around `about`, which keeps its position on the screen unless the bounds
    /// would leave `all`.
    pub fn zoomed(&self, about: Point, factor: f64, all: &Bounds) -> Bounds {
        let along = |now: [f64; 2], all: [f64; 2], at: f64| {
            let (before, whole) = (now[1] - now[0], all[1] - all[0]);
            let after = (before * factor).clamp(whole / MAX_ZOOM, whole);
            let from = (at - (at - now[0]) / before * after).min(all[1] - after).max(all[0]);
            [from, from + after]
        };
        Bounds { x: along(self.bounds.x, all.x, about[0]), y: along(self.bounds.y, all.y, about[1]) }
    }

    /// The point that a click or a drag chooses; an arrow key moves `now` by this share of the bounds, and inside of them.
    pub fn chosen_point(&self, ui: &Ui, response: &Response, now: Point, step: f64) -> Option<Point> {
        if response.clicked() || response.dragged() {
            response.request_focus();
        }
        if response.has_focus() {
            let [across, up] = plot::arrow_steps(ui, response).map(|steps| f64::from(steps) * step);
            if across != 0.0 || up != 0.0 {
                let Bounds { x, y } = self.bounds;
                let moved = |v: f64, by: f64, [low, high]: [f64; 2]| (v + by * (high - low)).clamp(low, high);
                return Some([moved(now[0], across, x), moved(now[1], up, y)]);
            }
        }
        let pointed = response.interact_pointer_pos().filter(|_| response.clicked() || response.dragged());
        pointed.map(|at| self.point_at(at))
    }

    pub fn line(&self, points: &[Point]) -> Vec<Pos2> {
        points.iter().map(|p| self.at(*p)).collect()
    }

    pub fn axes(&self, painter: &Painter, theme: &Theme, [across, up]: [&str; 2]) {
        let (mono, small) = (theme::numbers(), theme::small());
        let (rect, colour) = (self.rect, theme.secondary);
        painter.rect_stroke(rect, 0.0, Stroke::new(1.0, theme.line), StrokeKind::Inside);
        let wanted = |room: f32| (room / 80.0).clamp(2.0, 6.0) as usize;
        let name =
            painter.text(pos2(rect.right(), rect.bottom() + 3.0), Align2::RIGHT_TOP, across, small.clone(), colour);
        for (value, words) in Scale::Linear.ticks(self.bounds.x[0], self.bounds.x[1], wanted(rect.width())) {
            let x = self.at([value, 0.0]).x;
            if x > rect.left() + 8.0 && x < name.left() - 14.0 {
                painter.text(pos2(x, rect.bottom() + 3.0), Align2::CENTER_TOP, words, mono.clone(), colour);
            }
        }
        painter.text(pos2(rect.left(), rect.top() - 3.0), Align2::LEFT_BOTTOM, up, small, colour);
        for (value, words) in Scale::Linear.ticks(self.bounds.y[0], self.bounds.y[1], wanted(rect.height() * 1.4)) {
            let y = self.at([0.0, value]).y;
            if y > rect.top() + 5.0 && y < rect.bottom() - 5.0 {
                painter.text(pos2(rect.left() - 5.0, y), Align2::RIGHT_CENTER, words, mono.clone(), colour);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_on_the_screen_is_the_point_that_is_drawn_there() {
        let bounds = Bounds { x: [-2.0, 3.0], y: [-1.0, 1.0] };
        let sheet = Sheet::inside(Rect::from_min_size(pos2(10.0, 20.0), vec2(400.0, 300.0)), bounds);
        for p in [[-2.0, -1.0], [0.5, 0.25], [3.0, 1.0]] {
            let [x, y] = sheet.point_at(sheet.at(p));
            assert!((x - p[0]).abs() < 1e-4 && (y - p[1]).abs() < 1e-4, "{x} {y}");
        }
        assert_eq!(sheet.point_at(pos2(-50.0, 0.0)), [-2.0, 1.0], "outside is moved to the edge");
    }

    #[test]
    fn a_zoom_holds_its_point_and_stays_inside() {
        let all = Bounds { x: [-2.0, 3.0], y: [-1.0, 1.0] };
        let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(400.0, 300.0));
        let sheet = |bounds| Sheet::inside(rect, bounds);
        let about = [1.0, 0.5];
        let near = sheet(sheet(all).zoomed(about, 0.1, &all));
        let moved = near.at(about) - sheet(all).at(about);
        assert!(moved.length() < 1e-3 && (near.bounds.width() - 0.5).abs() < 1e-12, "{near:?}");
        assert_eq!(near.zoomed(about, 100.0, &all), all);
        let corner = sheet(all).zoomed([3.0, -1.0], 1e-9, &all);
        assert!((corner.width() - 0.025).abs() < 1e-12 && corner.x[1] <= 3.0 && corner.y[0] >= -1.0, "{corner:?}");
    }
}
