//! What the folder of a sweep is known by. It does not know what is in it.

use std::path::Path;

/// The specification, as it was given.
pub const SPEC: &str = "sweep.toml";

/// Whether a folder is that of a sweep.
pub fn is_sweep(folder: &Path) -> bool {
    folder.join(SPEC).is_file()
}
