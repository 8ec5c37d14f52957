//! Reads the source files of the crates for the checks of this folder, without comments and unit tests.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A source file, which in Rust is a module.
pub struct Source {
    /// Path of the module, `["ui", "plot"]`; empty for the front page.
    pub module: Vec<String>,
    pub file: PathBuf,
    /// The text without line comments and without a trailing `#[cfg(test)] mod tests`.
    pub code: String,
}

impl Source {
    /// Returns the top-level module of the file, such as `ui`; the crate's root file gives `lib`.
    pub fn top(&self) -> &str {
        self.module.first().map_or("lib", String::as_str)
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src")
}

fn paths(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

/// The Rust files below a folder, sorted by their paths.
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![];
    paths(folder, &mut all);
    all.sort();
    all
}

/// Every source file, sorted by its path.
pub fn files() -> Vec<PathBuf> {
    rust_files(&root())
}

/// Returns every module of the library except files of unit tests.
pub fn sources() -> Vec<Source> {
    let is_library = |file: &PathBuf| {
        !file.ends_with("app/main.rs")
            && !file.starts_with(root().join("engine/examples"))
            && !file.ends_with("tests.rs")
    };
    files()
        .into_iter()
        .filter(is_library)
        .map(|file| Source { module: module_of(&file), code: code(&file), file })
        .collect()
}

fn module_of(file: &Path) -> Vec<String> {
    let relative = file.strip_prefix(root()).unwrap().with_extension("");
    let mut parts: Vec<String> = relative.iter().map(|c| c.to_string_lossy().into_owned()).collect();
    // The folders `engine`, `lab` and `app` are crates and no modules; `kernels` is both, as `nn` re-exports it.
    if parts[0] != "kernels" {
        parts.remove(0);
    }
    if parts.last().is_some_and(|last| last == "mod" || last == "lib") {
        parts.pop();
    }
    parts
}

fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    // a file of tests is declared anywhere, and tests that stand here are at the end
    let text = text.replace("#[cfg(test)]\nmod tests;", "");
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    code.lines().map(|l| l.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}
