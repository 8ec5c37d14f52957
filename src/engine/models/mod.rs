//! The model families, one per file, and the list of all of them.

use candle_core::{Device, Result, Tensor, backprop::GradStore};
use serde::{Deserialize, Serialize};

use crate::nn::{
    Batch, Params, Tap,
    fused::{GradAccumulator, PartialGraph},
};

use capabilities::{Capabilities, CapabilitiesMut, RuntimeParam};
use family::families;

pub use carry::Carry;
pub use family::FamilySpec;

/// The methods that are the same in every family: its weights, and its specification.
macro_rules! params_and_spec {
    ($family:ident) => {
        fn params(&self) -> &Params {
            &self.params
        }

        fn spec(&self) -> ModelSpec {
            ModelSpec::$family(self.spec.clone())
        }
    };
}

pub mod bdh;
pub mod bigru;
pub mod capabilities;
mod carry;
pub mod coupled_qk;
pub mod dense;
mod family;
pub mod fast_slow;
pub mod gpt;
pub mod graph_bdh;
pub mod ode_flow;
pub mod plane;
mod prelude;
pub mod recover;
pub mod spcn;
pub mod spen;
pub mod stationary;
pub mod step_memory;

families! {
    FastSlow(fast_slow::FastSlowSpec) = fast_slow::FastSlow::new,
    Dense(dense::DenseSpec) = dense::Dense::new,
    Recover(recover::RecoverSpec) = recover::Recover::new,
    Plane(plane::PlaneSpec) = plane::Plane::new,
    OdeFlow(ode_flow::OdeFlowSpec) = ode_flow::OdeFlow::new,
    PlainGpt(gpt::PlainGptSpec) = gpt::Gpt::with_learned_positions,
    Bdh(bdh::BdhSpec) = bdh::Bdh::new,
    AlibiGpt(gpt::AlibiGptSpec) = gpt::Gpt::with_alibi,
    GraphBdh(graph_bdh::GraphBdhSpec) = graph_bdh::GraphBdh::new,
    CoupledQk(coupled_qk::CoupledQkSpec) = coupled_qk::CoupledQk::new,
    Spen(spen::SpenSpec) = spen::Spen::new,
    Spcn(spcn::SpcnSpec) = spcn::Spcn::new,
    BiGru(bigru::BiGruSpec) = bigru::BiGru::new,
    Stationary(stationary::StationarySpec) = stationary::Stationary::new,
}

/// The loss that a training step minimises, and its parts.
pub struct Loss {
    /// Scalar to differentiate.
    pub total: Tensor,
    /// Mean cross-entropy in nats, scalar; what is reported as the loss.
    pub cross_entropy: Tensor,
    /// Further named scalars, by channel: auxiliary losses.
    pub parts: Vec<(&'static str, Tensor)>,
}

/// A loss with a single term, so that the reported loss equals the minimised one.
impl From<Tensor> for Loss {
    fn from(total: Tensor) -> Self {
        Self { cross_entropy: total.detach(), total, parts: vec![] }
    }
}

/// A [`Loss`] that was computed with an accumulator, so that only [`GradAccumulator::backward`] can differentiate it.
pub struct AccumulatedLoss {
    /// The scalar to differentiate; its graph lacks the weights that the accumulator has taken.
    pub total: PartialGraph,
    /// See [`Loss::cross_entropy`]; without its graph.
    pub cross_entropy: Tensor,
    /// See [`Loss::parts`].
    pub parts: Vec<(&'static str, Tensor)>,
}

/// The default advice for a training that diverges, as a sentence without its end.
pub const DEFAULT_ADVICE: &str = "A smaller learning rate or a longer warm-up usually helps";

/// A model with weights that a trainer can train and a probe can ask.
pub trait Trainable: Send {
    /// Returns the weights and buffers of the model.
    fn params(&self) -> &Params;

    /// The family and the sizes, enough to build another model of this kind.
    fn spec(&self) -> ModelSpec;

    /// Called before each update with its number, from 1. A model's behaviour by stage (its objective, its frozen
    /// weights) must follow from this number and its parameters alone, so that a resumed run continues exactly.
    fn begin_step(&mut self, _step: u64) -> Result<()> {
        Ok(())
    }

    /// Loss on a batch; differentiating its total gives all gradients.
    fn loss(&self, batch: &Batch) -> Result<Loss> {
        self.loss_into(batch, None)
    }

    /// Like [`Trainable::loss`], for a training step whose weight gradients the accumulator collects outside the graph.
    fn accumulated_loss(&self, batch: &Batch, accumulator: &GradAccumulator) -> Result<AccumulatedLoss> {
        let Loss { total, cross_entropy, parts } = self.loss_into(batch, Some(accumulator))?;
        Ok(AccumulatedLoss { total: PartialGraph::new(total), cross_entropy: cross_entropy.detach(), parts })
    }

    /// A family implements this for both: the accumulator, if there is one, takes the weights of its blocks. One that
    /// ignores it leaves them all in the graph, which is correct and slower. Only a family that offers
    /// [`CapabilitiesMut::local_learning`] has no loss.
    fn loss_into(&self, _batch: &Batch, _accumulator: Option<&GradAccumulator>) -> Result<Loss> {
        candle_core::bail!("models of this family learn by a rule of their own and have no loss to differentiate")
    }

    /// Mean cross-entropy in nats, scalar, without gradients: what a held-out evaluation asks for.
    /// It must record no graph and save nothing for a backward pass (see [`Params::build_twice`]).
    fn evaluate(&self, batch: &Batch) -> Result<Tensor>;

    /// True if its loss is computed on the text in a batch; false if it draws its data by itself.
    fn reads_text(&self) -> bool {
        true
    }

    /// Everything that it can be asked for beyond its loss.
    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::default()
    }

    /// The capabilities that change the model.
    fn capabilities_mut(&mut self) -> CapabilitiesMut<'_> {
        CapabilitiesMut::default()
    }

    /// [`Capabilities::token_model`], for a caller that needs it.
    ///
    /// # Errors
    /// If it predicts no tokens.
    fn token_model(&self) -> Result<&dyn Model> {
        let missing = || candle_core::Error::Msg("models of this family predict no tokens".to_owned());
        self.capabilities().token_model.ok_or_else(missing)
    }

    /// Cheap scalars of the current weights (and, right after a backward pass, their gradients), by
    /// channel: recorded every step.
    fn scalars(&self, _grads: Option<&GradStore>) -> Result<Vec<(&'static str, f64)>> {
        Ok(vec![])
    }

    /// The advice if the loss or the gradient is no longer finite, as a sentence without its end.
    fn advice_on_divergence(&self) -> &'static str {
        DEFAULT_ADVICE
    }

    /// The parameters that can be changed while the model runs, with their present values.
    fn runtime_params(&self) -> Vec<RuntimeParam> {
        vec![]
    }

    /// Sets one of [`Trainable::runtime_params`]. False if the model has none of this name.
    fn set_runtime_param(&mut self, _name: &str, _value: f64) -> bool {
        false
    }

    /// Loads the weights of another model of its kind, or of two side by side; returns notes on what was
    /// done. Errors say what does not fit.
    fn load_from(&self, _sources: &[&dyn Trainable]) -> Result<Vec<String>> {
        candle_core::bail!("models of this family load no weights from other models")
    }

    /// Notes for a person on how the model was made.
    fn notes(&self) -> &[String] {
        &[]
    }
}

/// A model of token sequences.
pub trait Model: Trainable {
    /// Tokens u32 `(B, T)` -> logits `(B, T, V)`, without gradients; activations that `tap` wants are left
    /// in it.
    fn logits(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor>;
}
