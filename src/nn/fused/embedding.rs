//! Row lookup whose gradient sums over repeated ids.

use candle_core::{Result, Tensor};

/// weight `(V, D)`, ids u32 `(B, T)` -> `(B, T, D)`.
pub fn embedding(weight: &Tensor, ids: &Tensor) -> Result<Tensor> {
    let (b, t) = ids.dims2()?;
    let d = weight.dim(1)?;
    weight.index_select(&ids.flatten_all()?, 0)?.reshape((b, t, d))
}
