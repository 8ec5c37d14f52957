//! Names that most fused operations use.

pub(super) use super::{
    custom_op::{FusedOp, Op, apply_fused, gradient_if_tracked, gradients_like, tensor_like},
    storage,
};
pub(super) use crate::{
    arch::{arch, kernel},
    buffers::{build_vec, build_vecs},
    simd, threads,
};
pub(super) use candle_core::{D, DType, Result, Shape, Tensor, bail};
pub(super) use pulp::{Simd, WithSimd};
