//! A solve as one operation of candle's graph, with a backward pass of its own.

use std::sync::Arc;

use candle_core::{
    CpuStorage, CudaStorage, CustomOp3, Layout, MetalStorage, Result, Shape, Tensor, Var, backend::BackendStorage, bail,
};

use super::{Field, SharedField, SolveError, SolveFailure, Trace};

/// A function from the gradient of the end to those of the start and of each weight.
pub trait Vjp: Send + Sync {
    fn vjp(&self, end: &Tensor) -> Result<(Tensor, Vec<Tensor>)>;
}

/// Gives `end` (no part of any graph) the gradients that `vjp` finds.
pub fn attach(end: &Tensor, y0: &Tensor, weights: &[Tensor], vjp: impl Vjp + 'static) -> Result<Tensor> {
    let packed = if weights.is_empty() { Tensor::zeros(1, y0.dtype(), y0.device())? } else { flattened(weights)? };
    end.contiguous()?.apply_op3(&y0.contiguous()?, &packed, VjpOp { vjp })
}

/// All values, one tensor after the other.
fn flattened(tensors: &[Tensor]) -> Result<Tensor> {
    Tensor::cat(&tensors.iter().map(Tensor::flatten_all).collect::<Result<Vec<_>>>()?, 0)
}

/// Errors early, and by name, on what no backward pass could serve.
pub fn check(weights: &[Tensor], y0: &Tensor, t0: f64) -> std::result::Result<(), SolveError> {
    let fail = |what: String| Err(SolveError { reason: SolveFailure::Field(what), t: t0, trace: Trace::default() });
    for (i, w) in weights.iter().enumerate() {
        if !w.is_variable() {
            return fail(format!("weight {i} {:?} is not a variable, so no gradient can be given to it", w.shape()));
        }
        if w.dtype() != y0.dtype() {
            return fail(format!("weight {i} is of {:?}, the state of {:?}", w.dtype(), y0.dtype()));
        }
    }
    Ok(())
}

/// The field's values alone; the graph that computed them is dropped at once.
pub fn detached(field: &SharedField) -> impl Field + use<> {
    let field = Arc::clone(field);
    move |t: f64, y: &Tensor| -> Result<Tensor> { Ok(field.at(t, y)?.detach()) }
}

/// Gradients of sum(outputs_i * along_i) with respect to leaves and weights, zero where there are none.
pub fn gradients(outputs: &[(&Tensor, &Tensor)], leaves: &[&Var], weights: &[Tensor]) -> Result<Vec<Tensor>> {
    let mut total: Option<Tensor> = None;
    for (value, along) in outputs {
        let part = (*value * along.detach())?.sum_all()?;
        total = Some(match total {
            None => part,
            Some(t) => (t + part)?,
        });
    }
    let Some(total) = total else { bail!("a backward pass from no gradient") };
    let grads = total.backward()?;
    let of = |t: &Tensor| grads.get(t).map_or_else(|| t.zeros_like(), |g| Ok(g.detach()));
    leaves.iter().map(|v| of(v.as_tensor())).chain(weights.iter().map(of)).collect()
}

struct VjpOp<P> {
    vjp: P,
}

/// Forward passes that give the first argument again, one for each kind of device.
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
        "ode-solve"
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
