//! s (a + b) with a learned scalar s.

use crate::{fused::prelude::*, threads::CHUNK};

/// a, b of one shape, scale `()` -> scale (a + b).
pub fn scaled_add(a: &Tensor, b: &Tensor, scale: &Tensor) -> Result<Tensor> {
    apply_fused([&a.contiguous()?, &b.contiguous()?, scale], ScaledAdd, |[a, b, scale]| reference(a, b, scale))
}

/// The reference form in plain candle, with the arguments of [`scaled_add`].
pub fn reference(a: &Tensor, b: &Tensor, scale: &Tensor) -> Result<Tensor> {
    (a + b)?.broadcast_mul(scale)
}

struct ScaledAdd;

impl FusedOp<3> for ScaledAdd {
    const NAME: &'static str = "scaled-add";

    fn forward(&self, [a, b, scale]: [&[f32]; 3], [sa, sb, _]: [&Shape; 3]) -> Result<(Vec<f32>, Shape)> {
        let &[scale] = scale else { bail!("a scale is one number, not {}", scale.len()) };
        if sa != sb {
            bail!("tensors of shapes {sa:?} and {sb:?} cannot be added");
        }
        let y = threads::build_chunks(a.len(), CHUNK, |i, y| {
            let (a, b) = (&a[i * CHUNK..], &b[i * CHUNK..]);
            arch().dispatch(|| y.iter_mut().zip(a).zip(b).for_each(|((y, a), b)| *y = scale * (a + b)));
        });
        Ok((y, sa.clone()))
    }

    fn backward(&self, [a, b, scale]: [&Tensor; 3], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        // a and b have the same gradient, so that one tensor serves both
        let (part, dscale) = storage::read_all(&[a, b, scale, grad], |[a, b, scale, g]| {
            let mut sums = vec![0f32; g.len().div_ceil(CHUNK)];
            let part = build_vec(g.len(), |part| {
                threads::run_all_chunks([part, &mut sums], [CHUNK, 1], |i, [part, sum]| {
                    let at = i * CHUNK..i * CHUNK + part.len();
                    let sums = [&a[at.clone()], &b[at.clone()]];
                    sum[0] = scale_backward(part, &g[at], scale[0], &sums);
                });
            });
            Ok((part, sums.iter().sum::<f32>()))
        })?;
        let part = tensor_like(grad, part)?;
        Ok([Some(part.clone()), Some(part), Some(tensor_like(scale, vec![dscale])?)])
    }
}

kernel! {
    /// The backward of a multiplication by a scalar, given the gradient g of the product: to = scale g; returns the dot
    /// product of g with the sum of `sums`, each as long.
    pub(super) fn scale_backward(simd, to: &'a mut [f32], g: &'a [f32], scale: f32, sums: &'a [&'a [f32]]) -> f32 {
        to.iter_mut().zip(g).for_each(|(to, g)| *to = scale * g);
        sums.iter().map(|sum| simd::dot(simd, g, sum)).sum()
    }
}
