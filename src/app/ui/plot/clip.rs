//! Clips a line or an area to a rectangle. Everything outside is cut off before it becomes shapes, because an invisible
//! dash costs as much as a visible one, and a zoom makes millions of them.

use std::ops::RangeInclusive;

use eframe::egui::{Painter, Pos2, Rect, Shape, Stroke};

/// Coordinates are clamped to this size, so that differences are finite.
const MAX_COORDINATE: f64 = 1e300;

/// Points beyond a painter's clip rectangle at which lines are cut: their ends and joins stay unseen.
const CLIP_MARGIN: f32 = 16.0;

/// A rectangle of any units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    pub x: [f64; 2],
    pub y: [f64; 2],
}

impl Window {
    pub fn contains(&self, p: [f64; 2]) -> bool {
        (self.x[0]..=self.x[1]).contains(&p[0]) && (self.y[0]..=self.y[1]).contains(&p[1])
    }

    /// The part of a segment inside: the same points where both lie inside, `None` where no part does or a coordinate
    /// is NaN. Each edge cuts in turn with its own coordinate, so that an end 1e300 away costs no accuracy.
    pub fn segment(&self, from: [f64; 2], to: [f64; 2]) -> Option<[[f64; 2]; 2]> {
        if self.contains(from) && self.contains(to) {
            return Some([from, to]);
        }
        if from.iter().chain(&to).any(|v| v.is_nan()) {
            return None;
        }
        let (mut a, mut b) = (from.map(near), to.map(near));
        for (axis, [low, high]) in [self.x, self.y].into_iter().enumerate() {
            let cut = |outer: [f64; 2], inner: [f64; 2], end: f64| {
                let t = (end - inner[axis]) / (outer[axis] - inner[axis]);
                let mut p = lerp(inner, outer, t);
                p[axis] = end;
                p
            };
            if (a[axis] < low && b[axis] < low) || (a[axis] > high && b[axis] > high) {
                return None;
            }
            for end in [low, high] {
                let is_beyond = |v: f64| if end == low { v < low } else { v > high };
                if is_beyond(a[axis]) {
                    a = cut(a, b, end);
                } else if is_beyond(b[axis]) {
                    b = cut(b, a, end);
                }
            }
        }
        Some([self.clamp_inside(a), self.clamp_inside(b)])
    }

    /// The runs of a polyline that lie inside, or the whole line if all does. A point that is NaN parts the line.
    pub fn polyline(&self, points: &[[f64; 2]]) -> Vec<Vec<[f64; 2]>> {
        if points.iter().all(|p| self.contains(*p)) {
            return if points.is_empty() { vec![] } else { vec![points.to_vec()] };
        }
        let mut runs: Vec<Vec<[f64; 2]>> = vec![];
        // A point without neighbours is a run of its own, so that it can be marked.
        let single = |at: usize| self.contains(points[at]);
        for (i, pair) in points.windows(2).enumerate() {
            let Some([start, end]) = self.segment(pair[0], pair[1]) else {
                let isolated = single(i) && runs.last().is_none_or(|run| run.last() != Some(&pair[0]));
                runs.extend(isolated.then(|| vec![pair[0]]));
                continue;
            };
            match runs.last_mut().filter(|run| run.last() == Some(&start)) {
                Some(run) => run.push(end),
                None => runs.push(vec![start, end]),
            }
        }
        if let Some(last) = points.last().filter(|_| single(points.len() - 1))
            && runs.last().is_none_or(|run| run.last() != Some(last))
        {
            runs.push(vec![*last]);
        }
        runs
    }

