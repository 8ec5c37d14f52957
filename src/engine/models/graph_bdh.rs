//! BDH on a graph (arXiv 2509.26507, equation 6), trained directly: the edges of G_x, G_y and G_s are chosen, and their
//! weights learn. BDH-GPU keeps the same graphs as products of thin matrices.
//!
//! For token t and layer l, with all weights at least 0:
//!
//! - x_l = x_(l-1) + ((G_x^e - G_x^i) y_(l-1))^+, with x_(-1) = 0,
//! - y_l = ((G_y^e - G_y^i) sigma_(t-1, l) x_l)^+ * x_l,
//! - sigma_(t, l)(i, j) = keep_i (sigma_(t-1, l) + (y_(l-1) x_l^T) * G_s)(i, j).
//!
//! Where the paper leaves a choice open, these are made: edges are drawn at random, the same number at each neuron; a weight
//! is the absolute value of its parameter; a token arrives as the pulse (its row of the embedding)^+ and the head reads the last y; the share 1 - u(i, j) of
//! Table 1 that is left of a synapse after a token depends on i alone, not on j as a U on the right would, with time
//! constants from one token to [`GraphBdhSpec::memory`]; and norms, which the paper moves to the neurons in one of its
//! remarks, divide pulses, sigma x and y by their root mean squares.
//!
//! By another remark (section 2.2) a single sigma for all layers is no fundamental change. With
//! [`GraphBdhSpec::single_state`] a layer reads what all layers wrote for the tokens before and those below it for the same
//! token, and sigma fades once a token.

mod net;

use self::net::{GraphBdhNet, SynapseState};
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
const MAX_NEURONS: usize = 2048;

/// The values that a layer saves for backward per neuron and position, and their gradients.
const VALUES_PER_NEURON: f64 = 22.0;
/// The copies of the synapses' states at all tokens of a text that the backward pass of a layer recomputes: one for each of
/// the tasks that run at a time, at most four for a text.
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

/// Taps: `layers.l.x`, `layers.l.y` `(B, 1, T, n)`.
pub struct GraphBdh {
    spec: GraphBdhSpec,
    params: Params,
    net: GraphBdhNet,
    inference_net: GraphBdhNet,
}

impl GraphBdh {
    /// The graph and its weights are drawn from `seed`; errors name the size that does not fit. The sources of edges are
    /// buffers, so that a checkpoint holds its graph.
    pub fn new(spec: &GraphBdhSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        spec.check()?;
        let mut params = Params::new(seed, device, DType::F32);
        let (net, inference_net) = params.build_twice(|p| GraphBdhNet::new(p, spec, vocab, seed))?;
        Ok(Self { spec: spec.clone(), params, net, inference_net })
    }

    /// Starts reading `rows` texts token by token.
    pub fn stream(&self, rows: usize) -> Result<GraphBdhStream<'_>> {
        Ok(GraphBdhStream { net: &self.inference_net, state: self.inference_net.rest(rows)? })
    }

    fn cross_entropy(net: &GraphBdhNet, batch: &Batch) -> Result<Tensor> {
        head_cross_entropy(&net.encode(&batch.tokens, &mut Tap::off())?, &net.head, &batch.targets)
    }
}

/// Reads texts token by token; all of their past is the state of the synapses.
pub struct GraphBdhStream<'a> {
    net: &'a GraphBdhNet,
    state: SynapseState,
}

impl GraphBdhStream<'_> {
    /// The next token of each text, u32 `(B, 1)` -> logits `(B, 1, V)`, as if the whole text had been read at once.
    ///
    /// # Errors
    /// If `token` has other than the stream's rows.
    pub fn read(&mut self, token: &Tensor) -> Result<Tensor> {
        linear(&self.net.read_next(token, &mut self.state)?, &self.net.head)
    }
}

impl Trainable for GraphBdh {
    params_and_spec!(GraphBdh);

    fn loss_into(&self, batch: &Batch, _: Option<&GradAccumulator>) -> Result<Loss> {
        Ok(Self::cross_entropy(&self.net, batch)?.into())
    }

    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        Self::cross_entropy(&self.inference_net, batch)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { token_model: Some(self), trained_graph: Some(self), ..Capabilities::default() }
    }
}

impl TrainedGraph for GraphBdh {
    fn graph(&self) -> Result<GraphMatrices> {
        self.inference_net.graph()
    }

    fn pulses(&self, tokens: &Tensor) -> Result<Tensor> {
        self.inference_net.pulses(tokens)
    }

    fn neurons(&self) -> usize {
        self.spec.neurons
    }

    fn layers(&self) -> usize {
        self.spec.layers
    }
}

impl Model for GraphBdh {
    fn logits(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        linear(&self.inference_net.encode(tokens, tap)?, &self.inference_net.head)
    }
}
