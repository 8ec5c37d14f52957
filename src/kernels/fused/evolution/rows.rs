//! The coupled evolution of rows of queries, keys and values side by side, in place, in tasks of some positions that stay
//! in the cache over all steps. Nothing but the start is kept for backward, which recomputes the trajectory.

use super::{super::mlp::activation::activate, Act, EvolutionSizes, Scheme};
use crate::{
    elementwise::{Mul, apply_all},
    fused::prelude::*,
    matrix::View,
    packed::{Packed, gemm},
    reduce::sum_rows,
};

const POSITIONS_PER_TASK: usize = 32;

/// The evolution with its weights.
#[derive(Debug)]
pub struct Kernel {
    spec: EvolutionSizes,
    f: PackedForce,
    /// dt and dt / 2 by head.
    dt: Vec<f32>,
    half: Vec<f32>,
}

impl Kernel {
    /// f `(2 d, d)`, tau `(H)`; for forward alone, or for backward too.
    pub fn new(spec: EvolutionSizes, f: &[f32], tau: &[f32], needs_backward: bool) -> Self {
        let by = |factor: f32| tau.iter().map(|t| factor * t.exp()).collect();
        Self { spec, f: PackedForce::new(f, spec.head_dim, needs_backward), dt: by(1.0), half: by(0.5) }
    }

    fn field(&self) -> Field<'_> {
        Field { spec: self.spec, f: &self.f, dt: &self.dt, half: &self.half }
    }

    /// Channels of the queries of a position, and of its keys.
    fn query_channels(&self) -> usize {
        self.spec.heads * self.spec.head_dim
    }

    /// Values that this many positions keep for backward.
    pub fn saved_len(&self, positions: usize) -> usize {
        2 * positions * self.query_channels()
    }

    /// Writes the queries and keys of rows `(n, 3 H d)` as [`Kernel::backward`] reads them, task by task.
    pub fn save(&self, rows: &[f32], saved: &mut [f32]) {
        let width = self.query_channels();
        threads::run_chunks(saved, POSITIONS_PER_TASK * 2 * width, |i, saved| {
            let rows = &rows[i * POSITIONS_PER_TASK * 3 * width..][..saved.len() / 2 * 3];
            let (q, k) = saved.split_at_mut(saved.len() / 2);
            copy_queries_keys(rows, width, q, k);
        });
    }

    /// Evolves the queries and keys in rows `(n, 3 H d)` in place; values stay.
    pub fn evolve(&self, rows: &mut [f32]) {
        let (width, field) = (self.query_channels(), self.field());
        threads::run_chunks(rows, POSITIONS_PER_TASK * 3 * width, |_, rows| {
            let (q, k) = split_queries_keys(rows, width);
            let end = field.forward(q, k, false);
            join_queries_keys(rows, width, &end.q, &end.k);
        });
    }

    /// The gradient of the evolved rows becomes that of the rows before; returns the gradients of f `(2 d, d)` and of tau
    /// `(H)`, one after the other.
    pub fn backward(&self, grad: &mut [f32], saved: &[f32]) -> Vec<f32> {
        let (width, field, d) = (self.query_channels(), self.field(), self.spec.head_dim);
        let (of_f, piece) = (2 * d * d, POSITIONS_PER_TASK * 2 * width);
        let each = of_f + self.spec.heads;
        let tasks = saved.len().div_ceil(piece);
        let mut sums = vec![0f32; tasks * each];
        threads::run_all_chunks([grad, &mut sums], [POSITIONS_PER_TASK * 3 * width, each], |i, [grad, sums]| {
            let saved = &saved[i * piece..][..grad.len() / 3 * 2];
            let (q, k) = saved.split_at(saved.len() / 2);
            let path = field.forward(q.to_vec(), k.to_vec(), true);
            let (mut dq, mut dk) = split_queries_keys(grad, width);
            let (f, dt) = sums.split_at_mut(of_f);
            field.backward(&path, &mut dq, &mut dk, &mut Gradients { f, dt });
            join_queries_keys(grad, width, &dq, &dk);
        });
        let mut sums = sum_rows(&sums, each);
        // dt = exp(tau)
        sums[of_f..].iter_mut().zip(&self.dt).for_each(|(sum, dt)| *sum *= dt);
        sums
    }
}

/// Copies queries and keys out of rows of queries, keys and values, `query_channels` channels each.
fn copy_queries_keys(rows: &[f32], width: usize, q: &mut [f32], k: &mut [f32]) {
    for (row, (q, k)) in rows.chunks_exact(3 * width).zip(q.chunks_exact_mut(width).zip(k.chunks_exact_mut(width))) {
        q.copy_from_slice(&row[..width]);
        k.copy_from_slice(&row[width..2 * width]);
    }
}

/// Same as [`copy_queries_keys`], into vectors of their own.
fn split_queries_keys(rows: &[f32], width: usize) -> (Vec<f32>, Vec<f32>) {
    let [q, k] = build_vecs([rows.len() / 3; 2], |[q, k]| copy_queries_keys(rows, width, q, k));
    (q, k)
}

