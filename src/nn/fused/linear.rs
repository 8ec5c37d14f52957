//! y = x W^T.

use candle_core::{Result, Tensor};

/// x `(.., I)`, w `(O, I)` -> `(.., O)`.
pub fn linear(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    reference(x, w)
}

pub fn reference(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let (out, _) = w.dims2()?;
    let mut dims = x.dims().to_vec();
    let width = dims.pop().unwrap_or_default();
    let rows = x.elem_count() / width.max(1);
    dims.push(out);
    x.reshape((rows, width))?.matmul(&w.t()?)?.reshape(dims)
}
