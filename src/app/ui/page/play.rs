//! Playing a run: the shown step goes through what was recorded, at a speed by which the whole takes this many seconds.
//! It asks for frames only while it plays, and only in the lab that is open.

use super::{prelude::*, training::why_ended};

/// The durations to choose from for playing the whole run, seconds.
pub const SPEEDS: [f64; 4] = [5.0, 10.0, 30.0, 60.0];

/// A gap between two frames that is longer than this means that the lab was not in front, seconds.
const MAX_FRAME_GAP: f64 = 0.5;
/// The minimum time between two frames that are asked for, seconds.
const MIN_FRAME_TIME: f64 = 1.0 / 60.0;

#[derive(Debug, Clone, PartialEq)]
pub struct Playback {
    /// Seconds that the whole run takes.
    pub seconds: f64,
    pub loops: bool,
    /// The position of playback in steps, with a fraction; `None` while nothing plays.
    at: Option<f64>,
    /// The time when the shown step was last moved.
    moved: f64,
}

impl Default for Playback {
    fn default() -> Self {
        Self { seconds: 10.0, loops: false, at: None, moved: 0.0 }
    }
}

impl Playback {
    pub fn is_on(&self) -> bool {
        self.at.is_some()
    }

    pub fn stop(&mut self) {
        self.at = None;
    }
}

/// True if Space plays what was recorded, and the right arrow goes through its steps; otherwise they train.
pub fn space_plays(page: &Page) -> bool {
    let Some(run) = page.run.as_ref().filter(|r| !r.is_running() && r.mirror.step > 0) else { return false };
    // over an example Space begins a run of the user's own
    !run.is_example() && (page.play.is_on() || !run.is_own() || page.scrub.is_some() || Run::has_ended(run))
}

/// True if Run plays what was recorded too: no step is left to train. A run of this window that has failed says why on its
/// page, and Run does nothing there.
pub fn run_plays(page: &Page) -> bool {
    let has_failed = |run: &Run| matches!(run.mirror.state, Some(RunState::Failed { .. }));
    let is_over = |run: &Run| run.has_ended() && (run.replayed_folder().is_some() || !has_failed(run));
    space_plays(page) && page.run.as_ref().is_some_and(is_over)
}

/// Plays from the shown step, from the beginning where that is the newest; or pauses.
pub fn play_or_pause(page: &mut Page, now: f64) -> Result<(), String> {
    if page.play.is_on() {
        page.play.stop();
        return Ok(());
    }
    let newest = page.newest();
    if newest == 0 {
        let hint = if page.run.as_ref().is_some_and(Run::is_running) { "" } else { "; Space runs the lab" };
        return Err(format!("Nothing has been recorded yet that could be played{hint}."));
    }
    let from = page.scrub.filter(|step| *step < newest).unwrap_or(0);
    page.scrub = Some(from);
    (page.play.at, page.play.moved) = (Some(from as f64), now);
    Ok(())
}

/// Shows the step after the shown one, and stops playing.
pub fn show_next(page: &mut Page) -> Result<(), String> {
    page.play.stop();
    let newest = page.newest();
    match page.scrub.map(|step| step + 1) {
        Some(step) if step < newest => page.scrub = Some(step),
        Some(_) => follow(page),
        None => {
            let next = why_ended(page).unwrap_or("Run, at the bottom, trains on");
            return Err(format!("This is the newest recorded step: {next}."));
        }
    }
    Ok(())
}

/// Shows a step that the user chose; playing continues from there.
pub fn scrub_to(page: &mut Page, step: u64) {
    page.scrub = Some(step);
    page.play.at = page.play.at.map(|_| step as f64);
}

/// Returns to the newest step, and pauses the replay.
pub fn follow(page: &mut Page) {
    page.scrub = None;
    page.play.stop();
}

/// Moves the shown step on if it plays, unless a button `is_held`. Returns how long until it moves again, seconds.
pub fn advance_play(page: &mut Page, now: f64, is_held: bool) -> Option<f64> {
    let at = page.play.at?;
    let newest = page.newest();
    let a_second = newest as f64 / page.play.seconds.max(0.1);
    let passed = now - page.play.moved;
    page.play.moved = now;
    let moves = !is_held && passed < MAX_FRAME_GAP.max(2.0 / a_second);
    let mut at = if moves { at + passed * a_second } else { at };
    if at >= newest as f64 {
        if !page.play.loops {
            follow(page);
            return None;
        }
        at %= newest.max(1) as f64;
    }
    (page.play.at, page.scrub) = (Some(at), Some(at as u64));
    Some(((at.floor() + 1.0 - at) / a_second).max(MIN_FRAME_TIME))
}
