//! Generators of continuous-time Markov chains: a linear flow dp/dt = A p whose off-diagonal rates are not negative and
//! whose columns sum to zero (arXiv 2606.16730, eq. 26).
//!
//! `A[i][j]` is the rate from state j to state i, as in the paper; a transition matrix of attention has it the other way
//! round.

use super::communicating_classes::communicating_classes;

mod controlled;
mod paths;
mod relaxation;
mod spectrum;
mod text;
mod topology;

pub use super::communicating_classes::{Class, closed_classes};
pub use controlled::{Control, ControlledGenerator};
pub use paths::paths;
pub use relaxation::{Relaxation, euler, exact, limit, relative_entropy};
pub use spectrum::{Spectrum, second_modulus, spectrum};
pub use text::{MatrixKind, RateEdit, read_edits, read_matrix, write_edits};
pub use topology::{Topology, TopologySettings};

/// The limit of states of a generator.
pub const MAX_STATES: usize = 64;

/// The reason why numbers are not a generator.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name the fields of the variants")]
pub enum GeneratorError {
    /// The number of states is out of range.
    #[error("{0} states; a generator here has 2 to {MAX_STATES}")]
    Size(usize),
    /// The number of values does not fill a square matrix.
    #[error("{values} numbers do not fill a matrix of {n} rows and {n} columns")]
    NotSquare { n: usize, values: usize },
    /// A rate is negative or not finite; states count from 1.
    #[error("the rate from state {from} to state {to} is {value}: a rate is a number, 0 or more")]
    Rate { from: usize, to: usize, value: f64 },
    /// Any other reason, as a sentence.
    #[error("{0}")]
    Text(String),
}

/// All classes of a generator: its kernel has as many dimensions as there are closed ones, and an irreducible generator has
/// one class.
pub fn classes(a: &Generator) -> Vec<Class> {
    communicating_classes(a.len(), |from, to| a.rate(from, to))
}

/// Rates between n states, with the diagonal that makes the columns sum to zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Generator {
    n: usize,
    /// The rates row by row, n x n.
    rates: Vec<f64>,
}

impl Generator {
    /// Builds a generator from rates, row by row; the diagonal of `rates` is ignored.
    ///
    /// # Errors
    /// If they do not fill a matrix of 2 to [`MAX_STATES`] states, or a rate is negative or not a number.
    pub fn from_rates(n: usize, mut rates: Vec<f64>) -> Result<Self, GeneratorError> {
        ensure!((2..=MAX_STATES).contains(&n), GeneratorError::Size(n));
        ensure!(rates.len() == n * n, GeneratorError::NotSquare { n, values: rates.len() });
        for from in 0..n {
            let mut sum = 0.0;
            for to in (0..n).filter(|to| *to != from) {
                let value = rates[to * n + from];
                ensure!(value >= 0.0 && value.is_finite(), GeneratorError::Rate { from: from + 1, to: to + 1, value });
                sum += value;
            }
            rates[from * n + from] = -sum;
        }
        Ok(Self { n, rates })
    }

    /// alpha^T - I of a row-stochastic matrix: one forward Euler step of length 1 is one step of the chain.
    ///
    /// # Errors
    /// If it is not a matrix of probabilities.
    pub fn from_transitions(n: usize, alpha: &[f64]) -> Result<Self, GeneratorError> {
        ensure!(n > 0 && alpha.len() == n * n, GeneratorError::NotSquare { n, values: alpha.len() });
        for (row, values) in alpha.chunks(n).enumerate() {
            let sum: f64 = values.iter().sum();
            if (sum - 1.0).abs() > 1e-3 {
                return Err(GeneratorError::Text(format!(
                    "row {} sums to {sum:.4}; each row of a transition matrix sums to 1",
                    row + 1
                )));
            }
        }
        let transposed = (0..n * n).map(|at| alpha[at % n * n + at / n]).collect();
        Self::from_rates(n, transposed)
    }

    /// Number of states.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Returns true if there are no states.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// A, row by row, n x n.
    pub fn matrix(&self) -> &[f64] {
        &self.rates
    }

    /// Returns the rate `A[to][from]` of the transition between two states, per unit of time.
    pub fn rate(&self, from: usize, to: usize) -> f64 {
        self.rates[to * self.n + from]
    }

    /// A copy with one rate changed and the diagonal adjusted.
    ///
    /// # Errors
    /// If the rate is negative or not a number, or the states are equal or out of range.
    pub fn with_rate(&self, from: usize, to: usize, rate: f64) -> Result<Self, GeneratorError> {
        let missing = |from, to| format!("there is no rate from state {from} to state {to} among {} states", self.n);
        ensure!(from != to && from.max(to) < self.n, GeneratorError::Text(missing(from + 1, to + 1)));
        let mut rates = self.rates.clone();
        rates[to * self.n + from] = rate;
        Self::from_rates(self.n, rates)
    }

    /// A copy without the rates between the first half of the states and the others.
    pub fn without_bridge(&self) -> Self {
        let (n, half) = (self.n, self.n / 2);
        let kept = |at: usize| (at / n < half) == (at % n < half);
        let rates = (0..n * n).map(|at| if kept(at) { self.rates[at] } else { 0.0 }).collect();
        // Fewer rates of a generator are those of one.
        Self::from_rates(n, rates).unwrap_or_else(|_| self.clone())
    }

    /// Returns A p, the change of the distribution p per unit of time.
    pub fn apply(&self, p: &[f64]) -> Vec<f64> {
        self.rates.chunks(self.n).map(|row| row.iter().zip(p).map(|(a, x)| a * x).sum()).collect()
    }

    /// 1 / max |A_jj|: forward Euler with a shorter step is a stochastic matrix (Theorem 28, iii). Infinite where all rates
    /// are zero.
    pub fn step_bound(&self) -> f64 {
        1.0 / (0..self.n).map(|j| -self.rates[j * self.n + j]).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_sum_to_zero_whatever_the_diagonal_was() {
        let a = Generator::from_rates(3, vec![9.0, 1.0, 2.0, 0.5, 9.0, 0.0, 0.25, 3.0, 9.0]).unwrap();
        assert_eq!(a.apply(&[1.0, 1.0, 1.0]).iter().sum::<f64>(), 0.0);
        assert_eq!((a.rate(0, 1), a.rate(1, 0), a.rate(0, 0)), (0.5, 1.0, -0.75));
        assert_eq!(a.step_bound(), 0.25);
        assert!(a.with_rate(0, 1, -1.0).unwrap_err().to_string().contains("from state 1 to state 2"));
        assert!(a.with_rate(2, 2, 1.0).is_err() && a.with_rate(0, 3, 1.0).is_err());
        assert!(Generator::from_rates(1, vec![0.0]).is_err() && Generator::from_rates(2, vec![0.0]).is_err());
    }

    #[test]
    fn a_step_of_a_chain_is_a_euler_step_of_its_generator() {
        let alpha = [0.5, 0.5, 0.1, 0.9];
        let a = Generator::from_transitions(2, &alpha).unwrap();
        let p = [0.3, 0.7];
        let stepped: Vec<f64> = a.apply(&p).iter().zip(p).map(|(rate, p)| p + rate).collect();
        assert!((stepped[0] - (0.3 * 0.5 + 0.7 * 0.1)).abs() < 1e-15, "{stepped:?}");
        assert!(Generator::from_transitions(2, &[0.5, 0.6, 0.1, 0.9]).unwrap_err().to_string().contains("row 1"));
    }
}
