//! A transformer whose middle is a flow: plain layers, an ODE over depth tau in [0, 1], plain layers
//! (continuous-depth guide, sections 7 and 10). Trained in equal Euler steps, it can be solved by any
//! method afterwards; a control u of four numbers enters the field.

mod net;
mod steering;

use candle_core::backprop::GradStore;

pub use super::capabilities::Steering;

use self::{
    net::{Flow, OdeFlowNet},
    steering::{Carry, SteeringObjective},
};
use super::gpt::PlainGptSpec;
use crate::{
    models::prelude::*,
    ode::{self, Field, Gradient, Method, SharedField, SolverOptions},
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

/// The scalar channel of the scale alpha of the field.
pub const ALPHA: &str = "flow/alpha";
/// The scalar channel of the norm of the gradient with respect to the weights of the field.
pub const FIELD_GRAD_NORM: &str = "flow/grad_norm";

/// Runtime parameters: `u0`..`u3` and `alpha` (a multiplier of the field) act on [`Model::logits`] and on probes, not
/// on training. Taps: `flow.start`, `flow.end`, and the layers'
/// `head_layers.i.attn.weights`, `tail_layers.i.attn.weights`.
pub struct OdeFlow {
    spec: OdeFlowSpec,
    params: Params,
    net: OdeFlowNet,
    inference_net: OdeFlowNet,
    steered: Option<SteeringObjective>,
    control: FlowControl,
}

impl OdeFlow {
    /// Weights are drawn from `seed`; errors name the size that does not fit.
    pub fn new(spec: &OdeFlowSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        let (method, steps) = (spec.method.id(), spec.steps);
        let is_fixed = steps > 0 && !spec.method.is_adaptive();
        let asked = "a flow is trained in a fixed number of steps, at least one";
        ensure!(is_fixed, "{asked}; {method} in {steps} steps is not that");
        let mut params = Params::new(seed, device, DType::F32);
        let (net, inference_net) = params.build_twice(|p| OdeFlowNet::new(p, spec, vocab))?;
        let steered =
            spec.steering.as_ref().map(|s| SteeringObjective::new(&mut params, spec, s, vocab)).transpose()?;
        Ok(Self { spec: spec.clone(), params, net, inference_net, steered, control: FlowControl::default() })
    }

    /// The control vector on the device, `(1, 4)`.
    fn control_tensor(&self, control: FlowControl) -> Result<Tensor> {
        let u = control.u.iter().map(|v| *v as f32).collect();
        Tensor::from_vec(u, (1, CONTROLS), self.params.device())
    }

    /// Mean cross-entropy of the language at a control for each row, u `(B, 4)`, with gradients.
    pub fn language_loss(&self, batch: &Batch, u: &Tensor) -> Result<Tensor> {
        self.cross_entropy(&self.net, batch, u)
    }

    fn cross_entropy(&self, net: &OdeFlowNet, batch: &Batch, u: &Tensor) -> Result<Tensor> {
        let carry = |start: &Tensor, u: &Tensor, options: &SolverOptions| net.field.transport(start, u, 1.0, options);
        self.cross_entropy_by(&carry, net, batch, u)
    }

    fn cross_entropy_by(&self, carry: Carry<'_>, net: &OdeFlowNet, batch: &Batch, u: &Tensor) -> Result<Tensor> {
        let end = carry(&net.start(&batch.tokens, &mut Tap::off())?, u, &self.options())?;
        head_cross_entropy(&net.read(&end, &mut Tap::off())?, &net.head, &batch.targets)
    }

    /// Follows the field that learns, with gradients as the spec says: through the operations of `net`, which may share
    /// its weights over the steps, or by a backward solve of its own.
    fn learning_carry(&self, net: &OdeFlowNet, start: &Tensor, u: &Tensor, options: &SolverOptions) -> Result<Tensor> {
        if self.spec.gradient == Gradient::Backprop {
            return net.field.transport(start, u, 1.0, options);
        }
        let (field, u) = (self.net.field.clone(), u.clone());
        let field: SharedField = Arc::new(move |t: f64, y: &Tensor| field.velocity(t, y, &field.push(&u)?));
        Ok(ode::solve_with(self.spec.gradient, &field, &self.field_weights(), start, ode::Span::UNIT, options)?.end)
    }

    fn field_weights(&self) -> Vec<Tensor> {
        self.params.iter().filter(|(n, _)| n.starts_with("field.")).map(|(_, var)| var.as_tensor().clone()).collect()
    }

    fn options(&self) -> SolverOptions {
        SolverOptions::fixed(self.spec.method, self.spec.steps)
    }

    /// u = 0 for every row of a batch.
    fn zero_control(&self, batch: &Batch) -> Result<Tensor> {
        Tensor::zeros((batch.tokens.dim(0)?, CONTROLS), DType::F32, batch.tokens.device())
    }
}

impl Trainable for OdeFlow {
    params_and_spec!(OdeFlow);

    fn begin_step(&mut self, step: u64) -> Result<()> {
        self.steered.as_mut().map_or(Ok(()), |steered| steered.begin_step(&mut self.params, step))
    }

    /// The loss of the language with u = 0, or in the second stage of a steering run that of the classes.
    fn loss_into(&self, batch: &Batch, accumulator: Option<&GradAccumulator>) -> Result<Loss> {
        let net = self.net.with_shared_weights(accumulator)?;
        let carry = |start: &Tensor, u: &Tensor, options: &SolverOptions| self.learning_carry(&net, start, u, options);
        if let Some(steered) = self.steered.as_ref().filter(|s| s.is_steering_stage) {
            return steered.loss(&carry, &self.inference_net, batch, &self.options());
        }
        Ok(self.cross_entropy_by(&carry, &net, batch, &self.zero_control(batch)?)?.into())
    }

    /// The loss of the language with u = 0, in both stages: the price of steering for those who do not steer.
    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        self.cross_entropy(&self.inference_net, batch, &self.zero_control(batch)?)
    }

    /// alpha, and the gradient norm of the field alone.
    fn scalars(&self, grads: Option<&GradStore>) -> Result<Vec<(&'static str, f64)>> {
        let mut all = vec![(ALPHA, host::scalar(&self.inference_net.field.alpha)?)];
        if let Some(grads) = grads {
            let mut squares = 0.0;
            for (_, var) in self.params.iter().filter(|(n, _)| n.starts_with("field.")) {
                if let Some(g) = grads.get(var) {
                    squares += host::scalar(&host::total(&g.sqr()?)?)?;
                }
            }
            all.push((FIELD_GRAD_NORM, squares.sqrt()));
        }
        Ok(all)
    }

    fn runtime_params(&self) -> Vec<RuntimeParam> {
        self.control.runtime_params(CONTROLS)
    }

    fn set_runtime_param(&mut self, name: &str, value: f64) -> bool {
        self.control.set(CONTROLS, name, value)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let mut attention_layers = AttentionLayer::stack("head_layers", self.spec.pre, None);
        attention_layers.extend(AttentionLayer::stack("tail_layers", self.spec.post, None));
        let (flow, positions) = (Some(FlowModel::Language(self)), Some(self.spec.positions));
        Capabilities { token_model: Some(self), attention_layers, positions, flow, ..Capabilities::default() }
    }
}

