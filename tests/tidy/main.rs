//! What the source text itself must satisfy: module boundaries, imports without circles, bans that no lint
//! sees, valid shaders.

mod boundaries;
mod import_picture;
mod imports;
mod shaders;
mod sources;
