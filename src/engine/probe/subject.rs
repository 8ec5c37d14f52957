//! The part of a model that a probe asks.

use crate::models::{
    Model, Trainable,
    capabilities::{
        FastWeightModel, FlowModel, QueryKeyDynamics, RecoveryModel, SettlingModel, StationaryMap, StreamingModel,
        SynapseModel,
    },
};

/// A part of a model to which questions can be put: a capability, several together, or the model itself.
pub trait FromModel<'m>: Sized {
    /// The part, if the model has it.
    fn from_model(model: &'m mut dyn Trainable) -> Option<Self>;
}

macro_rules! capabilities {
    ($($capability:ident: $field:ident,)*) => {$(
        impl<'m> FromModel<'m> for &'m dyn $capability {
            fn from_model(model: &'m mut dyn Trainable) -> Option<Self> {
                model.capabilities().$field
            }
        }
    )*};
}

capabilities! {
    FastWeightModel: fast_weights,
    Model: token_model,
    QueryKeyDynamics: query_key_dynamics,
    RecoveryModel: recovery,
    SettlingModel: settling,
    StationaryMap: stationary_map,
    StreamingModel: streaming,
    SynapseModel: synapses,
}

impl<'m> FromModel<'m> for FlowModel<'m> {
    fn from_model(model: &'m mut dyn Trainable) -> Option<Self> {
        model.capabilities().flow
    }
}

impl<'m> FromModel<'m> for &'m mut dyn Trainable {
    fn from_model(model: &'m mut dyn Trainable) -> Option<Self> {
        Some(model)
    }
}

impl FromModel<'_> for () {
    fn from_model(_: &mut dyn Trainable) -> Option<Self> {
        Some(())
    }
}
