//! The file by which the folder of a sweep is recognised.

use std::path::Path;

/// The file name of the specification.
pub const SPEC: &str = "sweep.toml";

/// True if a folder is that of a sweep.
pub fn is_sweep(folder: &Path) -> bool {
    folder.join(SPEC).is_file()
}