/// The inverse of [`split_queries_keys`]; the values stay.
fn join_queries_keys(rows: &mut [f32], width: usize, q: &[f32], k: &[f32]) {
    for (row, (q, k)) in rows.chunks_exact_mut(3 * width).zip(q.chunks_exact(width).zip(k.chunks_exact(width))) {
        row[..width].copy_from_slice(q);
        row[width..2 * width].copy_from_slice(k);
    }
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

kernel! {
    /// `y += by[head] x`, in rows of d values of one head after the other.
    fn add_scaled(_, y: &'a mut [f32], by: &'a [f32], x: &'a [f32], d: usize) {
        let rows = y.chunks_exact_mut(d).zip(x.chunks_exact(d));
        for ((y, x), &by) in rows.zip(by.iter().cycle()) {
            for (y, x) in y.iter_mut().zip(x) {
                *y += by * x;
            }
        }
    }
}

kernel! {
    /// `sums[head] += weight (x . y)`, summed over the rows of that head.
    fn dots(simd, sums: &'a mut [f32], weight: f32, x: &'a [f32], y: &'a [f32], d: usize) {
        let heads = sums.len();
        let rows = x.chunks_exact(d).zip(y.chunks_exact(d));
        for (r, (x, y)) in rows.enumerate() {
            sums[r % heads] += weight * simd::dot(simd, x, y);
        }
    }
}

/// f's weights as its products read them: first and second transposed for forward, and as they are for backward.
#[derive(Debug)]
struct PackedForce {
    forward: [Packed; 2],
    backward: Option<[Packed; 2]>,
}

impl PackedForce {
    /// f `(2 d, d)`: its first weight above its second.
    fn new(f: &[f32], d: usize, needs_backward: bool) -> Self {
        let weights = [View::new(f, d, d), View::new(&f[d * d..], d, d)];
        Self {
            forward: weights.map(|w| Packed::new(w.t())),
            backward: needs_backward.then(|| weights.map(Packed::new)),
        }
    }
}

/// The vector field of a task: its sizes, the packed weights of the force, and the step lengths.
#[derive(Clone, Copy)]
struct Field<'a> {
    spec: EvolutionSizes,
    f: &'a PackedForce,
    /// The step length dt of each head, `(H)`; `half` holds dt / 2.
    dt: &'a [f32],
    half: &'a [f32],
}

impl Field<'_> {
    fn force(&self, q: &[f32], keep: bool) -> Force {
        let d = self.spec.head_dim;
        let (n, [first, second]) = (q.len() / d, &self.f.forward);
        let mut inner = build_vec(q.len(), |u| first.matmul(u, View::new(q, n, d), 1.0));
        let slope = build_vec(q.len(), |slope| activate(Act::Silu, &mut inner, slope));
        let value = build_vec(q.len(), |v| second.matmul(v, View::new(&inner, n, d), 1.0));
        Force { q: if keep { q.to_vec() } else { vec![] }, inner, slope, value }
    }

    /// The end of the evolution of these queries and keys; with `keep`, all that the backward pass needs too.
    fn forward(&self, q: Vec<f32>, k: Vec<f32>, keep: bool) -> Trajectory {
        let start = Trajectory { q, k, forces: vec![], moving_keys: vec![] };
        match self.spec.scheme {
            Scheme::Euler => self.euler(start, keep),
            Scheme::Leapfrog => self.leapfrog(start, keep),
        }
    }

    fn euler(&self, mut path: Trajectory, keep: bool) -> Trajectory {
        let d = self.spec.head_dim;
        for _ in 0..self.spec.steps {
            let force = self.force(&path.q, keep);
            let moving_key = keep.then(|| path.k.clone());
            add_scaled(&mut path.q, self.dt, &path.k, d);
            add_scaled(&mut path.k, self.dt, &force.value, d);
            path.moving_keys.extend(moving_key);
            path.forces.extend(keep.then_some(force));
        }
        path
    }

    fn leapfrog(&self, mut path: Trajectory, keep: bool) -> Trajectory {
        let d = self.spec.head_dim;
        let mut force = self.force(&path.q, keep);
        for _ in 0..self.spec.steps {
            add_scaled(&mut path.k, self.half, &force.value, d);
            add_scaled(&mut path.q, self.dt, &path.k, d);
            path.moving_keys.extend(keep.then(|| path.k.clone()));
            // f at the end of this step is f at the beginning of the next
            let next = self.force(&path.q, keep);
            add_scaled(&mut path.k, self.half, &next.value, d);
            path.forces.extend(keep.then_some(std::mem::replace(&mut force, next)));
        }
        path.forces.extend(keep.then_some(force));
        path
    }

    /// The backward of f: dq += J^T dforce, and the gradients of its weights.
    fn force_backward(&self, force: &Force, dforce: &[f32], dq: &mut [f32], grads: &mut Gradients) {
        let d = self.spec.head_dim;
        let Some([first, second]) = &self.f.backward else { return };
        let n = dq.len() / d;
        let (df1, df2) = grads.f.split_at_mut(d * d);
        let dforce = View::new(dforce, n, d);
        gemm(df2, dforce.t(), View::new(&force.inner, n, d), 1.0, true);
        let mut dinner = build_vec(n * d, |v| second.matmul(v, dforce, 1.0));
        apply_all::<_, _, _, 1>([&force.slope], [&mut dinner], Mul);
        let dinner = View::new(&dinner, n, d);
        gemm(df1, dinner.t(), View::new(&force.q, n, d), 1.0, true);
        first.matmul_accumulate(dq, dinner);
    }

    /// The gradients of the end of a trajectory become those of its start.
    fn backward(&self, path: &Trajectory, dq: &mut [f32], dk: &mut [f32], grads: &mut Gradients) {
        let d = self.spec.head_dim;
        let scaled = |x: &[f32], by: &[f32]| {
            build_vec(x.len(), |out| {
                arch().dispatch(|| {
                    let rows = out.chunks_exact_mut(d).zip(x.chunks_exact(d)).zip(by.iter().cycle());
                    rows.for_each(|((out, x), by)| out.iter_mut().zip(x).for_each(|(out, x)| *out = by * x));
                });
            })
        };
        let dots = |sums: &mut [f32], weight, x: &[f32], y: &[f32]| {
            dots(sums, weight, x, y, d);
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
