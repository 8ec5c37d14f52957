//! Reads a text in chunks, however long it is, and gives the activations of each layer chunk by chunk.

use crate::probe::prelude::*;

/// Tokens of a chunk. Each layer holds two rows of all neurons for every token of it.
const CHUNK: usize = 64;

/// The activations of one layer during one chunk. Neuron h N + i is neuron i of head h.
pub struct LayerActivations {
    heads: usize,
    tokens: usize,
    per_head: usize,
    values: [Vec<f32>; 2], // x and y, (nh, T, N)
}

impl LayerActivations {
    /// Value of neuron h N + i at a token of the chunk.
    pub fn at(&self, which: NeuronActivation, token: usize, neuron: usize) -> f32 {
        let (h, i) = (neuron / self.per_head, neuron % self.per_head);
        self.values[which as usize][(h * self.tokens + token) * self.per_head + i]
    }

    /// All neurons at a token: n values in the order of their numbers.
    pub fn row(&self, which: NeuronActivation, token: usize) -> impl Iterator<Item = f32> + '_ {
        (0..self.heads).flat_map(move |h| {
            let from = (h * self.tokens + token) * self.per_head;
            self.values[which as usize][from..from + self.per_head].iter().copied()
        })
    }

    /// Share of all neurons above zero at a token, 0 to 1.
    pub fn active(&self, which: NeuronActivation, token: usize) -> f64 {
        let on = self.row(which, token).filter(|v| *v > 0.0).count();
        on as f64 / (self.heads * self.per_head) as f64
    }
}

/// A chunk of the text.
pub struct Chunk {
    /// Position of its first token.
    pub from: usize,
    pub tokens: usize,
    pub layers: Vec<LayerActivations>,
    /// -ln p of each token given all before it, nats; NaN at the first token of the text.
    pub loss: Vec<f64>,
}

impl Chunk {
    /// Calls `f` with each value that the synapses of a layer join, y of the layer before (end 0) and x of the layer (end 1):
    /// with the index of the token in the text, the end, the neuron and the value.
    pub fn for_each_end(&self, layer: usize, mut f: impl FnMut(usize, usize, usize, f32)) {
        let ends = [(layer - 1, NeuronActivation::Y), (layer, NeuronActivation::X)];
        for token in 0..self.tokens {
            for (end, (layer, part)) in ends.into_iter().enumerate() {
                let row = self.layers[layer].row(part, token).enumerate();
                row.for_each(|(neuron, value)| f(self.from + token, end, neuron, value));
            }
        }
    }
}

/// Reads `ids` from the first to the last and hands every chunk to `visit`.
///
/// # Errors
/// Those of the model and of `visit`.
pub fn read(model: &dyn SynapseModel, ids: &[u32], mut visit: impl FnMut(Chunk) -> Result<()>) -> Result<()> {
    let (layers, heads, per_head) = (model.shape().layers, model.shape().heads, model.shape().per_head());
    let mut last: Option<Tensor> = None; // (V) log-probabilities of the next token
    TextReader::new(model).tapping(["layers."]).stream(ids, CHUNK, |read| {
        let (part, logits) = (read.ids, read.logits.squeeze(0)?); // (T,V)
        let log_probs = candle_nn::ops::log_softmax(&logits, D::Minus1)?;
        let shifted = match &last {
            Some(last) => Tensor::cat(&[&last.unsqueeze(0)?, &log_probs.narrow(0, 0, part.len() - 1)?], 0)?,
            None => log_probs.narrow(0, 0, part.len() - 1)?,
        };
        let targets = &part[part.len() - shifted.dim(0)?..];
        let mut loss = vec![f64::NAN; part.len() - targets.len()];
        loss.extend(nats_at(&shifted, targets)?);
        last = Some(log_probs.get(part.len() - 1)?);
        let layer = |l: usize| -> Result<LayerActivations> {
            let take = |which: &str| host::to_f32(read.tap.require(&format!("layers.{l}.{which}"))?);
            Ok(LayerActivations { heads, tokens: part.len(), per_head, values: [take("x")?, take("y")?] })
        };
        let layers = (0..layers).map(layer).collect::<Result<_>>()?;
        visit(Chunk { from: read.from, tokens: part.len(), layers, loss })
    })
}
