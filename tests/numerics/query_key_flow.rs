//! Compares the evolution of queries and keys in f64 with the operation that models use.

use candle_core::{Device, Result, Tensor};
use orrery_lab::{
    analysis::query_key_flow::{Evolution, Force, Integrator, PhasePoint},
    nn::{
        fused::evolution::{self, EvolutionSizes, Scheme},
        host,
    },
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::op_checks::largest;

const HEADS: usize = 3;
const TOKENS: usize = 5;

fn random_values(seed: u64, count: usize, size: f32) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| rng.random_range(-size..size)).collect()
}

/// The largest difference, over tokens and heads, between an operation of `nn` and the flow in f64.
fn largest_difference(
    run: impl Fn(&Tensor, &Tensor, &Tensor, EvolutionSizes) -> Result<Tensor>,
    spec: EvolutionSizes,
) -> Result<f64> {
    let (h, d) = (spec.heads, spec.head_dim);
    let qkv = random_values(1, TOKENS * 3 * h * d, 2.0);
    let weights = random_values(2, 2 * d * d, 1.2 / (d as f32).sqrt());
    let tau = random_values(3, h, 0.5).into_iter().map(|t| t - 2.0).collect::<Vec<f32>>();
    let cpu = &Device::Cpu;
    let evolved = run(
        &Tensor::from_slice(&qkv, (1, TOKENS, 3 * h * d), cpu)?,
        &Tensor::from_slice(&weights, (2 * d, d), cpu)?,
        &Tensor::from_slice(&tau, h, cpu)?,
        spec,
    )?;
    let evolved = host::to_f64(&evolved)?;
    let force = Force::learned(&weights[..d * d], &weights[d * d..], d).expect("two weights of d x d");
    let integrator = match spec.scheme {
        Scheme::Euler => Integrator::Euler,
        Scheme::Leapfrog => Integrator::Leapfrog,
    };
    let mut most = 0.0f64;
    for (token, head) in (0..TOKENS).flat_map(|t| (0..h).map(move |h| (t, h))) {
        let part = |row: &dyn Fn(usize) -> f64, which: usize| -> Vec<f64> {
            (0..d).map(|i| row(token * 3 * h * d + (which * h + head) * d + i)).collect()
        };
        let (before, after) = (|i: usize| f64::from(qkv[i]), |i: usize| evolved[i]);
        let start = PhasePoint::new(part(&before, 0), part(&before, 1));
        let evolution = Evolution { force: &force, integrator, dt: f64::from(tau[head]).exp() };
        let end = evolution.end(&start, spec.steps).expect("the evolution is tame");
        most = largest([most, end.distance(&PhasePoint::new(part(&after, 0), part(&after, 1)))]);
    }
    Ok(most)
}

#[test]
fn the_query_key_flow_equals_the_evolution_of_the_model() -> Result<()> {
    for scheme in [Scheme::Euler, Scheme::Leapfrog] {
        for (steps, head_dim) in [(0, 8), (1, 1), (3, 16), (7, 32)] {
            let spec = EvolutionSizes { heads: HEADS, head_dim, scheme, steps };
            for (name, off) in [
                ("reference", largest_difference(evolution::reference, spec)?),
                ("fused", largest_difference(evolution::evolve, spec)?),
            ] {
                assert!(off <= if steps == 0 { 0.0 } else { 2e-5 }, "{name} {spec:?}: {off}");
            }
        }
    }
    Ok(())
}
