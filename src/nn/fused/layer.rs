//! A pre-norm layer in one operation, attention and MLP with their norms, linear maps and sums. For training: what
//! lies between costs no tensor, and no gradient of it has to be summed.
//!
//! An operation's way back takes at most three tensors, so a layer's weights are first laid out in one ([`gather`]).
//! `layers` and `prenorm` say what a layer is, in separate operations; those are its reference form. Here is what
//! candle sees; `half` knows one half's mathematics, `pieces` what goes through when, and on which thread.

use std::sync::{Arc, OnceLock};

use candle_core::{CpuStorage, CustomOp2, CustomOp3, DType, Layout, Result, Shape, Tensor, bail};

use self::{
    half::{Half, Packs},
    pieces::{Field, Given, Pieces},
};
use super::{
    attention::AttentionSpec,
    ledger::Entry,
    matrix::{self, filled},
    mlp::Act,
};

mod half;
mod pieces;

/// RMSNorm and linear maps without biases, or LayerNorm with weight and bias and biases everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Bare,
    Biased,
}

/// A layer. Weights lie in this order, biases only where there are any: a norm's weight `(D)` and bias, queries, keys
/// and values `((H + 2 Hkv) d, D)` and bias, both QK norms `(d)` if there are any, the map out `(D, H d)` and bias; a
/// norm's weight and bias, up `(F, D)`, gated `(2F, D)`, and bias, down `(D, F)` and bias.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayerSpec {
    pub style: Style,
    /// Of the norms.
    pub eps: f64,
    pub attention: AttentionSpec,
    pub qk_norms: bool,
    pub act: Act,
    pub gated: bool,
    pub hidden: usize,
}

/// Whether the operation can work on x `(B, T, D)`: f32 in host memory.
pub fn suits(x: &Tensor) -> bool {
    x.device().is_cpu() && x.dtype() == DType::F32 && x.elem_count() > 0
}

/// A layer's weights in one tensor.
#[derive(Debug, Clone)]
pub struct Gathered {
    all: Tensor,
    /// Where their gradient goes, if not through the graph.
    entry: Option<Arc<Entry>>,
    /// Laid out for products, once for all uses.
    packs: Option<Arc<Packs>>,
}

/// Weights one after the other; those that an open ledger takes stay out of the graph.
pub fn gather(weights: &[&Tensor]) -> Result<Gathered> {
    match Entry::of(weights)? {
        Some(entry) => Ok(Gathered { all: entry.all().clone(), entry: Some(entry), packs: None }),
        None => Ok(Gathered { all: in_a_row(weights)?, entry: None, packs: None }),
    }
}

fn in_a_row<T: AsRef<Tensor>>(weights: &[T]) -> Result<Tensor> {
    let flat = weights.iter().map(|w| w.as_ref().flatten_all()).collect::<Result<Vec<_>>>()?;
    Tensor::cat(&flat, 0)
}

impl Gathered {
    /// For several uses: what is laid out for one is kept for the others.
    pub fn reused(self) -> Self {
        Self { packs: Some(Arc::default()), ..self }
    }

