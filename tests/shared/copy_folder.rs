//! Copies a folder, or holds what is in it, for tests that change one or see that nothing does.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Copies a folder and everything in it.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Every file of a folder with its bytes.
pub fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            all.extend(contents(&entry.path()));
        } else {
            // on some systems a lock file cannot be read while it is held
            all.insert(entry.path(), fs::read(entry.path()).unwrap_or_default());
        }
    }
    all
}
