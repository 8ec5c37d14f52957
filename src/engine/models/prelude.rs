//! Names that most families of models use, with every capability.

pub(super) use super::{
    Carry, FamilySpec, Loss, Model, ModelSpec, Trainable,
    capabilities::*,
    step_memory::{self, BlockSizes, StepMemory, StepSizes},
};
pub(super) use crate::{
    config::{choices, defaults},
    nn::{
        Batch, IGNORE, Params, Tap,
        block::{self, Block},
        dropout::Dropout,
        fused::{
            GradAccumulator, cross_entropy::head_cross_entropy, embedding::embedding, linear::linear, mlp::Act,
            norm::rms_norm,
        },
        host,
        layers::{EMBEDDING_STD, EPS, Norm},
    },
    telemetry::channels,
};
pub(super) use candle_core::{D, DType, Device, Result, Tensor, bail};
pub(super) use rand::{Rng, SeedableRng};
pub(super) use rand_chacha::ChaCha8Rng;
pub(super) use serde::{Deserialize, Serialize};
pub(super) use std::{path::Path, sync::Arc};