    /// For an operation on these. An entry is only written to by operations that the graph leads to.
    fn beside(&self, tracked: bool) -> Result<Self> {
        match &self.entry {
            Some(entry) if !tracked => Ok(Self { all: in_a_row(entry.weights())?, entry: None, packs: None }),
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
pub fn layer(x: &Tensor, weights: &Gathered, spec: LayerSpec) -> Result<Tensor> {
    let x = x.contiguous()?;
    let (b, t, d) = x.dims3()?;
    weights.check(spec.len(d), &format!("a layer of width {d}"))?;
    let weights = &weights.beside(x.track_op())?;
    let keep = x.track_op() || weights.all.track_op();
    x.apply_op2(&weights.all, Residual(Op::new(spec, [b, t, d], weights, keep)))
}

/// s (Attn(norm x') + MLP(norm x')) with x' = x + row: what a field makes of a state. x `(B, T, D)`, row
/// `(B or 1, 1, D)`; the weights end with the number s.
pub fn slope(x: &Tensor, row: &Tensor, weights: &Gathered, spec: LayerSpec) -> Result<Tensor> {
    along(x, row, weights, spec, None)
}

/// x + h [`slope`]: an Euler step of a length h.
pub fn step(x: &Tensor, row: &Tensor, weights: &Gathered, spec: LayerSpec, h: f64) -> Result<Tensor> {
    along(x, row, weights, spec, Some(h as f32))
}

fn along(x: &Tensor, row: &Tensor, weights: &Gathered, spec: LayerSpec, length: Option<f32>) -> Result<Tensor> {
    let (x, row) = (x.contiguous()?, row.contiguous()?);
    let (b, t, d) = x.dims3()?;
    weights.check(spec.len(d) + 1, &format!("a slope of width {d}"))?;
    let (texts, one, width) = row.dims3()?;
    if one != 1 || width != d || (texts != 1 && texts != b) {
        bail!("a row {:?} for states {:?}", row.shape(), x.shape());
    }
    let weights = &weights.beside(x.track_op() || row.track_op())?;
    let keep = x.track_op() || row.track_op() || weights.all.track_op();
    x.apply_op3(&row, &weights.all, Slope { op: Op::new(spec, [b, t, d], weights, keep), length })
}

/// How many values each piece of a half's weights has; 0 for one that is not there. Order: the norm's weight and bias,
/// the map in and its bias, the QK norms, the map out and its bias.
type Sizes = [usize; 8];

impl LayerSpec {
    fn sizes(&self, d: usize) -> [Sizes; 2] {
        let a = &self.attention;
        let bias = |n: usize| if self.style == Style::Biased { n } else { 0 };
        let of = |inputs: usize, norm: usize, outputs: usize| {
            [d, bias(d), inputs * d, bias(inputs), norm, norm, d * outputs, bias(d)]
        };
        let norm = if self.qk_norms { a.head_dim } else { 0 };
        let hidden = if self.gated { 2 * self.hidden } else { self.hidden };
        [of((a.heads + 2 * a.kv_heads) * a.head_dim, norm, a.heads * a.head_dim), of(hidden, 0, self.hidden)]
    }

    fn len(&self, d: usize) -> usize {
        self.sizes(d).iter().flatten().sum()
    }
}

/// The pieces of `all`, which begins with them.
fn cut(mut all: &[f32], sizes: Sizes) -> [&[f32]; 8] {
    sizes.map(|n| {
        let (piece, rest) = all.split_at(n);
        all = rest;
        piece
    })
}

fn cut_mut(mut all: &mut [f32], sizes: Sizes) -> [&mut [f32]; 8] {
    sizes.map(|n| {
        let (piece, rest) = std::mem::take(&mut all).split_at_mut(n);
        all = rest;
        piece
    })
}

fn there(piece: &[f32]) -> Option<&[f32]> {
    (!piece.is_empty()).then_some(piece)
}

struct Op {
    spec: LayerSpec,
    /// B, T, D.
    shape: [usize; 3],
    entry: Option<Arc<Entry>>,
    /// Those of all uses, if there are several.
    packs: Option<Arc<Packs>>,
    keep: bool,
    kept: OnceLock<Vec<f32>>,
}

impl Op {
    fn new(spec: LayerSpec, shape: [usize; 3], weights: &Gathered, keep: bool) -> Self {
        let (entry, packs) = (weights.entry.clone(), weights.packs.clone());
        Self { spec, shape, entry, packs, keep, kept: OnceLock::new() }
    }

    fn halves<'a>(&self, weights: &'a [f32]) -> [Half<'a>; 2] {
        let (shape, sizes) = (self.shape, self.spec.sizes(self.shape[2]));
        let (first, second) = weights.split_at(sizes[0].iter().sum());
        [Half::attention(&self.spec, shape, first, self.keep), Half::mlp(&self.spec, shape, second)]
    }

    fn forward(&self, x: &[f32], field: Option<Field>, weights: &[f32]) -> CpuStorage {
        let halves = self.halves(weights);
        let own = Packs::default();
        let packs = self.packs.as_deref().unwrap_or(&own);
        let pieces = Pieces { shape: self.shape, maps: packs.forth(&halves), halves, field };
        let mut kept = vec![];
        let y = filled(x.len(), |y| {
            if self.keep {
                kept = filled(pieces.kept(), |kept| pieces.forward(x, y, Some(kept)));
            } else {
                pieces.forward(x, y, None);
            }
        });
        let _ = self.kept.set(kept); // a forward pass runs once
        CpuStorage::F32(y)
    }

    /// Gradients of x, of the weights, if they are wanted and go through the graph, and of a field's row.
    fn back(&self, given: [&[f32]; 2], field: Option<Field>, all: &[f32], wanted: bool) -> Result<Found> {
        let Some(kept) = self.kept.get().filter(|_| self.keep) else {
            bail!("a layer is asked for gradients that nothing tracked")
        };
        let [x, g] = given;
        let (halves, len) = (self.halves(all), all.len());
        let own = Packs::default();
        let packs = self.packs.as_deref().unwrap_or(&own);
        let pieces = Pieces { shape: self.shape, maps: packs.back(&halves), halves, field };
        let given = Given { x, g, kept };
        let (mut dw, mut drow) = (None, vec![]);
        let dx = filled(x.len(), |dx| {
            if let Some(entry) = &self.entry {
                entry.add(|sums| drow = pieces.back(given, dx, sums));
            } else if wanted {
                dw = Some(filled(len, |dw| drow = pieces.back(given, dx, Some((dw, false)))));
            } else {
                drow = pieces.back(given, dx, None);
            }
        });
        Ok(Found { dx, dw, drow })
    }
}

struct Found {
    dx: Vec<f32>,
    dw: Option<Vec<f32>>,
    drow: Vec<f32>,
}

fn like(values: Vec<f32>, t: &Tensor) -> Result<Tensor> {
    Tensor::from_vec(values, t.shape(), t.device())
}

struct Residual(Op);

impl CustomOp2 for Residual {
    fn name(&self) -> &'static str {
        "layer"
    }

    fn cpu_fwd(&self, x: &CpuStorage, lx: &Layout, w: &CpuStorage, lw: &Layout) -> Result<(CpuStorage, Shape)> {
        Ok((self.0.forward(matrix::values(x, lx)?, None, matrix::values(w, lw)?), lx.shape().clone()))
    }

    fn bwd(&self, x: &Tensor, w: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let found =
            matrix::read_all(&[x, w, grad], |[x, weights, g]| self.0.back([x, g], None, weights, w.track_op()))?;
        Ok((Some(like(found.dx, x)?), found.dw.map(|dw| like(dw, w)).transpose()?))
    }
}

/// The slope, or x after a step of this length along it.
struct Slope {
    op: Op,
    length: Option<f32>,
}

impl Slope {
    fn field<'a>(&self, row: &'a [f32], scale: f32) -> Option<Field<'a>> {
        Some(Field { row, scale, length: self.length })
    }
}

impl CustomOp3 for Slope {
    fn name(&self) -> &'static str {
        "slope"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        lx: &Layout,
        row: &CpuStorage,
        lr: &Layout,
        w: &CpuStorage,
        lw: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (weights, scale) = ending(matrix::values(w, lw)?)?;
        let field = self.field(matrix::values(row, lr)?, scale);
        Ok((self.op.forward(matrix::values(x, lx)?, field, weights), lx.shape().clone()))
    }

    fn bwd(
        &self,
        x: &Tensor,
        row: &Tensor,
        w: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let found = matrix::read_all(&[x, row, w, grad], |[x, row, all, g]| {
            let (_, scale) = ending(all)?;
            self.op.back([x, g], self.field(row, scale), all, w.track_op())
        })?;
        let drow = row.track_op().then(|| like(found.drow, row)).transpose()?;
        Ok((Some(like(found.dx, x)?), drow, found.dw.map(|dw| like(dw, w)).transpose()?))
    }
}

/// All weights but the last number, and that.
fn ending(all: &[f32]) -> Result<(&[f32], f32)> {
    match all.split_last() {
        Some((scale, weights)) => Ok((weights, *scale)),
        None => bail!("a slope has no weights"),
    }
}
