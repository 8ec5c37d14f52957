//! The fused CPU operations against their reference forms; the kernels' own tests stand beside their code.

mod attention;
mod layer;
mod layers;
mod linear_attention;
mod optimiser;
mod sequence;
