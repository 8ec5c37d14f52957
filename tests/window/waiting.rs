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

/// Like [`until_within`], with the patience for a model that answers.
pub fn until<R>(harness: &mut Harness<'_, App>, what: &str, found: impl Fn(&App) -> Option<R>) -> R {
    until_within(Duration::from_secs(240), harness, what, found)
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

/// Draws frames of a window by `step` until `holds` is true, with a pause before each that is longer than a frame,
/// because runs work meanwhile.
///
/// # Panics
/// After `time`, with `what` in the message.
pub fn step_until<D>(time: Duration, window: &mut D, step: impl Fn(&mut D), what: &str, holds: impl Fn(&D) -> bool) {
    let begun = Instant::now();
    while !holds(window) {
        assert!(begun.elapsed() < time, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(15));
        step(window);
    }
}
