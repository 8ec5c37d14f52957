//! What the source text itself must satisfy: module boundaries, imports without circles, bans that no lint
//! sees, valid shaders, labs that lack nothing, complete lists, pages that agree with the sources.

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
