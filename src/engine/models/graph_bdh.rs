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
mod spec;

pub use spec::GraphBdhSpec;

use self::net::{Net, SynapseState};
use super::capabilities::{GraphMatrices, TrainedGraph};
use crate::models::prelude::*;

/// Taps: `layers.l.x`, `layers.l.y` `(B, 1, T, n)`.
pub struct GraphBdh {
    spec: GraphBdhSpec,
    params: Params,
    net: Net,
    inference_net: Net,
}

impl GraphBdh {
    /// The graph and its weights are drawn from `seed`; errors name the size that does not fit. The sources of edges are
    /// buffers, so that a checkpoint holds its graph.
    pub fn new(spec: &GraphBdhSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        spec.check()?;
        let mut params = Params::new(seed, device, DType::F32);
        let (net, inference_net) = params.build_twice(|p| Net::new(p, spec, vocab, seed))?;
        Ok(Self { spec: spec.clone(), params, net, inference_net })
    }

    /// Starts reading `rows` texts token by token.
    ///
    /// # Errors
    /// If the device refuses the memory of the state.
    pub fn stream(&self, rows: usize) -> Result<GraphBdhStream<'_>> {
        Ok(GraphBdhStream { net: &self.inference_net, state: self.inference_net.rest(rows)? })
    }

    fn cross_entropy(net: &Net, batch: &Batch) -> Result<Tensor> {
        head_cross_entropy(&net.encode(&batch.tokens, &mut Tap::off())?, &net.head, &batch.targets)
    }
}

/// Reads texts token by token; all of their past is the state of the synapses.
pub struct GraphBdhStream<'a> {
    net: &'a Net,
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
