//! Tests the mathematics (operations, gradients, solvers, model families, statistics) by comparison with references and
//! oracles and by general properties. No run folder and no window is involved.

mod alibi_gpt;
mod attention;
mod bdh;
mod bdh_interventions;
mod concepts;
mod coupled_qk;
mod families;
mod fast_weights;
mod fused;
mod generator;
mod grad_accumulator;
mod grammar_roles;
mod graph_bdh;
mod graphs;
mod ode;
mod ode_gradients;
mod op_checks;
mod oracles;
mod properties;
mod query_key_flow;
mod recover;
mod spen;
