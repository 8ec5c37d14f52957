//! The forward pass of a BDH on a graph: over a whole window, and token by token.

use rand::seq::index::sample;

use super::GraphBdhSpec;
use crate::{
    models::prelude::*,
    nn::fused::synapses::{Synapses, synaptic_attention},
    random::hash,
};

/// The epsilon of every norm.
const EPS: f64 = 1e-5;
/// Standard deviation of the head before training.
const HEAD_STD: f64 = 0.02;

/// The k edges that end at each neuron: their sources, and their weights, whose absolute values are used.
#[derive(Clone)]
struct Edges {
    source: Tensor, // (n, k), whole numbers
    weight: Tensor, // (n, k)
}

impl Edges {
    /// Sources are drawn from `seed` and the name, each at most once for a neuron.
    fn new(p: &mut Params, path: &str, [n, k]: [usize; 2], seed: u64, weight: Tensor) -> Result<Self> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ hash(path));
        let drawn: Vec<f32> = (0..n).flat_map(|_| sample(&mut rng, n, k).into_iter().map(|j| j as f32)).collect();
        let source = p.buffer(&format!("{path}.source"), (n, k), drawn)?;
        Ok(Self { source, weight })
    }

    /// Sources as indices `(n, k)`, without a graph.
    fn sources(&self) -> Result<Tensor> {
        self.source.detach().to_dtype(DType::U32)?.contiguous()
    }

    /// The matrix G `(n, n)`, at least 0: G(i, j) is the weight of the edge from j to i.
    fn matrix(&self) -> Result<Tensor> {
        let (n, device) = (self.weight.dim(0)?, self.weight.device());
        let first = Tensor::arange_step(0u32, (n * n) as u32, n as u32, device)?.unsqueeze(1)?; // start of each row
        let places = self.sources()?.broadcast_add(&first)?.flatten_all()?;
        let zeros = Tensor::zeros(n * n, self.weight.dtype(), device)?;
        zeros.index_add(&places, &self.weight.abs()?.flatten_all()?, 0)?.reshape((n, n))
    }
}

/// An excitatory and an inhibitory circuit over the same neurons.
#[derive(Clone)]
struct Circuit {
    excitatory: Edges,
    inhibitory: Edges,
}

impl Circuit {
    fn new(p: &mut Params, path: &str, sizes: [usize; 2], seed: u64) -> Result<Self> {
        // the sum over both circuits then has about the scale of its inputs
        let std = (0.5 / sizes[1].max(1) as f64).sqrt();
        let part = |p: &mut Params, name: &str| {
            let path = format!("{path}.{name}");
            let weight = p.normal(&format!("{path}.weight"), (sizes[0], sizes[1]), std)?;
            Edges::new(p, &path, sizes, seed, weight)
        };
        Ok(Self { excitatory: part(p, "excitatory")?, inhibitory: part(p, "inhibitory")? })
    }

    /// G^e - G^i, `(n, n)`.
    fn matrix(&self) -> Result<Tensor> {
        self.excitatory.matrix()? - self.inhibitory.matrix()?
    }
}

/// max(x, 0). Its slope at 0 is 0, as in PyTorch: a neuron whose sources are all silent is at exactly 0.
fn positive(x: &Tensor) -> Result<Tensor> {
    x * x.gt(0.0)?.to_dtype(x.dtype())?
}

/// The weights, one set for all layers.
pub(super) struct GraphBdhNet {
    spec: GraphBdhSpec,
    embed: Tensor,           // (V, n)
    pub(super) head: Tensor, // (V, n)
    wires: Circuit,          // G_x
    prods: Circuit,          // G_y
    synapses: Edges,         // G_s
}

/// The synapses' state of every layer after what was read, or the one of all layers.
pub(super) struct SynapseState {
    layers: Vec<Tensor>, // (B, n, k)
}

/// The values that are the same at every token when a text is read token by token.
struct Reader {
    circuits: [Tensor; 2], // (n, n)
    retention: Tensor,     // (1, n, 1)
    sources: Tensor,       // (n k)
    weight: Tensor,        // (1, n, k)
}

