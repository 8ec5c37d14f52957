//! The oscillators of arXiv 2509.26507, figure 2 and section 2.4: particles on a circle, joined by elastic
//! connectors whose displacement sigma relaxes or swings, with pulses x and y, wires G_x and prods G_y.
//!
//! The paper describes it in words; the equations here are ours:
//!
//! ```text
//! x_j'  = (1 - x_j) r (sum_i G_x(i,j) y_i - h)^+ - x_j / tau          wires pull
//! y_j'  = (1 - y_j) r (sum_i G_y(i,j) a_i - h)^+ x_j - y_j / tau      prods hit, a_i = sum_j sigma(i,j) x_j
//! s_ij' = w p_ij - l s_ij + k y_i x_j                                 sigma(i,j), and its momentum
//! p_ij' = -w s_ij - l p_ij
//! ```
//!
//! The stop at 1 is not the paper's; without it a strong poke would run away. A token's U is these connectors
//! left alone for a token's time: damping e^(-l T), rotation by w T of the pair (sigma, p), as RoPE turns a
//! pair of columns.
//!
//! Integrator: Strang splitting, second order. What is linear and local (pulses that subside, connectors that
//! relax and swing) is solved exactly, half before and half after one midpoint step of the interaction.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::analysis::distinct::distinct;

/// The parameters of a system of oscillators. Times are in seconds of the simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OscillatorsSpec {
    /// The number of particles on the circle.
    pub particles: usize,
    /// l: rate at which a displacement relaxes, 1/s.
    pub damping: f64,
    /// w: angular speed at which it swings, rad/s.
    pub swing: f64,
    /// r for wires, 1/s.
    pub wires: f64,
    /// r for prods, 1/s.
    pub prods: f64,
    /// tau: how long a pulse lasts, s.
    pub pulse: f64,
    /// Draws wires and prods.
    pub seed: u64,
}

impl Default for OscillatorsSpec {
    fn default() -> Self {
        Self { particles: 14, damping: 0.25, swing: 0.0, wires: 6.0, prods: 6.0, pulse: 0.35, seed: 7 }
    }
}

/// k: how fast a connector is displaced by two pulses, 1/s.
const GROWTH: f64 = 5.0;
/// h: a pull or a prod weaker than this moves nothing.
const THRESHOLD: f64 = 0.05;
/// Wires, and prods, that leave a particle.
const OUT_DEGREE: usize = 2;

/// The state of all particles and connectors at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Oscillators {
    /// The parameters.
    pub spec: OscillatorsSpec,
    /// Wires as (from, to), each of weight 1.
    pub wires: Vec<(usize, usize)>,
    /// Prods as (from, to), each of weight 1.
    pub prods: Vec<(usize, usize)>,
    /// The pulses x, `n` values in \[0, 1\].
    pub x: Vec<f64>,
    /// The pulses y, `n` values in \[0, 1\].
    pub y: Vec<f64>,
    /// The displacements sigma(i, j), `(n, n)` row by row, row i on the y side; the diagonal stays 0.
    pub sigma: Vec<f64>,
    /// The momentum of sigma, `(n, n)`.
    pub momentum: Vec<f64>,
    /// Seconds since the beginning.
    pub time: f64,
    threshold: f64,
}

/// The parts of the energy.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Energy {
    /// Half the sum of x^2 + y^2.
    pub pulses: f64,
    /// Half the sum of sigma^2: tension.
    pub tension: f64,
    /// Half the sum of p^2: swinging.
    pub motion: f64,
}

impl Energy {
    /// Returns the sum of all parts.
    pub fn total(self) -> f64 {
        self.pulses + self.tension + self.motion
    }
}

impl Oscillators {
    /// The system at rest. It has at least 2 particles, and as many as 64 are drawn from `spec.seed`.
    pub fn new(spec: OscillatorsSpec) -> Self {
        let n = spec.particles.clamp(2, 64);
        let mut rng = ChaCha8Rng::seed_from_u64(spec.seed);
        let mut draw = || {
            let starts = (0..n).flat_map(|from| [from; OUT_DEGREE]);
            distinct(starts.map(|from| (from, (from + rng.random_range(1..n)) % n)))
        };
        let (wires, prods) = (draw(), draw());
        Self {
            spec: OscillatorsSpec { particles: n, ..spec },
            wires,
            prods,
            x: vec![0.0; n],
            y: vec![0.0; n],
            sigma: vec![0.0; n * n],
            momentum: vec![0.0; n * n],
            time: 0.0,
            threshold: THRESHOLD,
        }
    }

