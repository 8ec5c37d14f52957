//! Runs the real binary in a folder, without a display.

use std::{
    ffi::OsStr,
    path::Path,
    process::{Command, Output},
};

/// False if a command reported that there is no graphics adapter.
///
/// # Panics
/// If there is none and the environment variable `ORRERY_REQUIRE_ADAPTER` requires one.
pub fn can_paint(said: &str) -> bool {
    let is_missing = said.contains("no graphics adapter was found");
    let is_required = std::env::var_os("ORRERY_REQUIRE_ADAPTER").is_some_and(|value| value != "0");
    assert!(!(is_missing && is_required), "ORRERY_REQUIRE_ADAPTER is set: {said}");
    !is_missing
}

/// The command without a graphics adapter, because drawing pictures that no test looks at would take seconds.
pub fn unpainted(command: &mut Command) -> &mut Command {
    let no_driver = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].map(|name| (name, "/dev/null"));
    command.env("WGPU_BACKEND", "vulkan").envs(no_driver)
}

/// The text of both outputs.
pub fn output_of(out: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&out.stdout), stderr_of(out))
}

pub fn stderr_of(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

/// The binary with these arguments, to be run in this folder.
pub fn command<A: AsRef<OsStr>>(folder: &Path, args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_orrery"));
    command.args(args).current_dir(folder).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    command
}

/// Runs the binary with arguments separated by spaces.
pub fn output_in(folder: &Path, words: &str) -> Output {
    command(folder, words.split_whitespace()).output().unwrap()
}

/// Like [`output_in`]; returns the exit code and the text of both outputs.
pub fn orrery(folder: &Path, words: &str) -> (Option<i32>, String) {
    let output = output_in(folder, words);
    (output.status.code(), output_of(&output))
}

/// Runs the binary like [`orrery`], and returns the text of both outputs.
///
/// # Panics
/// If its exit code is not `code`, or one of `parts` is missing in the text.
pub fn expect_exit(folder: &Path, words: &str, code: i32, parts: &[&str]) -> String {
    let (found, said) = orrery(folder, words);
    assert_eq!(found, Some(code), "{words}: {said}");
    for part in parts {
        assert!(said.contains(part), "{words}: `{part}` is missing: {said}");
    }
    said
}

/// Runs the binary like [`expect_exit`] with a command that succeeds.
pub fn done(folder: &Path, words: &str) -> String {
    expect_exit(folder, words, 0, &[])
}
