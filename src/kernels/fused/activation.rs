//! GELU and SiLU as operations of their own, where what comes after is no linear map.

use std::sync::OnceLock;

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, bail};

use super::{
    mlp::{Act, activation::activate},
    storage,
};
use crate::{
    arch::arch,
    buffers::build_vec,
    threads::{self, CHUNK},
};

/// act(x), value by value.
pub fn activation(x: &Tensor, act: Act) -> Result<Tensor> {
    let x = x.contiguous()?;
    if !storage::readable(&[&x]) {
        return reference(&x, act);
    }
    x.apply_op1(Activate { act, slope: OnceLock::new() })
}

/// The reference form in plain candle, with the arguments of [`activation`].
pub fn reference(x: &Tensor, act: Act) -> Result<Tensor> {
    act.apply(x)
}

struct Activate {
    act: Act,
    /// The derivative at every value, which comes with the value.
    slope: OnceLock<Vec<f32>>,
}

impl CustomOp1 for Activate {
    fn name(&self) -> &'static str {
        "activation"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let mut y = storage::values(x, layout)?.to_vec();
        let slope = build_vec(y.len(), |slope| {
            threads::run_all_chunks(
                [threads::Chunks { values: &mut y, size: CHUNK }, threads::Chunks { values: slope, size: CHUNK }],
                |_, [y, slope]| activate(self.act, y, slope),
            );
        });
        let _ = self.slope.set(slope); // an operation runs forward once
        Ok((CpuStorage::F32(y), layout.shape().clone()))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let Some(slope) = self.slope.get() else { bail!("an activation's gradient was asked for before its value") };
        let dx = storage::read(grad, |grad| {
            Ok(build_vec(grad.len(), |dx| {
                threads::run_chunks(dx, CHUNK, |i, dx| {
                    let (slope, grad) = (&slope[i * CHUNK..], &grad[i * CHUNK..]);
                    arch().dispatch(|| {
                        dx.iter_mut().zip(slope).zip(grad).for_each(|((dx, slope), grad)| *dx = slope * grad);
                    });
                });
            }))
        })?;
        Tensor::from_vec(dx, x.shape(), x.device()).map(Some)
    }
}
