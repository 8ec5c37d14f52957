//! What synapses on the edges of a graph have kept of earlier tokens (BDH, arXiv 2509.26507, equation 6). The fused form
//! carries one state for each synapse along time, so that its work grows with T and not with T^2.

use std::ops::Range;

use crate::{fused::prelude::*, reduce};

/// Edges that end at each neuron, as many at each, and how fast their synapses forget.
#[derive(Debug, Clone)]
pub struct Synapses {
    sources: Vec<u32>, // (n, k)
    keep: Vec<f32>,    // (n)
    log_keep: Vec<f32>,
}

impl Synapses {
    /// Synapses of n neurons: `sources` `(n, k)` are the neurons that they come from, `log_keep` `(n)` the logarithm of the
    /// share of neuron i's synapses that a token leaves.
    ///
    /// # Errors
    /// If the sizes do not fit or a source is no neuron.
    pub fn new(sources: Vec<u32>, log_keep: Vec<f32>) -> Result<Self> {
        let n = log_keep.len();
        if n == 0 || sources.is_empty() || !sources.len().is_multiple_of(n) {
            bail!("{} synapses cannot be shared among {n} neurons", sources.len());
        }
        if let Some(source) = sources.iter().find(|s| **s as usize >= n) {
            bail!("a synapse comes from neuron {source}, and there are {n}");
        }
        Ok(Self { sources, keep: log_keep.iter().map(|l| l.exp()).collect(), log_keep })
    }

    /// Neurons, and synapses of each.
    fn dims(&self) -> (usize, usize) {
        (self.keep.len(), self.sources.len() / self.keep.len())
    }
}

/// a_t(i) = sum_(s < t) keep_i^(t - s) y_s(i) sum_j w(i, j) x_s(j) x_t(j) over the sources j of neuron i.
/// x and y `(B, T, n)`, weight `(n, k)` -> `(B, T, n)`.
pub fn recalled(x: &Tensor, y: &Tensor, weight: &Tensor, synapses: &Synapses) -> Result<Tensor> {
    let (n, k) = synapses.dims();
    if x.rank() != 3 || x.dim(D::Minus1)? != n || x.dims() != y.dims() || weight.dims() != [n, k] {
        bail!("{n} neurons of {k} synapses: x {:?}, y {:?}, weights {:?}", x.shape(), y.shape(), weight.shape());
    }
    let (x, y, weight) = (x.contiguous()?, y.contiguous()?, weight.contiguous()?);
    if !storage::readable(&[&x, &y, &weight]) {
        return reference(&x, &y, &weight, synapses);
    }
    x.apply_op3(&y, &weight, Op(Recalled { synapses: synapses.clone() }))
}

/// The reference form in plain candle, with the arguments of [`recalled`].
pub fn reference(x: &Tensor, y: &Tensor, weight: &Tensor, synapses: &Synapses) -> Result<Tensor> {
    let ((b, t, _), (n, k)) = (x.dims3()?, synapses.dims());
    let sources = Tensor::from_slice(&synapses.sources, n * k, x.device())?;
    let asks = x.index_select(&sources, 2)?.reshape((b, t, n, k))?.permute((0, 2, 1, 3))?.contiguous()?; // (B,n,T,k)
    let holds = asks.broadcast_mul(&weight.reshape((1, n, 1, k))?)?.reshape((b * n, t, k))?;
    let scores = asks.reshape((b * n, t, k))?.matmul(&holds.transpose(1, 2)?.contiguous()?)?; // (B n,T,T)
    let scores = scores.reshape((b, n, t, t))?.broadcast_mul(&decays(t, synapses, x)?.unsqueeze(0)?)?;
    let written = y.transpose(1, 2)?.contiguous()?.reshape((b * n, t, 1))?;
    scores.reshape((b * n, t, t))?.matmul(&written)?.reshape((b, n, t))?.transpose(1, 2)?.contiguous()
}

/// keep_i^(t - s) at `(i, t, s)` for s < t, else 0: `(n, T, T)`, of the type of x.
fn decays(t: usize, synapses: &Synapses, x: &Tensor) -> Result<Tensor> {
    let device = x.device();
    let at = Tensor::arange(0f32, t as f32, device)?;
    let ago = at.unsqueeze(1)?.broadcast_sub(&at.unsqueeze(0)?)?; // (T,T), t - s
    // the future is masked afterwards, and must not overflow before
    let rate = Tensor::from_slice(&synapses.log_keep, (synapses.log_keep.len(), 1, 1), device)?;
    let kept = rate.broadcast_mul(&ago.maximum(0.0)?.unsqueeze(0)?)?.exp()?;
    let past = (Tensor::tril2(t, DType::F32, device)? - Tensor::eye(t, DType::F32, device)?)?;
    kept.broadcast_mul(&past.unsqueeze(0)?)?.to_dtype(x.dtype())
}

