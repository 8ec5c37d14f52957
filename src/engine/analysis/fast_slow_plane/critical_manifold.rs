//! The critical manifold f = 0, traced by marching squares and parted at its folds into attracting and repelling
//! branches.

use std::collections::{BTreeMap, btree_map::Entry};

use super::{Bounds, FastSlowPlane, PlaneError, Point};

/// Cells along each side.
const GRID_CELLS: usize = 120;
const BISECTIONS: usize = 48;

/// A connected part of the manifold on which f_x has one sign.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// True if f_x < 0, so that the branch attracts nearby states.
    pub is_stable: bool,
    /// The points of the branch in the order along the curve.
    pub points: Vec<Point>,
}

/// The curve f = 0 inside the given bounds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CriticalManifold {
    /// The branches on which the stability does not change.
    pub branches: Vec<Branch>,
    /// f = f_x = 0 with a change of stability.
    pub folds: Vec<Point>,
}

/// An edge of the grid by its lower left corner; `upright` for the one that goes up.
type GridEdge = (usize, usize, bool);

/// A cell whose corners differ in sign: its edges that are crossed, in pairs.
struct Crossings {
    places: BTreeMap<GridEdge, Point>,
    pairs: Vec<[GridEdge; 2]>,
}

impl CriticalManifold {
    /// Traces it. Errors: f or g without a finite value somewhere inside, a pole of f, an f without x.
    pub fn trace(plane: &FastSlowPlane, bounds: &Bounds) -> Result<Self, PlaneError> {
        let crossings = crossings(plane, bounds)?;
        let mut manifold = Self::default();
        for line in polylines(&crossings) {
            manifold.append_branches(plane, bounds, &line)?;
        }
        Ok(manifold)
    }

    /// Appends a line, parted where f_x changes its sign.
    fn append_branches(&mut self, plane: &FastSlowPlane, bounds: &Bounds, line: &[Point]) -> Result<(), PlaneError> {
        let slopes: Vec<f64> = line.iter().map(|p| plane.f_x(*p)).collect();
        if let Some(at) = slopes.iter().position(|s| !s.is_finite()) {
            return Err(not_finite("f_x", line[at], bounds));
        }
        let mut points = vec![line[0]];
        for i in 1..line.len() {
            if (slopes[i - 1] < 0.0) != (slopes[i] < 0.0) {
                let fold = fold_between(plane, line[i - 1], line[i]);
                points.push(fold);
                self.branches.push(Branch { is_stable: slopes[i - 1] < 0.0, points: std::mem::take(&mut points) });
                self.folds.push(fold);
                points.push(fold);
            }
            points.push(line[i]);
        }
        let is_stable = slopes.last().is_some_and(|s| *s < 0.0);
        self.branches.push(Branch { is_stable, points });
        Ok(())
    }
}

fn not_finite(formula: &'static str, [x, y]: Point, bounds: &Bounds) -> PlaneError {
    PlaneError::NotFinite { formula, x, y, from: bounds.x[0], to: bounds.x[1] }
}

/// The points at which f = 0 crosses the edges of the grid.
fn crossings(plane: &FastSlowPlane, bounds: &Bounds) -> Result<Crossings, PlaneError> {
    let share = |i: usize| i as f64 / GRID_CELLS as f64;
    let corner = |i: usize, j: usize| bounds.at(share(i), share(j));
    let mut values = vec![0.0; (GRID_CELLS + 1) * (GRID_CELLS + 1)];
    let mut is_fast = false;
    for j in 0..=GRID_CELLS {
        for i in 0..=GRID_CELLS {
            let p = corner(i, j);
            let f = plane.f(p);
            for (formula, value) in [("f", f), ("g", plane.g(p))] {
                ensure!(value.is_finite(), not_finite(formula, p, bounds));
            }
            values[j * (GRID_CELLS + 1) + i] = f;
            is_fast |= i > 0 && f != values[j * (GRID_CELLS + 1) + i - 1];
        }
    }
    ensure!(is_fast, PlaneError::NoFastVariable);
    let is_above = |i: usize, j: usize| values[j * (GRID_CELLS + 1) + i] >= 0.0;
    let mut found = Crossings { places: BTreeMap::new(), pairs: vec![] };
    for (i, j) in (0..GRID_CELLS).flat_map(|j| (0..GRID_CELLS).map(move |i| (i, j))) {
        // The neighbours below, right, above and left, with the corners that each edge joins.
        let around = [
            ((i, j, false), (i, j), (i + 1, j)),
            ((i + 1, j, true), (i + 1, j), (i + 1, j + 1)),
            ((i, j + 1, false), (i, j + 1), (i + 1, j + 1)),
            ((i, j, true), (i, j), (i, j + 1)),
        ];
        let mut crossed = vec![];
        for (edge, from, to) in around {
            if is_above(from.0, from.1) != is_above(to.0, to.1) {
                if let Entry::Vacant(place) = found.places.entry(edge) {
                    place.insert(root_between(plane, corner(from.0, from.1), corner(to.0, to.1))?);
                }
                crossed.push(edge);
            }
        }
        match crossed[..] {
            [a, b] => found.pairs.push([a, b]),
            [below, right, above, left] => {
                // A saddle: the value in its middle says which corners are joined.
                let centre = |k: usize| (k as f64 + 0.5) / GRID_CELLS as f64;
                let middle = plane.f(bounds.at(centre(i), centre(j)));
                let joins_lower_left = (middle >= 0.0) == is_above(i, j);
                let pairs =
                    if joins_lower_left { [[below, right], [above, left]] } else { [[below, left], [above, right]] };
                found.pairs.extend(pairs);
            }
            _ => {}
        }
    }
    Ok(found)
}

