//! Drives one run: steps the variants on the same batches, puts scheduled and asked questions,
//! keeps checkpoints, tells sinks. Its worker is the only thread that owns a model.

mod plan;

pub use plan::{Cadence, Optimisation, Plan, Schedule, VariantSpec};
