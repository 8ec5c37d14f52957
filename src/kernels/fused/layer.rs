//! A pre-norm layer in one operation: attention and MLP with their norms, linear maps and residual sums. For training:
//! intermediate values cost no tensors, and candle does not have to sum their gradients.
//!
//! A candle operation has at most three arguments, so the weights of a layer are first flattened into one ([`flatten`]).
//! The separate operations of `nn::block` are its reference form. Here is what candle sees;
//! `sublayer` has the arithmetic of a sublayer, `row_tiles` the order of the work and its threads.

use std::sync::{Arc, OnceLock};

use self::{
    row_tiles::{BackwardInputs, Field, RowTiles},
    sublayer::{PackedWeights, Sublayer},
};
use super::{
    add_row,
    attention::AttentionSpec,
    custom_op,
    evolution::EvolutionSizes,
    grad_accumulator::{Entry, GradAccumulator},
    mlp::Act,
};
use crate::fused::prelude::*;

mod row_tiles;
mod sublayer;

/// The norms of a layer, and whether its linear maps have biases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerStyle {
    /// RMSNorm, no biases.
    RmsNoBias,
    /// LayerNorm with weight and bias, biases everywhere.
    LayerNormBias,
}

/// A layer. Its weights are flattened in this order, biases only where there are any: norm weight `(D)` and bias; queries,
/// keys and values `((H + 2 Hkv) d, D)` and bias; both QK norms `(d)`, if there are any; the evolution's f `(2 d, d)` and
/// tau `(H)`, if there is one; output projection `(D, H d)` and bias; norm weight and bias; up `(F, D)`, or gate above up `(2F, D)`, and bias; down `(D, F)` and bias.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayerSpec {
    /// Kind of norms, and with or without biases.
    pub style: LayerStyle,
    /// Epsilon of the norms.
    pub eps: f64,
    /// Sizes and switches of the attention.
    pub attention: AttentionSpec,
    /// True if queries and keys are normalised by an RMSNorm for each head.
    pub qk_norms: bool,
    /// The evolution of queries and keys before anything else is done with them.
    pub evolution: Option<EvolutionSizes>,
    /// Activation of the MLP.
    pub act: Act,
    /// True if the MLP is gated (GLU).
    pub gated: bool,
    /// Hidden units F of the MLP.
    pub hidden: usize,
}

/// Returns true if the operation can work on x `(B, T, D)`: f32 in host memory.
pub fn supports(x: &Tensor) -> bool {
    x.device().is_cpu() && x.dtype() == DType::F32 && x.elem_count() > 0
}

/// The weights of a layer in one tensor.
#[derive(Debug, Clone)]
pub struct FlatWeights {
    all: Tensor,
    /// The place where their gradient is accumulated, if not through the graph.
    entry: Option<Arc<Entry>>,
    /// Packed for products, once for all uses.
    packed: Option<Arc<PackedWeights>>,
}

/// Concatenates weights; gradients reach them through the graph.
pub fn flatten(weights: &[&Tensor]) -> Result<FlatWeights> {
    Ok(FlatWeights { all: concatenate(weights)?, entry: None, packed: None })
}

/// Same as [`flatten`], but the accumulator, if there is one, takes the weights out of the graph.
pub fn flatten_into(weights: &[&Tensor], accumulator: Option<&GradAccumulator>) -> Result<FlatWeights> {
    match accumulator.map(|a| a.take(weights)).transpose()?.flatten() {
        Some(entry) => Ok(FlatWeights { all: entry.all().clone(), entry: Some(entry), packed: None }),
        None => flatten(weights),
    }
}

fn concatenate<T: AsRef<Tensor>>(weights: &[T]) -> Result<Tensor> {
    let flat = weights.iter().map(|w| w.as_ref().flatten_all()).collect::<Result<Vec<_>>>()?;
    Tensor::cat(&flat, 0)
}

impl FlatWeights {
    /// Shares the packed weights between several uses.
    pub fn with_shared_packing(self) -> Self {
        Self { packed: Some(Arc::default()), ..self }
    }

    /// The weights for one operation. Only operations that the graph leads to write to an accumulator: without a
    /// tracked input, the weights go through the graph.
    fn for_operation(&self, tracked: bool) -> Result<Self> {
        match &self.entry {
            Some(entry) if !tracked => Ok(Self { all: concatenate(entry.weights())?, entry: None, packed: None }),
            _ => Ok(self.clone()),
        }
    }

