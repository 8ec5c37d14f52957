//! A computation as one operation of candle's graph, with a backward pass of its own.

use candle_core::{
    CpuStorage, CudaStorage, CustomOp3, Layout, MetalStorage, Result, Shape, Tensor, backend::BackendStorage,
};

/// The vector-Jacobian product of a computation from a start and weights to an end.
pub trait Vjp: Send + Sync {
    /// Maps the gradient of the end to the gradients of the start and of each weight.
    fn vjp(&self, end: &Tensor) -> Result<(Tensor, Vec<Tensor>)>;
}

/// Gives `end` (which is detached from the graph) the gradients that `vjp` finds.
pub fn attach(end: &Tensor, y0: &Tensor, weights: &[Tensor], vjp: impl Vjp + 'static) -> Result<Tensor> {
    let packed = if weights.is_empty() { Tensor::zeros(1, y0.dtype(), y0.device())? } else { flattened(weights)? };
    end.contiguous()?.apply_op3(&y0.contiguous()?, &packed, VjpOp { vjp })
}

/// Concatenates the values of all tensors.
fn flattened(tensors: &[Tensor]) -> Result<Tensor> {
    Tensor::cat(&tensors.iter().map(Tensor::flatten_all).collect::<Result<Vec<_>>>()?, 0)
}

struct VjpOp<P> {
    vjp: P,
}

/// Forward passes that return the first argument unchanged, one for each kind of device.
macro_rules! pass_through {
    ($($forward:ident: $storage:ty),+) => { $(
        fn $forward(
            &self,
            end: &$storage,
            layout: &Layout,
            _: &$storage,
            _: &Layout,
            _: &$storage,
            _: &Layout,
        ) -> Result<($storage, Shape)> {
            Ok((end.try_clone(layout)?, layout.shape().clone()))
        }
    )+ };
}

/// The first argument is passed through.
impl<P: Vjp> CustomOp3 for VjpOp<P> {
    fn name(&self) -> &'static str {
        "vector-jacobian-product"
    }

    pass_through!(cpu_fwd: CpuStorage, cuda_fwd: CudaStorage, metal_fwd: MetalStorage);

    fn bwd(
        &self,
        _: &Tensor,
        _: &Tensor,
        packed: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let (y0, weights) = self.vjp.vjp(&grad.contiguous()?.detach())?;
        let weights = if weights.is_empty() { packed.zeros_like()? } else { flattened(&weights)? };
        Ok((None, Some(y0), Some(weights)))
    }
}
