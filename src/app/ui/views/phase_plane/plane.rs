//! Projects the phase space of queries and keys onto a plane: the coordinates of a point, and the field within the plane.

use crate::{
    analysis::{
        pca,
        query_key_flow::{Force, PhasePoint},
    },
    gpu::particles::VectorField,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaneChoice {
    /// One coordinate of q against the same of k; `None`: the one that varies most.
    Pair(Option<usize>),
    /// The two directions in which starts and ends differ most.
    Principal,
}

/// A plane in the space of q and k: two orthogonal unit vectors, and a point that fixes all other coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct Plane {
    /// 2d numbers, q before k.
    base: Vec<f64>,
    axes: [Vec<f64>; 2],
    pub names: [String; 2],
    /// Share of the points' variance along each axis, 0..1; `None` for a space that is the plane.
    pub shares: Option<[f64; 2]>,
    /// The coordinate of a pair.
    pub coordinate: Option<usize>,
}

/// Samples of the field along each side.
const SIDE_SAMPLES: usize = 29;

impl Plane {
    /// The plane of a system with one q and one k, which is its whole phase space.
    pub fn phase_space() -> Self {
        Self {
            base: vec![0.0; 2],
            axes: [vec![1.0, 0.0], vec![0.0, 1.0]],
            names: ["q".to_owned(), "k".to_owned()],
            shares: None,
            coordinate: None,
        }
    }

    /// Fits a plane to the points that are finite. `width` is d.
    pub fn fit(points: &[&PhasePoint], width: usize, choice: PlaneChoice) -> Self {
        let rows: Vec<Vec<f64>> = points.iter().filter(|p| p.is_finite()).map(|p| p.coordinates().collect()).collect();
        let count = rows.len().max(1) as f64;
        let mean: Vec<f64> = (0..2 * width).map(|i| rows.iter().map(|r| r[i]).sum::<f64>() / count).collect();
        let centred: Vec<Vec<f64>> =
            rows.iter().map(|row| row.iter().zip(&mean).map(|(v, m)| v - m).collect()).collect();
        match choice {
            PlaneChoice::Pair(chosen) => Self::pair(mean, &centred, width, chosen),
            PlaneChoice::Principal => Self::from_principal_components(mean, &centred, width),
        }
    }

    fn pair(mean: Vec<f64>, centred: &[Vec<f64>], width: usize, chosen: Option<usize>) -> Self {
        let variance: Vec<f64> = (0..2 * width).map(|i| centred.iter().map(|r| r[i] * r[i]).sum()).collect();
        let total: f64 = variance.iter().sum();
        let both = |i: usize| variance[i] + variance[width + i];
        let widest = (0..width).fold(0, |best, i| if both(i) > both(best) { i } else { best });
        let i = chosen.unwrap_or(widest).min(width.saturating_sub(1));
        let (x, y) = (i, width + i);
        let share = |v: f64| if total > 0.0 { v / total } else { 0.0 };
        let unit = |at: usize| (0..2 * width).map(|j| f64::from(j == at)).collect();
        let mut base = mean;
        (base[x], base[y]) = (0.0, 0.0);
        Self {
            base,
            axes: [unit(x), unit(y)],
            names: [format!("q[{i}]"), format!("k[{i}]")],
            shares: Some([share(variance[x]), share(variance[y])]),
            coordinate: Some(i),
        }
    }

    fn from_principal_components(mean: Vec<f64>, centred: &[Vec<f64>], width: usize) -> Self {
        let found = pca::components(centred, 2 * width, 2);
        if found.len() < 2 {
            // Points that differ in no two directions span no plane.
            return Self::pair(mean, centred, width, None);
        }
        let shares = [found[0].explained_variance, found[1].explained_variance];
        let axes = [found[0].direction.clone(), found[1].direction.clone()];
        let names = ["component 1".to_owned(), "component 2".to_owned()];
        Self { base: mean, axes, names, shares: Some(shares), coordinate: None }
    }

    pub fn project(&self, point: &PhasePoint) -> [f64; 2] {
        let along =
            |axis: &[f64]| point.coordinates().zip(&self.base).zip(axis).map(|((v, b), a)| (v - b) * a).sum::<f64>();
        [along(&self.axes[0]), along(&self.axes[1])]
    }

    /// The point of phase space at a position in the plane.
    fn embed(&self, [x, y]: [f64; 2]) -> PhasePoint {
        let [u, v] = &self.axes;
        let all: Vec<f64> = self.base.iter().zip(u).zip(v).map(|((b, u), v)| b + x * u + y * v).collect();
        let (q, k) = all.split_at(all.len() / 2);
        PhasePoint::new(q, k)
    }

