//! Attention whose queries and keys evolve as a coupled system before they meet (arXiv 2604.01683): what the evolution
//! is in each layer, as numbers.

use candle_core::Result;

pub use crate::nn::fused::evolution::Scheme;

/// The evolution of the queries and keys of one layer: `steps` steps of dq/dt = k, dk/dt = f(q).
#[derive(Debug, Clone, PartialEq)]
pub struct LayerDynamics {
    /// f(q) = second silu(first q): its two weights, each (d, d), (outputs, inputs), row by row; all heads share them.
    pub first: Vec<f32>,
    /// The weights of the second layer of f, row by row.
    pub second: Vec<f32>,
    /// d, the width of a head.
    pub head_dim: usize,
    /// Step size of each head, exp(tau).
    pub dt: Vec<f64>,
    /// n; 0 leaves queries and keys as they were projected.
    pub steps: usize,
    /// The integrator of the evolution.
    pub scheme: Scheme,
}

/// Layers whose queries and keys may evolve. Where a layer's do, its taps `layers.<i>.attn.q0` and `layers.<i>.attn.k0` hold
/// them before the evolution, `layers.<i>.attn.q` and `layers.<i>.attn.k` after it, each `(B, H, T, d)`.
pub trait QueryKeyDynamics {
    /// Returns the number of layers of the model.
    fn layers(&self) -> usize;

    /// `None` where this layer scores its queries and keys as they are projected.
    ///
    /// # Errors
    /// If the weights cannot be copied from their device, or there is no such layer.
    fn layer(&self, layer: usize) -> Result<Option<LayerDynamics>>;
}
