//! A Markov chain in discrete time with finitely many states, given by its row-stochastic matrix P: communicating
//! classes, stationary distribution, mixing time, absorption.
//!
//! A distribution is a row vector: after a step mu is mu P. Generators, whose columns sum to 0, are related by
//! transposition: A = P^T - I. Sources: Levin & Peres, Markov Chains and Mixing Times (2017); Kemeny & Snell, Finite
//! Markov Chains (1960).

use nalgebra::{DMatrix, DVector};
use thiserror::Error;

use super::{
    communicating_classes::{Class, communicating_classes},
    dense::product,
    eigenvalues::eigenvalues,
    statistics::{entropy, normalise},
};

pub mod lumping;
#[cfg(test)]
mod tests;

/// Total variation to the stationary distribution at which a chain counts as mixed.
pub const MIXED: f64 = 0.25;
/// A chain that has not mixed after two to this power of steps counts as one that never mixes, because rounding errors
/// would dominate.
const MAX_DOUBLINGS: usize = 40;

/// The distance of a matrix from row-stochastic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stochasticity {
    /// Largest |row sum - 1|.
    pub row_sum_error: f64,
    /// The smallest entry of the matrix.
    pub smallest: f64,
}

/// `p`: n x n, row by row. NaN where an entry is NaN.
pub fn stochasticity(n: usize, p: &[f64]) -> Stochasticity {
    let nan_or = |found: f64| if p.iter().any(|v| v.is_nan()) { f64::NAN } else { found };
    let off = |row: &[f64]| (row.iter().sum::<f64>() - 1.0).abs();
    Stochasticity {
        row_sum_error: nan_or(p.chunks(n.max(1)).map(off).fold(0.0, f64::max)),
        smallest: nan_or(p.iter().copied().fold(f64::INFINITY, f64::min)),
    }
}

/// The reason why a matrix is not a Markov chain.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "the messages name the fields of the variants")]
pub enum ChainError {
    /// The number of values is not the square of the number of states.
    #[error("a chain of {states} states needs {states} rows of {states} numbers; {given} numbers are given")]
    Size { states: usize, given: usize },
    /// An entry is negative or not finite; rows and columns count from 1.
    #[error("row {row}, column {column} holds {value}, which is not a probability: give a number from 0")]
    Entry { row: usize, column: usize, value: f64 },
    /// The entries of a row do not sum to 1; rows count from 1.
    #[error("row {row} sums to {sum}, and each row of a Markov chain sums to 1")]
    RowSum { row: usize, sum: f64 },
}

/// The quasi-stationary distribution: the long-run distribution of a chain that has not yet been absorbed.
#[derive(Debug, Clone, PartialEq)]
pub struct QuasiStationary {
    /// The distribution over all states; 0 on those of closed classes.
    pub distribution: Vec<f64>,
    /// Probability that one more step does not absorb it.
    pub survival: f64,
}

/// A chain.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkovChain {
    n: usize,
    p: Vec<f64>,
}

impl MarkovChain {
    /// Creates a chain from `p`: n x n, row-major, no entry negative, no row sum farther from 1 than `tolerance`. Each
    /// row is divided by its sum.
    ///
    /// # Errors
    /// If the matrix does not meet this; the message names the row.
    pub fn new(n: usize, p: &[f64], tolerance: f64) -> Result<Self, ChainError> {
        ensure!(n > 0 && p.len() == n * n, ChainError::Size { states: n, given: p.len() });
        if let Some(at) = p.iter().position(|v| !v.is_finite() || *v < 0.0) {
            return Err(ChainError::Entry { row: at / n, column: at % n, value: p[at] });
        }
        let mut rows = p.to_vec();
        for (row, values) in rows.chunks_mut(n).enumerate() {
            let sum: f64 = values.iter().sum();
            if (sum - 1.0).abs() > tolerance {
                return Err(ChainError::RowSum { row, sum });
            }
            values.iter_mut().for_each(|v| *v /= sum);
        }
        Ok(Self { n, p: rows })
    }

