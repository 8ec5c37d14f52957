//! The engine of Orrery: small sequence models, their training, the questions put to them and the record of both.
//! It opens no window and draws nothing, so that a program can train and probe models with this crate alone.

#![warn(missing_docs)]

pub mod config;
pub mod files;

pub mod analysis;
pub mod corpus;
pub mod nn;
pub mod ode;
pub mod telemetry;

pub mod models;
pub mod probe;
pub mod store;
pub mod trainer;
