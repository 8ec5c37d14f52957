//! Runs the real binary in a folder, without a display.

use std::{
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
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

/// Runs the binary with arguments separated by spaces. Returns the exit code and the text of both outputs.
pub fn orrery(folder: &Path, words: &str) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_orrery"));
    command.args(words.split_whitespace()).current_dir(folder);
    let output = command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").output().unwrap();
    (output.status.code(), output_of(&output))
}
