//! The relaxation of a distribution under a generator: forward Euler's steps, the exact flow, and where both lead. It draws no
//! random numbers.

use nalgebra::DMatrix;

use super::{Class, Generator};

/// Quantities along a flow: one value for each step, the start first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Relaxation {
    /// The distributions, states x n.
    pub states: Vec<Vec<f64>>,
    /// max |x - limit|.
    pub error: Vec<f64>,
    /// max |A x|.
    pub residual: Vec<f64>,
    /// Relative entropy to the limit, nats; NaN where an entry is negative.
    pub entropy: Vec<f64>,
    /// Sum of the entries.
    pub mass: Vec<f64>,
}

impl Relaxation {
    fn push(&mut self, a: &Generator, x: &[f64], limit: &[f64]) {
        let largest = |values: &mut dyn Iterator<Item = f64>| values.map(f64::abs).fold(0.0, f64::max);
        self.error.push(largest(&mut x.iter().zip(limit).map(|(x, p)| x - p)));
        self.residual.push(largest(&mut a.apply(x).into_iter()));
        self.entropy.push(relative_entropy(x, limit));
        self.mass.push(x.iter().sum());
        self.states.push(x.to_vec());
    }
}

/// sum x log(x / p) in nats, 0 log 0 = 0; infinite where x has mass and p has none, NaN where x has a negative entry.
pub fn relative_entropy(x: &[f64], p: &[f64]) -> f64 {
    let term = |(x, p): (&f64, &f64)| match *x {
        0.0 => 0.0,
        x if x > 0.0 => x * (x / p).ln(),
        _ => f64::NAN,
    };
    let sum: f64 = x.iter().zip(p).map(term).sum();
    // Rounding may leave the sum of two equal distributions a little below zero.
    if sum < 0.0 && sum > -1e-12 { 0.0 } else { sum }
}

/// x <- x + dt A x, this many times.
pub fn euler(a: &Generator, start: &[f64], dt: f64, steps: usize, limit: &[f64]) -> Relaxation {
    relax(a, start, steps, limit, |x| x.iter().zip(a.apply(x)).map(|(x, rate)| x + dt * rate).collect())
}

/// e^(A t) x at t = 0, dt, 2 dt, ... By the exponential of A dt (scaling and squaring), applied again and again.
pub fn exact(a: &Generator, start: &[f64], dt: f64, steps: usize, limit: &[f64]) -> Relaxation {
    let n = a.len();
    let step = (DMatrix::from_row_slice(n, n, a.matrix()) * dt).exp();
    relax(a, start, steps, limit, |x| {
        // Rounding may leave an entry that is all but zero a little below it.
        let next = |row: usize| (0..n).map(|col| step[(row, col)] * x[col]).sum::<f64>().max(0.0);
        (0..n).map(next).collect()
    })
}

fn relax(a: &Generator, start: &[f64], steps: usize, limit: &[f64], step: impl Fn(&[f64]) -> Vec<f64>) -> Relaxation {
    let mut all = Relaxation::default();
    let mut x = start.to_vec();
    all.push(a, &x, limit);
    for _ in 0..steps {
        x = step(&x);
        all.push(a, &x, limit);
    }
    all
}

/// The limit of the flow from `start`: each closed class gets the mass that is in it or will reach it. With one closed
/// class that is its stationary distribution, whatever the start.
pub fn limit(a: &Generator, classes: &[Class], start: &[f64]) -> Vec<f64> {
    let closed: Vec<(&Class, &Vec<f64>)> =
        classes.iter().filter_map(|class| Some((class, class.stationary.as_ref()?))).collect();
    let transient: Vec<usize> =
        classes.iter().filter(|c| !c.is_closed()).flat_map(|c| c.states.iter().copied()).collect();
    let mut all = vec![0.0; a.len()];
    for (class, stationary) in closed {
        let inside: f64 = class.states.iter().map(|s| start[*s]).sum();
        let absorbed: f64 =
            absorption(a, &transient, class).iter().zip(&transient).map(|(share, s)| share * start[*s]).sum();
        all.iter_mut().zip(stationary).for_each(|(sum, p)| *sum += (inside + absorbed) * p);
    }
    all
}

