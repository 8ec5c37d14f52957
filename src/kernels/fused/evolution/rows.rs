//! The coupled evolution of rows of queries, keys and values side by side, in place, in tasks of some positions that stay
//! in the cache over all steps. Nothing but the start is kept for backward, which recomputes the trajectory.

use super::{
    EvolutionSizes,
    trajectory::{Field, Gradients, PackedForce},
};
use crate::{buffers::build_vec, reduce::sum_rows, threads};

/// Positions of a task.
const POSITIONS: usize = 32;

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
    fn wide(&self) -> usize {
        self.spec.heads * self.spec.head_dim
    }

    /// Values that this many positions keep for backward.
    pub fn saved_len(&self, positions: usize) -> usize {
        2 * positions * self.wide()
    }

    /// Writes the queries and keys of rows `(n, 3 H d)` as [`Kernel::backward`] reads them, task by task.
    pub fn save(&self, rows: &[f32], saved: &mut [f32]) {
        let wide = self.wide();
        threads::run_chunks(saved, POSITIONS * 2 * wide, |i, saved| {
            let rows = &rows[i * POSITIONS * 3 * wide..][..saved.len() / 2 * 3];
            let (q, k) = saved.split_at_mut(saved.len() / 2);
            copy_queries_keys(rows, wide, q, k);
        });
    }

    /// Evolves the queries and keys in rows `(n, 3 H d)` in place; values stay.
    pub fn evolve(&self, rows: &mut [f32]) {
        let (wide, field) = (self.wide(), self.field());
        threads::run_chunks(rows, POSITIONS * 3 * wide, |_, rows| {
            let (q, k) = split_queries_keys(rows, wide);
            let end = field.forward(q, k, false);
            join_queries_keys(rows, wide, &end.q, &end.k);
        });
    }

    /// The gradient of the evolved rows becomes that of the rows before; returns the gradients of f `(2 d, d)` and of tau
    /// `(H)`, one after the other.
    pub fn backward(&self, grad: &mut [f32], saved: &[f32]) -> Vec<f32> {
        let (wide, field, d) = (self.wide(), self.field(), self.spec.head_dim);
        let (of_f, piece) = (2 * d * d, POSITIONS * 2 * wide);
        let each = of_f + self.spec.heads;
        let tasks = saved.len().div_ceil(piece);
        let mut sums = vec![0f32; tasks * each];
        threads::run_all_chunks(
            [
                threads::Chunks { values: grad, size: POSITIONS * 3 * wide },
                threads::Chunks { values: &mut sums, size: each },
            ],
            |i, [grad, sums]| {
                let saved = &saved[i * piece..][..grad.len() / 3 * 2];
                let (q, k) = saved.split_at(saved.len() / 2);
                let path = field.forward(q.to_vec(), k.to_vec(), true);
                let (mut dq, mut dk) = split_queries_keys(grad, wide);
                let (f, dt) = sums.split_at_mut(of_f);
                field.backward(&path, &mut dq, &mut dk, &mut Gradients { f, dt });
                join_queries_keys(grad, wide, &dq, &dk);
            },
        );
        let mut sums = sum_rows(&sums, each);
        // dt = exp(tau)
        sums[of_f..].iter_mut().zip(&self.dt).for_each(|(sum, dt)| *sum *= dt);
        sums
    }
}

/// Copies queries and keys out of rows of queries, keys and values, `wide` channels each.
fn copy_queries_keys(rows: &[f32], wide: usize, q: &mut [f32], k: &mut [f32]) {
    for (row, (q, k)) in rows.chunks_exact(3 * wide).zip(q.chunks_exact_mut(wide).zip(k.chunks_exact_mut(wide))) {
        q.copy_from_slice(&row[..wide]);
        k.copy_from_slice(&row[wide..2 * wide]);
    }
}

/// Same as [`copy_queries_keys`], into vectors of their own.
fn split_queries_keys(rows: &[f32], wide: usize) -> (Vec<f32>, Vec<f32>) {
    let mut k = vec![];
    let q = build_vec(rows.len() / 3, |q| k = build_vec(q.len(), |k| copy_queries_keys(rows, wide, q, k)));
    (q, k)
}

/// The inverse of [`split_queries_keys`]; the values stay.
fn join_queries_keys(rows: &mut [f32], wide: usize, q: &[f32], k: &[f32]) {
    for (row, (q, k)) in rows.chunks_exact_mut(3 * wide).zip(q.chunks_exact(wide).zip(k.chunks_exact(wide))) {
        row[..wide].copy_from_slice(q);
        row[wide..2 * wide].copy_from_slice(k);
    }
}