fn between([a, b]: Point, [c, d]: Point, share: f64) -> Point {
    [a + share * (c - a), b + share * (d - b)]
}

/// The place on a segment where a condition that holds at its beginning ceases to hold, to rounding.
fn bisected(from: Point, to: Point, holds: impl Fn(Point) -> bool) -> Point {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        if holds(between(from, to, middle)) { low = middle } else { high = middle }
    }
    between(from, to, f64::midpoint(low, high))
}

/// The zero of f on a segment whose ends differ in sign; an error where the sign changes without one.
fn root_between(plane: &FastSlowPlane, from: Point, to: Point) -> Result<Point, PlaneError> {
    let (first, last) = (plane.f(from), plane.f(to));
    let root = bisected(from, to, |p| (plane.f(p) >= 0.0) == (first >= 0.0));
    let rest = plane.f(root).abs();
    if rest <= first.abs().max(last.abs()) {
        return Ok(root);
    }
    Err(PlaneError::Pole { formula: "f", x: root[0], y: root[1] })
}

fn polylines(crossings: &Crossings) -> Vec<Vec<Point>> {
    let mut at_edge: BTreeMap<GridEdge, Vec<usize>> = BTreeMap::new();
    for (number, pair) in crossings.pairs.iter().enumerate() {
        pair.iter().for_each(|edge| at_edge.entry(*edge).or_default().push(number));
    }
    let mut is_taken = vec![false; crossings.pairs.len()];
    // Follows a line from an edge through pairs that no line contains yet.
    let mut follow = |mut edge: GridEdge| {
        let mut line = vec![edge];
        while let Some(number) = at_edge[&edge].iter().copied().find(|n| !is_taken[*n]) {
            is_taken[number] = true;
            let [a, b] = crossings.pairs[number];
            edge = if a == edge { b } else { a };
            line.push(edge);
        }
        line
    };
    // Lines that end at the border are followed first, from their ends; then the closed ones.
    let open: Vec<GridEdge> = at_edge.iter().filter(|(_, pairs)| pairs.len() == 1).map(|(edge, _)| *edge).collect();
    let mut lines: Vec<Vec<GridEdge>> = open.into_iter().map(&mut follow).collect();
    lines.extend(at_edge.keys().copied().map(&mut follow));
    let points = |line: Vec<GridEdge>| line.iter().map(|edge| crossings.places[edge]).collect();
    lines.into_iter().filter(|line| line.len() > 1).map(points).collect()
}

/// The fold between two points of the manifold, to rounding.
fn fold_between(plane: &FastSlowPlane, from: Point, to: Point) -> Point {
    let starts_stable = plane.f_x(from) < 0.0;
    projected(plane, bisected(from, to, |p| (plane.f_x(projected(plane, p)) < 0.0) == starts_stable))
}

/// Newton's method along the gradient of f, onto f = 0.
fn projected(plane: &FastSlowPlane, mut p: Point) -> Point {
    for _ in 0..8 {
        let (f, j) = (plane.f(p), plane.jacobian(p));
        let square = j.f_x * j.f_x + j.f_y * j.f_y;
        if square <= 0.0 || !square.is_finite() {
            return p;
        }
        p = [p[0] - f * j.f_x / square, p[1] - f * j.f_y / square];
    }
    p
}
