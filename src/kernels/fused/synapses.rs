//! Linear attention through the synapses of a graph (BDH, arXiv 2509.26507, equation 6). The fused form updates the state
//! of each synapse token by token, so that its work grows with T and not with T^2.

use std::{ops::Range, sync::Arc};

use crate::{fused::prelude::*, reduce};

/// The synapses of a graph, the same number at each neuron, and the decay of each neuron's synapses per token.
#[derive(Debug, Clone)]
pub struct Synapses {
    sources: Vec<u32>, // (n, k)
    decay: Vec<f32>,   // (n)
    log_decay: Vec<f32>,
}

impl Synapses {
    /// Synapses of n neurons: `sources` `(n, k)` are the neurons that they come from, `log_decay` `(n)` is the logarithm of
    /// the factor by which the synapses of a neuron decay at each token.
    ///
    /// # Errors
    /// If the sizes do not fit or a source is not a neuron.
    pub fn new(sources: Vec<u32>, log_decay: Vec<f32>) -> Result<Self> {
        let n = log_decay.len();
        if n == 0 || sources.is_empty() || !sources.len().is_multiple_of(n) {
            bail!("{} synapses cannot be shared among {n} neurons", sources.len());
        }
        if let Some(source) = sources.iter().find(|s| **s as usize >= n) {
            bail!("a synapse comes from neuron {source}, and there are {n}");
        }
        Ok(Self { sources, decay: log_decay.iter().map(|l| l.exp()).collect(), log_decay })
    }

    /// The number of neurons, and of synapses of each.
    fn dims(&self) -> (usize, usize) {
        (self.decay.len(), self.sources.len() / self.decay.len())
    }
}

/// a_t(i) = sum_(s < t) decay_i^(t - s) y_s(i) sum_j w(i, j) x_s(j) x_t(j) over the sources j of neuron i.
/// x and y `(B, T, n)`, weight `(n, k)` -> `(B, T, n)`.
pub fn synaptic_attention(x: &Tensor, y: &Tensor, weight: &Tensor, synapses: &Arc<Synapses>) -> Result<Tensor> {
    let (n, k) = synapses.dims();
    if x.rank() != 3 || x.dim(D::Minus1)? != n || x.dims() != y.dims() || weight.dims() != [n, k] {
        bail!("{n} neurons of {k} synapses: x {:?}, y {:?}, weights {:?}", x.shape(), y.shape(), weight.shape());
    }
    let args = [&x.contiguous()?, &y.contiguous()?, &weight.contiguous()?];
    let op = SynapticAttention { synapses: synapses.clone() };
    apply_fused(args, op, |[x, y, weight]| reference(x, y, weight, synapses))
}

/// The reference form in plain candle, with the arguments of [`synaptic_attention`].
pub fn reference(x: &Tensor, y: &Tensor, weight: &Tensor, synapses: &Synapses) -> Result<Tensor> {
    let ((b, t, _), (n, k)) = (x.dims3()?, synapses.dims());
    let sources = Tensor::from_slice(&synapses.sources, n * k, x.device())?;
    let inputs = x.index_select(&sources, 2)?.reshape((b, t, n, k))?.permute((0, 2, 1, 3))?.contiguous()?; // (B,n,T,k)
    let weighted = inputs.broadcast_mul(&weight.reshape((1, n, 1, k))?)?.reshape((b * n, t, k))?;
    let scores = inputs.reshape((b * n, t, k))?.matmul(&weighted.transpose(1, 2)?.contiguous()?)?; // (B n,T,T)
    let scores = scores.reshape((b, n, t, t))?.broadcast_mul(&decays(t, synapses, x)?.unsqueeze(0)?)?;
    let values = y.transpose(1, 2)?.contiguous()?.reshape((b * n, t, 1))?;
    scores.reshape((b * n, t, t))?.matmul(&values)?.reshape((b, n, t))?.transpose(1, 2)?.contiguous()
}

/// decay_i^(t - s) at `(i, t, s)` for s < t, else 0: `(n, T, T)`, of the type of x.
fn decays(t: usize, synapses: &Synapses, x: &Tensor) -> Result<Tensor> {
    let device = x.device();
    let at = Tensor::arange(0f32, t as f32, device)?;
    let ago = at.unsqueeze(1)?.broadcast_sub(&at.unsqueeze(0)?)?; // (T,T), t - s
    // the future is masked afterwards, and must not overflow before
    let rate = Tensor::from_slice(&synapses.log_decay, (synapses.log_decay.len(), 1, 1), device)?;
    let decayed = rate.broadcast_mul(&ago.maximum(0.0)?.unsqueeze(0)?)?.exp()?;
    let past = (Tensor::tril2(t, DType::F32, device)? - Tensor::eye(t, DType::F32, device)?)?;
    decayed.broadcast_mul(&past.unsqueeze(0)?)?.to_dtype(x.dtype())
}

