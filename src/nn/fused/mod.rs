//! One operation a file: reference form (plain candle, differentiable), fused CPU form, backward.
//!
//! A layer calls the function named after the operation; which form runs is decided there. The
//! reference form is public for tests and taps.

pub mod adamw;
pub mod advanced;
pub mod attention;
pub mod balance;
pub mod coupled;
pub mod cross_entropy;
pub mod ema;
pub mod embedding;
mod lanes;
pub mod layer;
pub mod ledger;
pub mod linear;
pub mod linear_attention;
mod matrix;
pub mod mlp;
pub mod norm;
mod packed;
mod places;
pub mod pool;
pub mod scaled;
pub mod shift;
mod tile;
pub mod top_k;
mod transpose;

pub use ledger::Ledger;
pub use pool::set_threads;
