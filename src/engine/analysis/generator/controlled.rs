//! A generator whose rates a slow control tilts: log A_ij(y) is linear in y (arXiv 2606.16730, eq. 27).

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Generator, GeneratorError, classes, limit};

/// The action of a slow control on the rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Control {
    /// The number of components of y.
    pub dims: usize,
    /// Scale of the tilts: each is drawn evenly from -strength to strength.
    pub strength: f64,
}

/// A_ij(y) = A_ij exp(sum_c B_cij y_c) with tilts B that are drawn once.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlledGenerator {
    base: Generator,
    /// The tilts, n x n for each number of y.
    control_coefficients: Vec<Vec<f64>>,
}

impl ControlledGenerator {
    /// Draws the tilts from `seed`.
    pub fn new(base: Generator, control: Control, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x7469_6C74);
        let size = base.matrix().len();
        let control_coefficients = (0..control.dims)
            .map(|_| (0..size).map(|_| control.strength * rng.random_range(-1.0..=1.0)).collect())
            .collect();
        Self { base, control_coefficients }
    }

    /// The rates at y = 0.
    pub fn base(&self) -> &Generator {
        &self.base
    }

    /// The number of components of y.
    pub fn dims(&self) -> usize {
        self.control_coefficients.len()
    }

    /// A(y); numbers that y lacks are 0.
    ///
    /// # Errors
    /// If y is so large that a rate overflows.
    pub fn at(&self, y: &[f64]) -> Result<Generator, GeneratorError> {
        let tilt = |at: usize| -> f64 { self.control_coefficients.iter().zip(y).map(|(tilt, y)| tilt[at] * y).sum() };
        let tilted = |(at, rate): (usize, &f64)| if *rate == 0.0 { 0.0 } else { rate * tilt(at).exp() };
        Generator::from_rates(self.base.len(), self.base.matrix().iter().enumerate().map(tilted).collect())
    }

    /// The stationary distribution at y; of a reducible generator, where the flow from the uniform distribution leads.
    pub fn uniform_limit(&self, y: &[f64]) -> Result<Vec<f64>, GeneratorError> {
        let a = self.at(y)?;
        Ok(limit(&a, &classes(&a), &vec![1.0 / a.len() as f64; a.len()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::generator::{Topology, TopologySettings};

    #[test]
    fn log_rates_are_linear_in_the_control_and_zeros_stay() {
        let settings = TopologySettings { topology: Topology::Ring, states: 6, sparsity: 0.0 };
        let a = ControlledGenerator::new(settings.draw(3).unwrap(), Control { dims: 2, strength: 0.8 }, 3);
        assert_eq!(&a.at(&[0.0, 0.0]).unwrap(), a.base());
        let (one, two) = (a.at(&[0.5, -0.2]).unwrap(), a.at(&[1.0, -0.4]).unwrap());
        for (from, to) in (0..36).map(|at| (at / 6, at % 6)).filter(|(from, to)| from != to) {
            let base = a.base().rate(from, to);
            if base == 0.0 {
                assert_eq!(two.rate(from, to), 0.0);
            } else {
                let (first, second) = ((one.rate(from, to) / base).ln(), (two.rate(from, to) / base).ln());
                assert!((second - 2.0 * first).abs() < 1e-12);
            }
        }
        assert!(a.at(&[1e9, 0.0]).is_err(), "an overflow is told");
    }
}
