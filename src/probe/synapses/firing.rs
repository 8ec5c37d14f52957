//! A text read in chunks, however long it is: what fires in each layer, handed on chunk by chunk.

use candle_core::{D, Device, Result, Tensor};

use crate::{
    models::{bdh::State, capabilities::SynapseModel},
    nn::{Tap, host},
};

/// Tokens read at once. What is kept of a chunk is so many rows of all neurons, twice a layer.
const CHUNK: usize = 64;

/// One layer during one chunk. Neuron i of head h stands in row h, column i.
pub struct Layer {
    heads: usize,
    tokens: usize,
    per_head: usize,
    values: [Vec<f32>; 2], // x and y, (nh, T, N)
}

/// First or second layer of neurons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    X = 0,
    Y = 1,
}

impl Layer {
    /// Value of neuron h N + i at a token of the chunk.
    pub fn at(&self, part: Part, token: usize, neuron: usize) -> f32 {
        let (h, i) = (neuron / self.per_head, neuron % self.per_head);
        self.values[part as usize][(h * self.tokens + token) * self.per_head + i]
    }

    /// All neurons at a token, head by head: n values in the order of their numbers.
    pub fn row(&self, part: Part, token: usize) -> impl Iterator<Item = f32> + '_ {
        (0..self.heads).flat_map(move |h| {
            let from = (h * self.tokens + token) * self.per_head;
            self.values[part as usize][from..from + self.per_head].iter().copied()
        })
    }

    /// Share of all neurons that fire at a token.
    pub fn active(&self, part: Part, token: usize) -> f64 {
        let on = self.row(part, token).filter(|v| *v > 0.0).count();
        on as f64 / (self.heads * self.per_head) as f64
    }
}

/// A chunk that was read.
pub struct Chunk {
    /// Its first token's position.
    pub from: usize,
    pub tokens: usize,
    pub layers: Vec<Layer>,
    /// Nats of each token after the first of the text, given all before it; of the chunk's tokens.
    pub surprise: Vec<f64>,
}

/// Reads `ids` from the first to the last. The first token has surprise NaN: nothing came before it.
pub fn read(
    model: &dyn SynapseModel,
    ids: &[u32],
    device: &Device,
    mut found: impl FnMut(Chunk) -> Result<()>,
) -> Result<()> {
    let mut state = State::empty(model.spec(), 1, device)?;
    let mut last: Option<Tensor> = None; // (V) log-probabilities of the next token
    for (c, part) in ids.chunks(CHUNK).enumerate() {
        let tokens = Tensor::from_slice(part, (1, part.len()), device)?;
        let mut tap = Tap::on(&["layers."]);
        let logits = model.read(&tokens, &mut state, &mut tap)?.squeeze(0)?; // (T,V)
        let told = candle_nn::ops::log_softmax(&logits, D::Minus1)?;
        let before = match &last {
            Some(last) => Tensor::cat(&[&last.unsqueeze(0)?, &told.narrow(0, 0, part.len() - 1)?], 0)?,
            None => told.narrow(0, 0, part.len() - 1)?,
        };
        let asked = &part[part.len() - before.dim(0)?..];
        let mut surprise = vec![f64::NAN; part.len() - asked.len()];
        if !asked.is_empty() {
            let asked = Tensor::from_slice(asked, (asked.len(), 1), device)?;
            surprise.extend(host::to_f64(&before.gather(&asked, 1)?)?.iter().map(|l| -l));
        }
        last = Some(told.get(part.len() - 1)?);
        let layers = (0..model.spec().layers).map(|l| layer(&tap, l, part.len(), model)).collect::<Result<_>>()?;
        found(Chunk { from: c * CHUNK, tokens: part.len(), layers, surprise })?;
    }
    Ok(())
}

fn layer(tap: &Tap, layer: usize, tokens: usize, model: &dyn SynapseModel) -> Result<Layer> {
    let take = |part: &str| match tap.get(&format!("layers.{layer}.{part}")) {
        Some(found) => host::to_f32(found),
        None => candle_core::bail!("the model offers no activation `layers.{layer}.{part}`"),
    };
    let spec = model.spec();
    Ok(Layer { heads: spec.heads, tokens, per_head: spec.per_head(), values: [take("x")?, take("y")?] })
}
