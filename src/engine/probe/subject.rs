//! The part of a model that a probe asks.

use super::ProbeInputs;
use crate::{
    models::{
        Model, Trainable,
        capabilities::{
            FastWeightModel, FlowModel, QueryKeyDynamics, RecoveryModel, ResidualLayers, SettlingModel, StationaryMap,
            StreamingModel, SynapseModel, TraceBlocks, TwoTimescales,
        },
    },
    nn::Result,
};

/// Another model of the same weights and runtime parameters, which may be changed while the one that is asked stays as it is.
/// The seed is that of its dropout.
pub(super) fn copy_of(model: &dyn Trainable, seed: u64, cx: &ProbeInputs<'_>) -> Result<Box<dyn Trainable>> {
    let mut copy = model.spec().build(cx.corpus.vocab(), seed, cx.device)?;
    for (name, weight) in model.params().iter() {
        copy.params().load(name, weight.as_tensor())?;
    }
    for param in model.runtime_params() {
        copy.set_runtime_param(param.name, param.value);
    }
    Ok(copy)
}

/// A part of a model to which questions can be put: one that several may read, or one that changes the model.
pub trait FromModel<'m>: Sized {
    /// The part, if the model has it.
    fn from_model(model: &'m mut dyn Trainable) -> Option<Self>;
}

impl<'m> FromModel<'m> for &'m mut dyn Trainable {
    fn from_model(model: &'m mut dyn Trainable) -> Option<Self> {
        Some(model)
    }
}

impl<'m, P: FromShared<'m>> FromModel<'m> for P {
    fn from_model(model: &'m mut dyn Trainable) -> Option<Self> {
        P::from_shared(model)
    }
}

/// A part that leaves the model as it is: a capability, a pair of parts, or the model itself.
pub trait FromShared<'m>: Sized {
    /// The part, if the model has it.
    fn from_shared(model: &'m dyn Trainable) -> Option<Self>;
}

macro_rules! capabilities {
    (<$m:lifetime> $($part:ty: $field:ident,)*) => {$(
        impl<$m> FromShared<$m> for $part {
            fn from_shared(model: &$m dyn Trainable) -> Option<Self> {
                model.capabilities().$field
            }
        }
    )*};
}

capabilities! { <'m>
    &'m dyn FastWeightModel: fast_weights,
    &'m dyn Model: token_model,
    &'m dyn QueryKeyDynamics: query_key_dynamics,
    &'m dyn RecoveryModel: recovery,
    &'m dyn SettlingModel: settling,
    &'m dyn StationaryMap: stationary_map,
    &'m dyn StreamingModel: streaming,
    &'m dyn SynapseModel: synapses,
    FlowModel<'m>: flow,
    ResidualLayers: residual_layers,
    TraceBlocks: trace_blocks,
    TwoTimescales: two_timescales,
}

impl<'m, A: FromShared<'m>, B: FromShared<'m>> FromShared<'m> for (A, B) {
    fn from_shared(model: &'m dyn Trainable) -> Option<Self> {
        A::from_shared(model).zip(B::from_shared(model))
    }
}

impl<'m> FromShared<'m> for &'m dyn Trainable {
    fn from_shared(model: &'m dyn Trainable) -> Option<Self> {
        Some(model)
    }
}

impl FromShared<'_> for () {
    fn from_shared(_: &dyn Trainable) -> Option<Self> {
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        models::{FamilySpec, ModelSpec, ode_flow::OdeFlowSpec},
        nn::{Device, Tap, Tensor, host},
        probe::testing,
    };

    /// A control that a person set is not a weight, and the logits follow it all the same.
    #[test]
    fn a_copy_has_the_weights_and_the_runtime_parameters() -> Result<()> {
        let (corpus, device) = (testing::prose()?, Device::Cpu);
        let mut model = ModelSpec::OdeFlow(OdeFlowSpec::tiny()).build(corpus.vocab(), 3, &device)?;
        let logits = |model: &dyn Trainable| -> Result<Vec<f32>> {
            let tokens = Tensor::new(&[[3u32, 70, 12]], &device)?;
            host::to_f32(&model.token_model()?.logits(&tokens, &mut Tap::off())?)
        };
        let uncontrolled = logits(model.as_ref())?;
        assert!(model.set_runtime_param("u0", 0.7) && !model.set_runtime_param("u4", 0.7));
        let copy = copy_of(model.as_ref(), 8, &ProbeInputs::standalone(&corpus, &device))?;
        assert_eq!(logits(copy.as_ref())?, logits(model.as_ref())?);
        assert_ne!(logits(copy.as_ref())?, uncontrolled);
        Ok(())
    }
}
