//! The evolution on the CPU in f32: a task takes some positions with all their heads through every
//! step, while they are in cache. Nothing is kept for the way back, which goes forward again first.

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor};
use pulp::{Arch, Simd, WithSimd};

use super::{
    super::{
        lanes,
        matrix::{self, View, filled, product, total},
        mlp::activation::activate,
        places::{Times, at_each},
        pool,
    },
    Act, CoupledSpec, Scheme,
};

/// Positions a task has.
const POSITIONS: usize = 32;

pub(super) struct Evolution {
    pub(super) spec: CoupledSpec,
}

/// f at one q: what the way back needs of it, each (n, d).
#[derive(Default)]
struct Force {
    q: Vec<f32>,
    /// silu of the first layer, and its slope.
    inner: Vec<f32>,
    slope: Vec<f32>,
    value: Vec<f32>,
}

/// All of one task's way forward; rows are (position, head).
struct Path {
    q: Vec<f32>,
    k: Vec<f32>,
    /// In the order of evaluation.
    forces: Vec<Force>,
    /// k as it was when it moved q, for each step.
    movers: Vec<Vec<f32>>,
}

/// Gradients of one task: of f, and of each head's dt.
struct Back<'a> {
    f: &'a mut [f32],  // (2 d, d)
    dt: &'a mut [f32], // (H)
}

/// rows of y += by[head] x, rows of d values, head by head in turn.
fn push(y: &mut [f32], by: &[f32], x: &[f32], d: usize) {
    Arch::new().dispatch(Push { y, by, x, d });
}

struct Push<'a> {
    y: &'a mut [f32],
    by: &'a [f32],
    x: &'a [f32],
    d: usize,
}

impl WithSimd for Push<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let rows = self.y.chunks_exact_mut(self.d).zip(self.x.chunks_exact(self.d));
        for ((y, x), &by) in rows.zip(self.by.iter().cycle()) {
            for (y, x) in y.iter_mut().zip(x) {
                *y += by * x;
            }
        }
    }
}

/// sums[head] += weight (x . y) over that head's rows.
struct Dots<'a> {
    sums: &'a mut [f32],
    weight: f32,
    x: &'a [f32],
    y: &'a [f32],
    d: usize,
}

impl WithSimd for Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let heads = self.sums.len();
        let rows = self.x.chunks_exact(self.d).zip(self.y.chunks_exact(self.d));
        for (r, (x, y)) in rows.enumerate() {
            self.sums[r % heads] += self.weight * lanes::dot(simd, x, y);
        }
    }
}

/// One task's sizes and weights.
#[derive(Clone, Copy)]
struct Field<'a> {
    spec: CoupledSpec,
    f: &'a [f32],
    dt: &'a [f32],
    half: &'a [f32],
}

impl Field<'_> {
    fn weights(&self) -> (View<'_>, View<'_>) {
        let d = self.spec.head_dim;
        (View::new(self.f, d, d), View::new(&self.f[d * d..], d, d))
    }

    fn force(&self, q: &[f32]) -> Force {
        let d = self.spec.head_dim;
        let (n, (first, second)) = (q.len() / d, self.weights());
        let mut inner = filled(q.len(), |u| product(u, View::new(q, n, d), first.t(), 1.0, false));
        let slope = filled(q.len(), |slope| activate(Act::Silu, &mut inner, slope));
        let value = filled(q.len(), |v| product(v, View::new(&inner, n, d), second.t(), 1.0, false));
        Force { q: q.to_vec(), inner, slope, value }
    }

    fn go(&self, mut q: Vec<f32>, mut k: Vec<f32>) -> Path {
        let (d, mut forces, mut movers) = (self.spec.head_dim, vec![], vec![]);
        if self.spec.scheme == Scheme::Leapfrog {
            forces.push(self.force(&q));
        }
        for _ in 0..self.spec.steps {
            match self.spec.scheme {
                Scheme::Euler => {
                    let force = self.force(&q);
                    movers.push(k.clone());
                    push(&mut q, self.dt, &k, d);
                    push(&mut k, self.dt, &force.value, d);
                    forces.push(force);
                }
                Scheme::Leapfrog => {
                    // f where the last step ended is f where this one begins
                    if let Some(last) = forces.last() {
                        push(&mut k, self.half, &last.value, d);
                    }
                    push(&mut q, self.dt, &k, d);
                    movers.push(k.clone());
                    let force = self.force(&q);
                    push(&mut k, self.half, &force.value, d);
                    forces.push(force);
                }
            }
        }
        Path { q, k, forces, movers }
    }

    /// Through f: dq += J^T dforce, and the weights' gradients.
    fn through(&self, force: &Force, dforce: &[f32], dq: &mut [f32], back: &mut Back) {
        let d = self.spec.head_dim;
        let (n, (first, second)) = (dq.len() / d, self.weights());
        let (df1, df2) = back.f.split_at_mut(d * d);
        let dforce = View::new(dforce, n, d);
        product(df2, dforce.t(), View::new(&force.inner, n, d), 1.0, true);
        let mut dinner = filled(n * d, |v| product(v, dforce, second, 1.0, false));
        at_each::<_, _, _, 1>([&force.slope], [&mut dinner], Times);
        let dinner = View::new(&dinner, n, d);
        product(df1, dinner.t(), View::new(&force.q, n, d), 1.0, true);
        product(dq, dinner, first, 1.0, true);
    }

    /// Gradients of the end become those of the start.
    fn back(&self, path: &Path, dq: &mut [f32], dk: &mut [f32], back: &mut Back) {
        let d = self.spec.head_dim;
        let scaled = |x: &[f32], by: &[f32]| {
            let mut out = vec![0f32; x.len()];
            push(&mut out, by, x, d);
            out
        };
        let dots = |sums: &mut [f32], weight, x: &[f32], y: &[f32]| {
            Arch::new().dispatch(Dots { sums, weight, x, y, d });
        };
        if self.spec.scheme == Scheme::Euler {
            for (force, mover) in path.forces.iter().zip(&path.movers).rev() {
                dots(back.dt, 1.0, dq, mover);
                dots(back.dt, 1.0, dk, &force.value);
                let dforce = scaled(dk, self.dt);
                push(dk, self.dt, dq, d);
                self.through(force, &dforce, dq, back);
            }
            return;
        }
        // the force between two steps pushes k twice by half a step, those at the ends once
        let kick = |i: usize, dq: &mut [f32], dk: &[f32], back: &mut Back| {
            let inside = i > 0 && i < self.spec.steps;
            let force = &path.forces[i];
            dots(back.dt, if inside { 1.0 } else { 0.5 }, dk, &force.value);
            let dforce = scaled(dk, if inside { self.dt } else { self.half });
            self.through(force, &dforce, dq, back);
        };
        kick(self.spec.steps, dq, dk, back);
        for (i, mover) in path.movers.iter().enumerate().rev() {
            dots(back.dt, 1.0, dq, mover);
            push(dk, self.dt, dq, d);
            kick(i, dq, dk, back);
        }
    }
}