    /// The columns (x, low, high) of an area between two lines, cut to the rectangle: new columns are where a line
    /// crosses an edge. Ascending x; no coordinate may be NaN.
    pub fn area(&self, columns: &[[f64; 3]]) -> Vec<[f64; 3]> {
        let is_inside = |c: &[f64; 3]| self.contains([c[0], c[1]]) && self.contains([c[0], c[2]]);
        if columns.iter().all(is_inside) {
            return columns.to_vec();
        }
        let mut out: Vec<[f64; 3]> = vec![];
        for pair in columns.windows(2) {
            let (a, b) = (pair[0].map(near), pair[1].map(near));
            let mut cuts = vec![(0.0, a), (1.0, b)];
            for (k, ends) in [(0, self.x), (1, self.y), (2, self.y)] {
                for end in ends.into_iter().filter(|end| (a[k] < *end) != (b[k] < *end)) {
                    let t = (end - a[k]) / (b[k] - a[k]);
                    let mut column = lerp(a, b, t);
                    column[k] = end;
                    // Cuts go before the endpoint b, so that the stable sort keeps b last among equal positions.
                    cuts.insert(1, (t, column));
                }
            }
            cuts.sort_by(|p, q| p.0.total_cmp(&q.0));
            // A point that rounding left beside an edge counts as on it.
            let slack = (self.x[1] - self.x[0]) * 1e-9;
            let in_sight = |c: &[f64; 3]| c[0] >= self.x[0] - slack && c[0] <= self.x[1] + slack;
            for (_, c) in cuts.into_iter().filter(|(_, c)| in_sight(c)) {
                let within = |v: f64| v.clamp(self.y[0], self.y[1]);
                let column = [c[0].clamp(self.x[0], self.x[1]), within(c[1]), within(c[2])];
                if out.last() != Some(&column) {
                    out.push(column);
                }
            }
        }
        out
    }

    fn clamp_inside(&self, p: [f64; 2]) -> [f64; 2] {
        [p[0].clamp(self.x[0], self.x[1]), p[1].clamp(self.y[0], self.y[1])]
    }
}

impl From<Rect> for Window {
    fn from(rect: Rect) -> Self {
        let ends = |range: RangeInclusive<f32>| [f64::from(*range.start()), f64::from(*range.end())];
        Self { x: ends(rect.left()..=rect.right()), y: ends(rect.top()..=rect.bottom()) }
    }
}

fn near(v: f64) -> f64 {
    v.clamp(-MAX_COORDINATE, MAX_COORDINATE)
}

fn lerp<const N: usize>(a: [f64; N], b: [f64; N], t: f64) -> [f64; N] {
    std::array::from_fn(|k| a[k] * (1.0 - t) + b[k] * t)
}

/// A line without points that lie so close to the one before that neither the eye nor a renderer can separate them: the
/// direction between such two is meaningless. `nearest` is the limit, on each axis.
pub fn without_close_points(mut points: Vec<[f64; 2]>, nearest: [f64; 2]) -> Vec<[f64; 2]> {
    points.dedup_by(|p, last| (0..2).all(|k| (last[k] - p[k]).abs() < nearest[k]));
    points
}

/// Positions closer together than this count as the same on the screen, points.
pub const NEAREST: f64 = 1e-3;

/// The visible parts of a line, cut to what the painter shows.
fn visible_parts(painter: &Painter, points: &[Pos2]) -> Vec<Vec<Pos2>> {
    let window = Window::from(painter.clip_rect().expand(CLIP_MARGIN));
    let points: Vec<[f64; 2]> = points.iter().map(|p| [f64::from(p.x), f64::from(p.y)]).collect();
    let place = |p: &[f64; 2]| Pos2::new(p[0] as f32, p[1] as f32);
    let runs = window.polyline(&points).into_iter().map(|run| without_close_points(run, [NEAREST; 2]));
    runs.map(|run| run.iter().map(place).collect()).collect()
}

/// Paints a line. Only its visible part becomes a shape.
pub fn paint_line(painter: &Painter, points: &[Pos2], stroke: Stroke) {
    let parts = visible_parts(painter, points).into_iter().filter(|run| run.len() > 1);
    parts.for_each(|run| _ = painter.line(run, stroke));
}

