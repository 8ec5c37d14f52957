//! Properties of the integrators, in f64.

use super::*;

/// Returns numbers of about unit size, which are the same for the same seed.
fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64 * 3.0 - 1.5
    };
    (0..count).map(|_| next()).collect()
}

fn random_force(seed: u64, d: usize) -> Force {
    let weights = |seed| numbers(seed, d * d).iter().map(|v| (v / (d as f64).sqrt()) as f32).collect::<Vec<f32>>();
    Force::learned(&weights(seed), &weights(seed + 100), d).unwrap()
}

fn random_point(seed: u64, d: usize) -> PhasePoint {
    PhasePoint::new(numbers(seed + 7, d), numbers(seed + 8, d))
}

const WIDTHS: [usize; 4] = [1, 3, 16, 32];

fn new_evolution(force: &Force, integrator: Integrator, dt: f64) -> Evolution<'_> {
    Evolution { force, integrator, dt }
}

#[test]
fn leapfrog_comes_back_and_euler_does_not() {
    for (seed, d) in WIDTHS.into_iter().enumerate() {
        let (force, start) = (random_force(seed as u64 + 1, d), random_point(seed as u64, d));
        let error = |integrator| new_evolution(&force, integrator, 0.1).reversibility_error(&start, 20).unwrap();
        assert!(error(Integrator::Leapfrog) < 1e-10, "d {d}: {}", error(Integrator::Leapfrog));
        assert!(error(Integrator::Euler) > 1e-4, "d {d}: {}", error(Integrator::Euler));
    }
}

#[test]
fn leapfrog_keeps_volume_and_euler_does_not() {
    for (seed, d) in WIDTHS.into_iter().enumerate() {
        let (force, start) = (random_force(seed as u64 + 1, d), random_point(seed as u64, d));
        let factor = |integrator| {
            let evolution = new_evolution(&force, integrator, 0.3);
            evolution.volume_factor(&evolution.path(&start, 7))
        };
        assert!((factor(Integrator::Leapfrog) - 1.0).abs() < 1e-10, "d {d}: {}", factor(Integrator::Leapfrog));
        assert!((factor(Integrator::Euler) - 1.0).abs() > 1e-4, "d {d}: {}", factor(Integrator::Euler));
    }
}

#[test]
fn eulers_determinant_is_that_of_its_schur_complement() {
    for (seed, d) in WIDTHS.into_iter().enumerate() {
        let (force, point) = (random_force(seed as u64 + 1, d), random_point(seed as u64, d));
        let dt = 0.2;
        let whole = new_evolution(&force, Integrator::Euler, dt).step_determinant(&point);
        let complement = Matrix::identity(d).plus(&force.jacobian(&point.q).scaled(-dt * dt)).determinant();
        assert!((whole - complement).abs() < 1e-12, "d {d}: {whole} and {complement}");
    }
}

#[test]
fn jacobians_are_those_of_differences() {
    let h = 1e-6;
    let forces = [random_force(3, 5), Force::Harmonic, Force::DoubleWell];
    let point = random_point(4, 5);
    for (force, integrator) in forces.iter().flat_map(|f| Integrator::ALL.map(|i| (f, i))) {
        let evolution = new_evolution(force, integrator, 0.4);
        let jacobian = evolution.step_jacobian(&point);
        for column in 0..10 {
            let moved = |by: f64| {
                let mut p = point.clone();
                let coordinate = p.q.iter_mut().chain(&mut p.k).nth(column).unwrap();
                *coordinate += by;
                evolution.step(&mut p);
                p.coordinates().collect::<Vec<f64>>()
            };
            for (row, (up, down)) in moved(h).into_iter().zip(moved(-h)).enumerate() {
                let slope = (up - down) / (2.0 * h);
                assert!((jacobian.row(row)[column] - slope).abs() < 1e-8, "{force:?} {integrator:?} {row} {column}");
            }
        }
    }
}

#[test]
fn forces_of_potentials_are_their_negative_gradients() {
    let (q, h) = (numbers(5, 4), 1e-6);
    for force in [Force::Harmonic, Force::DoubleWell] {
        for (i, f) in force.at(&q).into_iter().enumerate() {
            let moved = |by: f64| {
                let mut q = q.clone();
                q[i] += by;
                force.potential(&q).unwrap()
            };
            assert!((f + (moved(h) - moved(-h)) / (2.0 * h)).abs() < 1e-8, "{force:?}");
        }
    }
    assert_eq!(random_force(1, 4).potential(&q), None);
}