/// Offers the activations x and y of a layer to the tap, each `(B, T, n)`.
fn offer(tap: &mut Tap, layer: usize, x: &Tensor, y: &Tensor) -> Result<()> {
    tap.offer(&format!("layers.{layer}.x"), || x.unsqueeze(1))?;
    tap.offer(&format!("layers.{layer}.y"), || y.unsqueeze(1))
}

impl GraphBdhNet {
    pub(super) fn new(p: &mut Params, spec: &GraphBdhSpec, vocab: usize, seed: u64) -> Result<Self> {
        let n = spec.neurons;
        let embed = p.normal("embed.weight", (vocab, n), 1.0)?;
        let head = p.normal("head.weight", (vocab, n), HEAD_STD)?;
        let wires = Circuit::new(p, "gx", [n, spec.degree], seed)?;
        let prods = Circuit::new(p, "gy", [n, spec.degree], seed)?;
        // ones, because in BDH-GPU each pair has a synapse of weight 1
        let written = p.ones("gs.weight", (n, spec.synapses))?;
        let synapses = Edges::new(p, "gs", [n, spec.synapses], seed, written)?;
        Ok(Self { spec: spec.clone(), embed, head, wires, prods, synapses })
    }

    /// Divides by the root mean square of the last axis, or returns the input unchanged.
    fn norm(&self, x: &Tensor) -> Result<Tensor> {
        if !self.spec.norms {
            return Ok(x.clone());
        }
        rms_norm(x, &Tensor::ones(self.spec.neurons, x.dtype(), x.device())?, EPS)
    }

    /// ln of the share of neuron i's synapses that a token leaves, -1 / tau_i; tau grows by equal factors from 1 to the
    /// longest memory. `(n)`
    fn log_decay(&self) -> Vec<f32> {
        let n = self.spec.neurons;
        let last = n.saturating_sub(1).max(1) as f64;
        (0..n).map(|i| -self.spec.memory.powf(-(i as f64) / last) as f32).collect()
    }

    /// The share of each neuron's synapses that a token leaves, `(n)`.
    fn retention(&self) -> Result<Tensor> {
        Tensor::from_vec(self.log_decay(), self.spec.neurons, self.embed.device())?.exp()
    }

    /// The pulse of each token, at least 0: `(B, T, n)`.
    pub(super) fn pulses(&self, tokens: &Tensor) -> Result<Tensor> {
        self.norm(&positive(&embedding(&self.embed, tokens)?)?)
    }

    /// tokens `(B, T)` -> y of the last layer `(B, T, n)`. Offers `layers.l.x` and `layers.l.y` `(B, 1, T, n)`.
    pub(super) fn encode(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        if self.spec.single_state {
            return self.encode_in_turn(tokens, tap);
        }
        let synapses = Arc::new(Synapses::new(host::to_u32(&self.synapses.sources()?)?, self.log_decay())?);
        let weight = self.synapses.weight.abs()?;
        let attend = |_: usize, x: &Tensor, y: &Tensor| synaptic_attention(x, y, &weight, &synapses);
        self.layers(self.pulses(tokens)?, &self.circuits()?, attend, |layer, x, y| offer(tap, layer, x, y))
    }

    /// The same with a single state, token by token: the first layer reads what the last wrote for the token before.
    fn encode_in_turn(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        let (rows, len) = tokens.dims2()?;
        let (reader, mut state) = (self.reader()?, self.rest(rows)?);
        let mut made: Vec<[Vec<Tensor>; 2]> = vec![[vec![], vec![]]; self.spec.layers]; // x and y by layer and token
        let mut last = vec![];
        for t in 0..len {
            let token = tokens.narrow(1, t, 1)?.contiguous()?;
            let keep = |layer: usize, x: &Tensor, y: &Tensor| {
                made[layer][0].push(x.clone());
                made[layer][1].push(y.clone());
                Ok(())
            };
            last.push(self.read(&reader, &token, &mut state, keep)?);
        }
        if tap.is_on() {
            for (layer, [x, y]) in made.iter().enumerate() {
                offer(tap, layer, &Tensor::cat(x, 1)?, &Tensor::cat(y, 1)?)?;
            }
        }
        Tensor::cat(&last, 1)?.contiguous()
    }

