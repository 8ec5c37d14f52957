//! The relaxation of a distribution under a generator: forward Euler, the exact flow, and single particles.

use super::{ControlledModel, GeneratorQuery};
use crate::{
    analysis::generator::{Relaxation, classes, closed_classes, euler, exact, limit, paths, second_modulus, spectrum},
    probe::prelude::*,
};

/// The number of simulated particles, and of those whose paths are in the measurement.
const PARTICLES: usize = 500;
const SHOWN_PATHS: usize = 3;

impl Probe for GeneratorFlowArgs {
    type Answer = GeneratorFlow;
    type Subject<'m> = ControlledModel<'m>;
    const MAY_NEED_NO_WEIGHTS: bool = true;

    fn untrained_subject(model: &dyn Trainable) -> Option<ControlledModel<'_>> {
        ControlledModel::untrained(model)
    }

    fn ask(&self, model: ControlledModel<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let asked = GeneratorQuery::new(model, &self.generator, cx)?;
        let (a, n) = (&asked.generator, asked.generator.len());
        let (share, steps) = (self.dt, self.steps);
        let start = self.start.min(n).checked_sub(1);
        let x0: Vec<f64> = match start {
            Some(state) => (0..n).map(|k| f64::from(u8::from(k == state))).collect(),
            None => vec![1.0 / n as f64; n],
        };
        // Without any rate nothing moves, whatever the step.
        let bound = a.step_bound();
        let dt = share * if bound.is_finite() { bound } else { 1.0 };
        let classes = classes(a);
        let kernel = closed_classes(&classes);
        let limit = limit(a, &classes, &x0);
        let spectrum = spectrum(a, kernel);
        let (stepped, flow) = (euler(a, &x0, dt, steps, &limit), exact(a, &x0, dt, steps, &limit));
        let states = flow.states.iter().flatten().map(|p| *p as f32).collect();
        let particles = paths(a, &x0, dt, steps, PARTICLES, cx.seed);
        let about = format!("{}, {} steps of {share:.2} of the bound", asked.about(), steps);
        let measured = GeneratorFlow {
            dt,
            step_bound: bound,
            start,
            kernel,
            limit: limit.into(),
            euler_slope: spectrum.as_ref().map_or(f64::NAN, |s| second_modulus(s, dt).ln()),
            exact_slope: spectrum.map_or(f64::NAN, |s| -s.gap * dt),
            euler: curves(&stepped),
            sampling_error: sampling_error(&particles, &flow).into(),
            distributions: Array::new([flow.states.len(), n], states)?,
            exact: curves(&flow),
            particles: PARTICLES,
            paths: particles.into_iter().take(SHOWN_PATHS).collect(),
        };
        Ok(Answer::new(measured, about, vec![]))
    }
}

fn curves(of: &Relaxation) -> RelaxationCurves {
    RelaxationCurves {
        error: of.error.clone().into(),
        residual: of.residual.clone().into(),
        entropy: of.entropy.clone().into(),
        excess_mass: of.mass.iter().map(|mass| mass - 1.0).collect(),
    }
}

/// The largest difference between the share of the particles in a state and its probability, by step.
fn sampling_error(particles: &[Vec<usize>], flow: &Relaxation) -> Vec<f64> {
    let at_step = |(k, p): (usize, &Vec<f64>)| {
        let mut counts = vec![0.0; p.len()];
        particles.iter().for_each(|path| counts[path[k]] += 1.0 / particles.len() as f64);
        counts.iter().zip(p).map(|(share, p)| (share - p).abs()).fold(0.0, f64::max)
    };
    flow.states.iter().enumerate().map(at_step).collect()
}
