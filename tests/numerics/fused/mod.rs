//! Compares the fused CPU operations with their reference forms. Tests of single kernels are beside their code.

mod attention;
mod layer;
mod layers;
mod linear_attention;
mod optimiser;
mod sequence;
