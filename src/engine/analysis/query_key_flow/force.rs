//! The force on a key: a learned function of the query, or minus the gradient of a known potential.

use super::Matrix;

/// f of dk/dt = f(q), for queries of one width d.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum Force {
    /// f(q) = second silu(first q), without biases, of weights (d, d), (outputs, inputs); in general no gradient of anything.
    Learned { first: Matrix, second: Matrix },
    /// f(q) = -q, of V = |q|²/2: every path is an ellipse, passed once in 2 pi.
    Harmonic,
    /// f(q) = q - q³, of V = sum (q² - 1)²/4 over the coordinates: wells at -1 and 1 and a barrier of 1/4 between them.
    DoubleWell,
}

/// The error for weights that do not define a force.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a force on queries of {width} numbers takes two weights of {width} x {width}, and was given {first} and {second} numbers"
)]
pub struct ForceError {
    width: usize,
    first: usize,
    second: usize,
}

impl Force {
    /// Builds the force from the weights of a model, each (d, d), (outputs, inputs), row by row.
    ///
    /// # Errors
    /// If a weight does not have d x d values.
    pub fn learned(first: &[f32], second: &[f32], d: usize) -> Result<Self, ForceError> {
        let wide = |values: &[f32]| values.iter().map(|v| f64::from(*v)).collect();
        let fits = d.checked_mul(d).is_some_and(|n| first.len() == n && second.len() == n);
        ensure!(fits, ForceError { width: d, first: first.len(), second: second.len() });
        Ok(Self::Learned { first: Matrix::new(d, wide(first)), second: Matrix::new(d, wide(second)) })
    }

    /// f(q)
    pub fn at(&self, q: &[f64]) -> Vec<f64> {
        match self {
            Force::Learned { first, second } => {
                let hidden: Vec<f64> = first.apply(q).into_iter().map(|h| h * sigmoid(h)).collect();
                second.apply(&hidden)
            }
            Force::Harmonic => q.iter().map(|q| -q).collect(),
            Force::DoubleWell => q.iter().map(|q| q - q.powi(3)).collect(),
        }
    }

    /// f'(q), (d, d): row i is the gradient of f_i.
    pub fn jacobian(&self, q: &[f64]) -> Matrix {
        match self {
            Force::Learned { first, second } => {
                let slopes: Vec<f64> = first.apply(q).into_iter().map(silu_slope).collect();
                second.times(&first.with_scaled_rows(&slopes))
            }
            Force::Harmonic => Matrix::identity(q.len()).scaled(-1.0),
            Force::DoubleWell => {
                let slopes: Vec<f64> = q.iter().map(|q| 1.0 - 3.0 * q * q).collect();
                Matrix::identity(q.len()).with_scaled_rows(&slopes)
            }
        }
    }

    /// V(q), where the force is its negative gradient. A learned force has none.
    pub fn potential(&self, q: &[f64]) -> Option<f64> {
        match self {
            Force::Learned { .. } => None,
            Force::Harmonic => Some(q.iter().map(|q| q * q / 2.0).sum()),
            Force::DoubleWell => Some(q.iter().map(|q| (q * q - 1.0).powi(2) / 4.0).sum()),
        }
    }
}

fn sigmoid(h: f64) -> f64 {
    1.0 / (1.0 + (-h).exp())
}

/// d/dh of h sigmoid(h).
fn silu_slope(h: f64) -> f64 {
    let s = sigmoid(h);
    s + h * s * (1.0 - s)
}