/// dt and half of it, by head.
fn steps(tau: &[f32]) -> (Vec<f32>, Vec<f32>) {
    (tau.iter().map(|t| t.exp()).collect(), tau.iter().map(|t| 0.5 * t.exp()).collect())
}

/// Queries and keys of rows as wide as three times `wide`, each on its own.
fn taken(rows: &[f32], wide: usize) -> (Vec<f32>, Vec<f32>) {
    let part = |from: usize| {
        let mut out = Vec::with_capacity(rows.len() / 3);
        rows.chunks_exact(3 * wide).for_each(|row| out.extend_from_slice(&row[from..from + wide]));
        out
    };
    (part(0), part(wide))
}

/// The other way; what is left of each row comes from `rest`.
fn put(rows: &mut [f32], wide: usize, q: &[f32], k: &[f32], rest: &[f32]) {
    let all = rows.chunks_exact_mut(3 * wide).zip(rest.chunks_exact(3 * wide));
    for ((row, rest), (q, k)) in all.zip(q.chunks_exact(wide).zip(k.chunks_exact(wide))) {
        row[..wide].copy_from_slice(q);
        row[wide..2 * wide].copy_from_slice(k);
        row[2 * wide..].copy_from_slice(&rest[2 * wide..]);
    }
}

impl CustomOp3 for Evolution {
    fn name(&self) -> &'static str {
        "coupled"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        lx: &Layout,
        f: &CpuStorage,
        lf: &Layout,
        tau: &CpuStorage,
        lt: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (x, f, tau) = (matrix::values(x, lx)?, matrix::values(f, lf)?, matrix::values(tau, lt)?);
        let (dt, half) = steps(tau);
        let field = Field { spec: self.spec, f, dt: &dt, half: &half };
        let wide = self.spec.heads * self.spec.head_dim;
        let out = filled(x.len(), |out| {
            let piece = POSITIONS * 3 * wide;
            pool::run_on(out, piece, |i, out| {
                let rows = &x[i * piece..][..out.len()];
                let (q, k) = taken(rows, wide);
                let end = field.go(q, k);
                put(out, wide, &end.q, &end.k, rows);
            });
        });
        Ok((CpuStorage::F32(out), lx.shape().clone()))
    }

    fn bwd(
        &self,
        x: &Tensor,
        f: &Tensor,
        tau: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let (h, d) = (self.spec.heads, self.spec.head_dim);
        let (wide, of_f) = (h * d, 2 * d * d);
        let piece = POSITIONS * 3 * wide;
        let tasks = x.elem_count().div_ceil(piece);
        let (mut df, mut ddt) = (vec![0f32; tasks * of_f], vec![0f32; tasks * h]);
        let (dx, dt) = matrix::read(x, |x| {
            matrix::read(f, |f| {
                matrix::read(tau, |tau| {
                    matrix::read(grad, |grad| {
                        let (dt, half) = steps(tau);
                        let field = Field { spec: self.spec, f, dt: &dt, half: &half };
                        let dx = filled(x.len(), |dx| {
                            let sized = ((dx, piece), (&mut df[..], of_f), (&mut ddt[..], h));
                            pool::run_on3(sized.0, sized.1, sized.2, |i, [dx, df, ddt]| {
                                let here = i * piece..i * piece + dx.len();
                                let (q, k) = taken(&x[here.clone()], wide);
                                let path = field.go(q, k);
                                let (mut dq, mut dk) = taken(&grad[here.clone()], wide);
                                field.back(&path, &mut dq, &mut dk, &mut Back { f: df, dt: ddt });
                                put(dx, wide, &dq, &dk, &grad[here]);
                            });
                        });
                        Ok((dx, dt))
                    })
                })
            })
        })?;
        let df = total(&df, of_f);
        let dtau = total(&ddt, h).iter().zip(&dt).map(|(g, dt)| g * dt).collect();
        let made = |v: Vec<f32>, like: &Tensor| Tensor::from_vec(v, like.shape(), like.device()).map(Some);
        Ok((made(dx, x)?, made(df, f)?, made(dtau, tau)?))
    }
}
