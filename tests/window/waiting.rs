//! Waiting for an application whose run works on threads of its own.

use std::time::{Duration, Instant};

use egui_kittest::Harness;
use orrery::ui::app::App;

/// Steps the application until something is found; fails after this time, saying what it waited for.
pub fn until_within<R>(
    patience: Duration,
    harness: &mut Harness<'_, App>,
    what: &str,
    found: impl Fn(&App) -> Option<R>,
) -> R {
    looking_every(Duration::from_millis(5), patience, harness, what, found)
}

/// As [`until_within`], with this pause between two steps: a frame takes time from a run that trains for long.
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
