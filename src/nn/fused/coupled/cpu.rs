//! The coupled evolution on the CPU in f32: a task integrates some positions with all their heads over all steps while they
//! are in the cache. Nothing is saved for backward, which recomputes the trajectory.

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor};
use pulp::{Arch, Simd, WithSimd};

use super::{
    super::{mlp::activation::activate, storage},
    Act, CoupledSpec, Scheme,
};
use crate::nn::kernels::{
    buffers::build_vec,
    elementwise::{Mul, apply_all},
    matrix::View,
    packed::gemm,
    reduce::sum_rows,
    simd, threads,
};

/// Positions of a task.
const POSITIONS: usize = 32;

pub(super) struct Evolution {
    pub(super) spec: CoupledSpec,
}

/// One evaluation of f, with what its backward needs; each (n, d).
#[derive(Default)]
struct Force {
    q: Vec<f32>,
    /// The activations of the first layer, and their derivatives.
    inner: Vec<f32>,
    slope: Vec<f32>,
    value: Vec<f32>,
}

/// The trajectory of one task; rows are (position, head).
struct Trajectory {
    q: Vec<f32>,
    k: Vec<f32>,
    /// The evaluations of f, in order.
    forces: Vec<Force>,
    /// The k by which q moved, for each step.
    moving_keys: Vec<Vec<f32>>,
}

/// Gradients of one task: of f, and of each head's dt.
struct Gradients<'a> {
    f: &'a mut [f32],  // (2 d, d)
    dt: &'a mut [f32], // (H)
}

/// y += by[head] x, in rows of d values of one head after the other.
fn add_scaled(y: &mut [f32], by: &[f32], x: &[f32], d: usize) {
    Arch::new().dispatch(AddScaled { y, by, x, d });
}

struct AddScaled<'a> {
    y: &'a mut [f32],
    by: &'a [f32],
    x: &'a [f32],
    d: usize,
}

impl WithSimd for AddScaled<'_> {
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

/// sums[head] += weight (x . y), summed over the rows of that head.
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
            self.sums[r % heads] += self.weight * simd::dot(simd, x, y);
        }
    }
}

/// Sizes and weights of a task.
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
        let mut inner = build_vec(q.len(), |u| gemm(u, View::new(q, n, d), first.t(), 1.0, false));
        let slope = build_vec(q.len(), |slope| activate(Act::Silu, &mut inner, slope));
        let value = build_vec(q.len(), |v| gemm(v, View::new(&inner, n, d), second.t(), 1.0, false));
        Force { q: q.to_vec(), inner, slope, value }
    }

    fn forward(&self, mut q: Vec<f32>, mut k: Vec<f32>) -> Trajectory {
        let (d, mut forces, mut moving_keys) = (self.spec.head_dim, vec![], vec![]);
        if self.spec.scheme == Scheme::Leapfrog {
            forces.push(self.force(&q));
        }
        for _ in 0..self.spec.steps {
            match self.spec.scheme {
                Scheme::Euler => {
                    let force = self.force(&q);
                    moving_keys.push(k.clone());
                    add_scaled(&mut q, self.dt, &k, d);
                    add_scaled(&mut k, self.dt, &force.value, d);
                    forces.push(force);
                }
                Scheme::Leapfrog => {
                    // f at the end of the last step is f at the beginning of this one
                    if let Some(last) = forces.last() {
                        add_scaled(&mut k, self.half, &last.value, d);
                    }
                    add_scaled(&mut q, self.dt, &k, d);
                    moving_keys.push(k.clone());
                    let force = self.force(&q);
                    add_scaled(&mut k, self.half, &force.value, d);
                    forces.push(force);
                }
            }
        }
        Trajectory { q, k, forces, moving_keys }
    }

    /// The backward of f: dq += J^T dforce, and the gradients of its weights.
    fn force_backward(&self, force: &Force, dforce: &[f32], dq: &mut [f32], grads: &mut Gradients) {
        let d = self.spec.head_dim;
        let (n, (first, second)) = (dq.len() / d, self.weights());
        let (df1, df2) = grads.f.split_at_mut(d * d);
        let dforce = View::new(dforce, n, d);
        gemm(df2, dforce.t(), View::new(&force.inner, n, d), 1.0, true);
        let mut dinner = build_vec(n * d, |v| gemm(v, dforce, second, 1.0, false));
        apply_all::<_, _, _, 1>([&force.slope], [&mut dinner], Mul);
        let dinner = View::new(&dinner, n, d);
        gemm(df1, dinner.t(), View::new(&force.q, n, d), 1.0, true);
        gemm(dq, dinner, first, 1.0, true);
    }

    /// The gradients of the end of a trajectory become those of its start.
    fn backward(&self, path: &Trajectory, dq: &mut [f32], dk: &mut [f32], grads: &mut Gradients) {
        let d = self.spec.head_dim;
        let scaled = |x: &[f32], by: &[f32]| {
            let mut out = vec![0f32; x.len()];
            add_scaled(&mut out, by, x, d);
            out
        };
        let dots = |sums: &mut [f32], weight, x: &[f32], y: &[f32]| {
            Arch::new().dispatch(Dots { sums, weight, x, y, d });
        };
        if self.spec.scheme == Scheme::Euler {
            for (force, moving_key) in path.forces.iter().zip(&path.moving_keys).rev() {
                dots(grads.dt, 1.0, dq, moving_key);
                dots(grads.dt, 1.0, dk, &force.value);
                let dforce = scaled(dk, self.dt);
                add_scaled(dk, self.dt, dq, d);
                self.force_backward(force, &dforce, dq, grads);
            }
            return;
        }
        // a force between two steps moves k by half a step twice, those at the ends once
        let kick = |i: usize, dq: &mut [f32], dk: &[f32], grads: &mut Gradients| {
            let inside = i > 0 && i < self.spec.steps;
            let force = &path.forces[i];
            dots(grads.dt, if inside { 1.0 } else { 0.5 }, dk, &force.value);
            let dforce = scaled(dk, if inside { self.dt } else { self.half });
            self.force_backward(force, &dforce, dq, grads);
        };
        kick(self.spec.steps, dq, dk, grads);
        for (i, moving_key) in path.moving_keys.iter().enumerate().rev() {
            dots(grads.dt, 1.0, dq, moving_key);
            add_scaled(dk, self.dt, dq, d);
            kick(i, dq, dk, grads);
        }
    }
}

