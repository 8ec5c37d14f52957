//! Parts of a model that can be computed with outside of it: the coupled system by which queries and keys evolve (arXiv
//! 2604.01683), the graph of neurons and synapses, and the stationary distribution that a control sets.

use candle_core::{Result, Tensor};

use crate::{analysis::generator::ControlledGenerator, models::Model};

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

/// A model whose neurons and synapses are a graph that is trained edge by edge: equation (6) of arXiv 2509.26507 with
/// circuits of its own.
pub trait TrainedGraph: Model {
    /// The graph of the current weights.
    fn graph(&self) -> Result<GraphMatrices>;

    /// tokens `(B, T)` -> the pulse Y with which each arrives, at least 0, `(B, T, n)`.
    ///
    /// # Errors
    /// If a token is not in the vocabulary.
    fn pulses(&self, tokens: &Tensor) -> Result<Tensor>;

    /// Returns the number of neurons n.
    fn neurons(&self) -> usize;

    /// Returns the number of layers.
    fn layers(&self) -> usize;
}

/// The matrices of the update rules. Their rows are the neurons that edges reach, their columns those that edges leave.
pub struct GraphMatrices {
    /// G_x^e - G_x^i, `(n, n)`.
    pub wires: Tensor,
    /// G_y^e - G_y^i, `(n, n)`.
    pub prods: Tensor,
    /// G_s, `(n, n)`, at least 0; 0 where there is no synapse.
    pub synapses: Tensor,
    /// The share of neuron i's synapses that damping leaves after one token, 0 to 1, `(n)`.
    pub retention: Tensor,
    /// The map from the last y to logits, `(V, n)`.
    pub head: Tensor,
    /// True if A and Y are divided by their root mean square over neurons.
    pub norms: bool,
    /// True if all layers share one state.
    pub single_state: bool,
}

/// A learned map from a slow control y to the stationary distribution of the generator that it sets: phi(y) ~ p_st(y)
/// (arXiv 2606.16730, section 11.5).
pub trait StationaryMap {
    /// The generator whose stationary distribution is learned.
    fn generator(&self) -> &ControlledGenerator;

    /// The map is trained on y with numbers from minus this to this.
    fn range(&self) -> f64;

    /// phi at each y, without gradients; every y has as many numbers as the generator's control.
    fn predict(&self, ys: &[Vec<f64>]) -> Result<Vec<Vec<f64>>>;
}
