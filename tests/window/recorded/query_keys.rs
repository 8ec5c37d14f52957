//! Random queries and keys of one head along a text, evolved by the integrator that a model uses.

use orrery::{
    analysis::query_key_flow::{Evolution, Force, Integrator, PhasePoint},
    telemetry::{
        Array,
        measurements::{IntegrationScheme, QueryKeyEvolution, QueryKeyPaths},
    },
};

use super::Noise;

/// Width of the head.
const WIDTH: usize = 8;
pub const TEXT: &str = "The ferry left Harrow quay at dawn.";

/// The integrator's scheme, step length and number of steps.
#[derive(Clone, Copy)]
pub struct Steps {
    pub scheme: IntegrationScheme,
    pub dt: f64,
    pub steps: usize,
}

impl Default for Steps {
    fn default() -> Self {
        Self { scheme: IntegrationScheme::Leapfrog, dt: 0.31, steps: 5 }
    }
}

/// The paths at a training step; each step draws different weights.
pub fn paths(step: u64, by: Steps) -> QueryKeyPaths {
    let mut noise = Noise::new(step + 41);
    let mut numbers = |n: usize, size: f64| (0..n).map(|_| (size * noise.next()) as f32).collect::<Vec<f32>>();
    let (first, second) = (numbers(WIDTH * WIDTH, 0.5), numbers(WIDTH * WIDTH, 0.6));
    let tokens = TEXT.chars().count();
    let (start_q, start_k) = (numbers(tokens * WIDTH, 0.8), numbers(tokens * WIDTH, 0.6));
    let force = Force::learned(&first, &second, WIDTH).unwrap();
    let integrator = match by.scheme {
        IntegrationScheme::Euler => Integrator::Euler,
        IntegrationScheme::Leapfrog => Integrator::Leapfrog,
    };
    let evolution = Evolution { force: &force, integrator, dt: by.dt };
    let wide = |row: &[f32]| row.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>();
    let (mut end_q, mut end_k) = (vec![], vec![]);
    for (q, k) in start_q.chunks(WIDTH).zip(start_k.chunks(WIDTH)) {
        let mut point = PhasePoint::new(wide(q), wide(k));
        (0..by.steps).for_each(|_| evolution.step(&mut point));
        end_q.extend(point.q.iter().map(|v| *v as f32));
        end_k.extend(point.k.iter().map(|v| *v as f32));
    }
    let rows = |data: Vec<f32>| Array::new([tokens, WIDTH], data).unwrap();
    let weight = |data: Vec<f32>| Array::new([WIDTH, WIDTH], data).unwrap();
    QueryKeyPaths {
        is_typed: false,
        layer: 0,
        head: 0,
        heads: 4,
        evolves: vec![true; 4],
        evolution: Some(QueryKeyEvolution {
            start_q: rows(start_q),
            start_k: rows(start_k),
            end_q: rows(end_q),
            end_k: rows(end_k),
            first: weight(first),
            second: weight(second),
            dt: by.dt,
            steps: by.steps,
            scheme: by.scheme,
        }),
    }
}

/// The measurement of a variant whose queries and keys do not evolve between projection and score.
pub fn as_projected() -> QueryKeyPaths {
    QueryKeyPaths { heads: 0, evolves: vec![false; 4], evolution: None, ..paths(0, Steps::default()) }
}
