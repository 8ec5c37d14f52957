//! Models with a state that follows a differential equation over depth tau in [0, 1].

use candle_core::{DType, Result, Tensor};

use serde::{Deserialize, Serialize};

use super::{super::ModelSpec, RuntimeParam};
pub use crate::analysis::planar_field::PlanarField;
use crate::ode::{Field, SharedField};

/// Controls that enter the field.
pub const CONTROLS: usize = 4;

/// The control that enters the right-hand side from outside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowControl {
    /// Control vector; a planar field uses the first two numbers.
    pub u: [f64; CONTROLS],
    /// Multiplier of the whole field.
    pub alpha: f64,
}

impl Default for FlowControl {
    /// By default there is no control, and the field is the trained one.
    fn default() -> Self {
        Self { u: [0.0; CONTROLS], alpha: 1.0 }
    }
}

const NAMES: [&str; CONTROLS] = ["u0", "u1", "u2", "u3"];

impl FlowControl {
    /// The first `controls` numbers of the control, and alpha.
    pub(in crate::models) fn runtime_params(&self, controls: usize) -> Vec<RuntimeParam> {
        let all = NAMES.into_iter().zip(self.u).take(controls).chain([("alpha", self.alpha)]);
        all.map(|(name, value)| RuntimeParam { name, value }).collect()
    }

    /// Sets one of [`FlowControl::runtime_params`]; returns false if none has this name.
    pub(in crate::models) fn set(&mut self, controls: usize, name: &str, value: f64) -> bool {
        let number = NAMES.iter().take(controls).position(|known| *known == name);
        let known = number.map(|i| &mut self.u[i]).or_else(|| (name == "alpha").then_some(&mut self.alpha));
        known.map(|old| *old = value).is_some()
    }
}

/// The two kinds of state that flow.
#[derive(Clone, Copy)]
pub enum FlowModel<'a> {
    /// Hidden states of a text.
    Language(&'a dyn LanguageFlow),
    /// Points of the plane.
    Planar(&'a dyn PlanarFlow),
}

impl FlowModel<'_> {
    /// The control that the runtime parameters set.
    pub fn control(&self) -> FlowControl {
        match self {
            FlowModel::Language(model) => model.control(),
            FlowModel::Planar(model) => model.control(),
        }
    }
}

/// Tokens are embedded, carried by the flow from tau = 0 to 1, and read as logits.
pub trait LanguageFlow {
    /// The control that the runtime parameters set.
    fn control(&self) -> FlowControl;

    /// H at tau = 0 without gradients: tokens u32 `(B, T)` -> `(B, T, D)`.
    fn embed(&self, tokens: &Tensor) -> Result<Tensor>;

    /// dH/dtau for states `(B, T, D)`, one control for all rows, without gradients for the weights.
    fn field(&self, control: FlowControl) -> Result<Box<dyn Field + '_>>;

    /// Like [`LanguageFlow::field`], but with gradients for the weights, which it returns as well.
    fn learning_field(&self, control: FlowControl) -> Result<(SharedField, Vec<Tensor>)>;

    /// H at tau = 1 `(B, T, D)` -> logits `(B, T, V)`, without gradients.
    fn finish(&self, h: &Tensor) -> Result<Tensor>;

    /// The length of the longest text, in tokens.
    fn positions(&self) -> usize;

    /// Equal steps of a training solve, at least one.
    fn training_steps(&self) -> usize;

    /// The classes of tokens that controls were trained to lead to.
    fn steering(&self) -> Option<&Steering> {
        None
    }

    /// The plain model that the flow is measured against.
    fn baseline(&self) -> ModelSpec;
}

/// Points of the plane in one of several fields.
pub trait PlanarFlow {
    /// The control that the runtime parameters set.
    fn control(&self) -> FlowControl;

    /// The field that is used unless another is requested.
    fn default_field(&self) -> PlanarField;

    /// The type of a state's numbers.
    fn dtype(&self) -> DType;

    /// dy/dtau of a field for states `(N, 2)`; depth 1 is the end of the time shown.
    fn field(&self, which: PlanarField, control: FlowControl) -> Box<dyn Field + '_>;
}

/// The task of the second stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Steering {
    /// Updates of the first stage: language modelling with u = 0. Update `language_steps + 1` is the
    /// first of the second.
    pub language_steps: u64,
    /// Ids that u0 = +1 should lead to; `minus` holds those of u0 = -1.
    pub plus: Vec<u32>,
    /// Ids of the words that u0 = -1 is trained to lead to.
    pub minus: Vec<u32>,
    /// The one prompt at whose end the model is steered, whatever the batches hold.
    #[serde(default)]
    pub prompt: Option<Vec<u32>>,
    /// Vary the number of steps a little from update to update, so that the flow is learned and not the effect of that
    /// many steps.
    #[serde(default)]
    pub vary: bool,
    /// Hold all predictions that are not asked for near the unsteered ones: the term KL(unsteered || steered) of the loss,
    /// which the source does not describe.
    #[serde(default = "default_true")]
    pub kl: bool,
}

/// Records without the field were made with the term.
fn default_true() -> bool {
    true
}