struct SynapticAttention {
    synapses: Arc<Synapses>,
}

/// The largest number of tasks for one text; each has its own buffer for the gradient of x.
const MAX_SLICES: usize = 4;
/// The smallest number of neurons of a task, if the text has as many.
const MIN_NEURONS: usize = 32;

/// The neurons of a text that one task takes.
struct NeuronSlice<'a> {
    x: &'a [f32],       // (T, n)
    y: &'a [f32],       // (T, n)
    weight: &'a [f32],  // (p, k)
    sources: &'a [u32], // (p, k)
    decay: &'a [f32],   // (p)
    neurons: Range<usize>,
    n: usize,
}

struct SliceGradients {
    x: Vec<f32>,      // (T, n)
    y: Vec<f32>,      // (T, p)
    weight: Vec<f32>, // (p, k)
}

impl<'a> NeuronSlice<'a> {
    fn len(&self) -> usize {
        self.neurons.len()
    }

    /// x of token t at the sources of all synapses, `(p, k)`.
    #[inline(always)]
    fn gather(&self, t: usize, inputs: &mut [f32]) {
        let row = &self.x[t * self.n..][..self.n];
        inputs.iter_mut().zip(self.sources).for_each(|(input, source)| *input = row[*source as usize]);
    }

    /// y of token t, `(p)`.
    #[inline(always)]
    fn y_at(&self, t: usize) -> &'a [f32] {
        &self.y[t * self.n..][self.neurons.clone()]
    }

    /// The state after token t from that before it: (state + w x_t y_t) decay.
    #[inline(always)]
    fn update_state(&self, t: usize, inputs: &[f32], state: &mut [f32]) {
        let k = self.weight.len() / self.len();
        let rows = state.chunks_exact_mut(k).zip(inputs.chunks_exact(k)).zip(self.weight.chunks_exact(k));
        for (((state, inputs), weight), (&y, &decay)) in rows.zip(self.y_at(t).iter().zip(self.decay)) {
            for ((s, &input), &w) in state.iter_mut().zip(inputs).zip(weight) {
                *s = (*s + w * input * y) * decay;
            }
        }
    }
}

kernel! {
    /// The result of a part, `(T, p)`.
    fn forward(_, part: NeuronSlice<'a>, out: &'a mut [f32]) {
        let (p, size) = (part.len(), part.weight.len());
        let (mut inputs, mut state) = (vec![0f32; size], vec![0f32; size]);
        for (t, out) in out.chunks_exact_mut(p).enumerate() {
            part.gather(t, &mut inputs);
            let rows = inputs.chunks_exact(size / p).zip(state.chunks_exact(size / p));
            for (out, (inputs, state)) in out.iter_mut().zip(rows) {
                *out = inputs.iter().zip(state).map(|(input, state)| input * state).sum();
            }
            part.update_state(t, &inputs, &mut state);
        }
    }
}

kernel! {
    /// With m_t = decay c_(t+1), the gradient of what token t adds to a synapse, and c_t = m_t + g_t x_t, that of the state
    /// before it: dx_t = g_t state_t + m_t w y_t, dy_t = sum m_t w x_t, dw = sum m_t x_t y_t. `grad` is `(T, n)`.
    fn backward(_, part: NeuronSlice<'a>, grad: &'a [f32], out: &'a mut SliceGradients) {
        let (p, size, tokens) = (part.len(), part.weight.len(), part.x.len() / part.n);
        let k = size / p;
        let (mut inputs, mut states) = (vec![0f32; size], vec![0f32; tokens * size]);
        let mut state = vec![0f32; size];
        for (t, before) in states.chunks_exact_mut(size).enumerate() {
            before.copy_from_slice(&state);
            part.gather(t, &mut inputs);
            part.update_state(t, &inputs, &mut state);
        }
        let (mut carry, mut source_grads) = (vec![0f32; size], vec![0f32; size]);
        for (t, states) in states.chunks_exact(size).enumerate().rev() {
            part.gather(t, &mut inputs);
            let neurons = grad[t * part.n..][part.neurons.clone()].iter().zip(part.y_at(t)).zip(part.decay);
            for (i, (((&g, &y), &decay), dy)) in neurons.zip(&mut out.y[t * p..][..p]).enumerate() {
                let here = i * k..(i + 1) * k;
                let values = inputs[here.clone()].iter().zip(&states[here.clone()]).zip(&part.weight[here.clone()]);
                let sums = carry[here.clone()].iter_mut().zip(&mut out.weight[here.clone()]);
                for (((&input, &state), &w), ((carry, dw), dx)) in values.zip(sums.zip(&mut source_grads[here])) {
                    let m = *carry * decay;
                    *dx = g * state + m * w * y;
                    *dy += m * w * input;
                    *dw += m * input * y;
                    *carry = m + g * input;
                }
            }
            let dx = &mut out.x[t * part.n..][..part.n];
            part.sources.iter().zip(&source_grads).for_each(|(source, d)| dx[*source as usize] += d);
        }
    }
}