    fn check(&self, wanted: usize, what: &str) -> Result<()> {
        if self.all.elem_count() != wanted {
            bail!("{what} has {wanted} weights, not {}", self.all.elem_count());
        }
        Ok(())
    }
}

/// x += Attn(norm x); x += MLP(norm x). x `(B, T, D)` -> `(B, T, D)`; weights as [`LayerSpec`] says.
pub fn layer(x: &Tensor, weights: &FlatWeights, spec: LayerSpec) -> Result<Tensor> {
    let x = x.contiguous()?;
    let (b, t, d) = x.dims3()?;
    weights.check(spec.len(d), &format!("a layer of width {d}"))?;
    let weights = &weights.for_operation(x.track_op())?;
    let needs_backward = x.track_op() || weights.all.track_op();
    x.apply_op2(&weights.all, custom_op::Op(Op::new(spec, [b, t, d], weights, needs_backward)))
}

/// s (Attn(norm x') + MLP(norm x')) with x' = x + row: the slope of a vector field at x. x `(B, T, D)`, row
/// `(B or 1, 1, D)`; the weights end with the number s.
pub fn slope(x: &Tensor, row: &Tensor, weights: &FlatWeights, spec: LayerSpec) -> Result<Tensor> {
    field_step(x, row, weights, spec, None)
}

/// x + h [`slope`]: an Euler step of length h.
pub fn step(x: &Tensor, row: &Tensor, weights: &FlatWeights, spec: LayerSpec, h: f64) -> Result<Tensor> {
    field_step(x, row, weights, spec, Some(h as f32))
}

fn field_step(x: &Tensor, row: &Tensor, weights: &FlatWeights, spec: LayerSpec, length: Option<f32>) -> Result<Tensor> {
    let (x, row) = (x.contiguous()?, row.contiguous()?);
    let (b, t, d) = x.dims3()?;
    weights.check(spec.len(d) + 1, &format!("a slope of width {d}"))?;
    add_row::check(x.shape(), row.shape())?;
    let weights = &weights.for_operation(x.track_op() || row.track_op())?;
    let needs_backward = x.track_op() || row.track_op() || weights.all.track_op();
    let op = Op::new(spec, [b, t, d], weights, needs_backward);
    x.apply_op3(&row, &weights.all, custom_op::Op(Slope { op, length }))
}

/// Number of values of each weight of a sublayer, 0 where there is none: norm weight and bias, input projection and bias,
/// QK norms, the evolution's f and tau, output projection and bias.
type WeightSizes = [usize; 10];

impl LayerSpec {
    fn sizes(&self, d: usize) -> [WeightSizes; 2] {
        let a = &self.attention;
        let bias = |n: usize| if self.style == LayerStyle::LayerNormBias { n } else { 0 };
        let of = |inputs: usize, [norm, f, tau]: [usize; 3], outputs: usize| {
            [d, bias(d), inputs * d, bias(inputs), norm, norm, f, tau, d * outputs, bias(d)]
        };
        let norm = if self.qk_norms { a.head_dim } else { 0 };
        let [f, tau] = self.evolution.map_or([0; 2], |e| [2 * e.head_dim * e.head_dim, e.heads]);
        let hidden = if self.gated { 2 * self.hidden } else { self.hidden };
        [
            of((a.heads + 2 * a.kv_heads) * a.head_dim, [norm, f, tau], a.heads * a.head_dim),
            of(hidden, [0; 3], self.hidden),
        ]
    }

    fn len(&self, d: usize) -> usize {
        self.sizes(d).iter().flatten().sum()
    }
}

fn non_empty(piece: &[f32]) -> Option<&[f32]> {
    (!piece.is_empty()).then_some(piece)
}

struct Op {
    spec: LayerSpec,
    /// B, T, D.
    shape: [usize; 3],
    entry: Option<Arc<Entry>>,
    /// Shared by all uses, if there are several.
    packed: Option<Arc<PackedWeights>>,
    needs_backward: bool,
    saved_for_backward: OnceLock<Vec<f32>>,
}

impl Op {
    fn new(spec: LayerSpec, shape: [usize; 3], weights: &FlatWeights, needs_backward: bool) -> Self {
        let (entry, packed) = (weights.entry.clone(), weights.packed.clone());
        Self { spec, shape, entry, packed, needs_backward, saved_for_backward: OnceLock::new() }
    }

