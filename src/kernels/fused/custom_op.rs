//! Fused operations as candle takes them: each is written once on slices, whatever the number of its arguments.

use candle_core::{CpuStorage, CustomOp1, CustomOp2, CustomOp3, Layout, Result, Shape, Tensor};

use super::storage::{readable, values};

/// An operation on N f32 tensors in host memory, row-major.
pub trait FusedOp<const N: usize> {
    /// The name in candle's errors.
    const NAME: &'static str;

    /// The values and the shape of the result, from the values and the shapes of the arguments.
    fn forward(&self, values: [&[f32]; N], shapes: [&Shape; N]) -> Result<(Vec<f32>, Shape)>;

    /// The gradients of the arguments, given the result and its gradient.
    fn backward(&self, inputs: [&Tensor; N], result: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; N]>;
}

/// A fused operation in the form that candle takes.
pub struct Op<O>(pub O);

/// Applies an operation of N arguments, which [`values`] can read.
pub trait Apply<const N: usize> {
    /// The result of the operation.
    fn apply(self, args: [&Tensor; N]) -> Result<Tensor>;
}

/// The result of a fused operation, or of its reference form where it cannot read its arguments.
pub fn apply_fused<const N: usize, O>(
    args: [&Tensor; N],
    op: O,
    reference: impl FnOnce([&Tensor; N]) -> Result<Tensor>,
) -> Result<Tensor>
where
    Op<O>: Apply<N>,
{
    if readable(&args) { Op(op).apply(args) } else { reference(args) }
}

/// A tensor of these values, shaped as another and on its device.
pub fn tensor_like(t: &Tensor, values: Vec<f32>) -> Result<Tensor> {
    Tensor::from_vec(values, t.shape(), t.device())
}

/// Gradients of these values, each shaped as its tensor; none of a tensor that is not tracked.
pub fn gradients_like<const N: usize>(values: [Vec<f32>; N], tensors: [&Tensor; N]) -> Result<[Option<Tensor>; N]> {
    let mut made = [const { None }; N];
    for ((made, values), t) in made.iter_mut().zip(values).zip(tensors) {
        *made = gradient_if_tracked(t, || Ok(values))?;
    }
    Ok(made)
}

/// The gradient of a tensor, computed if it is tracked.
pub fn gradient_if_tracked(t: &Tensor, values: impl FnOnce() -> Result<Vec<f32>>) -> Result<Option<Tensor>> {
    t.track_op().then(|| tensor_like(t, values()?)).transpose()
}

/// Makes a fused operation one of candle's: its trait, the number of arguments, the method of a tensor that applies it,
/// the arguments with their layouts, and the type and the form of their gradients.
macro_rules! custom_op {
    ($custom:ident, $n:literal, $apply:ident, $a:ident $la:ident $(, $b:ident $lb:ident)*; $out:ty, $found:expr) => {
        impl<O: FusedOp<$n>> $custom for Op<O> {
            fn name(&self) -> &'static str {
                O::NAME
            }

            fn cpu_fwd(
                &self,
                $a: &CpuStorage,
                $la: &Layout
                $(, $b: &CpuStorage, $lb: &Layout)*
            ) -> Result<(CpuStorage, Shape)> {
                let args = [values($a, $la)? $(, values($b, $lb)?)*];
                let (y, shape) = self.0.forward(args, [$la.shape() $(, $lb.shape())*])?;
                Ok((CpuStorage::F32(y), shape))
            }

            fn bwd(&self, $a: &Tensor, $($b: &Tensor,)* result: &Tensor, grad: &Tensor) -> Result<$out> {
                let [$a $(, $b)*] = self.0.backward([$a $(, $b)*], result, grad)?;
                Ok($found)
            }
        }

        impl<O: FusedOp<$n> + Send + Sync + 'static> Apply<$n> for Op<O> {
            fn apply(self, [$a $(, $b)*]: [&Tensor; $n]) -> Result<Tensor> {
                $a.$apply($($b,)* self)
            }
        }
    };
}

custom_op!(CustomOp1, 1, apply_op1, a la; Option<Tensor>, a);
custom_op!(CustomOp2, 2, apply_op2, a la, b lb; (Option<Tensor>, Option<Tensor>), (a, b));
custom_op!(CustomOp3, 3, apply_op3, a la, b lb, c lc; (Option<Tensor>, Option<Tensor>, Option<Tensor>), (a, b, c));