impl Model for OdeFlow {
    fn logits(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        let u = self.control_tensor(self.control)?;
        let start = self.inference_net.start(tokens, tap)?;
        tap.offer("flow.start", || Ok(start.clone()))?;
        let end = self.inference_net.field.transport(&start, &u, self.control.alpha, &self.options())?;
        tap.offer("flow.end", || Ok(end.clone()))?;
        self.inference_net.logits(&self.inference_net.read(&end, tap)?)
    }
}

impl LanguageFlow for OdeFlow {
    fn control(&self) -> FlowControl {
        self.control
    }

    fn embed(&self, tokens: &Tensor) -> Result<Tensor> {
        self.inference_net.start(tokens, &mut Tap::off())
    }

    fn field(&self, control: FlowControl) -> Result<Box<dyn Field + '_>> {
        let net = &self.inference_net.field;
        let control_term = net.push(&self.control_tensor(control)?)?;
        Ok(Box::new(Flow { net, control_term, scale: control.alpha }))
    }

    fn learning_field(&self, control: FlowControl) -> Result<(SharedField, Vec<Tensor>)> {
        let (u, net) = (self.control_tensor(control)?, self.net.field.clone());
        let field = move |t: f64, y: &Tensor| net.velocity(t, y, &net.push(&u)?)? * control.alpha;
        Ok((Arc::new(field), self.field_weights()))
    }

    fn finish(&self, h: &Tensor) -> Result<Tensor> {
        self.inference_net.logits(&self.inference_net.read(h, &mut Tap::off())?)
    }

    fn positions(&self) -> usize {
        self.spec.positions
    }

    fn training_steps(&self) -> usize {
        self.spec.steps.max(1)
    }

    fn steering(&self) -> Option<&Steering> {
        self.spec.steering.as_ref()
    }

    fn baseline(&self) -> ModelSpec {
        ModelSpec::PlainGpt(self.spec.baseline())
    }
}
