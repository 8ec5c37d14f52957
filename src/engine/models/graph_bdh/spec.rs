//! Sizes of a BDH on a graph: plain data.

use crate::models::prelude::*;

defaults! {
    /// The sizes of a model; the defaults are those of the lab.
    pub struct GraphBdhSpec {
        /// The number of neurons, n.
        pub neurons: usize = 96,
        /// The number of edges that end at a neuron in each of the four circuits: excitatory and inhibitory, of G_x and of G_y.
        pub degree: usize = 8,
        /// Synapses of a neuron, the edges of G_s.
        pub synapses: usize = 8,
        /// The number of layers, L, which all share one set of weights.
        pub layers: usize = 2,
        /// The number of tokens after which the slowest neuron's synapses have decayed to 1/e; those of the first neuron take one.
        pub memory: f64 = 64.0,
        /// Divides the output of a neuron layer by its root mean square over neurons; false is equation (6) as printed.
        pub norms: bool = true,
        /// True if all layers read and write one state of the synapses, which fades once a token; else each has its own.
        pub single_state: bool = false,
    }
}

/// The largest number of neurons, so that a circuit's square matrix has at most 16 MB.
pub const MAX_NEURONS: usize = 2048;

/// The values that a layer saves for backward per neuron and position, and their gradients.
const VALUES_PER_NEURON: f64 = 22.0;
/// The copies of the synapses' states at all tokens of a text that the backward pass of a layer recomputes: one for each of
/// the tasks that run at a time, of which a text has at most four.
const STATE_COPIES: f64 = 1.0;
/// The values that reading token by token saves for backward per synapse, token and layer, and their gradients.
const VALUES_PER_SYNAPSE: f64 = 8.0;
/// The square matrices that a circuit takes: two parts, their difference, its transpose, and gradients.
const MATRICES_PER_CIRCUIT: f64 = 7.0;

impl FamilySpec for GraphBdhSpec {
    fn memory(&self, step: &StepSizes) -> StepMemory {
        let (n, layers, positions) = (self.neurons as f64, self.layers as f64, step.positions());
        let per_layer = positions * n * VALUES_PER_NEURON;
        let synapses = n * self.synapses as f64;
        let states = match self.single_state {
            true => VALUES_PER_SYNAPSE * layers * positions * synapses,
            false => STATE_COPIES * step.tokens * synapses,
        };
        StepMemory {
            weights: n * (4.0 * self.degree as f64 + self.synapses as f64 + 2.0 * step.vocab),
            shared: 0.0,
            activations: layers * per_layer
                + states
                + 2.0 * MATRICES_PER_CIRCUIT * n * n
                + step_memory::head(self.neurons, step),
        }
    }

    fn tiny() -> Self {
        Self { neurons: 24, degree: 3, synapses: 4, layers: 2, memory: 8.0, norms: true, single_state: false }
    }
}

impl GraphBdhSpec {
    /// 4 n k edges of circuits, n times as many synapses, and the 2 V n of embedding and head.
    pub fn parameters(&self, vocab: usize) -> usize {
        self.neurons * (4 * self.degree + self.synapses + 2 * vocab)
    }

    /// Errors name the size that does not fit.
    pub fn check(&self) -> Result<()> {
        let Self { neurons: n, degree, synapses, layers, memory, .. } = *self;
        ensure!(n > 0 && layers > 0, "neurons {n} and layers {layers} must be at least 1");
        if n > MAX_NEURONS {
            bail!(
                "{n} neurons are more than {MAX_NEURONS}: the circuits of this form are made as square matrices; choose BDH-GPU"
            );
        }
        for (what, count) in [("edges", degree), ("synapses", synapses)] {
            let fits = (1..=n).contains(&count);
            ensure!(fits, "a neuron has 1 to {n} {what}, one for each of {n} neurons at most, not {count}");
        }
        ensure!(memory.is_finite() && memory >= 1.0, "synapses are kept for at least 1 token, not {memory}");
        Ok(())
    }
}
