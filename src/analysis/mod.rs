//! Pure mathematics on slices and graphs: no tensor, no run.

pub mod bdh_dynamics;
pub mod clusters;
pub mod ema;
pub mod graph;
pub mod graph_file;
pub mod ladder;
pub mod layout;
pub mod linear_probe;
pub mod many_tests;
pub mod principal;
pub mod rank_test;
pub mod statistics;
