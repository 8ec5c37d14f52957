//! Linear attention of one token after all before it, on the CPU in f32: the state of a synapse that ends in no active
//! neuron is neither read nor written, and neurons that do not fire read no weight of the second layer and of the
//! decoder. A task is a block of neurons of a head; sums over blocks are in order, whatever thread made them.

use super::{LinearAttentionSpec, angles, decays, rows::normalise};
use crate::{
    elementwise::{apply, elementwise},
    fused::prelude::*,
    reduce::sum_rows,
    simd as vector, transpose,
};

/// Neurons of a block at most, where the neurons of a head can be cut so.
const MAX_BLOCK: usize = 1024;
/// Smaller blocks are not worth a task.
const MIN_BLOCK: usize = 64;

/// The weights in the layout that reading a single token needs, with a row for each neuron.
pub struct Recurrence {
    spec: LinearAttentionSpec,
    d: usize,
    heads: usize,
    /// The number of neurons of a head, N.
    n: usize,
    /// Neurons of a block; divides N.
    block: usize,
    encoder: Vec<f32>,   // (H N, D)
    encoder_v: Vec<f32>, // (H N, D)
    decoder: Tensor,     // (H N, O)
}

impl Recurrence {
    /// Encoders `(H, D, N)`, decoder `(H N, O)`; `None` where they are not f32 in host memory.
    ///
    /// # Errors
    /// If the sizes do not fit one another.
    pub fn new(
        encoder: &Tensor,
        encoder_v: &Tensor,
        decoder: &Tensor,
        spec: LinearAttentionSpec,
    ) -> Result<Option<Self>> {
        let ((heads, d, n), (rows, _)) = (encoder.dims3()?, decoder.dims2()?);
        if encoder_v.dims3()? != (heads, d, n) || rows != heads * n {
            bail!("encoders {:?} and {:?} do not fit a decoder of {rows} rows", encoder.shape(), encoder_v.shape());
        }
        spec.check(n)?;
        let (encoder, encoder_v, decoder) = (encoder.contiguous()?, encoder_v.contiguous()?, decoder.contiguous()?);
        if !storage::readable(&[&encoder, &encoder_v, &decoder]) {
            return Ok(None);
        }
        let by_neuron = |w: &Tensor| {
            storage::read(w, |w| {
                Ok(threads::build_chunks(w.len(), n * d, |head, out| {
                    transpose::transpose(&w[head * n * d..][..n * d], [d, n], n, out, d);
                }))
            })
        };
        let (encoder, encoder_v) = (by_neuron(&encoder)?, by_neuron(&encoder_v)?);
        Ok(Some(Self { spec, d, heads, n, block: block(n), encoder, encoder_v, decoder }))
    }

    /// The angle by which each pair of neurons of a head is turned at this position: cosines and sines, `(N / 2)` each; empty without
    /// rotary embedding.
    pub fn rotation(&self, at: usize) -> (Vec<f32>, Vec<f32>) {
        if self.spec.rotary { angles(at..at + 1, &self.spec.pair_frequencies(self.n)) } else { (vec![], vec![]) }
    }

    /// v `(D)` of the token at the position of `rotation` -> what the neurons write, `(O)`. The state `(H, N, D)` is read and
    /// then written to.
    ///
    /// # Errors
    /// If v or the state has another size.
    pub fn step(&self, v: &[f32], state: &mut [f32], rotation: (&[f32], &[f32])) -> Result<Vec<f32>> {
        let (d, block) = (self.d, self.block);
        let neurons = self.heads * self.n;
        if v.len() != d || state.len() != neurons * d {
            bail!(
                "{} channels and a state of {} values do not fit {neurons} neurons of {d} channels",
                v.len(),
                state.len()
            );
        }
        let (blocks, a_head) = (neurons / block, self.n / block);
        let decays = if self.spec.damped { decays(self.heads) } else { vec![1.0; self.heads] };
        let mut x = vec![0f32; neurons];
        let mut parts = vec![0f32; blocks * d];
        threads::run_all_chunks([&mut x, state, &mut parts], [block, block * d, d], |task, [x, state, part]| {
            let weights = &self.encoder[task * block * d..][..block * d];
            let from = task % a_head * block / 2;
            let turn = |table: &[f32]| table.get(from..from + block / 2).unwrap_or_default().to_vec();
            let rotation = (&turn(rotation.0)[..], &turn(rotation.1)[..]);
            attend_block(v, weights, rotation, decays[task / a_head], x, state, part);
        });
        let mut a: Vec<f32> = parts.chunks_exact(a_head * d).flat_map(|parts| sum_rows(parts, d)).collect(); // (H, D)
        normalise(&mut a, &mut vec![0.0; self.heads]);
        storage::read(&self.decoder, |decoder| {
            let o = decoder.len() / neurons;
            let mut parts = vec![0f32; blocks * o];
            threads::run_chunks(&mut parts, o, |task, part| {
                let from = task * block;
                let weights = &self.encoder_v[from * d..][..block * d];
                let decoder = &decoder[from * o..][..block * o];
                let (a, x) = (&a[task / a_head * d..][..d], &x[from..][..block]);
                write_block(a, x, weights, decoder, part);
            });
            Ok(sum_rows(&parts, o))
        })
    }
}

