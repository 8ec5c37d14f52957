//! Pure mathematics on slices and graphs: no tensor, no run.

pub mod attention_rows;
pub mod bdh_dynamics;
pub mod cholesky;
pub mod clustered_tests;
pub mod communicating_classes;
pub mod dense;
pub mod eigenvalues;
pub mod ema;
pub mod fast_slow_plane;
pub mod generator;
pub mod graph;
pub mod graph_file;
pub mod layout;
pub mod linear_probe;
pub mod markov_chain;
pub mod multiple_testing;
pub mod nearest_generator;
pub mod pca;
pub mod query_key_flow;
pub mod rank_test;
pub mod ridge;
pub mod roc;
pub mod runge_kutta;
pub mod singular_values;
pub mod statistics;
pub mod step_growth_bound;