/// dt and dt / 2 by head.
fn steps(tau: &[f32]) -> (Vec<f32>, Vec<f32>) {
    (tau.iter().map(|t| t.exp()).collect(), tau.iter().map(|t| 0.5 * t.exp()).collect())
}

/// Copies queries and keys out of rows of queries, keys and values, `wide` channels each.
fn split_queries_keys(rows: &[f32], wide: usize) -> (Vec<f32>, Vec<f32>) {
    let part = |from: usize| {
        let mut out = Vec::with_capacity(rows.len() / 3);
        rows.chunks_exact(3 * wide).for_each(|row| out.extend_from_slice(&row[from..from + wide]));
        out
    };
    (part(0), part(wide))
}

/// The inverse of [`split_queries_keys`]; the values come from `rest`.
fn join_queries_keys(rows: &mut [f32], wide: usize, q: &[f32], k: &[f32], rest: &[f32]) {
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
        let (x, f, tau) = (storage::values(x, lx)?, storage::values(f, lf)?, storage::values(tau, lt)?);
        let (dt, half) = steps(tau);
        let field = Field { spec: self.spec, f, dt: &dt, half: &half };
        let wide = self.spec.heads * self.spec.head_dim;
        let out = build_vec(x.len(), |out| {
            let piece = POSITIONS * 3 * wide;
            threads::run_chunks(out, piece, |i, out| {
                let rows = &x[i * piece..][..out.len()];
                let (q, k) = split_queries_keys(rows, wide);
                let end = field.forward(q, k);
                join_queries_keys(out, wide, &end.q, &end.k, rows);
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
        let (dx, dt) = storage::read(x, |x| {
            storage::read(f, |f| {
                storage::read(tau, |tau| {
                    storage::read(grad, |grad| {
                        let (dt, half) = steps(tau);
                        let field = Field { spec: self.spec, f, dt: &dt, half: &half };
                        let dx = build_vec(x.len(), |dx| {
                            let sized = ((dx, piece), (&mut df[..], of_f), (&mut ddt[..], h));
                            threads::run_chunks3(sized.0, sized.1, sized.2, |i, [dx, df, ddt]| {
                                let here = i * piece..i * piece + dx.len();
                                let (q, k) = split_queries_keys(&x[here.clone()], wide);
                                let path = field.forward(q, k);
                                let (mut dq, mut dk) = split_queries_keys(&grad[here.clone()], wide);
                                field.backward(&path, &mut dq, &mut dk, &mut Gradients { f: df, dt: ddt });
                                join_queries_keys(dx, wide, &dq, &dk, &grad[here]);
                            });
                        });
                        Ok((dx, dt))
                    })
                })
            })
        })?;
        let df = sum_rows(&df, of_f);
        let dtau = sum_rows(&ddt, h).iter().zip(&dt).map(|(g, dt)| g * dt).collect();
        let made = |v: Vec<f32>, like: &Tensor| Tensor::from_vec(v, like.shape(), like.device()).map(Some);
        Ok((made(dx, x)?, made(df, f)?, made(dtau, tau)?))
    }
}
