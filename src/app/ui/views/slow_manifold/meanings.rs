//! The two meanings of "manifold" that are constraints: doubly stochastic matrices (M1) and states of length 1 (M2),
//! each with points that are projected onto it. Neither has a fast or a slow variable.

use super::scene::paint_head;
use crate::{
    analysis::fast_slow_plane::{Bounds, Point},
    labs::equilibrium::slow_manifold::ManifoldMeaning,
    ui::views::{flow::sheet::Sheet, painting::*},
};

const N_POINTS: usize = 24;
/// Rounds of Sinkhorn's iteration: rows, then columns.
const SINKHORN_ITERATIONS: usize = 12;

pub fn explanation(meaning: ManifoldMeaning) -> &'static str {
    match meaning {
        ManifoldMeaning::Operator => {
            "M1 constrains an operator: Sinkhorn\u{2019}s iteration makes a positive matrix doubly stochastic, so that \
             mixing streams neither grows nor shrinks their sum. It says nothing about where a state comes to rest."
        }
        ManifoldMeaning::Sphere => {
            "M2 constrains a state: y is put back on |y| = 1, so that it stays bounded. It makes no equilibrium, and \
             nothing fast or slow."
        }
        ManifoldMeaning::Dynamical => {
            "M3 constrains nothing by hand: f(x, y) = 0 is where the fast x comes to rest by itself. It alone is what \
             the fast-slow reduction is about."
        }
    }
}

/// The plane of a picture: (m11, m22) of 2 x 2 matrices, or the two coordinates of a state.
pub fn bounds_of(meaning: ManifoldMeaning) -> Bounds {
    match meaning {
        ManifoldMeaning::Operator => Bounds { x: [0.0, 1.6], y: [0.0, 1.6] },
        ManifoldMeaning::Sphere | ManifoldMeaning::Dynamical => Bounds { x: [-2.0, 2.0], y: [-2.0, 2.0] },
    }
}

pub fn axes_of(meaning: ManifoldMeaning) -> [&'static str; 2] {
    match meaning {
        ManifoldMeaning::Operator => ["m\u{2081}\u{2081}", "m\u{2082}\u{2082}"],
        ManifoldMeaning::Sphere => ["y\u{2081}", "y\u{2082}"],
        ManifoldMeaning::Dynamical => ["x (fast)", "y (slow)"],
    }
}

/// The path of one point onto its manifold.
pub fn projections(meaning: ManifoldMeaning) -> Vec<Vec<Point>> {
    let bounds = bounds_of(meaning);
    (0..N_POINTS)
        .map(|i| {
            // Additive recurrence: even, and the same each time.
            let share = |k: f64| (0.5 + (i + 1) as f64 * k).fract();
            let at = |across: f64, up: f64| bounds.at(0.04 + 0.92 * across, 0.04 + 0.92 * up);
            let p = at(share(0.754_877_666), share(0.569_840_291));
            match meaning {
                ManifoldMeaning::Operator => {
                    let other = at(share(0.347_296_355), share(0.879_385_242));
                    sinkhorn([[p[0], other[0]], [other[1], p[1]]]).iter().map(|m| [m[0][0], m[1][1]]).collect()
                }
                ManifoldMeaning::Sphere | ManifoldMeaning::Dynamical => {
                    let length = p[0].hypot(p[1]);
                    vec![p, p.map(|v| v / length)]
                }
            }
        })
        .collect()
}

/// The iterates of a positive 2 x 2 matrix under alternate scaling of its rows and columns to the sum 1 (Sinkhorn and
/// Knopp, Pacific J. Math. 21 (1967) 343).
fn sinkhorn(matrix: [[f64; 2]; 2]) -> Vec<[[f64; 2]; 2]> {
    let mut all = vec![matrix];
    let mut m = matrix;
    for _ in 0..SINKHORN_ITERATIONS {
        m = m.map(|row| row.map(|v| v / (row[0] + row[1])));
        all.push(m);
        let sums = [m[0][0] + m[1][0], m[0][1] + m[1][1]];
        m = m.map(|row| [row[0] / sums[0], row[1] / sums[1]]);
        all.push(m);
    }
    all
}

pub fn paint(painter: &Painter, theme: &Theme, sheet: &Sheet, meaning: ManifoldMeaning) {
    for path in projections(meaning) {
        let line = sheet.line(&path);
        arrows(painter, &line, theme.fast);
        if let Some(start) = line.first() {
            painter.circle(*start, 3.0, theme.panel, Stroke::new(1.5, theme.secondary));
        }
        if let Some(end) = line.last() {
            painter.circle_filled(*end, 3.0, theme.accent);
        }
    }
    let manifold: Vec<Point> = match meaning {
        ManifoldMeaning::Operator => vec![[0.0, 0.0], [1.0, 1.0]],
        ManifoldMeaning::Sphere | ManifoldMeaning::Dynamical => {
            (0..=180).map(|i| std::f64::consts::TAU * f64::from(i) / 180.0).map(|t| [t.cos(), t.sin()]).collect()
        }
    };
    clip::paint_line(painter, &sheet.line(&manifold), Stroke::new(2.5, theme.text));
    if meaning == ManifoldMeaning::Operator {
        for corner in [[0.0, 0.0], [1.0, 1.0]] {
            paint_mark(painter, sheet.at(corner), Mark::Ring, theme.text);
        }
    }
}

/// A thin line with a head on its first segment, which is the longest.
fn arrows(painter: &Painter, line: &[Pos2], colour: Color32) {
    clip::paint_line(painter, line, Stroke::new(1.2, colour.gamma_multiply(0.8)));
    let [from, to, ..] = line else { return };
    let way = *to - *from;
    if way.length() > 14.0 {
        paint_head(painter, *from + way * 0.55, way.normalized(), 3.5, Stroke::new(1.2, colour));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sinkhorn_ends_doubly_stochastic() {
        let last = *sinkhorn([[0.2, 1.5], [0.7, 0.4]]).last().unwrap();
        for k in 0..2 {
            assert!((last[k][0] + last[k][1] - 1.0).abs() < 1e-6, "{last:?}");
            assert!((last[0][k] + last[1][k] - 1.0).abs() < 1e-6, "{last:?}");
        }
    }

    #[test]
    fn projected_points_end_on_their_manifold() {
        for path in projections(ManifoldMeaning::Operator) {
            let [a, b] = *path.last().unwrap();
            assert!((a - b).abs() < 0.01 && (0.0..=1.0).contains(&a), "{a} {b}");
        }
        for path in projections(ManifoldMeaning::Sphere) {
            assert!((path[1][0].hypot(path[1][1]) - 1.0).abs() < 1e-12);
        }
    }
}
