//! Mean cross-entropy in nats from a tied or untied head.

use candle_core::{D, DType, Result, Tensor};

use super::linear;
use crate::nn::IGNORE;

/// Mean of -log softmax(x head^T)[target] over the positions whose target is not
/// [`IGNORE`](crate::nn::IGNORE). x `(.., D)`, head `(V, D)`, targets u32 of as many rows.
pub fn head_cross_entropy(x: &Tensor, head: &Tensor, targets: &Tensor) -> Result<Tensor> {
    cross_entropy(&linear::linear(x, head)?, targets)
}

/// logits `(.., V)`, targets u32 of as many rows -> scalar.
pub fn cross_entropy(logits: &Tensor, targets: &Tensor) -> Result<Tensor> {
    reference(logits, targets)
}

pub fn reference(logits: &Tensor, targets: &Tensor) -> Result<Tensor> {
    let v = logits.dim(D::Minus1)?;
    let n = logits.elem_count() / v;
    let targets = targets.flatten_all()?; // (N)
    let counted = targets.ne(IGNORE)?; // (N)
    let safe = counted.where_cond(&targets, &targets.zeros_like()?)?;
    let logp = candle_nn::ops::log_softmax(&logits.reshape((n, v))?, D::Minus1)?; // (N,V)
    let picked = logp.gather(&safe.unsqueeze(1)?, 1)?.squeeze(1)?; // (N)
    let weight = counted.to_dtype(logits.dtype())?;
    let total = weight.to_dtype(DType::F32)?.sum_all()?.to_scalar::<f32>()?.max(1.0);
    (picked * weight)?.sum_all()?.neg()? / f64::from(total)
}
