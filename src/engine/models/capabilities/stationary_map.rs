//! A learned map from a slow control to the stationary distribution of the generator that it sets.

use candle_core::Result;

use crate::analysis::generator::ControlledGenerator;

/// phi(y) ~ p_st(y) (arXiv 2606.16730, section 11.5).
pub trait StationaryMap {
    /// The generator whose stationary distribution is learned.
    fn generator(&self) -> &ControlledGenerator;

    /// The map is trained on y with numbers from minus this to this.
    fn range(&self) -> f64;

    /// phi at each y, without gradients; every y has as many numbers as the generator's control.
    fn predict(&self, ys: &[Vec<f64>]) -> Result<Vec<Vec<f64>>>;
}
