//! Between token rate and block rate, causally: pooling and upsampling by a factor P.

use candle_core::{Result, Tensor};

/// `(B, T, D)` -> `(B, ceil(T / P), D)`: block k is the mean of tokens kP..kP+P-1; a short tail block
/// is divided by its real length.
pub fn causal_pool(x: &Tensor, pool: usize) -> Result<Tensor> {
    let (b, t, d) = x.dims3()?;
    if pool == 1 {
        return Ok(x.clone());
    }
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

/// Which block a token reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Upsample {
    /// Token t reads block floor(t / P) - 1, the last one that is complete; the first block reads zero.
    #[default]
    Causal,
    /// Token t reads block floor(t / P), which holds tokens after t: wrong on purpose, to be shown.
    Leaky,
}

/// `(B, K, D)` -> `(B, T, D)`; K = ceil(T / P).
pub fn upsample(y: &Tensor, pool: usize, len: usize, how: Upsample) -> Result<Tensor> {
    let (b, k, d) = y.dims3()?;
    let up = y.unsqueeze(2)?.expand((b, k, pool, d))?.reshape((b, k * pool, d))?; // (B,KP,D)
    match how {
        Upsample::Leaky => up.narrow(1, 0, len),
        // No block is complete yet. Zero times the state, so that gradients (of zero) still reach the
        // slow path; by a tensor, because candle drops the gradient of a product with the number 0.
        Upsample::Causal if len <= pool => {
            y.narrow(1, 0, 1)?.broadcast_mul(&y.zeros_like()?.get(0)?.get(0)?)?.expand((b, len, d))?.contiguous()
        }
        Upsample::Causal => up.narrow(1, 0, len - pool)?.pad_with_zeros(1, pool, 0),
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;
    use crate::nn::host;

    fn ramp(t: usize) -> Result<Tensor> {
        Tensor::from_iter((0..t).map(|i| i as f32), &Device::Cpu)?.reshape((1, t, 1))
    }

    #[test]
    fn blocks_are_means_and_the_tail_counts_its_own() -> Result<()> {
        assert_eq!(host::to_f32(&causal_pool(&ramp(10)?, 4)?)?, [1.5, 5.5, 8.5]);
        assert_eq!(host::to_f32(&causal_pool(&ramp(3)?, 4)?)?, [1.0]);
        assert_eq!(host::to_f32(&causal_pool(&ramp(4)?, 1)?)?, [0.0, 1.0, 2.0, 3.0]);
        Ok(())
    }

    #[test]
    fn tokens_read_the_last_complete_block() -> Result<()> {
        let y = (ramp(3)? + 1.0)?;
        assert_eq!(host::to_f32(&upsample(&y, 4, 10, Upsample::Causal)?)?, [0., 0., 0., 0., 1., 1., 1., 1., 2., 2.]);
        assert_eq!(host::to_f32(&upsample(&y, 4, 10, Upsample::Leaky)?)?, [1., 1., 1., 1., 2., 2., 2., 2., 3., 3.]);
        assert_eq!(host::to_f32(&upsample(&ramp(1)?, 4, 3, Upsample::Causal)?)?, [0.; 3]);
        Ok(())
    }
}