struct Recalled {
    synapses: Synapses,
}

/// Most tasks into which the neurons of a text are cut; each has gradients of x of its own.
const MAX_PARTS: usize = 4;
/// Fewest neurons of a task.
const LEAST_NEURONS: usize = 32;

/// The neurons of a text that one task takes.
struct Part<'a> {
    x: &'a [f32],       // (T, n)
    y: &'a [f32],       // (T, n)
    weight: &'a [f32],  // (p, k)
    sources: &'a [u32], // (p, k)
    keep: &'a [f32],    // (p)
    neurons: Range<usize>,
    n: usize,
}

/// The gradients of a task.
#[derive(Default)]
struct PartGradients {
    x: Vec<f32>,      // (T, n)
    y: Vec<f32>,      // (T, p)
    weight: Vec<f32>, // (p, k)
}

impl<'a> Part<'a> {
    fn len(&self) -> usize {
        self.neurons.len()
    }

    /// x of token t at the sources of all synapses, `(p, k)`.
    #[inline(always)]
    fn gather(&self, t: usize, asks: &mut [f32]) {
        let row = &self.x[t * self.n..][..self.n];
        asks.iter_mut().zip(self.sources).for_each(|(ask, source)| *ask = row[*source as usize]);
    }

    /// y of token t, `(p)`.
    #[inline(always)]
    fn written(&self, t: usize) -> &'a [f32] {
        &self.y[t * self.n..][self.neurons.clone()]
    }

    /// The state after token t from that before it: (state + w x_t y_t) keep.
    #[inline(always)]
    fn write(&self, t: usize, asks: &[f32], state: &mut [f32]) {
        let k = self.weight.len() / self.len();
        let rows = state.chunks_exact_mut(k).zip(asks.chunks_exact(k)).zip(self.weight.chunks_exact(k));
        for (((state, asks), weight), (&y, &keep)) in rows.zip(self.written(t).iter().zip(self.keep)) {
            for ((s, &ask), &w) in state.iter_mut().zip(asks).zip(weight) {
                *s = (*s + w * ask * y) * keep;
            }
        }
    }
}

kernel! {
    /// The result of a part, `(T, p)`.
    fn forward(_, part: Part<'a>, out: &'a mut [f32]) {
        let (p, size) = (part.len(), part.weight.len());
        let (mut asks, mut state) = (vec![0f32; size], vec![0f32; size]);
        for (t, out) in out.chunks_exact_mut(p).enumerate() {
            part.gather(t, &mut asks);
            for ((out, asks), state) in out.iter_mut().zip(asks.chunks_exact(size / p)).zip(state.chunks_exact(size / p)) {
                *out = asks.iter().zip(state).map(|(ask, state)| ask * state).sum();
            }
            part.write(t, &asks, &mut state);
        }
    }
}

kernel! {
    /// With m_t = keep c_(t+1), the gradient of what token t writes to a synapse, and c_t = m_t + g_t x_t that of the state
    /// before it: dx_t = g_t state_t + m_t w y_t, dy_t = sum m_t w x_t, dw = sum m_t x_t y_t. `grad` is `(T, n)`.
    fn backward(_, part: Part<'a>, grad: &'a [f32], out: &'a mut PartGradients) {
        let (p, size, tokens) = (part.len(), part.weight.len(), part.x.len() / part.n);
        let k = size / p;
        let (mut asks, mut states) = (vec![0f32; tokens * size], vec![0f32; tokens * size]);
        let mut state = vec![0f32; size];
        for t in 0..tokens {
            states[t * size..][..size].copy_from_slice(&state);
            let asks = &mut asks[t * size..][..size];
            part.gather(t, asks);
            part.write(t, asks, &mut state);
        }
        let mut carry = vec![0f32; size];
        let mut at_sources = state; // what the synapses add to dx_t
        for t in (0..tokens).rev() {
            let (asks, states) = (&asks[t * size..][..size], &states[t * size..][..size]);
            let grads = &grad[t * part.n..][part.neurons.clone()];
            let dy = &mut out.y[t * p..][..p];
            for (i, ((&g, &y), (dy, &keep))) in grads.iter().zip(part.written(t)).zip(dy.iter_mut().zip(part.keep)).enumerate() {
                let here = i * k..(i + 1) * k;
                let inputs = asks[here.clone()].iter().zip(&states[here.clone()]).zip(&part.weight[here.clone()]);
                let outputs = carry[here.clone()].iter_mut().zip(&mut out.weight[here.clone()]).zip(&mut at_sources[here]);
                for (((&ask, &state), &w), ((carry, dw), dx)) in inputs.zip(outputs) {
                    let m = *carry * keep;
                    *dx = g * state + m * w * y;
                    *dy += m * w * ask;
                    *dw += m * ask * y;
                    *carry = m + g * ask;
                }
            }
            let dx = &mut out.x[t * part.n..][..part.n];
            for (source, d) in part.sources.iter().zip(&at_sources) {
                dx[*source as usize] += d;
            }
        }
    }
}

