//! CPU kernels over plain slices of f32: the matrix multiplication with its packing and register tiles, vector and
//! elementwise primitives, reductions, and the thread pool they run on.
//!
//! The kernels work on slices alone; `fused` builds candle operations with gradients from them.

#![warn(missing_docs)]

pub mod arch;
pub mod buffers;
pub mod elementwise;
pub mod fast_weights;
pub mod fused;
pub mod host;
pub mod matmul;
pub mod matrix;
pub mod order;
pub mod packed;
pub mod reduce;
pub mod simd;
pub mod threads;
mod tile;
pub mod transpose;

/// A target that no loss counts (a position that asks nothing).
pub const IGNORE: u32 = u32::MAX;