/// Paints a dashed line. Only its visible part becomes dashes.
#[expect(clippy::disallowed_methods, reason = "the line is clipped first")]
pub fn paint_dashed(painter: &Painter, points: &[Pos2], stroke: Stroke, dash: f32, gap: f32) {
    visible_parts(painter, points).iter().for_each(|run| painter.extend(Shape::dashed_line(run, stroke, dash, gap)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WINDOW: Window = Window { x: [0.0, 1.0], y: [-2.0, 2.0] };

    /// Coordinates of every size, the impossible ones too.
    fn coordinate() -> impl Strategy<Value = f64> {
        prop_oneof![
            6 => -3.0..3.0f64,
            1 => -1e308..1e308f64,
            1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, -f64::MAX, 5e-324]),
        ]
    }

    proptest! {
        #[test]
        fn a_clipped_line_lies_inside_and_keeps_every_inner_point(
            points in prop::collection::vec([coordinate(), coordinate()], 0..40),
        ) {
            let runs = WINDOW.polyline(&points);
            prop_assert!(runs.iter().flatten().all(|p| WINDOW.contains(*p)), "{runs:?}");
            prop_assert!(runs.iter().map(Vec::len).sum::<usize>() <= 2 * points.len());
            prop_assert!(runs.iter().all(|r| !r.is_empty()));
            for p in points.iter().filter(|p| WINDOW.contains(**p)) {
                prop_assert!(runs.iter().flatten().any(|q| q == p), "{p:?} was lost");
            }
        }

        #[test]
        fn a_clipped_segment_lies_on_the_segment(a in [-9.0..9.0f64, -9.0..9.0f64], b in [-9.0..9.0f64, -9.0..9.0f64]) {
            let cross = |p: [f64; 2]| (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]);
            if let Some(part) = WINDOW.segment(a, b) {
                prop_assert!(part.iter().all(|p| cross(*p).abs() < 1e-9 && WINDOW.contains(*p)), "{part:?}");
            } else {
                let seen = (0..=1000).map(|i| i as f64 / 1000.0).find(|t| {
                    WINDOW.contains([a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])])
                });
                prop_assert_eq!(seen, None);
            }
        }

        #[test]
        fn a_clipped_area_is_unchanged_inside_the_window(
            rows in prop::collection::vec((0.01..0.5f64, -6.0..6.0f64, 0.0..6.0f64), 2..12), at in 0.001..0.999f64,
        ) {
            let mut x = -0.7;
            let columns: Vec<[f64; 3]> = rows.iter().map(|(dx, low, more)| { x += dx; [x, *low, low + more] }).collect();
            let cut = WINDOW.area(&columns);
            prop_assert!(cut.iter().all(|c| WINDOW.contains([c[0], c[1]]) && WINDOW.contains([c[0], c[2]])));
            let heights = |columns: &[[f64; 3]]| columns.windows(2).find(|p| p[0][0] <= at && at <= p[1][0]).map(|p| {
                let t = (at - p[0][0]) / (p[1][0] - p[0][0]).max(1e-300);
                [1, 2].map(|k| (p[0][k] * (1.0 - t) + p[1][k] * t).clamp(-2.0, 2.0))
            });
            match (heights(&columns), heights(&cut)) {
                (Some(a), Some(b)) => prop_assert!((a[0] - b[0]).abs() + (a[1] - b[1]).abs() < 1e-6, "{a:?} {b:?}"),
                (a, b) => prop_assert_eq!(a, b),
            }
        }
    }

    #[test]
    fn a_line_inside_stays_as_it_is() {
        let line = vec![[0.1, 0.0], [0.2, 1.5], [0.2, 1.5], [0.9, -2.0]];
        assert_eq!(WINDOW.polyline(&line), vec![line.clone()]);
    }

    #[test]
    fn a_point_on_the_one_before_is_left_out() {
        let line = vec![[0.0, 0.0], [0.0, 1e-5], [1.0, 0.0], [1.0, 0.0], [f64::NAN, 0.0], [1.0, 0.0]];
        assert_eq!(without_close_points(line, [1e-3; 2]).len(), 4);
    }

    #[test]
    fn a_line_that_leaves_and_returns_is_split() {
        let line = [[0.1, 0.0], [0.1, 9.0], [0.5, 9.0], [0.5, 0.0], [f64::NAN, 0.0], [0.7, 0.0]];
        let runs = WINDOW.polyline(&line);
        assert_eq!(runs, [vec![[0.1, 0.0], [0.1, 2.0]], vec![[0.5, 2.0], [0.5, 0.0]], vec![[0.7, 0.0]]]);
    }
}