    /// Returns the number of particles.
    pub fn n(&self) -> usize {
        self.x.len()
    }

    /// Displaces a particle: both its pulses become 1, as an outer force would.
    pub fn displace(&mut self, particle: usize) {
        [&mut self.x, &mut self.y].into_iter().filter_map(|x| x.get_mut(particle)).for_each(|x| *x = 1.0);
    }

    /// a_i: what the connectors of each particle pull with.
    pub fn connector_forces(&self) -> Vec<f64> {
        restoring_force(&self.sigma, &self.x)
    }

    /// Returns the energy of the current state by its parts.
    pub fn energy(&self) -> Energy {
        let half = |v: &[f64]| 0.5 * v.iter().map(|x| x * x).sum::<f64>();
        Energy { pulses: half(&self.x) + half(&self.y), tension: half(&self.sigma), motion: half(&self.momentum) }
    }

    /// Advances by `h` seconds in one step.
    pub fn step(&mut self, h: f64) {
        self.linear_step(0.5 * h);
        let middle = self.interacting(&self.rates(&self.x, &self.y, &self.sigma), 0.5 * h);
        let rates = self.rates(&middle.x, &middle.y, &middle.sigma);
        let moved = self.interacting(&rates, h);
        (self.x, self.y, self.sigma) = (moved.x, moved.y, moved.sigma);
        self.linear_step(0.5 * h);
        self.time += h;
    }

    /// The linear part, exactly: pulses subside, connectors relax and swing.
    fn linear_step(&mut self, h: f64) {
        let left = (-h / self.spec.pulse).exp();
        self.x.iter_mut().chain(&mut self.y).for_each(|p| *p *= left);
        let kept = (-h * self.spec.damping).exp();
        let (sin, cos) = (h * self.spec.swing).sin_cos();
        for (s, p) in self.sigma.iter_mut().zip(&mut self.momentum) {
            (*s, *p) = (kept * (cos * *s + sin * *p), kept * (cos * *p - sin * *s));
        }
    }

    /// x', y' and sigma' of the interaction alone.
    fn rates(&self, x: &[f64], y: &[f64], sigma: &[f64]) -> OscillatorState {
        let n = self.n();
        let over = |edges: &[(usize, usize)], source: &[f64], rate: f64| -> Vec<f64> {
            let mut sum = vec![0.0; n];
            edges.iter().for_each(|(from, to)| sum[*to] += source[*from]);
            sum.iter().map(|s| rate * (s - self.threshold).max(0.0)).collect()
        };
        let (wires, prods) =
            (over(&self.wires, y, self.spec.wires), over(&self.prods, &restoring_force(sigma, x), self.spec.prods));
        let grown = |k: usize| if k / n == k % n { 0.0 } else { GROWTH * y[k / n] * x[k % n] };
        OscillatorState {
            x: (0..n).map(|j| (1.0 - x[j]) * wires[j]).collect(),
            y: (0..n).map(|j| (1.0 - y[j]) * prods[j] * x[j]).collect(),
            sigma: (0..n * n).map(grown).collect(),
        }
    }

    fn interacting(&self, rates: &OscillatorState, h: f64) -> OscillatorState {
        let go = |from: &[f64], rate: &[f64]| -> Vec<f64> { from.iter().zip(rate).map(|(v, r)| v + h * r).collect() };
        // A step too long for the pull would pass the stop at 1.
        let stop = |v: Vec<f64>| v.into_iter().map(|v| v.clamp(0.0, 1.0)).collect();
        OscillatorState {
            x: stop(go(&self.x, &rates.x)),
            y: stop(go(&self.y, &rates.y)),
            sigma: go(&self.sigma, &rates.sigma),
        }
    }
}

/// x, y and sigma, or their rates.
struct OscillatorState {
    x: Vec<f64>,
    y: Vec<f64>,
    sigma: Vec<f64>,
}