    /// Returns the number of states.
    pub fn states(&self) -> usize {
        self.n
    }

    /// Probabilities of the steps from a state.
    pub fn row(&self, state: usize) -> &[f64] {
        &self.p[state * self.n..][..self.n]
    }

    fn at(&self, from: usize, to: usize) -> f64 {
        self.p[from * self.n + to]
    }

    /// Returns true if no step leads to a later state: causal attention.
    pub fn is_triangular(&self) -> bool {
        (0..self.n).all(|i| self.row(i)[i + 1..].iter().all(|p| *p == 0.0))
    }

    /// Communicating classes, by their first states.
    pub fn classes(&self) -> Vec<Class> {
        communicating_classes(self.n, |from, to| self.at(from, to))
    }

    /// pi = pi P of each closed class, over all states, by the first state of the class. Where there is more than one,
    /// every mixture of them is stationary, and none is *the* stationary distribution.
    pub fn stationary(&self) -> Vec<Vec<f64>> {
        self.classes().into_iter().filter_map(|class| class.stationary).collect()
    }

    /// |lambda| of all eigenvalues, falling; those of a triangular matrix are its diagonal. `None` where the iteration
    /// does not converge.
    pub fn moduli(&self) -> Option<Vec<f64>> {
        let mut moduli: Vec<f64> = match self.is_triangular() {
            true => (0..self.n).map(|i| self.at(i, i)).collect(),
            false => eigenvalues(self.n, &self.p)?.iter().map(|z| z[0].hypot(z[1])).collect(),
        };
        moduli.sort_by(|a, b| b.total_cmp(a));
        Some(moduli)
    }

    /// Smallest k at which the distribution after k steps from any state is within [`MIXED`] of the stationary one, in
    /// total variation. `None` where there is more than one closed class, and where none is reached: a chain with a
    /// period never mixes.
    pub fn mixing_time(&self) -> Option<u64> {
        let all = self.stationary();
        let [pi] = all.as_slice() else { return None };
        let distance = |p: &[f64]| p.chunks(self.n).map(|row| total_variation(row, pi)).fold(0.0, f64::max);
        if 1.0 - pi.iter().copied().fold(f64::INFINITY, f64::min) <= MIXED {
            return Some(0);
        }
        // P to the powers 1, 2, 4, ... until one has mixed; the distance never grows with the steps.
        let mut powers = vec![self.p.clone()];
        while distance(powers.last()?) > MIXED {
            if powers.len() > MAX_DOUBLINGS {
                return None;
            }
            let last = powers.last()?;
            powers.push(self.times(last, last));
        }
        powers.pop();
        let Some(mut unmixed) = powers.pop() else { return Some(1) };
        let mut steps = 1 << powers.len();
        while let Some(power) = powers.pop() {
            let further = self.times(&unmixed, &power);
            if distance(&further) > MIXED {
                unmixed = further;
                steps += 1 << powers.len();
            }
        }
        Some(steps + 1)
    }

    /// The product of two stochastic matrices, its rows summing to 1 again.
    fn times(&self, a: &[f64], b: &[f64]) -> Vec<f64> {
        let mut out = product(a, b, [self.n; 3]);
        out.chunks_mut(self.n).for_each(normalise);
        out
    }

    /// -sum p ln p of every row, nats.
    pub fn row_entropies(&self) -> Vec<f64> {
        self.p.chunks(self.n).map(|row| entropy(row.iter().copied()) + 0.0).collect()
    }

    /// The states that belong to no closed class, ascending.
    fn transient(&self) -> Vec<usize> {
        let mut states: Vec<usize> =
            self.classes().into_iter().filter(|class| !class.is_closed()).flat_map(|class| class.states).collect();
        states.sort_unstable();
        states
    }

