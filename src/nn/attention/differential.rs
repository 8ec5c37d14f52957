//! Differential attention as the coupled query-key paper (arXiv 2604.01683) uses it: queries and keys are
//! split in two halves, and the second half's attention is subtracted from the first's. It has no fused form.

use candle_core::{D, Result, Tensor, bail};

use super::Attention;
use crate::nn::{
    Params, Tap,
    fused::{attention::mask, linear::linear, norm::rms_norm_reference},
    layers::{EPS, input_proj, residual_out_proj},
};

/// Sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DifferentialSpec {
    pub d_model: usize,
    pub heads: usize,
    /// Place of the layer in the model, from 0; lambda starts at 0.8 - 0.6 exp(-0.3 layer).
    pub layer: usize,
    /// How many times a forward pass adds to the residual stream.
    pub writers: usize,
}

/// (softmax(q1 k1 / sqrt(d/2)) - lambda softmax(q2 k2 / sqrt(d/2))) v, then an RMSNorm a head without
/// weight, times 1 - lambda_0.
#[derive(Debug, Clone)]
pub struct DifferentialAttention {
    wq: Tensor,  // (D, D)
    wk: Tensor,  // (D, D)
    wv: Tensor,  // (D, D)
    wo: Tensor,  // (D, D)
    lam: Tensor, // (H)
    heads: usize,
    lambda_init: f64,
}

impl DifferentialAttention {
    /// Parameters `<path>.{wq,wk,wv,wo}.weight` and `<path>.lam`, one number a head. Errors name the size that
    /// does not fit.
    pub fn new(params: &mut Params, path: &str, s: &DifferentialSpec) -> Result<Self> {
        let (d, h) = (s.d_model, s.heads);
        if h == 0 || !d.is_multiple_of(2 * h) {
            bail!("d_model {d} must be a multiple of twice the heads {h}: queries and keys are halved");
        }
        let lambda_init = 0.8 - 0.6 * (-0.3 * s.layer as f64).exp();
        Ok(Self {
            wq: input_proj(params, &format!("{path}.wq.weight"), d, d)?,
            wk: input_proj(params, &format!("{path}.wk.weight"), d, d)?,
            wv: input_proj(params, &format!("{path}.wv.weight"), d, d)?,
            wo: residual_out_proj(params, &format!("{path}.wo.weight"), (d, d), s.writers)?,
            lam: params.constant(&format!("{path}.lam"), h, lambda_init)?,
            heads: h,
            lambda_init,
        })
    }

    /// x `(B, T, D)` -> `(B, H, T, D / H)`
    fn project(&self, x: &Tensor, weight: &Tensor) -> Result<Tensor> {
        let (b, t, d) = x.dims3()?;
        linear(x, weight)?.reshape((b, t, self.heads, d / self.heads))?.transpose(1, 2)?.contiguous()
    }
}

impl Attention for DifferentialAttention {
    fn forward(&self, x: &Tensor, tap: &mut Tap, path: &str) -> Result<Tensor> {
        let (b, t, d) = x.dims3()?;
        let half = d / self.heads / 2;
        let (q, k) = (self.project(x, &self.wq)?, self.project(x, &self.wk)?);
        let map = |part: usize| -> Result<Tensor> {
            let cut = |z: &Tensor| z.narrow(D::Minus1, part * half, half)?.contiguous();
            let scores = (cut(&q)?.matmul(&cut(&k)?.t()?)? / (half as f64).sqrt())?; // (B,H,T,T)
            candle_nn::ops::softmax(&scores.broadcast_add(&mask(t, None, &scores)?)?, D::Minus1)
        };
        let lambda = self.lam.reshape((1, self.heads, 1, 1))?;
        let weights = (map(0)? - map(1)?.broadcast_mul(&lambda)?)?; // (B,H,T,T)
        tap.offer(path, || Ok(weights.clone()))?;
        let y = weights.matmul(&self.project(x, &self.wv)?)?; // (B,H,T,d)
        let one = Tensor::ones(2 * half, y.dtype(), y.device())?;
        let y = (rms_norm_reference(&y, &one, EPS)? * (1.0 - self.lambda_init))?;
        linear(&y.transpose(1, 2)?.reshape((b, t, d))?, &self.wo)
    }
}
