//! A model whose neurons and synapses are a graph that is trained edge by edge.

use candle_core::{Result, Tensor};

use crate::models::Model;

/// Equation (6) of arXiv 2509.26507 with circuits of its own.
pub trait TrainedGraph: Model {
    /// The graph as it is at this step.
    ///
    /// # Errors
    /// If the device refuses the memory of the square matrices.
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
    pub keep: Tensor,
    /// The map from the last y to logits, `(V, n)`.
    pub head: Tensor,
    /// True if A and Y are divided by their root mean square over neurons.
    pub norms: bool,
    /// True if all layers share one state.
    pub single_state: bool,
}
