//! Waits for what a thread or another process does meanwhile.

use std::time::{Duration, Instant};

/// Calls `found` every few milliseconds until it returns a value.
///
/// # Panics
/// After two minutes, with `failure` as the message.
pub fn wait_for<T>(failure: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{failure}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Like [`wait_for`], until a condition holds.
pub fn wait_until(failure: &str, mut holds: impl FnMut() -> bool) {
    wait_for(failure, || holds().then_some(()));
}
