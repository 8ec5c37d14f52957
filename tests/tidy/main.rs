//! Checks the source text: module boundaries, imports without cycles, bans that no lint covers, valid shaders, complete
//! labs and lists, and pages that agree with the sources.

mod boundaries;
mod claims;
mod commands;
mod contributing;
mod coverage;
mod import_picture;
mod imports;
mod labs;
mod lessons;
mod lists;
mod needs;
mod shaders;
mod sources;
mod testing;
mod tour;
