//! The arithmetic of the coupled evolution on one task's rows, (position, head) each, and its backward.

use super::{super::mlp::activation::activate, Act, EvolutionSizes, Scheme};
use crate::{
    elementwise::{Mul, apply_all},
    fused::prelude::*,
    matrix::View,
    packed::{Packed, gemm},
};

/// One evaluation of f, with what its backward needs; each (n, d).
#[derive(Default)]
pub(super) struct Force {
    q: Vec<f32>,
    /// The activations of the first layer, and their derivatives.
    inner: Vec<f32>,
    slope: Vec<f32>,
    value: Vec<f32>,
}

/// The trajectory of one task; rows are (position, head).
pub(super) struct Trajectory {
    pub(super) q: Vec<f32>,
    pub(super) k: Vec<f32>,
    /// The evaluations of f, in order.
    forces: Vec<Force>,
    /// The k by which q moved, for each step.
    moving_keys: Vec<Vec<f32>>,
}

/// Gradients of one task: of f, and of each head's dt.
pub(super) struct Gradients<'a> {
    pub(super) f: &'a mut [f32],  // (2 d, d)
    pub(super) dt: &'a mut [f32], // (H)
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
pub(super) struct PackedForce {
    forward: [Packed; 2],
    backward: Option<[Packed; 2]>,
}

impl PackedForce {
    /// f `(2 d, d)`: its first weight above its second.
    pub(super) fn new(f: &[f32], d: usize, needs_backward: bool) -> Self {
        let weights = [View::new(f, d, d), View::new(&f[d * d..], d, d)];
        Self {
            forward: weights.map(|w| Packed::new(w.t())),
            backward: needs_backward.then(|| weights.map(Packed::new)),
        }
    }
}

/// The vector field of a task: its sizes, the packed weights of the force, and the step lengths.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) spec: EvolutionSizes,
    pub(super) f: &'a PackedForce,
    /// The step length dt of each head, `(H)`; `half` holds dt / 2.
    pub(super) dt: &'a [f32],
    pub(super) half: &'a [f32],
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
    pub(super) fn forward(&self, q: Vec<f32>, k: Vec<f32>, keep: bool) -> Trajectory {
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
    pub(super) fn backward(&self, path: &Trajectory, dq: &mut [f32], dk: &mut [f32], grads: &mut Gradients) {
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