impl SynapticAttention {
    /// The neurons of each task of a text.
    fn neuron_ranges(&self) -> Vec<Range<usize>> {
        let (n, _) = self.synapses.dims();
        let size = n.div_ceil(MAX_SLICES).max(MIN_NEURONS);
        (0..n).step_by(size).map(|from| from..(from + size).min(n)).collect()
    }

    /// These neurons of the text whose values lie at `text`.
    fn neuron_slice<'a>(
        &'a self,
        [x, y, weight]: [&'a [f32]; 3],
        text: Range<usize>,
        neurons: Range<usize>,
    ) -> NeuronSlice<'a> {
        let (n, k) = self.synapses.dims();
        let edges = neurons.start * k..neurons.end * k;
        NeuronSlice {
            x: &x[text.clone()],
            y: &y[text],
            weight: &weight[edges.clone()],
            sources: &self.synapses.sources[edges],
            decay: &self.synapses.decay[neurons.clone()],
            neurons,
            n,
        }
    }

    /// Calls `work` with each part of each text, a task each, and returns the results in that order.
    fn map_slices<R: Send>(&self, texts: usize, work: impl Fn(usize, Range<usize>) -> R + Sync + Send) -> Vec<R> {
        let parts = self.neuron_ranges();
        threads::map(texts * parts.len(), |i| work(i / parts.len(), parts[i % parts.len()].clone()))
    }
}

/// Copies columns `(T, p)` into the rows `(T, n)` of a text.
fn scatter_columns(rows: &mut [f32], n: usize, neurons: &Range<usize>, columns: &[f32]) {
    for (row, columns) in rows.chunks_exact_mut(n).zip(columns.chunks_exact(neurons.len())) {
        row[neurons.clone()].copy_from_slice(columns);
    }
}

impl FusedOp<3> for SynapticAttention {
    const NAME: &'static str = "synaptic-attention";

    fn forward(&self, values: [&[f32]; 3], [shape, ..]: [&Shape; 3]) -> Result<(Vec<f32>, Shape)> {
        let ((b, t, n), parts) = (shape.dims3()?, self.neuron_ranges());
        let results = self.map_slices(b, |text, neurons| {
            let mut out = vec![0f32; t * neurons.len()];
            forward(self.neuron_slice(values, text * t * n..(text + 1) * t * n, neurons), &mut out);
            out
        });
        let mut all = vec![0f32; b * t * n];
        for (rows, results) in all.chunks_exact_mut(t * n).zip(results.chunks_exact(parts.len())) {
            parts.iter().zip(results).for_each(|(neurons, columns)| scatter_columns(rows, n, neurons, columns));
        }
        Ok((all, shape.clone()))
    }

    fn backward(&self, inputs: [&Tensor; 3], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let [x, y, weight] = inputs;
        let ((b, t, n), (_, k), parts) = (x.dims3()?, self.synapses.dims(), self.neuron_ranges());
        let results = storage::read_all(&[x, y, weight, grad], |[x, y, weight, grad]| {
            Ok(self.map_slices(b, |text, neurons| {
                let (text, p) = (text * t * n..(text + 1) * t * n, neurons.len());
                let mut out = SliceGradients { x: vec![0.0; t * n], y: vec![0.0; t * p], weight: vec![0.0; p * k] };
                backward(self.neuron_slice([x, y, weight], text.clone(), neurons), &grad[text], &mut out);
                out
            }))
        })?;
        let (mut dx, mut dy, mut dw) = (vec![0f32; b * t * n], vec![0f32; b * t * n], Vec::with_capacity(b * n * k));
        let texts = dx.chunks_exact_mut(t * n).zip(dy.chunks_exact_mut(t * n));
        for ((dx, dy), results) in texts.zip(results.chunks_exact(parts.len())) {
            for (neurons, part) in parts.iter().zip(results) {
                dx.iter_mut().zip(&part.x).for_each(|(d, v)| *d += v);
                scatter_columns(dy, n, neurons, &part.y);
                dw.extend_from_slice(&part.weight);
            }
        }
        gradients_like([dx, dy, reduce::sum_rows(&dw, n * k)], inputs)
    }
}
