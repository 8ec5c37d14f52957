//! What the source text itself must satisfy: module boundaries, bans that no lint sees, valid shaders.

mod boundaries;
mod shaders;
