//! Both linear maps of an MLP and the activation between them in one operation: a task takes a block of rows through all
//! three. Saved for backward is the output of the first map.

use std::sync::OnceLock;

use super::{super::linear::with_last_dim, Act, activation::Activation};
use crate::{
    fused::prelude::*,
    matmul::{self, LinearWeight},
    matrix::View,
};

/// The activation of an MLP, and if it is gated.
#[derive(Debug, Clone, Copy)]
pub struct MlpForm {
    pub act: Act,
    /// True if the first weight is a gate above an up projection: the activation of the gate multiplies the up
    /// projection.
    pub gated: bool,
}

/// up `(hidden, D)`, its bias `(hidden)`, down `(O, F)`, its bias `(O)`; no biases in the MLPs without.
#[derive(Clone, Copy)]
pub struct Weights<'a> {
    pub up: &'a [f32],
    pub up_bias: Option<&'a [f32]>,
    pub down: &'a [f32],
    pub down_bias: Option<&'a [f32]>,
}

/// An MLP over slices.
#[derive(Debug, Clone, Copy)]
pub struct MlpKernel {
    activation: Activation,
    /// Inputs D, hidden units F, outputs O.
    pub sizes: [usize; 3],
}

impl MlpKernel {
    /// A kernel for weights of these shapes.
    ///
    /// # Errors
    /// If the two weights do not fit each other.
    pub fn new(kind: MlpForm, up: &Shape, down: &Shape) -> Result<Self> {
        let ((hidden, d), (o, f)) = (up.dims2()?, down.dims2()?);
        let kernel = Self::from_sizes(kind, [d, f, o]);
        if hidden != kernel.hidden() {
            bail!("an MLP's first weight {up:?} does not fit its second {down:?}");
        }
        Ok(kernel)
    }

    /// A kernel of the sizes inputs, hidden units and outputs.
    pub fn from_sizes(MlpForm { act, gated }: MlpForm, sizes: [usize; 3]) -> Self {
        Self { activation: Activation { act, gated, f: sizes[1] }, sizes }
    }

    /// Rows of the first weight: F, or 2F if gated.
    pub fn hidden(&self) -> usize {
        self.sizes[1] * if self.activation.gated { 2 } else { 1 }
    }

    /// The weights of both maps, for `n` rows over all calls.
    pub fn maps<'a>(&self, w: Weights<'a>, n: usize) -> [LinearWeight<'a>; 2] {
        let ([d, f, o], hidden) = (self.sizes, self.hidden());
        let up = LinearWeight::new(View::new(w.up, hidden, d).t(), w.up_bias, n);
        [up, LinearWeight::new(View::new(w.down, o, f).t(), w.down_bias, n)]
    }

    /// y `(N, O)` = the MLP of x `(N, D)` [+ residual]. `wide` gets the output of `up`, `(N, hidden)`, which is all that
    /// backward needs; empty, it is not saved.
    pub fn forward(
        &self,
        x: &[f32],
        [up, down]: &[LinearWeight; 2],
        residual: Option<&[f32]>,
        wide: &mut [f32],
        y: &mut [f32],
    ) {
        let ([d, f, o], hidden) = (self.sizes, self.hidden());
        let n = x.len() / d;
        let each = matmul::task_rows(n);
        let part = |i: usize, wide: &mut [f32], y: &mut [f32]| {
            let rows = y.len() / o;
            up.matmul_into(wide, View::new(&x[i * each * d..], rows, d), None);
            build_vec(rows * f, |inner| {
                self.activation.values(wide, inner);
                let residual = residual.map(|r| &r[i * each * o..][..y.len()]);
                down.matmul_into(y, View::new(inner, rows, f), residual);
            });
        };
        if wide.is_empty() {
            threads::run_chunks(y, each * o, |i, y| drop(build_vec(y.len() / o * hidden, |wide| part(i, wide, y))));
        } else {
            threads::run_all_chunks([y, wide], [each * o, each * hidden], |i, [y, wide]| part(i, wide, y));
        }
    }

    /// From the gradient g `(N, O)` and the saved output of `up`, writes `inner`, the input of `down` `(N, F)`, and
    /// `dhidden`, the gradient of the output of `up` `(N, hidden)`. `down` is the weight `(O, F)`.
    pub fn backward(&self, g: &[f32], down: &LinearWeight, wide: &[f32], [inner, dhidden]: [&mut [f32]; 2]) {
        let ([_, f, o], hidden) = (self.sizes, self.hidden());
        let each = matmul::task_rows(g.len() / o);
        threads::run_all_chunks([inner, dhidden], [each * f, each * hidden], |i, [inner, dhidden]| {
            let rows = inner.len() / f;
            down.matmul_into(inner, View::new(&g[i * each * o..], rows, o), None);
            self.activation.backward(&wide[i * each * hidden..][..dhidden.len()], inner, dhidden);
        });
    }
}

/// The fused operation on x, up and down.
pub struct Mlp {
    kind: MlpForm,
    needs_backward: bool,
    /// The output of `up`.
    saved_for_backward: OnceLock<Vec<f32>>,
}

impl Mlp {
    /// The operation on these arguments.
    pub fn new(kind: MlpForm, args: [&Tensor; 3]) -> Self {
        Self { kind, needs_backward: args.iter().any(|t| t.track_op()), saved_for_backward: OnceLock::new() }
    }
}

impl FusedOp<3> for Mlp {
    const NAME: &'static str = "mlp";

    fn forward(&self, [x, up, down]: [&[f32]; 3], shapes: [&Shape; 3]) -> Result<(Vec<f32>, Shape)> {
        let kernel = MlpKernel::new(self.kind, shapes[1], shapes[2])?;
        let shape = with_last_dim(shapes[0], kernel.sizes[0], kernel.sizes[2])?;
        let weights = Weights { up, up_bias: None, down, down_bias: None };
        let n = x.len() / kernel.sizes[0];
        let maps = kernel.maps(weights, n);
        let lens = [n * kernel.sizes[2], if self.needs_backward { n * kernel.hidden() } else { 0 }];
        let [y, saved] = build_vecs(lens, |[y, wide]| kernel.forward(x, &maps, None, wide, y));
        let _ = self.saved_for_backward.set(saved); // an operation's forward runs only once
        Ok((y, shape))
    }

    fn backward(&self, [x, up, down]: [&Tensor; 3], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let Some(wide) = self.saved_for_backward.get().filter(|_| self.needs_backward) else {
            bail!("an MLP is asked for gradients that nothing tracked")
        };
        let kernel = MlpKernel::new(self.kind, up.shape(), down.shape())?;
        let ([d, f, o], hidden) = (kernel.sizes, kernel.hidden());
        let n = grad.elem_count() / o;
        storage::read_all(&[x, up, down, grad], |[from, w_up, w_down, g]| {
            let down_weight = LinearWeight::new(View::new(w_down, o, f), None, n);
            let [inner, dhidden] = build_vecs([n * f, n * hidden], |out| kernel.backward(g, &down_weight, wide, out));
            Ok([
                gradient_if_tracked(x, || Ok(matmul::matmul_rows(&dhidden, View::new(w_up, hidden, d), None)))?,
                gradient_if_tracked(up, || Ok(matmul::weight_grad(&dhidden, hidden, from, d)))?,
                gradient_if_tracked(down, || Ok(matmul::weight_grad(g, o, &inner, f)))?,
            ])
        })
    }
}
