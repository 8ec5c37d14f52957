//! Row lookup whose gradient sums over repeated ids.

use candle_core::{CpuStorage, CustomOp1, DType, Layout, Result, Shape, Tensor, bail};

use super::storage;
use crate::host;

/// weight `(V, D)`, ids u32 `(B, T)` -> `(B, T, D)`.
pub fn embedding(weight: &Tensor, ids: &Tensor) -> Result<Tensor> {
    if !storage::readable(&[weight]) || !ids.device().is_cpu() || ids.dtype() != DType::U32 || ids.elem_count() == 0 {
        return reference(weight, ids);
    }
    let dims = ids.dims2()?;
    weight.apply_op1(Lookup { ids: host::to_u32(ids)?, dims })
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

impl CustomOp1 for Lookup {
    fn name(&self) -> &'static str {
        "embedding"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let weight = storage::values(storage, layout)?;
        let (rows, d) = layout.shape().dims2()?;
        let mut out = Vec::with_capacity(self.ids.len() * d);
        for &id in &self.ids {
            let id = id as usize;
            if id >= rows {
                bail!("embedding: id {id} is outside the vocabulary of {rows} tokens");
            }
            out.extend_from_slice(&weight[id * d..][..d]);
        }
        Ok((CpuStorage::F32(out), (self.dims.0, self.dims.1, d).into()))
    }

    /// In order of position, so that the sum is the same every time.
    fn bwd(&self, weight: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let (rows, d) = weight.dims2()?;
        let mut out = vec![0f32; rows * d];
        storage::read(grad, |grad| {
            for (&id, from) in self.ids.iter().zip(grad.chunks_exact(d)) {
                let row = &mut out[id as usize * d..][..d];
                row.iter_mut().zip(from).for_each(|(o, g)| *o += g);
            }
            Ok(())
        })?;
        Ok(Some(Tensor::from_vec(out, (rows, d), weight.device())?))
    }
}
