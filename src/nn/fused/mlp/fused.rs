//! Both layers and what is between them in one operation: a task takes a block of rows through all
//! three, while they are in cache. Kept for the way back: the activations and their slopes.

use std::sync::OnceLock;

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};

use super::{
    super::{
        linear::widened,
        matrix::{self, ROWS, View, filled},
        pool,
    },
    Act,
    activation::{activate, gate, times},
};

#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub act: Act,
    /// Two maps come in, stacked; the activation of the first multiplies the second.
    pub gated: bool,
    /// The last column of either weight is its bias. Not with gates.
    pub biased: bool,
}

pub fn apply(x: &Tensor, up: &Tensor, down: &Tensor, kind: Kind) -> Result<Tensor> {
    let keep = x.track_op() || up.track_op() || down.track_op();
    x.apply_op3(up, down, Mlp { kind, keep, kept: OnceLock::new() })
}

struct Kept {
    /// What `down` reads. `(N, F)`
    inner: Vec<f32>,
    /// Derivatives of it with respect to what `up` gave. `(N, F)`, gated `(N, 2F)`
    slope: Vec<f32>,
}

struct Mlp {
    kind: Kind,
    keep: bool,
    kept: OnceLock<Kept>,
}

/// D, F, O, the rows of the first weight: F, or 2F if gated; and how many columns the biases have.
#[derive(Clone, Copy)]
struct Sizes {
    d: usize,
    f: usize,
    o: usize,
    hidden: usize,
    bias: usize,
}

impl Sizes {
    fn up(self, up: &[f32]) -> View<'_> {
        View::new(up, self.hidden, self.d + self.bias).columns(0, self.d)
    }

    fn down(self, down: &[f32]) -> View<'_> {
        View::new(down, self.o, self.f + self.bias).columns(0, self.f)
    }

    /// dst (n rows of `cols`) = a w^T, and the bias that stands beside w.
    fn map(self, dst: &mut [f32], a: View, (w, view): (&[f32], View), cols: usize) {
        if self.bias > 0 {
            let bias: Vec<f32> = w.chunks_exact(w.len() / cols).filter_map(|row| row.last().copied()).collect();
            dst.chunks_exact_mut(cols).for_each(|row| row.copy_from_slice(&bias));
        }
        matrix::product(dst, a, view.t(), 1.0, self.bias > 0);
    }

    /// The gradient of a weight `(rows, cols)` with that of its bias beside it, if it has one: the sums of `g`.
    fn beside(self, dw: Vec<f32>, g: &[f32], rows: usize) -> Vec<f32> {
        if self.bias == 0 {
            return dw;
        }
        let sums = matrix::column_sums(g, rows);
        let cols = dw.len() / rows;
        let mut out = Vec::with_capacity(dw.len() + rows);
        for (row, sum) in dw.chunks_exact(cols).zip(sums) {
            out.extend_from_slice(row);
            out.push(sum);
        }
        out
    }
}

impl Mlp {
    fn sizes(&self, up: &Shape, down: &Shape) -> Result<Sizes> {
        let bias = usize::from(self.kind.biased);
        let ((hidden, d), (o, f)) = (up.dims2()?, down.dims2()?);
        let (d, f) = (d.saturating_sub(bias), f.saturating_sub(bias));
        if hidden != f * self.parts() {
            bail!("an MLP's first weight {up:?} does not fit its second {down:?}");
        }
        Ok(Sizes { d, f, o, hidden, bias })
    }

    fn parts(&self) -> usize {
        if self.kind.gated { 2 } else { 1 }
    }

