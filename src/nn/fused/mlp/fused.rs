//! Both layers and what is between them in one operation: a task takes a block of rows through all
//! three. Kept for the way back: the activations and their slopes.

use std::sync::OnceLock;

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};

use super::{
    super::{
        linear::widened,
        matrix::{self, Map, View, filled},
        packed::Packed,
        pool,
    },
    Act,
    activation::{activate, gate, product_of, times},
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

/// What the way back needs of the way forward.
pub struct Kept {
    /// What `down` reads. `(N, F)`
    pub inner: Vec<f32>,
    /// Derivatives of it with respect to what `up` gave. `(N, hidden)`
    slope: Vec<f32>,
}

/// An MLP over slices.
#[derive(Debug, Clone, Copy)]
pub struct Pass {
    kind: Kind,
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

    pub fn of(kind: Kind, sizes: [usize; 3]) -> Self {
        Self { kind, sizes }
    }

    /// Rows of the first weight: F, or 2F if gated.
    pub fn hidden(&self) -> usize {
        self.sizes[1] * if self.kind.gated { 2 } else { 1 }
    }

    /// x (n rows) -> inner and slope, both written whole.
    fn inner(&self, x: View, up: &Map, w: Weights, [inner, slope]: [&mut [f32]; 2]) {
        let f = self.sizes[1];
        if self.kind.gated {
            up.onto(slope, x, w.up_bias, None);
            for (pair, out) in slope.chunks_exact_mut(self.hidden()).zip(inner.chunks_exact_mut(f)) {
                gate(self.kind.act, pair, out);
            }
        } else {
            up.onto(inner, x, None, None);
            activate(self.kind.act, inner, w.up_bias, slope);
        }
    }

    /// x `(N, D)` -> `(N, O)`, onto `rest` of that shape if there is one.
    pub fn forward(&self, x: &[f32], w: Weights, rest: Option<&[f32]>, keep: bool) -> (Vec<f32>, Option<Kept>) {
        let ([d, f, o], hidden) = (self.sizes, self.hidden());
        let n = x.len() / d;
        let each = matrix::task_rows(n);
        let (up, down) = (Map::of(View::new(w.up, hidden, d).t(), n), Map::of(View::new(w.down, o, f).t(), n));
        let finish = |i: usize, inner: &[f32], y: &mut [f32]| {
            let rest = rest.map(|r| &r[i * each * o..][..y.len()]);
            down.onto(y, View::new(inner, y.len() / o, f), w.down_bias, rest);
        };
        let rows_of = |i: usize, rows: usize| View::new(&x[i * each * d..], rows, d);
        if !keep {
            let y = filled(n * o, |y| {
                pool::run_on(y, each * o, |i, y| {
                    let rows = y.len() / o;
                    let mut room = filled(rows * (f + hidden), |room| {
                        let (inner, slope) = room.split_at_mut(rows * f);
                        self.inner(rows_of(i, rows), &up, w, [inner, slope]);
                    });
                    room.truncate(rows * f);
                    finish(i, &room, y);
                });
            });
            return (y, None);
        }
        let (mut inner, mut slope) = (vec![], vec![]);
        let y = filled(n * o, |y| {
            slope = filled(n * hidden, |slope| {
                inner = filled(n * f, |inner| {
                    pool::run_on3((y, each * o), (inner, each * f), (slope, each * hidden), |i, [y, inner, slope]| {
                        self.inner(rows_of(i, y.len() / o), &up, w, [&mut *inner, slope]);
                        finish(i, inner, y);
                    });
                });
            });
        });
        (y, Some(Kept { inner, slope }))
    }

    /// The gradient of what `up` gave `(N, hidden)`, from that of the result `(N, O)`.
    pub fn back(&self, g: &[f32], down: &[f32], kept: &Kept) -> Vec<f32> {
        let ([_, f, o], hidden) = (self.sizes, self.hidden());
        let n = g.len() / o;
        let each = matrix::task_rows(n);
        let down = Packed::new(View::new(down, o, f));
        filled(n * hidden, |out| {
            pool::run_on(out, each * hidden, |i, out| {
                let rows = out.len() / hidden;
                let g = View::new(&g[i * each * o..], rows, o);
                let slope = &kept.slope[i * each * hidden..][..out.len()];
                if !self.kind.gated {
                    down.product(out, g, 1.0);
                    return times(out, slope);
                }
                let inner = filled(rows * f, |inner| down.product(inner, g, 1.0));
                let rows = out.chunks_exact_mut(hidden).zip(slope.chunks_exact(hidden));
                for ((pair, slope), inner) in rows.zip(inner.chunks_exact(f)) {
                    product_of(&mut pair[..f], &slope[..f], inner);
                    product_of(&mut pair[f..], &slope[f..], inner);
                }
            });
        })
    }
}

struct Mlp {
    kind: Kind,
    keep: bool,
    kept: OnceLock<Option<Kept>>,
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
        let (y, kept) = pass.forward(matrix::values(x, lx)?, weights, None, self.keep);
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
        let Some(Some(kept)) = self.kept.get() else { bail!("an MLP is asked for gradients that nothing tracked") };
        let pass = Pass::new(self.kind, up.shape(), down.shape())?;
        let ([d, f, o], hidden) = (pass.sizes, pass.hidden());
        let shaped = |v: Vec<f32>, like: &Tensor| Tensor::from_vec(v, like.shape(), like.device());
        matrix::read(grad, |g| {
            let ddown =
                if down.track_op() { Some(shaped(matrix::over_rows(g, o, &kept.inner, f), down)?) } else { None };
            if !x.track_op() && !up.track_op() {
                return Ok((None, None, ddown));
            }
            let dhidden = matrix::read(down, |down| Ok(pass.back(g, down, kept)))?; // (N, hidden)
            let dx = if x.track_op() {
                let dx = matrix::read(up, |up| Ok(matrix::by_rows(&dhidden, hidden, View::new(up, hidden, d))))?;
                Some(shaped(dx, x)?)
            } else {
                None
            };
            let dup = if up.track_op() {
                let dup = matrix::read(x, |x| Ok(matrix::over_rows(&dhidden, hidden, x, d)))?;
                Some(shaped(dup, up)?)
            } else {
                None
            };
            Ok((dx, dup, ddown))
        })
    }
}