impl Recalled {
    /// The neurons of each task of a text.
    fn parts(&self) -> Vec<Range<usize>> {
        let (n, _) = self.synapses.dims();
        let size = n.div_ceil(MAX_PARTS).max(LEAST_NEURONS);
        (0..n).step_by(size).map(|from| from..(from + size).min(n)).collect()
    }

    /// Part `neurons` of a text whose values begin at `from`.
    fn part<'a>(&'a self, [x, y, weight]: [&'a [f32]; 3], text: Range<usize>, neurons: Range<usize>) -> Part<'a> {
        let (n, k) = self.synapses.dims();
        let edges = neurons.start * k..neurons.end * k;
        Part {
            x: &x[text.clone()],
            y: &y[text],
            weight: &weight[edges.clone()],
            sources: &self.synapses.sources[edges],
            keep: &self.synapses.keep[neurons.clone()],
            neurons,
            n,
        }
    }

    /// Calls `work` with each part of each text, by tasks, and returns what it made in that order.
    fn by_parts<R: Default + Send>(
        &self,
        texts: usize,
        work: impl Fn(usize, Range<usize>) -> R + Sync + Send,
    ) -> Vec<R> {
        let parts = self.parts();
        let mut made: Vec<R> = (0..texts * parts.len()).map(|_| R::default()).collect();
        threads::run_chunks(&mut made, 1, |i, made| {
            made[0] = work(i / parts.len(), parts[i % parts.len()].clone());
        });
        made
    }
}

/// Puts columns `(T, p)` into a text's rows `(T, n)`.
fn put_columns(rows: &mut [f32], n: usize, neurons: &Range<usize>, columns: &[f32]) {
    for (row, columns) in rows.chunks_exact_mut(n).zip(columns.chunks_exact(neurons.len())) {
        row[neurons.clone()].copy_from_slice(columns);
    }
}

impl FusedOp<3> for Recalled {
    const NAME: &'static str = "synapses";

    fn forward(&self, values: [&[f32]; 3], [shape, ..]: [&Shape; 3]) -> Result<(Vec<f32>, Shape)> {
        let (b, t, n) = shape.dims3()?;
        let parts = self.parts();
        let made = self.by_parts(b, |text, neurons| {
            let mut out = vec![0f32; t * neurons.len()];
            forward(self.part(values, text * t * n..(text + 1) * t * n, neurons), &mut out);
            out
        });
        let mut all = vec![0f32; b * t * n];
        for (rows, made) in all.chunks_exact_mut(t * n).zip(made.chunks_exact(parts.len())) {
            parts.iter().zip(made).for_each(|(neurons, columns)| put_columns(rows, n, neurons, columns));
        }
        Ok((all, shape.clone()))
    }

    fn backward(&self, inputs: [&Tensor; 3], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let [x, y, weight] = inputs;
        let ((b, t, n), (_, k), parts) = (x.dims3()?, self.synapses.dims(), self.parts());
        let made = storage::read_all(&[x, y, weight, grad], |[x, y, weight, grad]| {
            Ok(self.by_parts(b, |text, neurons| {
                let (text, p) = (text * t * n..(text + 1) * t * n, neurons.len());
                let mut out = PartGradients { x: vec![0.0; t * n], y: vec![0.0; t * p], weight: vec![0.0; p * k] };
                backward(self.part([x, y, weight], text.clone(), neurons), &grad[text], &mut out);
                out
            }))
        })?;
        let (mut dx, mut dy) = (Vec::with_capacity(b * t * n), vec![0f32; b * t * n]);
        let mut dw = Vec::with_capacity(b * n * k);
        for (rows, made) in dy.chunks_exact_mut(t * n).zip(made.chunks_exact(parts.len())) {
            let own: Vec<f32> = made.iter().flat_map(|part| part.x.iter().copied()).collect();
            dx.extend(reduce::sum_rows(&own, t * n));
            for (neurons, part) in parts.iter().zip(made) {
                put_columns(rows, n, neurons, &part.y);
                dw.extend_from_slice(&part.weight);
            }
        }
        like([dx, dy, reduce::sum_rows(&dw, n * k)], inputs)
    }
}
