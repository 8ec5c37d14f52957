//! s (a + b), s a single number: what a field makes of its two parts.

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};
use pulp::{Arch, Simd, WithSimd};

use super::{
    lanes,
    matrix::{self, filled},
    pool::{self, PIECE},
};

/// a, b of one shape, scale `()` -> scale (a + b).
pub fn scaled_sum(a: &Tensor, b: &Tensor, scale: &Tensor) -> Result<Tensor> {
    let (a, b) = (a.contiguous()?, b.contiguous()?);
    if !matrix::readable(&[&a, &b, scale]) {
        return reference(&a, &b, scale);
    }
    a.apply_op3(&b, scale, ScaledSum)
}

pub fn reference(a: &Tensor, b: &Tensor, scale: &Tensor) -> Result<Tensor> {
    (a + b)?.broadcast_mul(scale)
}

struct ScaledSum;

impl CustomOp3 for ScaledSum {
    fn name(&self) -> &'static str {
        "scaled sum"
    }

    fn cpu_fwd(
        &self,
        a: &CpuStorage,
        la: &Layout,
        b: &CpuStorage,
        lb: &Layout,
        scale: &CpuStorage,
        ls: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (a, b, scale) = (matrix::values(a, la)?, matrix::values(b, lb)?, matrix::values(scale, ls)?);
        let &[scale] = scale else { bail!("a scale is one number, not {}", scale.len()) };
        if la.shape() != lb.shape() {
            bail!("a sum of {:?} and {:?}", la.shape(), lb.shape());
        }
        let y = filled(a.len(), |y| {
            pool::run_on(y, PIECE, |i, y| {
                let (a, b) = (&a[i * PIECE..], &b[i * PIECE..]);
                Arch::new().dispatch(|| y.iter_mut().zip(a).zip(b).for_each(|((y, a), b)| *y = scale * (a + b)));
            });
        });
        Ok((CpuStorage::F32(y), la.shape().clone()))
    }

    fn bwd(
        &self,
        a: &Tensor,
        b: &Tensor,
        scale: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        // one tensor for both parts: their gradients are the same
        let (part, dscale) = matrix::read_all(&[a, b, scale, grad], |[a, b, scale, g]| {
            let mut sums = vec![0f32; g.len().div_ceil(PIECE)];
            let part = filled(g.len(), |part| {
                pool::run_on2((part, PIECE), (&mut sums, 1), |i, [part, sum]| {
                    let at = i * PIECE..i * PIECE + part.len();
                    let sums = [&a[at.clone()], &b[at.clone()]];
                    sum[0] = Arch::new().dispatch(Scaled { to: part, g: &g[at], scale: scale[0], sums });
                });
            });
            Ok((part, sums.iter().sum::<f32>()))
        })?;
        let part = Tensor::from_vec(part, grad.shape(), grad.device())?;
        let dscale = Tensor::from_vec(vec![dscale], scale.shape(), scale.device())?;
        Ok((Some(part.clone()), Some(part), Some(dscale)))
    }
}

/// The way back of a scale: to <- scale g; returns <g, sum>, the sum being that of several.
pub struct Scaled<'a, const N: usize> {
    pub to: &'a mut [f32],
    pub g: &'a [f32],
    pub scale: f32,
    pub sums: [&'a [f32]; N],
}

impl<const N: usize> WithSimd for Scaled<'_, N> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        self.to.iter_mut().zip(self.g).for_each(|(to, g)| *to = self.scale * g);
        self.sums.into_iter().map(|sum| lanes::dot(simd, self.g, sum)).sum()
    }
}