    /// G_x and G_y.
    fn circuits(&self) -> Result<[Tensor; 2]> {
        Ok([self.wires.matrix()?, self.prods.matrix()?])
    }

    pub(super) fn graph(&self) -> Result<GraphMatrices> {
        Ok(GraphMatrices {
            wires: self.wires.matrix()?,
            prods: self.prods.matrix()?,
            synapses: self.synapses.matrix()?,
            retention: self.retention()?,
            head: self.head.clone(),
            norms: self.spec.norms,
            single_state: self.spec.single_state,
        })
    }

    /// Runs the layers: `attend` gives sigma x from the layer, x and the previous y, and `seen` gets the x and y of
    /// each.
    fn layers(
        &self,
        pulses: Tensor,
        [wires, prods]: &[Tensor; 2],
        mut attend: impl FnMut(usize, &Tensor, &Tensor) -> Result<Tensor>,
        mut seen: impl FnMut(usize, &Tensor, &Tensor) -> Result<()>,
    ) -> Result<Tensor> {
        let (mut y, mut x): (Tensor, Option<Tensor>) = (pulses, None);
        for layer in 0..self.spec.layers {
            let more = positive(&linear(&y, wires)?)?;
            let now = match x {
                Some(before) => (before + more)?,
                None => more,
            };
            let a = self.norm(&attend(layer, &now, &y)?)?;
            y = self.norm(&(positive(&linear(&a, prods)?)? * &now)?)?;
            seen(layer, &now, &y)?;
            x = Some(now);
        }
        Ok(y)
    }

    /// The state before the first token of this many texts.
    pub(super) fn rest(&self, rows: usize) -> Result<SynapseState> {
        let Self { spec, embed, .. } = self;
        let empty = || Tensor::zeros((rows, spec.neurons, spec.synapses), DType::F32, embed.device());
        let states = if spec.single_state { 1 } else { spec.layers };
        Ok(SynapseState { layers: (0..states).map(|_| empty()).collect::<Result<_>>()? })
    }

    /// The next token `(B, 1)` -> y of the last layer `(B, 1, n)`: equation (6) literally, with one synapse per edge.
    pub(super) fn read_next(&self, token: &Tensor, state: &mut SynapseState) -> Result<Tensor> {
        self.read(&self.reader()?, token, state, |_, _, _| Ok(()))
    }

    fn reader(&self) -> Result<Reader> {
        Ok(Reader {
            circuits: self.circuits()?,
            retention: self.retention()?.reshape((1, self.spec.neurons, 1))?,
            sources: self.synapses.sources()?.flatten_all()?,
            weight: self.synapses.weight.abs()?.unsqueeze(0)?,
        })
    }

    /// Same as [`GraphBdhNet::read_next`]; `seen` gets the x and y of each layer.
    fn read(
        &self,
        reader: &Reader,
        token: &Tensor,
        state: &mut SynapseState,
        seen: impl FnMut(usize, &Tensor, &Tensor) -> Result<()>,
    ) -> Result<Tensor> {
        let (n, k, states) = (self.spec.neurons, self.spec.synapses, state.layers.len());
        let attend = |layer: usize, x: &Tensor, y: &Tensor| {
            let sigma = &mut state.layers[layer % states];
            let ends = x.squeeze(1)?.index_select(&reader.sources, 1)?.reshape(((), n, k))?; // (B, n, k)
            let a = (&*sigma * &ends)?.sum(2)?.unsqueeze(1)?; // (B, 1, n)
            let grown = ends.broadcast_mul(&reader.weight)?.broadcast_mul(&y.transpose(1, 2)?)?;
            *sigma = (&*sigma + grown)?;
            // the state decays once per token, after the last layer that uses it
            if layer + states >= self.spec.layers {
                *sigma = sigma.broadcast_mul(&reader.retention)?;
            }
            Ok(a)
        };
        self.layers(self.pulses(token)?, &reader.circuits, attend, seen)
    }
}
