//! Waits for an application whose run works on its own threads.

use std::time::{Duration, Instant};

use egui_kittest::Harness;
use orrery::ui::app::App;

/// Draws frames of the application until `found` returns a value, with a pause between them, because the run works
/// meanwhile.
///
/// # Panics
/// After `patience`, with `what` in the message.
pub fn until_within<R>(
    patience: Duration,
    harness: &mut Harness<'_, App>,
    what: &str,
    found: impl Fn(&App) -> Option<R>,
) -> R {
    looking_every(Duration::from_millis(20), patience, harness, what, found)
}

/// Like [`until_within`], with a pause between steps, because drawing frames slows a long training run down.
pub fn looking_every<R>(
    pause: Duration,
    patience: Duration,
    harness: &mut Harness<'_, App>,
    what: &str,
    found: impl Fn(&App) -> Option<R>,
) -> R {
    let begun = Instant::now();
    loop {
        harness.step();
        if let Some(r) = found(harness.state()) {
            return r;
        }
        assert!(begun.elapsed() < patience, "waited in vain: {what}");
        std::thread::sleep(pause);
    }
}
