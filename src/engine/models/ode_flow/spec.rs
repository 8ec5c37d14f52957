//! The sizes of a model with a flow.

use super::super::{
    capabilities::{CONTROLS, Steering},
    gpt::PlainGptSpec,
};
use crate::{
    models::prelude::*,
    ode::{Gradient, Method},
};

choices! { for Gradient { Backprop = "backprop", Checkpointed = "checkpointed", Adjoint = "adjoint" } }

defaults! {
    /// Sizes. At width 256, 50,257 tokens, 128 positions and two layers on each side: 29,781,249 parameters.
    pub struct OdeFlowSpec {
        /// The width of the residual stream.
        pub d_model: usize = 128,
        /// The number of heads.
        pub heads: usize = 4,
        /// The number of plain layers before the flow.
        pub pre: usize = 2,
        /// The number of plain layers after the flow.
        pub post: usize = 2,
        /// The number of learned positions, the longest text in tokens.
        pub positions: usize = 128,
        /// Equal steps of `method` in training.
        pub steps: usize = 4,
        /// A method of fixed steps.
        pub method: Method = Method::EULER,
        /// The way that gradients take back through the flow.
        pub gradient: Gradient = Gradient::Backprop,
        /// Two stages: the language, then the field alone towards classes of tokens.
        pub steering: Option<Steering> = None,
    }
}

impl FamilySpec for OdeFlowSpec {
    /// Every evaluation of the field saves as much as a layer does. Steering keeps a copy of the field, follows it as well,
    /// and has the log-probabilities of both.
    fn memory(&self, step: &StepSizes) -> StepMemory {
        let block = BlockSizes::gpt2(self.d_model, self.heads);
        let (d, n) = (self.d_model as f64, step.positions());
        let block_saved = block.saved(n, step.tokens);
        let stages = (self.method.tableau().nodes.len() + 1) as f64;
        let field = block.weights() + d * d + (CONTROLS as f64 + 4.0) * d + 1.0;
        let layers = (self.pre + self.post) as f64;
        let sums = if stages > 1.0 { stages } else { 0.0 };
        let step_saved = stages * block_saved + sums * n * d;
        let steps = match self.gradient {
            Gradient::Backprop => self.steps as f64 * step_saved,
            // one state per step, and one step at a time
            Gradient::Checkpointed => self.steps as f64 * n * d + step_saved,
            // one evaluation at a time, of the state, its adjoint and the gradients of all weights side by side
            Gradient::Adjoint => block_saved + (stages + 2.0) * (2.0 * n * d + field),
        };
        let steered = if self.steering.is_some() { 1.0 } else { 0.0 };
        StepMemory {
            weights: (2.0 * step.vocab + self.positions as f64 + 2.0) * d
                + layers * block.weights()
                + field * (1.0 + steered),
            shared: layers * block.weights() + field,
            activations: layers * block_saved
                + steps
                + block.backward(n)
                + step_memory::head(self.d_model, step)
                + steered * 6.0 * n * step.vocab,
        }
    }

    fn tiny() -> Self {
        Self { d_model: 16, heads: 2, pre: 1, post: 2, positions: 24, ..Self::default() }
    }
}

impl OdeFlowSpec {
    /// The plain transformer with two layers in the flow's place.
    pub fn baseline(&self) -> PlainGptSpec {
        PlainGptSpec {
            d_model: self.d_model,
            heads: self.heads,
            layers: self.pre + self.post + 2,
            positions: self.positions,
        }
    }
}