    /// x (n rows) -> inner and slope, both written whole.
    fn inner(&self, x: &[f32], up: &[f32], s: Sizes, [inner, slope]: [&mut [f32]; 2]) {
        let n = x.len() / s.d;
        if self.kind.gated {
            matrix::product(slope, View::new(x, n, s.d), s.up(up).t(), 1.0, false);
            for (pair, out) in slope.chunks_exact_mut(s.hidden).zip(inner.chunks_exact_mut(s.f)) {
                gate(self.kind.act, pair, out);
            }
        } else {
            s.map(inner, View::new(x, n, s.d), (up, s.up(up)), s.f);
            activate(self.kind.act, inner, slope);
        }
    }
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
        let s = self.sizes(lu.shape(), ld.shape())?;
        let shape = widened(lx.shape(), s.d, s.o)?;
        let (x, up, down) = (matrix::values(x, lx)?, matrix::values(up, lu)?, matrix::values(down, ld)?);
        let n = x.len() / s.d;
        let out = |inner: &[f32], y: &mut [f32]| {
            let rows = inner.len() / s.f;
            s.map(y, View::new(inner, rows, s.f), (down, s.down(down)), s.o);
        };
        if !self.keep {
            let y = filled(n * s.o, |y| {
                pool::run_on(y, ROWS * s.o, |i, y| {
                    let rows = y.len() / s.o;
                    let mut room = filled(rows * (s.f + s.hidden), |room| {
                        let (inner, slope) = room.split_at_mut(rows * s.f);
                        self.inner(&x[i * ROWS * s.d..][..rows * s.d], up, s, [inner, slope]);
                    });
                    room.truncate(rows * s.f);
                    out(&room, y);
                });
            });
            return Ok((CpuStorage::F32(y), shape));
        }
        let (mut inner, mut slope) = (vec![], vec![]);
        let y = filled(n * s.o, |y| {
            slope = filled(n * s.hidden, |slope| {
                inner = filled(n * s.f, |inner| {
                    let sized = ((y, ROWS * s.o), (inner, ROWS * s.f), (slope, ROWS * s.hidden));
                    pool::run_on3(sized.0, sized.1, sized.2, |i, [y, inner, slope]| {
                        let rows = y.len() / s.o;
                        self.inner(&x[i * ROWS * s.d..][..rows * s.d], up, s, [&mut *inner, slope]);
                        out(inner, y);
                    });
                });
            });
        });
        let _ = self.kept.set(Kept { inner, slope }); // a forward pass runs once
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
        let Some(kept) = self.kept.get() else { bail!("an MLP is asked for gradients that nothing tracked") };
        let s = self.sizes(up.shape(), down.shape())?;
        let wants = |t: &Tensor| t.track_op();
        let shaped = |v: Vec<f32>, like: &Tensor| Tensor::from_vec(v, like.shape(), like.device());
        matrix::read(grad, |g| {
            let ddown = if wants(down) {
                Some(shaped(s.beside(matrix::over_rows(g, s.o, &kept.inner, s.f), g, s.o), down)?)
            } else {
                None
            };
            if !wants(x) && !wants(up) {
                return Ok((None, None, ddown));
            }
            let dhidden = matrix::read(down, |down| Ok(self.back(g, down, kept, s)))?; // (N, F or 2F)
            let dx = if wants(x) {
                let dx = matrix::read(up, |up| Ok(matrix::by_rows(&dhidden, s.hidden, s.up(up))))?;
                Some(shaped(dx, x)?)
            } else {
                None
            };
            let dup = if wants(up) {
                let dup = matrix::read(x, |x| Ok(matrix::over_rows(&dhidden, s.hidden, x, s.d)))?;
                Some(shaped(s.beside(dup, &dhidden, s.hidden), up)?)
            } else {
                None
            };
            Ok((dx, dup, ddown))
        })
    }
}

impl Mlp {
    /// The gradient of what `up` gave, from that of the result.
    fn back(&self, g: &[f32], down: &[f32], kept: &Kept, s: Sizes) -> Vec<f32> {
        let n = g.len() / s.o;
        let down = s.down(down);
        filled(n * s.hidden, |out| {
            pool::run_on(out, ROWS * s.hidden, |i, out| {
                let rows = out.len() / s.hidden;
                let g = View::new(&g[i * ROWS * s.o..], rows, s.o);
                let slope = &kept.slope[i * ROWS * s.hidden..][..out.len()];
                if !self.kind.gated {
                    matrix::product(out, g, down, 1.0, false);
                    return times(out, slope);
                }
                let inner = filled(rows * s.f, |inner| matrix::product(inner, g, down, 1.0, false));
                out.copy_from_slice(slope);
                for (pair, inner) in out.chunks_exact_mut(s.hidden).zip(inner.chunks_exact(s.f)) {
                    let (a, b) = pair.split_at_mut(s.f);
                    times(a, inner);
                    times(b, inner);
                }
            });
        })
    }
}