    /// Expected steps from each state until a closed class is entered, 0 within one: t = (I - Q)^-1 1, Q the steps among
    /// transient states (Kemeny & Snell, theorem 3.3.5). NaN where rounding leaves no solution.
    pub fn steps_to_absorption(&self) -> Vec<f64> {
        let states = self.transient();
        let m = states.len();
        if m == 0 {
            return vec![0.0; self.n];
        }
        let entry = |i: usize, j: usize| f64::from(u8::from(i == j)) - self.at(states[i], states[j]);
        let solved = DMatrix::from_fn(m, m, entry).lu().solve(&DVector::from_element(m, 1.0));
        let mut all = vec![0.0; self.n];
        for (i, state) in states.iter().enumerate() {
            all[*state] = solved.as_ref().map_or(f64::NAN, |steps| steps[i]);
        }
        all
    }

    /// The distribution over transient states that stays as it is while the chain is not absorbed, and the probability
    /// that it is not: the left eigenvector of Q for its largest eigenvalue. `None` where every state is in a closed
    /// class.
    pub fn quasi_stationary(&self) -> Option<QuasiStationary> {
        let states = self.transient();
        if states.is_empty() {
            return None;
        }
        Some(if self.is_triangular() { self.quasi_of_triangle(&states) } else { self.quasi_by_powers(&states) })
    }

    /// v (Q - lambda I) = 0 by substitution, from the state with the largest diagonal entry down; later states have no
    /// mass, for no step comes back to them.
    fn quasi_of_triangle(&self, states: &[usize]) -> QuasiStationary {
        let own = |k: usize| self.at(states[k], states[k]);
        let top = (0..states.len()).fold(0, |best, k| if own(k) > own(best) { k } else { best });
        let survival = own(top);
        let mut v = vec![0.0; self.n];
        v[states[top]] = 1.0;
        for k in (0..top).rev() {
            let inflow: f64 = (k + 1..=top).map(|i| v[states[i]] * self.at(states[i], states[k])).sum();
            v[states[k]] = inflow / (survival - own(k));
        }
        normalise(&mut v);
        QuasiStationary { distribution: v, survival }
    }

    /// The distribution after 2^40 steps of a chain that began uniformly on the transient states, given that it has not
    /// been absorbed. It steps by (Q + I) / 2, which has the same eigenvectors and no period.
    fn quasi_by_powers(&self, states: &[usize]) -> QuasiStationary {
        let m = states.len();
        let q: Vec<f64> = states.iter().flat_map(|i| states.iter().map(|j| self.at(*i, *j))).collect();
        let mut power: Vec<f64> = q.iter().map(|v| v / 2.0).collect();
        (0..m).for_each(|i| power[i * m + i] += 0.5);
        for _ in 0..MAX_DOUBLINGS {
            let next = product(&power, &power, [m; 3]);
            let most = next.iter().copied().fold(0.0, f64::max);
            if most == 0.0 {
                break;
            }
            power = next.iter().map(|v| v / most).collect();
        }
        let mut v: Vec<f64> = (0..m).map(|j| (0..m).map(|i| power[i * m + j]).sum()).collect();
        normalise(&mut v);
        let survival = (0..m).map(|i| v[i] * q[i * m..][..m].iter().sum::<f64>()).sum();
        let mut distribution = vec![0.0; self.n];
        states.iter().zip(&v).for_each(|(state, mass)| distribution[*state] = *mass);
        QuasiStationary { distribution, survival }
    }
}

/// Half of the sum of |a - b|.
pub fn total_variation(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0
}

/// Steps that a chain takes at least to mix, whatever else is known of it, if an eigenvalue but 1 has this modulus:
/// |lambda|^k <= 2 d(k) (Levin & Peres, eq. 12.15), so k >= ln(1 / (2 `MIXED`)) / ln(1 / |lambda|). Infinite for 1.
pub fn min_mixing_time(modulus: f64) -> f64 {
    match modulus {
        m if m >= 1.0 => f64::INFINITY,
        m if m > 0.0 => (0.5 / MIXED).ln() / (1.0 / m).ln(),
        _ => 0.0,
    }
}
