//! The graphics adapter that tests draw with, a software one or a real one. Without any, the tests that need
//! it are skipped and say so; with `ORRERY_REQUIRE_ADAPTER=1` in the environment, as in CI, they fail.

use std::{io::Write, sync::Once};

use orrery::gpu::offscreen::{Offscreen, OffscreenError};

/// A renderer of the test's own, or nothing where there is no adapter and none is required.
pub fn offscreen() -> Option<Offscreen> {
    found(Offscreen::new(), std::env::var_os("ORRERY_REQUIRE_ADAPTER").is_some_and(|v| v != "0"))
}

/// Whether a harness can draw with wgpu here.
pub fn exists() -> bool {
    offscreen().is_some()
}

fn found<T>(adapter: Result<T, OffscreenError>, required: bool) -> Option<T> {
    static SAID: Once = Once::new();
    match adapter {
        Ok(adapter) => Some(adapter),
        Err(e) if required => panic!("ORRERY_REQUIRE_ADAPTER is set, and {e}"),
        Err(e) => {
            // The test runner captures what the print macros write; this line is meant to be seen.
            SAID.call_once(|| {
                let _ = writeln!(std::io::stderr(), "tests of pictures are skipped: {e}");
            });
            None
        }
    }
}

#[test]
fn a_missing_adapter_skips() {
    assert_eq!(found::<()>(Err(OffscreenError::NoAdapter("none".into())), false), None);
}

#[test]
#[should_panic(expected = "ORRERY_REQUIRE_ADAPTER is set")]
fn a_missing_required_adapter_fails() {
    found::<()>(Err(OffscreenError::NoAdapter("none".into())), true);
}
