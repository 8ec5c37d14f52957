//! CPU kernels over plain slices of f32: the matrix multiplication with its packing and register tiles, vector and
//! elementwise primitives, reductions, sparse vectors, and the thread pool they run on.
//!
//! The kernels work on slices alone; `fused` builds candle operations with gradients from them, and `host` copies tensors
//! into the host's memory. With the feature `cuda` some operations have kernels for an NVIDIA card too (`cuda`).
//!
//! What a program outside of Orrery needs is named at the root: the operations on candle's tensors, the accumulator of
//! their gradients and the number of threads. The modules are open to the crates that are built on this one.

#![warn(missing_docs)]

pub mod arch;
pub mod buffers;
#[cfg(feature = "cuda")]
mod cuda;
pub mod elementwise;
pub mod fast_weights;
pub mod fused;
pub mod host;
pub mod matmul;
pub mod matrix;
pub mod packed;
pub mod reduce;
pub mod simd;
pub mod sparse;
pub mod threads;
mod tile;
pub mod transpose;

pub use fused::{
    GradAccumulator, PartialGraph,
    activation::activation,
    attention::{AttentionSpec, attention},
    cross_entropy::{cross_entropy, head_cross_entropy},
    embedding::embedding,
    linear::{linear, linear_biased},
    linear_attention::{LinearAttentionSpec, linear_attention},
    mlp::{Act, gated_mlp, mlp},
    norm::{layer_norm, rms_norm},
};
pub use threads::set_threads;

/// A target that no loss counts (a position that asks nothing).
pub const IGNORE: u32 = u32::MAX;