    /// (k, f(q)) at points of a patch (left, right, low, high), projected back, in its sides; `None` without an extent.
    pub fn field(&self, force: &Force, [x0, x1, y0, y1]: [f32; 4]) -> Option<VectorField> {
        let (wide, high) = (f64::from(x1) - f64::from(x0), f64::from(y1) - f64::from(y0));
        if !(wide > 0.0 && high > 0.0 && wide.is_finite() && high.is_finite()) {
            return None;
        }
        let share = |i: usize| i as f64 / (SIDE_SAMPLES - 1) as f64;
        let velocity = |i: usize| {
            let (col, row) = (share(i % SIDE_SAMPLES), share(i / SIDE_SAMPLES));
            let place = [f64::from(x0) + col * wide, f64::from(y0) + row * high];
            let point = self.embed(place);
            let moving = PhasePoint::new(point.k, force.at(&point.q));
            let along = |axis: &[f64]| moving.coordinates().zip(axis).map(|(v, a)| v * a).sum::<f64>();
            [(along(&self.axes[0]) / wide) as f32, (along(&self.axes[1]) / high) as f32]
        };
        let data = (0..SIDE_SAMPLES * SIDE_SAMPLES).map(velocity).collect();
        Some(VectorField { rows: SIDE_SAMPLES, cols: SIDE_SAMPLES, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> Vec<PhasePoint> {
        // q[1] and k[1] vary most, and their mean is not zero.
        [[0.1, 3.0], [-0.1, 1.0], [0.0, 2.0]].iter().map(|q| PhasePoint::new(*q, [q[0], 2.0 * q[1]])).collect()
    }

    #[test]
    fn the_pair_that_varies_most_is_taken_and_its_values_are_the_coordinates() {
        let points = points();
        let plane = Plane::fit(&points.iter().collect::<Vec<_>>(), 2, PlaneChoice::Pair(None));
        assert_eq!((plane.coordinate, plane.names[1].as_str()), (Some(1), "k[1]"));
        assert_eq!(plane.project(&points[0]), [3.0, 6.0]);
        let [q, k] = plane.shares.unwrap();
        assert!(k > q && q + k > 0.99 && q + k < 1.0, "{q} {k}");
        assert_eq!(plane.embed([3.0, 6.0]).q[1], 3.0);
        assert!(plane.embed([3.0, 6.0]).q[0].abs() < 1e-12, "through the mean");
        let first = Plane::fit(&points.iter().collect::<Vec<_>>(), 2, PlaneChoice::Pair(Some(0)));
        assert_eq!(first.project(&points[0]), [0.1, 0.1]);
    }

    #[test]
    fn a_place_of_the_principal_plane_embeds_onto_itself() {
        let points = points();
        let plane = Plane::fit(&points.iter().collect::<Vec<_>>(), 2, PlaneChoice::Principal);
        let [x, y] = plane.project(&plane.embed([0.7, -0.4]));
        assert!((x - 0.7).abs() < 1e-9 && (y + 0.4).abs() < 1e-9, "{x} {y}");
        let lost = PhasePoint::new([f64::NAN, 0.0], [0.0, 0.0]);
        let with_lost: Vec<&PhasePoint> = points.iter().chain([&lost]).collect();
        assert_eq!(Plane::fit(&with_lost, 2, PlaneChoice::Principal), plane);
        let none = Plane::fit(&[&points[0]], 2, PlaneChoice::Principal);
        assert!(none.coordinate.is_some(), "one point spans no plane");
    }

    #[test]
    fn the_field_of_the_harmonic_toy_turns_clockwise() {
        let field = Plane::phase_space().field(&Force::Harmonic, [-1.0, 1.0, -2.0, 2.0]).unwrap();
        let at = |x: usize, y: usize| field.data[y * SIDE_SAMPLES + x];
        assert_eq!(at(SIDE_SAMPLES - 1, SIDE_SAMPLES / 2), [0.0, -0.25], "right of the middle it goes down");
        assert_eq!(at(SIDE_SAMPLES / 2, SIDE_SAMPLES - 1), [1.0, 0.0], "above, to the right");
        assert!(Plane::phase_space().field(&Force::Harmonic, [0.0, 0.0, 0.0, 1.0]).is_none());
        assert!(Plane::phase_space().field(&Force::Harmonic, [f32::NAN, 1.0, 0.0, 1.0]).is_none());
    }
}
