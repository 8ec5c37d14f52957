//! A random generator of twelve states, whose quantities are computed exactly, and made-up errors of a network that
//! learned it.

use orrery::{
    analysis::generator::{
        Relaxation, Topology, TopologySettings, classes, euler, exact, limit, paths, second_modulus, spectrum,
    },
    telemetry::{
        Array, Event,
        measurements::{
            GapBySize, GeneratorFlow, GeneratorState, RelaxationCurves, StateClass, StationaryMapError, TopologyGaps,
        },
    },
};

use super::measured;

const STATES: usize = 12;
const STEPS: usize = 100;

/// Appends the measurements of the first variant at these steps.
pub fn emit(events: &mut Vec<Event>, steps: &[u64]) {
    for &step in steps {
        measured(events, step, "12 states, y = (0.00, 0.00)", state(step), "");
        measured(events, step, "12 states, y = (0.00, 0.00), 100 steps of 0.50 of the bound", flow(), "");
        measured(events, step, "12 states, 512 held-out controls", map(step), "");
        measured(events, step, "mean of 4 draws at y = 0", gaps(), "");
    }
}

fn generator() -> orrery::analysis::generator::Generator {
    TopologySettings { topology: Topology::Random, states: STATES, sparsity: 0.3 }.draw(4).unwrap()
}

fn state(step: u64) -> GeneratorState {
    let a = generator();
    let all = classes(&a);
    let found = spectrum(&a, 1).unwrap();
    let learned = (-(step as f64) / 200.0).exp();
    let p = all[0].stationary.clone().unwrap();
    let even = 1.0 / STATES as f64;
    GeneratorState {
        control: vec![0.0, 0.0].into(),
        is_edited: false,
        matrix: Array::new([STATES, STATES], a.matrix().iter().map(|v| *v as f32).collect()).unwrap(),
        step_bound: a.step_bound(),
        classes: all
            .into_iter()
            .map(|c| StateClass { states: c.states, stationary: c.stationary.unwrap_or_default().into() })
            .collect(),
        eigenvalues: found.eigenvalues.iter().flatten().copied().collect(),
        gap: found.gap,
        predicted: p.iter().map(|p| p + learned * (even - p)).collect(),
        range: 1.0,
    }
}

fn curves(of: &Relaxation) -> RelaxationCurves {
    RelaxationCurves {
        error: of.error.clone().into(),
        residual: of.residual.clone().into(),
        entropy: of.entropy.clone().into(),
        excess_mass: of.mass.iter().map(|m| m - 1.0).collect(),
    }
}

fn flow() -> GeneratorFlow {
    let a = generator();
    let mut start = vec![0.0; STATES];
    start[0] = 1.0;
    let dt = 0.5 * a.step_bound();
    let end = limit(&a, &classes(&a), &start);
    let (stepped, exact) = (euler(&a, &start, dt, STEPS, &end), exact(&a, &start, dt, STEPS, &end));
    let found = spectrum(&a, 1).unwrap();
    let distributions = exact.states.iter().flatten().map(|p| *p as f32).collect();
    GeneratorFlow {
        dt,
        step_bound: a.step_bound(),
        start: Some(0),
        kernel: 1,
        limit: end.into(),
        euler_slope: second_modulus(&found, dt).ln(),
        exact_slope: -found.gap * dt,
        euler: curves(&stepped),
        exact: curves(&exact),
        distributions: Array::new([STEPS + 1, STATES], distributions).unwrap(),
        particles: 500,
        sampling_error: vec![0.02; STEPS + 1].into(),
        paths: paths(&a, &start, dt, STEPS, 3, 5),
    }
}

fn map(step: u64) -> StationaryMapError {
    let cells = 33;
    let learned = 0.002 + 0.2 * (-(step as f64) / 120.0).exp();
    let at = |i: usize| 4.0 * i as f32 / (cells - 1) as f32 - 2.0;
    let error = |cell: usize| {
        let (x, y) = (at(cell % cells), at(cell / cells));
        learned as f32 * (1.0 + 0.3 * (3.0 * x).sin() * (2.0 * y).cos()) + 0.03 * (x.abs().max(y.abs()) - 1.0).max(0.0)
    };
    StationaryMapError {
        range: 1.0,
        reach: 2.0,
        error: Array::new([cells, cells], (0..cells * cells).map(error).collect()).unwrap(),
        held_out: learned,
        held_out_largest: 0.2 * learned,
        outside: learned + 0.016,
        ignoring: 0.144,
    }
}

fn gaps() -> GapBySize {
    let sizes = vec![4, 8, 16, 32];
    let of = |name: &str, scale: f64, power: f64| TopologyGaps {
        name: name.to_owned(),
        gaps: sizes.iter().map(|n| scale * (*n as f64 / 4.0).powf(power)).collect(),
    };
    let topologies = vec![
        of("random", 3.0, 1.0),
        of("ring", 1.7, -2.0),
        of("birth-death", 0.4, -2.0),
        of("two clusters", 0.012, -1.0),
    ];
    GapBySize { sizes, topologies }
}
