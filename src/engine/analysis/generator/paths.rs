//! Single particles that jump between the states of a generator, each exactly in law (Gillespie, J. Phys. Chem. 81
//! (1977) 2340).

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Generator;

/// The state of each of `count` particles at t = 0, dt, 2 dt, ..: count x (steps + 1). Starts are drawn from `start`.
pub fn paths(a: &Generator, start: &[f64], dt: f64, steps: usize, count: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| path(a, draw(start.iter().copied(), rng.random()), dt, steps, &mut rng)).collect()
}

fn path(a: &Generator, start: usize, dt: f64, steps: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let (mut state, mut leaves_at) = (start, waiting_time(a, start, rng));
    let mut seen = Vec::with_capacity(steps + 1);
    for k in 0..=steps {
        let t = dt * k as f64;
        while leaves_at <= t {
            let rates = (0..a.len()).map(|to| if to == state { 0.0 } else { a.rate(state, to) });
            state = draw(rates, rng.random());
            leaves_at += waiting_time(a, state, rng);
        }
        seen.push(state);
    }
    seen
}

/// Time in a state: exponential with the rate at which it is left, infinite where it is not.
fn waiting_time(a: &Generator, state: usize, rng: &mut ChaCha8Rng) -> f64 {
    let rate = -a.rate(state, state);
    if rate > 0.0 { -(1.0 - rng.random::<f64>()).ln() / rate } else { f64::INFINITY }
}

/// The index where the running sum of the weights passes this share of their total.
fn draw(weights: impl Iterator<Item = f64> + Clone, share: f64) -> usize {
    let mut left = share * weights.clone().sum::<f64>();
    let mut last = 0;
    for (k, weight) in weights.enumerate().filter(|(_, weight)| *weight > 0.0) {
        last = k;
        left -= weight;
        if left < 0.0 {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::generator::{Topology, TopologySettings, exact};

    #[test]
    fn many_particles_are_distributed_as_the_flow() {
        let a = TopologySettings { topology: Topology::BirthDeath, states: 5, sparsity: 0.0 }.draw(2).unwrap();
        let start = [0.0, 0.0, 1.0, 0.0, 0.0];
        let (dt, steps, count) = (0.3, 10, 20_000);
        let all = paths(&a, &start, dt, steps, count, 11);
        let flow = exact(&a, &start, dt, steps, &start);
        for k in [0, 1, 5, 10] {
            for state in 0..5 {
                let share = all.iter().filter(|path| path[k] == state).count() as f64 / count as f64;
                let p = flow.states[k][state];
                let spread = (p * (1.0 - p) / count as f64).sqrt();
                assert!((share - p).abs() <= 4.5 * spread + 1e-12, "step {k}, state {state}: {share} and {p}");
            }
        }
        assert_eq!(all, paths(&a, &start, dt, steps, count, 11), "the same seed, the same paths");
    }

    #[test]
    fn no_path_leaves_a_state_without_rates() {
        let a = Generator::from_rates(2, vec![0.0, 1.0, 0.0, 0.0]).unwrap();
        assert!(paths(&a, &[1.0, 0.0], 1.0, 50, 3, 1).iter().flatten().all(|state| *state == 0));
    }
}
