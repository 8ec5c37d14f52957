//! Names that most families of models use.

pub(super) use super::{
    FamilySpec, Loss, Model, ModelSpec, Trainable,
    capabilities::Capabilities,
    step_memory::{StepMemory, StepSizes},
};
pub(super) use crate::{
    config::defaults,
    nn::{
        Batch, Params, Tap,
        fused::{GradAccumulator, linear::linear},
        host,
    },
};
pub(super) use candle_core::{D, DType, Device, Result, Tensor, bail};
pub(super) use rand::{Rng, SeedableRng};
pub(super) use rand_chacha::ChaCha8Rng;
pub(super) use serde::{Deserialize, Serialize};
