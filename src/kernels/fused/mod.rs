//! One operation a file: its reference form (plain candle, differentiable; on an NVIDIA card attention's takes the softmax of
//! `cuda`), its fused CPU form, and its backward.
//!
//! A layer calls the function named after the operation, which chooses the form. The reference form is public for tests
//! and taps. The arithmetic on slices that operations share is in `kernels`.

pub mod activation;
pub mod adamw;
pub mod add_row;
pub mod attention;
pub mod axpy;
pub mod balance;
pub mod cross_entropy;
mod custom_op;
pub mod differential;
pub mod ema;
pub mod embedding;
pub mod evolution;
pub mod grad_accumulator;
pub mod layer;
pub mod linear;
pub mod linear_attention;
pub mod mlp;
pub mod norm;
mod prelude;
pub mod scaled_add;
pub mod sparse_mlp;
mod storage;
pub mod synapses;
pub mod top_k;
pub mod trace_context;
pub mod unit_rows;

pub use grad_accumulator::{GradAccumulator, PartialGraph};
