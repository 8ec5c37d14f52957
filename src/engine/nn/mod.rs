//! Building blocks that the model families share: parameters, layers, losses, the optimiser, the tap, and the one
//! device-to-host copy. It names no family.

pub mod attention;
pub mod batch;
pub mod block;
pub mod device;
pub mod dropout;
pub mod fixed_point;
pub mod gru;
pub mod layers;
pub mod memory;
pub mod mlp;
pub mod optimiser;
pub mod params;
pub mod pooling;
pub mod residual_mixing;
pub mod tap;
pub mod vjp;
pub mod weights;

pub use batch::Batch;
pub use candle_core::{Device, Error, Result, Tensor};
pub use optimiser::AdamW;
pub use orrery_kernels::{self as kernels, IGNORE, fused, host, threads::set_threads};
pub use params::Params;
pub use tap::Tap;
