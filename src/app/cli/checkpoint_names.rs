//! The names by which files of trained weights, and folders of them, are recognised.

use std::path::{Path, PathBuf};

use super::output;
use crate::files;

pub const CHECKPOINT_EXTENSIONS: [&str; 3] = ["safetensors", "pt", "pth"];

/// True if a file is a checkpoint's by its ending.
pub fn has_checkpoint_extension(path: &Path) -> bool {
    CHECKPOINT_EXTENSIONS.iter().any(|extension| output::has_extension(path, extension))
}

/// True if a folder that belongs to no run has checkpoints in it.
pub fn is_checkpoint_folder(folder: &Path) -> bool {
    folder.is_dir()
        && !folder.join("config.toml").is_file()
        && !folder.join("run.json").is_file()
        && checkpoints(folder).next().is_some()
}

/// The files of a folder that are checkpoints by their ending.
pub fn checkpoints(folder: &Path) -> impl Iterator<Item = PathBuf> {
    files_with_checkpoint_extension(folder).filter(|path| path.is_file())
}

/// All in a folder that has the ending of a checkpoint, also what can be none: a pipe, a folder, a link that leads nowhere.
pub fn files_with_checkpoint_extension(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = files::entries(folder).into_iter().flatten();
    entries.map(|e| e.path()).filter(|path| has_checkpoint_extension(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_alone_is_known_as_one_in_a_folder() {
        let is_checkpoint = |name: &str| has_checkpoint_extension(Path::new(name));
        assert!(is_checkpoint("a.pt") && is_checkpoint("A.SAFETENSORS"));
        assert!(!is_checkpoint("a.txt") && !is_checkpoint("pt"));
    }
}
