//! The graphics adapter that tests draw with, in software or on a GPU. Without one, the tests that need it are skipped
//! with a message; with `ORRERY_REQUIRE_ADAPTER=1` in the environment, as on CI, they fail.

use std::{
    io::Write,
    sync::{Once, OnceLock},
};

use orrery::gpu::offscreen::{Offscreen, OffscreenError};

/// A new renderer, or `None` if there is no adapter and none is required.
pub fn offscreen() -> Option<Offscreen> {
    static SAID: Once = Once::new();
    let required = std::env::var_os("ORRERY_REQUIRE_ADAPTER").is_some_and(|v| v != "0");
    panic_if_required(Offscreen::new(), required)
        .map_err(|e| {
            // written directly, because the test runner captures the output of the print macros and this line must be
            // seen
            SAID.call_once(|| drop(writeln!(std::io::stderr(), "tests of pictures are skipped: {e}")));
        })
        .ok()
}

/// True if a harness can draw with wgpu on this machine. A device takes a second to make, so it is made once.
pub fn exists() -> bool {
    static EXISTS: OnceLock<bool> = OnceLock::new();
    *EXISTS.get_or_init(|| offscreen().is_some())
}

/// Passes the adapter on.
///
/// # Panics
/// If an adapter is required and missing.
fn panic_if_required<T>(adapter: Result<T, OffscreenError>, required: bool) -> Result<T, OffscreenError> {
    if let (Err(e), true) = (&adapter, required) {
        panic!("ORRERY_REQUIRE_ADAPTER is set, and {e}");
    }
    adapter
}

#[test]
fn a_missing_graphics_device_skips() {
    assert!(panic_if_required::<()>(Err(OffscreenError::NoAdapter("none".into())), false).is_err());
}

#[test]
#[should_panic(expected = "ORRERY_REQUIRE_ADAPTER is set")]
fn a_missing_required_graphics_device_fails() {
    let _ = panic_if_required::<()>(Err(OffscreenError::NoAdapter("none".into())), true);
}
