//! Between token rate and block rate, causally: pooling and upsampling by a factor P. On the CPU each
//! is one operation; elsewhere a composition, which is also the reference that tests compare with.

use crate::config::choices;
use candle_core::{
    CpuStorage, CustomOp1, CustomOp2, DType, Layout, Result, Shape, Tensor, WithDType, cpu_backend::Map1,
};

/// `(B, T, D)` -> `(B, ceil(T / P), D)`: block k is the mean of tokens kP..kP+P-1; a short tail block
/// is divided by its real length.
pub fn causal_pool(x: &Tensor, pool: usize) -> Result<Tensor> {
    if pool == 1 {
        return Ok(x.clone());
    }
    if x.device().is_cpu() {
        return x.contiguous()?.apply_op1(Pool { pool, rule: Upsample::Leaky, means: true });
    }
    pool_reference(x, pool)
}

/// The reference form of [`causal_pool`] in plain candle.
pub fn pool_reference(x: &Tensor, pool: usize) -> Result<Tensor> {
    let (b, t, d) = x.dims3()?;
    let (whole, tail) = (t / pool, t % pool);
    let mut blocks = Vec::with_capacity(2);
    if whole > 0 {
        let head = x.narrow(1, 0, whole * pool)?.reshape((b, whole, pool, d))?; // (B,K,P,D)
        blocks.push((head.sum(2)? / pool as f64)?); // (B,K,D)
    }
    if tail > 0 {
        let rest = x.narrow(1, whole * pool, tail)?; // (B,tail,D)
        blocks.push((rest.sum_keepdim(1)? / tail as f64)?); // (B,1,D)
    }
    if blocks.len() == 1 { Ok(blocks.remove(0)) } else { Tensor::cat(&blocks, 1) }
}

/// The block that a token reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Upsample {
    /// Token t reads block floor(t / P) - 1, the last one that is complete; the first block reads zero.
    #[default]
    Causal,
    /// Token t reads block floor(t / P), which holds tokens after t: wrong on purpose, to be shown.
    Leaky,
}

choices! { for Upsample { Causal = "causal", Leaky = "leaky" } }

impl Upsample {
    /// The block that token `t` reads, if any.
    fn block(self, t: usize, pool: usize) -> Option<usize> {
        match self {
            Upsample::Causal => (t / pool).checked_sub(1),
            Upsample::Leaky => Some(t / pool),
        }
    }
}

/// `(B, K, D)` -> `(B, T, D)`; K = ceil(T / P).
pub fn upsample(y: &Tensor, pool: usize, len: usize, rule: Upsample) -> Result<Tensor> {
    let (b, k, d) = y.dims3()?;
    let up = y.unsqueeze(2)?.expand((b, k, pool, d))?.reshape((b, k * pool, d))?; // (B,KP,D)
    match rule {
        Upsample::Leaky => up.narrow(1, 0, len),
        // No block is complete yet. Zero times the state, so that gradients (of zero) still reach the
        // slow path; by a tensor, because candle drops the gradient of a product with the number 0.
        Upsample::Causal if len <= pool => {
            y.narrow(1, 0, 1)?.broadcast_mul(&y.zeros_like()?.get(0)?.get(0)?)?.expand((b, len, d))?.contiguous()
        }
        Upsample::Causal => up.narrow(1, 0, len - pool)?.pad_with_zeros(1, pool, 0),
    }
}

/// x + upsample(push): x `(B, T, D)`, push `(B, K, D)` -> `(B, T, D)`.
pub fn inject(x: &Tensor, push: &Tensor, pool: usize, rule: Upsample) -> Result<Tensor> {
    if x.device().is_cpu() {
        return x.contiguous()?.apply_op2(&push.contiguous()?, Inject { pool, rule });
    }
    x + upsample(push, pool, x.dim(1)?, rule)?
}

/// The mean or the sum of the tokens of each block.
struct Pool {
    pool: usize,
    /// The upsampling rule: a token is pooled into the block that it would read from under this rule.
    rule: Upsample,
    means: bool,
}

/// Tokens in the block that token `t` of `len` belongs to.
fn block_size(pool: usize, t: usize, len: usize) -> usize {
    pool.min(len - t / pool * pool)
}

impl Map1 for Pool {
    fn f<T: WithDType>(&self, x: &[T], layout: &Layout) -> Result<Vec<T>> {
        let (b, len, d) = layout.shape().dims3()?;
        let k = len.div_ceil(self.pool);
        let mut out = vec![T::zero(); b * k * d];
        for (row, token) in contiguous(x, layout, "pooling")?.chunks_exact(d).enumerate() {
            let t = row % len;
            if let Some(block) = self.rule.block(t, self.pool) {
                let size = if self.means { block_size(self.pool, t, len) } else { 1 };
                add(&mut out[(row / len * k + block) * d..][..d], token, T::from_f64(1.0 / size as f64));
            }
        }
        Ok(out)
    }
}

impl CustomOp1 for Pool {
    fn name(&self) -> &'static str {
        "causal-pool"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (b, t, d) = layout.shape().dims3()?;
        Ok((self.map(storage, layout)?, (b, t.div_ceil(self.pool), d).into()))
    }

    fn bwd(&self, arg: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        grad.contiguous()?.apply_op1_no_bwd(&PoolBackward { pool: self.pool, len: arg.dim(1)? }).map(Some)
    }
}

