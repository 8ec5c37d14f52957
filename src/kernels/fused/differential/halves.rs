//! Queries in two halves, each beside zeros, on the CPU in f32.

use std::f32::consts::SQRT_2;

use crate::fused::prelude::*;

pub(super) struct SplitHalves {
    pub(super) heads: usize,
    pub(super) head_dim: usize,
}

/// Positions of a task.
const POSITIONS: usize = 64;

impl SplitHalves {
    /// Channels of all queries of a position.
    fn wide(&self) -> usize {
        self.heads * self.head_dim
    }

    fn split(&self, qkv: &[f32]) -> Vec<f32> {
        let (wide, d, half) = (self.wide(), self.head_dim, self.head_dim / 2);
        build_vec(qkv.len() / 3 * 4, |out| {
            threads::run_chunks(out, POSITIONS * 4 * wide, |i, out| {
                let rows = qkv[i * POSITIONS * 3 * wide..].chunks_exact(3 * wide);
                for (out, row) in out.chunks_exact_mut(4 * wide).zip(rows) {
                    let (halves, rest) = out.split_at_mut(2 * wide);
                    for (halves, q) in halves.chunks_exact_mut(2 * d).zip(row.chunks_exact(d)) {
                        halves[half..half + d].fill(0.0);
                        halves[..half].iter_mut().zip(q).for_each(|(to, q)| *to = SQRT_2 * q);
                        halves[d + half..].iter_mut().zip(&q[half..]).for_each(|(to, q)| *to = SQRT_2 * q);
                    }
                    rest.copy_from_slice(&row[wide..]);
                }
            });
        })
    }

    fn join(&self, grad: &[f32]) -> Vec<f32> {
        let (wide, d, half) = (self.wide(), self.head_dim, self.head_dim / 2);
        build_vec(grad.len() / 4 * 3, |out| {
            threads::run_chunks(out, POSITIONS * 3 * wide, |i, out| {
                let rows = grad[i * POSITIONS * 4 * wide..].chunks_exact(4 * wide);
                for (out, row) in out.chunks_exact_mut(3 * wide).zip(rows) {
                    let (dq, rest) = out.split_at_mut(wide);
                    for (dq, halves) in dq.chunks_exact_mut(d).zip(row.chunks_exact(2 * d)) {
                        dq[..half].iter_mut().zip(halves).for_each(|(to, g)| *to = SQRT_2 * g);
                        dq[half..].iter_mut().zip(&halves[d + half..]).for_each(|(to, g)| *to = SQRT_2 * g);
                    }
                    rest.copy_from_slice(&row[2 * wide..]);
                }
            });
        })
    }
}

impl FusedOp<1> for SplitHalves {
    const NAME: &'static str = "halve-queries";

    fn forward(&self, [qkv]: [&[f32]; 1], [shape]: [&Shape; 1]) -> Result<(Vec<f32>, Shape)> {
        let mut dims = shape.dims().to_vec();
        dims.iter_mut().rev().take(1).for_each(|wide| *wide = 4 * self.wide());
        Ok((self.split(qkv), Shape::from(dims)))
    }

    fn backward(&self, [qkv]: [&Tensor; 1], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 1]> {
        gradients_like([storage::read(grad, |grad| Ok(self.join(grad)))?], [qkv])
    }
}