/// The probability of reaching the class from each transient state: sum_j rate(i, j) (h_j - h_i) = 0.
fn absorption(a: &Generator, transient: &[usize], class: &Class) -> Vec<f64> {
    let m = transient.len();
    if m == 0 {
        return vec![];
    }
    let inner = DMatrix::from_fn(m, m, |i, j| a.rate(transient[i], transient[j]));
    let into = |i: usize| class.states.iter().map(|s| a.rate(transient[i], *s)).sum::<f64>();
    let outer = DMatrix::from_fn(m, 1, |i, _| -into(i));
    // Every transient state reaches some closed class, so that the system has one solution.
    inner.lu().solve(&outer).map_or_else(|| vec![f64::NAN; m], |h| h.iter().copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::generator::{Topology, TopologySettings, classes, second_modulus, spectrum};

    fn ring(states: usize) -> Generator {
        TopologySettings { topology: Topology::Ring, states, sparsity: 0.0 }.draw(4).unwrap()
    }

    fn at_first(n: usize) -> Vec<f64> {
        (0..n).map(|k| f64::from(u8::from(k == 0))).collect()
    }

    #[test]
    fn euler_converges_inside_the_bound_with_the_second_eigenvalue_and_diverges_beyond() {
        let a = ring(8);
        let (all, start) = (classes(&a), at_first(8));
        let p = limit(&a, &all, &start);
        let s = spectrum(&a, 1).unwrap();
        let dt = 0.9 * a.step_bound();
        let inside = euler(&a, &start, dt, 400, &p);
        let (from, to) = (inside.error[100], inside.error[200]);
        let slope = (to / from).ln() / 100.0;
        assert!((slope - second_modulus(&s, dt).ln()).abs() < 1e-3, "{slope} and {}", second_modulus(&s, dt).ln());
        assert!(inside.entropy.windows(2).all(|w| w[1] <= w[0] + 1e-12));
        let fastest = s.eigenvalues.iter().map(|l| -l[0]).fold(0.0, f64::max);
        let beyond = euler(&a, &start, 2.2 / fastest, 400, &p);
        assert!(beyond.error[400] > 10.0, "{}", beyond.error[400]);
        assert!(beyond.entropy.iter().any(|e| e.is_nan()), "there are negative entries");
        assert!((beyond.mass[50] - 1.0).abs() < 1e-9, "mass is kept even then");
    }

    #[test]
    fn the_exact_flow_is_a_semigroup_and_euler_tends_to_it() {
        let a = ring(6);
        let start = at_first(6);
        let p = limit(&a, &classes(&a), &start);
        let (once, twice) = (exact(&a, &start, 0.4, 1, &p), exact(&a, &start, 0.2, 2, &p));
        let apart = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        assert!(apart(&once.states[1], &twice.states[2]) < 1e-13);
        let error = |n: usize| apart(&euler(&a, &start, 0.4 / n as f64, n, &p).states[n], &once.states[1]);
        assert!((error(1000) / error(2000) - 2.0).abs() < 0.01, "first order");
    }

    #[test]
    fn what_starts_outside_of_the_closed_classes_is_shared_among_them() {
        // state 1 goes to 0 with rate 3 and to 2 with rate 1
        let mut rates = vec![0.0; 9];
        (rates[1], rates[7]) = (3.0, 1.0);
        let a = Generator::from_rates(3, rates).unwrap();
        assert_eq!(limit(&a, &classes(&a), &[0.0, 1.0, 0.0]), [0.75, 0.0, 0.25]);
        assert_eq!(limit(&a, &classes(&a), &[1.0, 0.0, 0.0]), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn relative_entropy_is_zero_only_between_equals() {
        assert_eq!(relative_entropy(&[0.5, 0.5, 0.0], &[0.5, 0.5, 0.0]), 0.0);
        assert!((relative_entropy(&[1.0, 0.0], &[0.25, 0.75]) - 4f64.ln()).abs() < 1e-15);
        assert_eq!(relative_entropy(&[0.5, 0.5], &[1.0, 0.0]), f64::INFINITY);
        assert!(relative_entropy(&[1.5, -0.5], &[0.5, 0.5]).is_nan());
    }
}
