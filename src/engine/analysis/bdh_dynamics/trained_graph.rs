//! The synapses of a graph that was trained edge by edge, where BDH-GPU has one of weight 1 for every pair.

use super::{Dense, Drift, Synapse, System, parts};

/// The synapses G_s, with the rule for their state.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainedSynapses {
    /// G_s `(n, n)`, row the y side, at least 0; 0 is no synapse.
    pub weights: Dense<f64>,
    /// The share of neuron i's synapses that a token leaves, `(n)`.
    pub keep: Vec<f64>,
    /// True if A and Y are divided by their root mean square over neurons.
    pub norms: bool,
    /// True if all layers share one state.
    pub single_state: bool,
}

impl TrainedSynapses {
    /// The local rules on the circuits G_x and G_y `(n, n)` and these synapses; `None` where sizes do not fit.
    pub fn system(&self, [gx, gy]: [&Dense<f64>; 2], drift: &Drift, layers: usize) -> Option<System<f64>> {
        let n = self.keep.len();
        if n == 0 || [gx, gy, &self.weights].iter().any(|m| (m.rows, m.cols) != (n, n)) || drift.n() != n {
            return None;
        }
        let synapse = |(k, weight): (usize, &f64)| Synapse { y: k / n, x: k % n, weight: *weight };
        let synapses = self.weights.data.iter().enumerate().filter(|(_, w)| **w > 0.0).map(synapse).collect();
        let mut system = System::new(n, layers, parts(gx), parts(gy), synapses, drift.clone());
        (system.keep, system.norms, system.single_state) = (self.keep.clone(), self.norms, self.single_state);
        Some(system)
    }
}
