//! Gradient checkpointing (Chen et al. 2016): blocks whose activations are computed again in the backward pass.

use candle_core::{Result, Tensor, Var, bail};

use super::Block;
use crate::nn::{
    Tap,
    fused::grad_accumulator::{GradAccumulator, GradCollector},
    vjp::{Vjp, attach},
};

/// Same as [`run`](super::run), with the same gradients, but of each block only the input and the output are kept:
/// x `(B, T, D)` -> `(B, T, D)`. The accumulator collects the gradients of the `variables` that the blocks read.
///
/// The blocks must drop nothing at random, and x must depend on a variable: without a gradient at x no backward pass runs.
///
/// # Errors
/// Those of the blocks; in the backward pass, if a block's result does not depend on its input.
pub fn run_recomputed(
    blocks: &[Block],
    x: &Tensor,
    variables: &[Tensor],
    accumulator: &GradAccumulator,
) -> Result<Tensor> {
    blocks.iter().try_fold(x.clone(), |x, block| {
        let y = block.forward(&x.detach(), &mut Tap::off())?.detach();
        let (block, variables, collector) = (block.clone(), variables.to_vec(), accumulator.collector());
        attach(&y, &x, &[], Recomputation { block, x: x.detach(), variables, collector })
    })
}

/// A block and its input.
struct Recomputation {
    block: Block,
    x: Tensor, // (B, T, D)
    variables: Vec<Tensor>,
    collector: GradCollector,
}

impl Vjp for Recomputation {
    fn vjp(&self, grad: &Tensor) -> Result<(Tensor, Vec<Tensor>)> {
        let x = Var::from_tensor(&self.x)?;
        let y = self.block.forward(&x, &mut Tap::off())?;
        let mut grads = (y * grad)?.sum_all()?.backward()?;
        for variable in &self.variables {
            if let Some(grad) = grads.remove(variable) {
                self.collector.add(variable, grad);
            }
        }
        let Some(grad) = grads.remove(&x) else { bail!("the block's result does not depend on its input") };
        Ok((grad, vec![]))
    }
}
