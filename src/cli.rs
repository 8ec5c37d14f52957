//! The commands; the only module that wires everything.

/// Runs the command line; returns the process's exit code.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::FAILURE
}
