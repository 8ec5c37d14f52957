//! s (a + b) with a learned scalar s.

use crate::{fused::prelude::*, threads::CHUNK};

/// a, b of one shape, scale `()` -> scale (a + b).
pub fn scaled_add(a: &Tensor, b: &Tensor, scale: &Tensor) -> Result<Tensor> {
    let (a, b) = (a.contiguous()?, b.contiguous()?);
    if !storage::readable(&[&a, &b, scale]) {
        return reference(&a, &b, scale);
    }
    a.apply_op3(&b, scale, Op(ScaledAdd))
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
        let y = build_vec(a.len(), |y| {
            threads::run_chunks(y, CHUNK, |i, y| {
                let (a, b) = (&a[i * CHUNK..], &b[i * CHUNK..]);
                arch().dispatch(|| y.iter_mut().zip(a).zip(b).for_each(|((y, a), b)| *y = scale * (a + b)));
            });
        });
        Ok((y, sa.clone()))
    }

    fn backward(&self, [a, b, scale]: [&Tensor; 3], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        // a and b have the same gradient, so that one tensor serves both
        let (part, dscale) = storage::read_all(&[a, b, scale, grad], |[a, b, scale, g]| {
            let mut sums = vec![0f32; g.len().div_ceil(CHUNK)];
            let part = build_vec(g.len(), |part| {
                threads::run_all_chunks(
                    [threads::Chunks { values: part, size: CHUNK }, threads::Chunks { values: &mut sums, size: 1 }],
                    |i, [part, sum]| {
                        let at = i * CHUNK..i * CHUNK + part.len();
                        let sums = [&a[at.clone()], &b[at.clone()]];
                        sum[0] = arch().dispatch(ScaleBackward { to: part, g: &g[at], scale: scale[0], sums });
                    },
                );
            });
            Ok((part, sums.iter().sum::<f32>()))
        })?;
        let part = tensor_like(grad, part)?;
        Ok([Some(part.clone()), Some(part), Some(tensor_like(scale, vec![dscale])?)])
    }
}

/// The backward of a multiplication by a scalar: to = scale g; returns the dot product of g with the sum of `sums`.
pub struct ScaleBackward<'a, const N: usize> {
    /// The gradient of the sum, which is written.
    pub to: &'a mut [f32],
    /// The gradient of the product.
    pub g: &'a [f32],
    /// The scalar.
    pub scale: f32,
    /// Slices whose sum was multiplied, each as long as `g`.
    pub sums: [&'a [f32]; N],
}

impl<const N: usize> WithSimd for ScaleBackward<'_, N> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        self.to.iter_mut().zip(self.g).for_each(|(to, g)| *to = self.scale * g);
        self.sums.into_iter().map(|sum| simd::dot(simd, self.g, sum)).sum()
    }
}