/// The largest even divisor of n that is at most [`MAX_BLOCK`], or n if no divisor is large enough for a task.
fn block(n: usize) -> usize {
    let divisors = (MIN_BLOCK..=MAX_BLOCK.min(n)).rev().filter(|b| n.is_multiple_of(*b) && b.is_multiple_of(2));
    divisors.max().unwrap_or(n)
}

kernel! {
    /// The first layer x of a block of neurons, what their state holds for this token, added to `part` `(D)`, and the
    /// token written into it. weights and state `(block, D)`.
    fn attend_block(
        simd, v: &'a [f32], weights: &'a [f32], rotation: (&'a [f32], &'a [f32]), decay: f32, x: &'a mut [f32],
        state: &'a mut [f32], part: &'a mut [f32],
    ) {
        let (d, (cos, sin)) = (v.len(), rotation);
        for (x, row) in x.iter_mut().zip(weights.chunks_exact(d)) {
            let sum = vector::dot(simd, v, row);
            // NaN stays NaN, as elsewhere, so that the loss shows it
            *x = if sum <= 0.0 { 0.0 } else { sum };
        }
        for j in 0..x.len() {
            let q = match (cos.get(j / 2), sin.get(j / 2)) {
                (Some(cos), Some(sin)) if j % 2 == 0 => x[j] * cos - x[j + 1] * sin,
                (Some(cos), Some(sin)) => x[j] * cos + x[j - 1] * sin,
                _ => x[j],
            };
            let row = &mut state[j * d..][..d];
            if q != 0.0 {
                apply::<S, _, 1, 2, 4>(simd, [v], [&mut *part, &mut *row], ReadAndWrite(q));
            }
            if decay != 1.0 {
                row.iter_mut().for_each(|s| *s *= decay);
            }
        }
    }
}

/// `[v], [sum, state] -> [sum + q state, state + q v]`.
#[derive(Clone, Copy)]
struct ReadAndWrite(f32);

elementwise!(ReadAndWrite, 1 => 2; |self, simd, [v], [sum, state]| {
    let q = simd.splat_f32s(self.0);
    [
        vector::unrolled::<S, U>(simd, |u| simd.mul_add_f32s(q, state[u], sum[u])),
        vector::unrolled::<S, U>(simd, |u| simd.mul_add_f32s(q, v[u], state[u])),
    ]
});

kernel! {
    /// The second layer of a block of neurons, gated by the first, and what it writes, added to `part` `(O)`. weights
    /// `(block, D)`, decoder `(block, O)`.
    fn write_block(
        simd, a: &'a [f32], x: &'a [f32], weights: &'a [f32], decoder: &'a [f32], part: &'a mut [f32],
    ) {
        let rows = weights.chunks_exact(a.len()).zip(decoder.chunks_exact(part.len()));
        for (x, (weights, decoder)) in x.iter().zip(rows) {
            if *x == 0.0 {
                continue;
            }
            let u = vector::dot(simd, a, weights);
            if u <= 0.0 {
                continue;
            }
            apply::<S, _, 1, 1, 4>(simd, [decoder], [&mut *part], AddScaled(u * x));
        }
    }
}

/// `[w], [sum] -> [sum + y w]`.
#[derive(Clone, Copy)]
struct AddScaled(f32);

elementwise!(AddScaled, 1 => 1; |self, simd, [w], [sum]| {
    let y = simd.splat_f32s(self.0);
    [vector::unrolled::<S, U>(simd, |u| simd.mul_add_f32s(y, w[u], sum[u]))]
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_divide_the_neurons_of_a_head() {
        for (n, wanted) in [(8192, 1024), (512, 512), (20, 20), (1026, 342), (2062, 2062), (3000, 1000), (64, 64)] {
            assert_eq!(block(n), wanted, "{n}");
        }
    }
}
