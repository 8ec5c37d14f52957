//! What fused attention does to single rows, in vector code: norm and rotation, softmax, and both the
//! way back. Which rows belong together is the caller's matter.

use pulp::{Simd, WithSimd};

use super::{
    super::lanes,
    fused::{Back, Block, Op, Task},
};

/// Normalises and rotates one task's queries and keys, and copies its values.
pub(super) struct Prepare<'a> {
    pub(super) op: &'a Op,
    pub(super) i: usize,
    pub(super) qkv: &'a [f32],
    pub(super) weights: (&'a [f32], &'a [f32]),
    pub(super) task: &'a mut Task,
}

impl WithSimd for Prepare<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { op, i, qkv, weights, task } = self;
        let (d, width, eps) = (op.spec.head_dim, op.width(), op.spec.eps as f32);
        let half = d / 2;
        let turn = |x: &[f32], w: &[f32], at: usize, to: &mut [f32]| {
            let Some(turns) = &op.turns else { return to.copy_from_slice(x) };
            let (cos, sin) = &**turns;
            let inv = 1.0 / (lanes::dot(simd, x, x) / d as f32 + eps).sqrt();
            let (cos, sin) = (&cos[at * half..][..half], &sin[at * half..][..half]);
            let ((xa, xb), (wa, wb)) = (x.split_at(half), w.split_at(half));
            let (ta, tb) = to.split_at_mut(half);
            for j in 0..half {
                let (a, b) = (xa[j] * inv * wa[j], xb[j] * inv * wb[j]);
                ta[j] = a * cos[j] - b * sin[j];
                tb[j] = b * cos[j] + a * sin[j];
            }
        };
        let (q, k, v) = op.columns(i);
        let first = i / op.spec.kv_heads * op.t;
        for (row, head, at) in op.rows() {
            let from = (first + at) * width + q + head * d;
            turn(&qkv[from..from + d], weights.0, at, &mut task.q[row * d..][..d]);
        }
        for at in 0..op.t {
            let row = &qkv[(first + at) * width..][..width];
            turn(&row[k..k + d], weights.1, at, &mut task.k[at * d..][..d]);
            task.v[at * d..][..d].copy_from_slice(&row[v..v + d]);
        }
    }
}

/// Undoes rotation and norm in one task's gradients, and forms those of the norm weights.
pub(super) struct PrepareBack<'a> {
    pub(super) op: &'a Op,
    pub(super) i: usize,
    pub(super) args: (&'a [f32], &'a [f32], &'a [f32]),
    pub(super) back: &'a mut Back,
}

impl WithSimd for PrepareBack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { op, i, args: (qkv, q_norm, k_norm), back } = self;
        let (d, width, eps) = (op.spec.head_dim, op.width(), op.spec.eps as f32);
        let Some(turns) = &op.turns else { return };
        let (half, (cos, sin)) = (d / 2, &**turns);
        let mut hat = vec![0f32; d];
        // g: gradient after norm and rotation, becomes that of x. With u = x / rms, after = turn(u w):
        // dw += du u, dx = (du w - u mean(du w u)) / rms
        let mut undo = |x: &[f32], w: &[f32], at: usize, g: &mut [f32], dw: &mut [f32]| {
            let inv = 1.0 / (lanes::dot(simd, x, x) / d as f32 + eps).sqrt();
            let (cos, sin) = (&cos[at * half..][..half], &sin[at * half..][..half]);
            let (ga, gb) = g.split_at_mut(half);
            for j in 0..half {
                let (a, b) = (ga[j], gb[j]);
                ga[j] = a * cos[j] + b * sin[j];
                gb[j] = b * cos[j] - a * sin[j];
            }
            let (hat, w, dw, g) = (&mut hat[..d], &w[..d], &mut dw[..d], &mut g[..d]);
            for j in 0..d {
                hat[j] = x[j] * inv;
                dw[j] += g[j] * hat[j];
                g[j] *= w[j];
            }
            let mean = lanes::dot(simd, g, hat) / d as f32;
            for j in 0..d {
                g[j] = inv * (g[j] - hat[j] * mean);
            }
        };
        let (q, k, _) = op.columns(i);
        let first = i / op.spec.kv_heads * op.t;
        for (row, head, at) in op.rows() {
            let x = &qkv[(first + at) * width + q + head * d..][..d];
            undo(x, q_norm, at, &mut back.q[row * d..][..d], &mut back.q_norm);
        }
        for at in 0..op.t {
            let x = &qkv[(first + at) * width + k..][..d];
            undo(x, k_norm, at, &mut back.k[at * d..][..d], &mut back.k_norm);
        }
    }
}

/// Scores of a block become weights; what a row may not see becomes 0.
pub(super) struct Softmax<'a> {
    pub(super) scores: &'a mut [f32],
    pub(super) lse: &'a mut [f32],
    pub(super) block: Block,
}

impl WithSimd for Softmax<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let n = self.block.hi - self.block.lo;
        for (r, (row, lse)) in self.scores.chunks_exact_mut(n).zip(self.lse).enumerate() {
            let seen = self.block.seen(r);
            row[..seen.start].fill(0.0);
            row[seen.end..].fill(0.0);
            let row = &mut row[seen];
            let most = lanes::largest(simd, row);
            let total = lanes::exp_from(simd, row, most);
            let inv = 1.0 / total;
            row.iter_mut().for_each(|w| *w *= inv);
            *lse = most + total.ln();
        }
    }
}

/// Scores become weights, and gradients of weights become gradients of unscaled scores.
pub(super) struct SoftmaxBack<'a> {
    pub(super) scores: &'a mut [f32],
    pub(super) grads: &'a mut [f32],
    pub(super) lse: &'a [f32],
    /// The block's rows of the result and of its gradient, `(m, d)`.
    pub(super) y: (&'a [f32], &'a [f32]),
    pub(super) scale: f32,
    pub(super) block: Block,
}

impl WithSimd for SoftmaxBack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let n = self.block.hi - self.block.lo;
        let d = self.y.0.len() / self.lse.len();
        let rows = self.scores.chunks_exact_mut(n).zip(self.grads.chunks_exact_mut(n)).zip(self.lse);
        for (r, ((weights, grads), &lse)) in rows.enumerate() {
            let seen = self.block.seen(r);
            let mean = match seen.len() {
                // a single weight is 1 whatever its score: its gradient is exactly 0, not rounding noise
                1 => grads[seen.start],
                // sum of weight times gradient over the row
                _ => lanes::dot(simd, &self.y.0[r * d..][..d], &self.y.1[r * d..][..d]),
            };
            for row in [&mut *weights, &mut *grads] {
                row[..seen.start].fill(0.0);
                row[seen.end..].fill(0.0);
            }
            for (w, g) in weights[seen.clone()].iter_mut().zip(&mut grads[seen]) {
                *w = lanes::exp(*w - lse);
                *g = *w * (*g - mean) * self.scale;
            }
        }
    }
}
