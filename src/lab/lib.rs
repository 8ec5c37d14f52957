//! The labs of Orrery, each a value: its question, its settings, its presets and what it trains; and the experiments
//! made of their runs: sweeps, comparisons, tables, links and headline numbers.

pub mod experiments;
pub mod labs;

pub use orrery_engine::{analysis, config, corpus, files, models, nn, ode, probe, store, telemetry, trainer};
