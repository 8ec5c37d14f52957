//! Row lookup whose gradient sums over repeated ids.

use crate::{fused::prelude::*, host};

/// weight `(V, D)`, ids u32 `(B, T)` -> `(B, T, D)`.
pub fn embedding(weight: &Tensor, ids: &Tensor) -> Result<Tensor> {
    if !storage::readable(&[weight]) || !ids.device().is_cpu() || ids.dtype() != DType::U32 || ids.elem_count() == 0 {
        return reference(weight, ids);
    }
    let dims = ids.dims2()?;
    weight.apply_op1(Op(Lookup { ids: host::to_u32(ids)?, dims }))
}

/// The reference form in plain candle, with the arguments of [`embedding`].
pub fn reference(weight: &Tensor, ids: &Tensor) -> Result<Tensor> {
    let (b, t) = ids.dims2()?;
    let d = weight.dim(1)?;
    weight.index_select(&ids.flatten_all()?, 0)?.reshape((b, t, d))
}

struct Lookup {
    ids: Vec<u32>,
    dims: (usize, usize),
}

impl FusedOp<1> for Lookup {
    const NAME: &'static str = "embedding";

    fn forward(&self, [weight]: [&[f32]; 1], [shape]: [&Shape; 1]) -> Result<(Vec<f32>, Shape)> {
        let (rows, d) = shape.dims2()?;
        let mut out = Vec::with_capacity(self.ids.len() * d);
        for &id in &self.ids {
            let id = id as usize;
            if id >= rows {
                bail!("embedding: id {id} is outside the vocabulary of {rows} tokens");
            }
            out.extend_from_slice(&weight[id * d..][..d]);
        }
        Ok((out, (self.dims.0, self.dims.1, d).into()))
    }

    /// Sums gradients in order of position, so that the result is reproducible.
    fn backward(&self, [weight]: [&Tensor; 1], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let (rows, d) = weight.dims2()?;
        let mut out = vec![0f32; rows * d];
        storage::read(grad, |grad| {
            for (&id, from) in self.ids.iter().zip(grad.chunks_exact(d)) {
                let row = &mut out[id as usize * d..][..d];
                row.iter_mut().zip(from).for_each(|(o, g)| *o += g);
            }
            Ok(())
        })?;
        gradients_like([out], [weight])
    }
}