    fn sublayers<'a>(&self, weights: &'a [f32]) -> [Sublayer<'a>; 2] {
        let (shape, sizes) = (self.shape, self.spec.sizes(self.shape[2]));
        let (first, second) = weights.split_at(sizes[0].iter().sum());
        [Sublayer::attention(&self.spec, shape, first, self.needs_backward), Sublayer::mlp(&self.spec, shape, second)]
    }

    fn forward(&self, x: &[f32], field: Option<Field>, weights: &[f32]) -> Vec<f32> {
        let sublayers = self.sublayers(weights);
        let own = PackedWeights::default();
        let packed = self.packed.as_deref().unwrap_or(&own);
        let tiles = RowTiles { shape: self.shape, maps: packed.forward(&sublayers), sublayers, field };
        let mut saved = vec![];
        let y = build_vec(x.len(), |y| {
            if self.needs_backward {
                saved = build_vec(tiles.saved_len(), |saved| tiles.forward(x, y, Some(saved)));
            } else {
                tiles.forward(x, y, None);
            }
        });
        let _ = self.saved_for_backward.set(saved); // an operation's forward runs only once
        y
    }

    /// Gradients of x, of the weights, if they are wanted and go through the graph, and of the field's row.
    fn backward(&self, given: [&[f32]; 2], field: Option<Field>, all: &[f32], wanted: bool) -> Result<Gradients> {
        let Some(saved) = self.saved_for_backward.get().filter(|_| self.needs_backward) else {
            bail!("a layer is asked for gradients that nothing tracked")
        };
        let [x, g] = given;
        let (sublayers, len) = (self.sublayers(all), all.len());
        let own = PackedWeights::default();
        let packed = self.packed.as_deref().unwrap_or(&own);
        let tiles = RowTiles { shape: self.shape, maps: packed.backward(&sublayers), sublayers, field };
        let given = BackwardInputs { x, g, saved };
        let (mut dw, mut drow) = (None, vec![]);
        let dx = build_vec(x.len(), |dx| {
            if let Some(entry) = &self.entry {
                entry.accumulate(|sums| drow = tiles.backward(given, dx, Some(sums)));
            } else if wanted {
                dw = Some(build_vec(len, |dw| drow = tiles.backward(given, dx, Some((dw, false)))));
            } else {
                drow = tiles.backward(given, dx, None);
            }
        });
        Ok(Gradients { dx, dw, drow })
    }
}

struct Gradients {
    dx: Vec<f32>,
    dw: Option<Vec<f32>>,
    drow: Vec<f32>,
}

impl FusedOp<2> for Op {
    const NAME: &'static str = "layer";

    fn forward(&self, [x, w]: [&[f32]; 2], [shape, _]: [&Shape; 2]) -> Result<(Vec<f32>, Shape)> {
        Ok((Op::forward(self, x, None, w), shape.clone()))
    }

    fn backward(&self, [x, w]: [&Tensor; 2], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let found = storage::read_all(&[x, w, grad], |[x, weights, g]| {
            Op::backward(self, [x, g], None, weights, w.track_op())
        })?;
        Ok([Some(tensor_like(x, found.dx)?), found.dw.map(|dw| tensor_like(w, dw)).transpose()?])
    }
}

/// The slope, or x after an Euler step of this length.
struct Slope {
    op: Op,
    length: Option<f32>,
}

impl Slope {
    fn field<'a>(&self, row: &'a [f32], scale: f32) -> Option<Field<'a>> {
        Some(Field { row, scale, length: self.length })
    }
}

impl FusedOp<3> for Slope {
    const NAME: &'static str = "slope";

    fn forward(&self, [x, row, all]: [&[f32]; 3], [shape, ..]: [&Shape; 3]) -> Result<(Vec<f32>, Shape)> {
        let (weights, scale) = split_scale(all)?;
        Ok((self.op.forward(x, self.field(row, scale), weights), shape.clone()))
    }

    fn backward(&self, [x, row, w]: [&Tensor; 3], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let found = storage::read_all(&[x, row, w, grad], |[x, row, all, g]| {
            let (_, scale) = split_scale(all)?;
            self.op.backward([x, g], self.field(row, scale), all, w.track_op())
        })?;
        let drow = row.track_op().then(|| tensor_like(row, found.drow)).transpose()?;
        Ok([Some(tensor_like(x, found.dx)?), drow, found.dw.map(|dw| tensor_like(w, dw)).transpose()?])
    }
}

/// All weights but the last number, and that number, the scale.
fn split_scale(all: &[f32]) -> Result<(&[f32], f32)> {
    match all.split_last() {
        Some((scale, weights)) => Ok((weights, *scale)),
        None => bail!("a slope is applied without its weights"),
    }
}
