//! Threads of a run: the size of their stacks, and panics as errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::RunError;

/// The stack of a thread that computes with models: backward passes recurse deeply.
pub(super) const STACK_BYTES: usize = 64 << 20;

/// Runs `f`; a panic becomes an error.
pub(super) fn guard<T>(f: impl FnOnce() -> Result<T, RunError>) -> Result<T, RunError> {
    catch_panic(f).unwrap_or_else(|text| Err(RunError::Defect(text)))
}

/// Runs `f`; a panic becomes its message.
pub fn catch_panic<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|panic| {
        panic
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned())
    })
}