fn restoring_force(sigma: &[f64], x: &[f64]) -> Vec<f64> {
    sigma.chunks_exact(x.len().max(1)).map(|row| row.iter().zip(x).map(|(s, x)| s * x).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::bdh_dynamics::Drift;

    fn run(toy: &mut Oscillators, seconds: f64, h: f64) {
        (0..(seconds / h).round() as usize).for_each(|_| toy.step(h));
    }

    /// Returns oscillators with a slow decay that were poked once.
    fn poked(spec: OscillatorsSpec) -> Oscillators {
        let mut toy = Oscillators::new(spec);
        toy.displace(0);
        run(&mut toy, 1.0, 0.005);
        toy.displace(3);
        toy
    }

    #[test]
    fn free_connectors_follow_the_drift_matrix() {
        for (damping, swing) in [(0.3, 0.0), (0.0, 2.0), (0.2, 1.7)] {
            let mut toy = Oscillators::new(OscillatorsSpec { damping, swing, ..OscillatorsSpec::default() });
            (toy.sigma[5], toy.momentum[5]) = (0.8, -0.3);
            let before = toy.energy().total();
            run(&mut toy, 20.0, 0.01);
            let u = Drift::rotation(2, &[20.0 * swing]).with_damping((-20.0f64 * damping).exp());
            let (s, p) = u.pair(0, (0.8, -0.3));
            assert!((toy.sigma[5] - s).abs() < 1e-12 && (toy.momentum[5] - p).abs() < 1e-12);
            let left = (-40.0f64 * damping).exp();
            assert!((toy.energy().total() / before - left).abs() < 1e-12, "energy falls as e^(-2 l t)");
        }
    }

    #[test]
    fn the_integrator_is_of_second_order() {
        let end = |h: f64| {
            let mut toy = Oscillators::new(OscillatorsSpec { swing: 1.0, ..OscillatorsSpec::default() });
            toy.threshold = 0.0; // a kink would hide the order
            toy.displace(0);
            (toy.x[1], toy.x[5]) = (0.3, 0.5);
            run(&mut toy, 1.0, h);
            [toy.x, toy.y, toy.sigma, toy.momentum].concat()
        };
        let exact = end(1.0 / 4096.0);
        let error = |h: f64| end(h).iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let (coarse, fine) = (error(1.0 / 64.0), error(1.0 / 128.0));
        assert!((3.6..4.4).contains(&(coarse / fine)), "{coarse} {fine}");
        assert!(fine < 1e-3);
    }

    #[test]
    fn a_poke_writes_a_memory_that_a_second_one_reads() {
        let toy = Oscillators::new(OscillatorsSpec::default());
        let mut still = toy.clone();
        run(&mut still, 3.0, 0.01);
        assert_eq!(still.energy().total(), 0.0, "at rest it stays at rest");
        let (from, to) = toy.wires[0];
        let mut toy = toy;
        toy.displace(from);
        run(&mut toy, 1.0, 0.01);
        let n = toy.n();
        assert!(toy.sigma[from * n + to] > 0.1, "y({from}) just before x({to})");
        let untouched = (0..n).find(|j| *j != from && !toy.wires.contains(&(from, *j))).unwrap();
        assert!(toy.sigma[untouched * n + from] < 1e-6, "nothing went the other way");
        toy.displace(to);
        assert!(toy.connector_forces()[from] > 0.1, "x({to}) finds the connector displaced");
    }

    #[test]
    fn pulses_stay_within_their_stops_and_the_default_subsides() {
        let mut toy = poked(OscillatorsSpec { wires: 40.0, prods: 60.0, swing: 3.0, ..OscillatorsSpec::default() });
        for _ in 0..4000 {
            toy.step(1.0 / 120.0);
            assert!(toy.x.iter().chain(&toy.y).all(|p| (0.0..=1.0).contains(p)), "{:?}", toy.time);
        }
        let mut toy = poked(OscillatorsSpec::default());
        let most = toy.energy().total();
        run(&mut toy, 60.0, 1.0 / 120.0);
        assert!(toy.energy().total() < 0.01 * most, "{} of {most}", toy.energy().total());
    }
}
