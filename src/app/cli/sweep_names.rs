//! The files by which the folder of a sweep is recognised.

use std::path::Path;

/// The file name of the specification.
pub const SPEC: &str = "sweep.toml";
/// The file name of the settings that all points share.
pub const BASE: &str = "base.toml";

pub fn is_sweep(folder: &Path) -> bool {
    folder.join(SPEC).is_file()
}

/// True if a file says what a sweep is made of.
pub fn is_specification(path: &Path) -> bool {
    let is_named = path.file_name().is_some_and(|name| name == SPEC || name == BASE);
    is_named && path.parent().is_some_and(is_sweep)
}