/// Each block's gradient, shared out to its tokens.
struct PoolBackward {
    pool: usize,
    len: usize,
}

impl Map1 for PoolBackward {
    fn f<T: WithDType>(&self, g: &[T], layout: &Layout) -> Result<Vec<T>> {
        let (b, k, d) = layout.shape().dims3()?;
        let g = contiguous(g, layout, "pooling")?;
        let mut out = Vec::with_capacity(b * self.len * d);
        for row in 0..b * self.len {
            let (batch, t) = (row / self.len, row % self.len);
            let scale = T::from_f64(1.0 / block_size(self.pool, t, self.len) as f64);
            out.extend(g[(batch * k + t / self.pool) * d..][..d].iter().map(|&v| v * scale));
        }
        Ok(out)
    }
}

impl CustomOp1 for PoolBackward {
    fn name(&self) -> &'static str {
        "causal-pool-back"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (b, _, d) = layout.shape().dims3()?;
        Ok((self.map(storage, layout)?, (b, self.len, d).into()))
    }
}

/// x + upsample(push).
struct Inject {
    pool: usize,
    rule: Upsample,
}

impl Inject {
    fn forward<T: WithDType>(
        &self,
        (x, l1): (&[T], &Layout),
        (push, l2): (&[T], &Layout),
        (t, k, d): (usize, usize, usize),
    ) -> Result<Vec<T>> {
        let (mut out, push) = (contiguous(x, l1, "the injection")?.to_vec(), contiguous(push, l2, "the injection")?);
        for (row, token) in out.chunks_exact_mut(d).enumerate() {
            if let Some(block) = self.rule.block(row % t, self.pool) {
                add(token, &push[(row / t * k + block) * d..][..d], T::one());
            }
        }
        Ok(out)
    }
}

impl CustomOp2 for Inject {
    fn name(&self) -> &'static str {
        "inject"
    }

    fn cpu_fwd(&self, x: &CpuStorage, l1: &Layout, push: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        let ((b, t, d), (b2, k, d2)) = (l1.shape().dims3()?, l2.shape().dims3()?);
        let fits = (b, t.div_ceil(self.pool), d) == (b2, k, d2);
        ensure!(fits, "cannot inject {:?} into {:?} with {} tokens per block", l2.shape(), l1.shape(), self.pool);
        let out = match (x, push) {
            (CpuStorage::F32(x), CpuStorage::F32(y)) => CpuStorage::F32(self.forward((x, l1), (y, l2), (t, k, d))?),
            (CpuStorage::F64(x), CpuStorage::F64(y)) => CpuStorage::F64(self.forward((x, l1), (y, l2), (t, k, d))?),
            _ => candle_core::bail!("the injection needs f32 or f64 on both sides"),
        };
        Ok((out, l1.shape().clone()))
    }

    fn bwd(
        &self,
        _x: &Tensor,
        _push: &Tensor,
        _res: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        // each block's gradient is the sum over the tokens that read it
        let back = Pool { pool: self.pool, rule: self.rule, means: false };
        Ok((Some(grad.clone()), Some(grad.contiguous()?.apply_op1_no_bwd(&back)?)))
    }
}

/// to += from * scale
fn add<T: WithDType>(to: &mut [T], from: &[T], scale: T) {
    to.iter_mut().zip(from).for_each(|(a, &v)| *a += v * scale);
}

/// The values of a tensor, for an operation that takes floats which lie one after another.
fn contiguous<'x, T: WithDType>(values: &'x [T], layout: &Layout, what: &str) -> Result<&'x [T]> {
    match layout.contiguous_offsets() {
        Some((start, end)) if matches!(T::DTYPE, DType::F32 | DType::F64) => Ok(&values[start..end]),
        Some(_) => candle_core::bail!("{what} needs f32 or f64"),
        None => candle_core::bail!("pooling needs contiguous tensors"),
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;
    use crate::nn::{Params, host};

    #[test]
    fn one_operation_equals_the_composition() -> Result<()> {
        for (t, pool) in [(12, 4), (11, 4), (3, 4), (7, 1), (9, 2)] {
            for rule in [Upsample::Causal, Upsample::Leaky] {
                let mut p = Params::new(1, &Device::Cpu, DType::F64);
                let (x, y) = (p.normal("x", (2, t, 3), 1.0)?, p.normal("y", (2, t.div_ceil(pool), 3), 1.0)?);
                let weigh = |out: Tensor| -> Result<Tensor> { (out.sqr()? + out.sin()?)?.sum_all() };
                let fused = (weigh(causal_pool(&x, pool)?)? + weigh(inject(&x, &y, pool, rule)?)?)?;
                let plain = (weigh(pool_reference(&x, pool)?)? + weigh((&x + upsample(&y, pool, t, rule)?)?)?)?;
                assert!((host::scalar(&fused)? - host::scalar(&plain)?).abs() < 1e-10);
                let (fused, plain) = (fused.backward()?, plain.backward()?);
                for v in [&x, &y] {
                    let (Some(a), Some(e)) = (fused.get(v), plain.get(v)) else { panic!("no gradient") };
                    for (a, e) in host::to_f64(a)?.iter().zip(host::to_f64(e)?) {
                        assert!((a - e).abs() < 1e-12, "T {t} P {pool} {rule:?}: {a} is not {e}");
                    }
                }
            }
        }
        Ok(())
    }
}