#[test]
fn eulers_energy_grows_and_leapfrogs_stays() {
    for (force, start) in [(Force::Harmonic, 1.0), (Force::DoubleWell, 1.3)] {
        let start = PhasePoint::new([start], [0.0]);
        let drift = |integrator, steps| {
            let evolution = new_evolution(&force, integrator, 0.1);
            evolution.energy_drift(&evolution.path(&start, steps)).unwrap()
        };
        let (short, long) = (drift(Integrator::Euler, 100), drift(Integrator::Euler, 200));
        assert!(short > 0.05 && long > 1.5 * short, "{force:?}: {short}, then {long}");
        let (short, long) = (drift(Integrator::Leapfrog, 100), drift(Integrator::Leapfrog, 10_000));
        assert!(long.abs() < 5e-3 && long.abs() < 1.1 * short.abs(), "{force:?}: {short}, then {long}");
    }
}

#[test]
fn eulers_spiral_grows_by_the_known_factor() {
    let evolution = new_evolution(&Force::Harmonic, Integrator::Euler, 0.15);
    let path = evolution.path(&PhasePoint::new([1.0], [0.0]), 90);
    let (factor, radius) = (1.0 + 0.15f64.powi(2), path.end().unwrap().distance(&PhasePoint::new([0.0], [0.0])));
    assert!((radius - factor.powf(45.0)).abs() < 1e-9, "{radius}");
    assert!((evolution.volume_factor(&path) - factor.powi(90)).abs() < 1e-9);
}

#[test]
fn no_step_is_the_identity() {
    let (force, start) = (random_force(2, 6), random_point(2, 6));
    for integrator in Integrator::ALL {
        let evolution = new_evolution(&force, integrator, 0.1);
        let path = evolution.path(&start, 0);
        assert_eq!((path.points.as_slice(), path.overflows_at), ([start.clone()].as_slice(), None));
        assert_eq!(evolution.reversibility_error(&start, 0), Some(0.0));
        assert_eq!(evolution.volume_factor(&path), 1.0);
        assert_eq!(evolution.end(&start, 0), Some(start.clone()));
    }
}

#[test]
fn an_overflow_is_reported_with_its_step() {
    for integrator in Integrator::ALL {
        let evolution = new_evolution(&Force::Harmonic, integrator, 1e6);
        let path = evolution.path(&PhasePoint::new([1.0], [0.5]), 100);
        let at = path.overflows_at.unwrap();
        assert!(at > 1 && path.points.len() == at && path.points.iter().all(PhasePoint::is_finite), "{path:?}");
        assert_eq!((path.end(), evolution.end(&path.points[0], 100)), (None, None));
        assert_eq!(evolution.reversibility_error(&path.points[0], 100), None);
        assert_eq!(evolution.path(&PhasePoint::new([f64::NAN], [0.0]), 3).overflows_at, Some(0));
    }
}

#[test]
fn weights_of_another_size_are_refused() {
    let words = Force::learned(&[0.0; 4], &[0.0; 5], 2).unwrap_err().to_string();
    assert!(words.contains("2 x 2") && words.contains("4 and 5"), "{words}");
    assert!(Force::learned(&[], &[], usize::MAX).is_err());
}

#[test]
fn a_polygons_area_has_the_sign_of_its_winding() {
    let square = [[0.0, 0.0], [2.0, 0.0], [2.0, 3.0], [0.0, 3.0]];
    assert_eq!(enclosed_area(&square), 6.0);
    assert_eq!(enclosed_area(&[square[3], square[2], square[1], square[0]]), -6.0);
    assert_eq!(enclosed_area(&[]), 0.0);
}

#[test]
fn determinants_of_known_matrices() {
    let m = |side, data: &[f64]| Matrix::new(side, data.to_vec());
    assert_eq!(m(2, &[0.0, 1.0, 1.0, 0.0]).determinant(), -1.0, "rows change places");
    assert!((m(3, &[2.0, 0.0, 1.0, 1.0, 3.0, 2.0, 1.0, 1.0, 4.0]).determinant() - 18.0).abs() < 1e-12);
    assert_eq!(m(2, &[1.0, 2.0, 2.0, 4.0]).determinant(), 0.0);
    assert!(m(1, &[f64::INFINITY]).determinant().is_nan());
    assert_eq!(Matrix::identity(0).determinant(), 1.0);
}
