//! Both layers and what is between them in one operation: a task takes a block of rows through all
//! three. Kept for the way back: what the first map gave.

use std::sync::OnceLock;

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};

use super::{
    super::{
        linear::widened,
        matrix::{self, Map, View, filled},
        pool,
    },
    Act,
    activation::Between,
};

#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub act: Act,
    /// Two maps come in, stacked; the activation of the first multiplies the second. Not with biases.
    pub gated: bool,
}

pub fn apply(x: &Tensor, up: &Tensor, down: &Tensor, kind: Kind) -> Result<Tensor> {
    let keep = x.track_op() || up.track_op() || down.track_op();
    x.apply_op3(up, down, Mlp { kind, keep, kept: OnceLock::new() })
}

/// up `(hidden, D)`, its bias `(hidden)`, down `(O, F)`, its bias `(O)`.
#[derive(Clone, Copy)]
pub struct Weights<'a> {
    pub up: &'a [f32],
    pub up_bias: Option<&'a [f32]>,
    pub down: &'a [f32],
    pub down_bias: Option<&'a [f32]>,
}

/// An MLP over slices.
#[derive(Debug, Clone, Copy)]
pub struct Pass {
    between: Between,
    /// D, F, O.
    pub sizes: [usize; 3],
}

impl Pass {
    pub fn new(kind: Kind, up: &Shape, down: &Shape) -> Result<Self> {
        let ((hidden, d), (o, f)) = (up.dims2()?, down.dims2()?);
        let pass = Self::of(kind, [d, f, o]);
        if hidden != pass.hidden() {
            bail!("an MLP's first weight {up:?} does not fit its second {down:?}");
        }
        Ok(pass)
    }

    pub fn of(Kind { act, gated }: Kind, sizes: [usize; 3]) -> Self {
        Self { between: Between { act, gated, f: sizes[1] }, sizes }
    }

    /// Rows of the first weight: F, or 2F if gated.
    pub fn hidden(&self) -> usize {
        self.sizes[1] * if self.between.gated { 2 } else { 1 }
    }

    /// Both maps, for `n` rows in all.
    pub fn maps<'a>(&self, w: Weights<'a>, n: usize) -> [Map<'a>; 2] {
        let ([d, f, o], hidden) = (self.sizes, self.hidden());
        let up = Map::of(View::new(w.up, hidden, d).t(), w.up_bias, n);
        [up, Map::of(View::new(w.down, o, f).t(), w.down_bias, n)]
    }

    /// y `(N, O)` <- the MLP of x `(N, D)`, onto `rest` like y if there is one. `wide` gets what `up` gave,
    /// `(N, hidden)`, which is all that the way back needs; empty, it is not kept.
    pub fn forward(&self, x: &[f32], [up, down]: &[Map; 2], rest: Option<&[f32]>, wide: &mut [f32], y: &mut [f32]) {
        let ([d, f, o], hidden) = (self.sizes, self.hidden());
        let n = x.len() / d;
        let each = matrix::task_rows(n);
        let part = |i: usize, wide: &mut [f32], y: &mut [f32]| {
            let rows = y.len() / o;
            up.onto(wide, View::new(&x[i * each * d..], rows, d), None);
            filled(rows * f, |inner| {
                self.between.values(wide, inner);
                let rest = rest.map(|r| &r[i * each * o..][..y.len()]);
                down.onto(y, View::new(inner, rows, f), rest);
            });
        };
        if wide.is_empty() {
            pool::run_on(y, each * o, |i, y| drop(filled(y.len() / o * hidden, |wide| part(i, wide, y))));
        } else {
            pool::run_on2((y, each * o), (wide, each * hidden), |i, [y, wide]| part(i, wide, y));
        }
    }

    /// From the gradient g `(N, O)` and what was kept: `inner`, what `down` read `(N, F)`, and `dwide`, the gradient of
    /// what `up` gave `(N, hidden)`. `down` as it is used on the way back, `(O, F)`.
    pub fn back(&self, g: &[f32], down: &Map, wide: &[f32], [inner, dwide]: [&mut [f32]; 2]) {
        let ([_, f, o], hidden) = (self.sizes, self.hidden());
        let each = matrix::task_rows(g.len() / o);
        pool::run_on2((inner, each * f), (dwide, each * hidden), |i, [inner, dwide]| {
            let rows = inner.len() / f;
            down.onto(inner, View::new(&g[i * each * o..], rows, o), None);
            self.between.back(&wide[i * each * hidden..][..dwide.len()], inner, dwide);
        });
    }
}

struct Mlp {
    kind: Kind,
    keep: bool,
    /// What `up` gave.
    kept: OnceLock<Vec<f32>>,
}

impl CustomOp3 for Mlp {
    fn name(&self) -> &'static str {
        "mlp"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        lx: &Layout,
        up: &CpuStorage,
        lu: &Layout,
        down: &CpuStorage,
        ld: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let pass = Pass::new(self.kind, lu.shape(), ld.shape())?;
        let shape = widened(lx.shape(), pass.sizes[0], pass.sizes[2])?;
        let (up, down) = (matrix::values(up, lu)?, matrix::values(down, ld)?);
        let weights = Weights { up, up_bias: None, down, down_bias: None };
        let x = matrix::values(x, lx)?;
        let n = x.len() / pass.sizes[0];
        let maps = pass.maps(weights, n);
        let mut kept = vec![];
        let y = filled(n * pass.sizes[2], |y| {
            kept = filled(if self.keep { n * pass.hidden() } else { 0 }, |wide| pass.forward(x, &maps, None, wide, y));
        });
        let _ = self.kept.set(kept); // a forward pass runs once
        Ok((CpuStorage::F32(y), shape))
    }

    fn bwd(
        &self,
        x: &Tensor,
        up: &Tensor,
        down: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let Some(wide) = self.kept.get().filter(|_| self.keep) else {
            bail!("an MLP is asked for gradients that nothing tracked")
        };
        let pass = Pass::new(self.kind, up.shape(), down.shape())?;
        let ([d, f, o], hidden) = (pass.sizes, pass.hidden());
        let n = grad.elem_count() / o;
        matrix::read_all(&[x, up, down, grad], |[from, w_up, w_down, g]| {
            let mut inner = vec![];
            let dwide = filled(n * hidden, |dwide| {
                let down = Map::of(View::new(w_down, o, f), None, n);
                inner = filled(n * f, |inner| pass.back(g, &down, wide, [inner, dwide]));
            });
            let made = |like: &Tensor, make: &dyn Fn() -> Vec<f32>| {
                like.track_op().then(|| Tensor::from_vec(make(), like.shape(), like.device())).transpose()
            };
            Ok((
                made(x, &|| matrix::by_rows(&dwide, View::new(w_up, hidden, d), None))?,
                made(up, &|| matrix::over_rows(&dwide, hidden, from, d))?,
                made(down, &|| matrix::over_rows(g, o, &inner, f))?,
            ))
        })
    }
}
