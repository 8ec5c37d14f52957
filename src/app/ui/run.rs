//! A run in the window: the handle to its worker, and the mirror of its events.

use std::{
    collections::{BTreeSet, VecDeque},
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use eframe::egui;

use super::{frames::EventPacing, mirror::Mirror};
use crate::{
    config::Value,
    telemetry::{Command, Event, RunHandle, RunState},
};

/// The pace at which events of runs wait for a frame of this context.
pub fn event_pacing(ctx: &egui::Context) -> Arc<EventPacing> {
    ctx.data_mut(|d| d.get_temp_mut_or_default::<Arc<EventPacing>>(egui::Id::unique("orrery news pace")).clone())
}

/// The reason why the recorded example of a lab cannot be asked what depends on weights.
pub const EXAMPLE_CANNOT_BE_ASKED: &str = "Recorded example: no weights. Space trains your own.";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOrigin {
    /// The run was started in this window.
    Own,
    /// The run is replayed from this folder.
    Folder(PathBuf),
    /// The recorded example of the lab, which has no weights and no folder.
    Example,
}

/// A run that is being watched: living, replayed from its folder, or the recorded example of its lab.
pub struct Run {
    /// Takes commands to its worker and events from it.
    pub(super) handle: RunHandle,
    pub mirror: Mirror,
    pub origin: RunOrigin,
    /// The memory that it holds, as text, where the host could estimate it as the run was begun.
    pub memory: Option<String>,
    /// The run was opened from its folder and continues training.
    is_going_on: bool,
    /// The keys of the live settings that this window has changed in it: what is recorded of them is in the mirror
    /// already.
    pub(super) changed_here: BTreeSet<String>,
    /// The number of recorded changes that were taken.
    taken_changes: usize,
    /// Recent (step, seconds of training), to measure the pace.
    recent: VecDeque<(u64, f64)>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct PumpResult {
    pub has_news: bool,
    pub started: bool,
    /// The description of the run is new or has changed.
    pub described: bool,
    pub stepped: bool,
}

impl Run {
    /// Watches `handle`. `mirror` may hold what an earlier run reported, in view until this run describes itself.
    pub fn new(handle: RunHandle, mut mirror: Mirror, origin: RunOrigin, ctx: &egui::Context) -> Self {
        let (ctx, pace) = (ctx.clone(), event_pacing(ctx));
        handle.inbox.set_wake(move || ctx.request_repaint_after(pace.wait(Instant::now())));
        mirror.state = None;
        mirror.is_preparing = true;
        mirror.is_example = origin == RunOrigin::Example;
        Self {
            handle,
            mirror,
            origin,
            memory: None,
            is_going_on: false,
            changed_here: BTreeSet::new(),
            taken_changes: 0,
            recent: VecDeque::new(),
        }
    }

    /// The mirror for a run that follows this one: its reports stay until the next run's; of an example what is pinned.
    pub fn into_next_mirror(mut self) -> Mirror {
        if !self.is_example() {
            return self.mirror;
        }
        let mut mirror = Mirror::default();
        mirror.follow_pinned(&mut self.mirror);
        mirror
    }

    /// Sends a command that trains. A replay is a run of this window from when it trains on.
    pub fn train(&mut self, command: Command) -> Result<(), String> {
        self.is_going_on = self.replayed_folder().is_some();
        self.handle.send(command).map_err(Into::into)
    }

    /// The recorded changes of live settings since the last call, but not of settings that this window has changed.
    pub(super) fn take_recorded_changes(&mut self) -> Vec<(String, Value)> {
        let recorded = self.mirror.changes_to_resume_with();
        let new = recorded.iter().skip(self.taken_changes).filter(|(_, key, _)| !self.changed_here.contains(key));
        let new = new.map(|(_, key, value)| (key.clone(), value.clone())).collect();
        self.taken_changes = recorded.len();
        new
    }

    /// Applies the events that have arrived. It never waits.
    pub fn pump(&mut self) -> PumpResult {
        let events = self.handle.inbox.take();
        let any = |is: fn(&Event) -> bool| events.iter().any(is);
        let news = PumpResult {
            has_news: !events.is_empty(),
            started: any(|e| matches!(e, Event::Started(_))),
            described: any(|e| matches!(e, Event::Started(_) | Event::Described(_))),
            stepped: any(|e| matches!(e, Event::Step(_))),
        };
        if any(|e| matches!(e, Event::Started(_) | Event::Resumed { .. })) {
            self.recent.clear();
        }
        if news.started {
            self.changed_here.clear();
            self.taken_changes = 0;
        }
        if self.is_going_on && any(|e| matches!(e, Event::State(RunState::Running))) {
            self.origin = RunOrigin::Own;
        }
        events.into_iter().for_each(|event| self.mirror.apply(event));
        if news.stepped && self.recent.back().is_none_or(|(s, _)| *s < self.mirror.step) {
            self.recent.push_back((self.mirror.step, self.mirror.wall_secs));
            if self.recent.len() > 24 {
                self.recent.pop_front();
            }
        }
        news
    }

    pub fn is_running(&self) -> bool {
        self.mirror.state == Some(RunState::Running)
    }

    pub fn is_own(&self) -> bool {
        self.origin == RunOrigin::Own
    }

    pub fn is_example(&self) -> bool {
        self.origin == RunOrigin::Example
    }

    /// True for a command that an example does not carry out: it only answers questions, those that need no weights.
    pub fn refuses(&self, command: &Command) -> bool {
        self.is_example() && !matches!(command, Command::Measure(_))
    }

    pub fn replayed_folder(&self) -> Option<&Path> {
        if let RunOrigin::Folder(folder) = &self.origin { Some(folder) } else { None }
    }

    /// True if the user has trained nothing yet, so that nothing is lost by starting again.
    pub fn is_untouched(&self) -> bool {
        // until the run reports, the mirror still has the previous run's steps
        let has_stepped = self.mirror.step > 0 && !self.mirror.is_preparing;
        self.is_example() || self.is_own() && !has_stepped && !self.is_running()
    }

    /// Milliseconds that recent steps took; `None` for an example, which another machine has recorded.
    pub fn step_ms(&self) -> Option<f64> {
        if self.is_example() {
            return None;
        }
        let (first, last) = (self.recent.front()?, self.recent.back()?);
        let steps = last.0.checked_sub(first.0).filter(|n| *n > 0)?;
        Some((last.1 - first.1) * 1e3 / steps as f64)
    }

    /// True if its worker does not train: it is gone, done, or reads what another program records. Only a reset trains.
    pub fn has_ended(&self) -> bool {
        !matches!(self.mirror.state, None | Some(RunState::Paused | RunState::Running))
    }

    /// True after the last step, when its schedule asks once more, which may take longer than many steps.
    fn has_made_all_steps(&self) -> bool {
        self.mirror.info.as_ref().is_some_and(|info| info.total_steps == self.mirror.step)
    }

    pub fn state_label(&self) -> &'static str {
        match (&self.mirror.state, &self.origin) {
            (Some(RunState::Failed { .. }), _) => "failed",
            (_, RunOrigin::Example) => "example",
            (Some(RunState::Followed(state)), _) => state.label(),
            (_, RunOrigin::Folder(_)) => "replay",
            (None, _) => "preparing",
            (Some(RunState::Running), _) if self.has_made_all_steps() => "measuring",
            (Some(RunState::Running), _) => "running",
            (Some(RunState::Paused), _) if self.mirror.step == 0 => "ready",
            (Some(RunState::Paused), _) => "paused",
            (Some(RunState::Finished), _) if self.mirror.info.as_ref().is_some_and(|i| i.total_steps == 0) => "looking",
            (Some(RunState::Finished), _) => "finished",
            (Some(RunState::Stopped), _) => "stopped",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::RunInfo;

    #[test]
    fn a_run_that_measures_after_its_last_step_says_so() {
        let handle = RunHandle { commands: crossbeam::channel::bounded(1).0, inbox: Arc::default() };
        let mut run = Run::new(handle, Mirror::default(), RunOrigin::Own, &egui::Context::default());
        run.mirror.apply(Event::Started(RunInfo { total_steps: 100, ..RunInfo::default() }.into()));
        run.mirror.apply(Event::State(RunState::Running));
        let mut after = |step| {
            run.mirror.report(0, step, &[]);
            run.state_label()
        };
        assert_eq!([99, 100].map(&mut after), ["running", "measuring"]);
        run.mirror.apply(Event::State(RunState::Finished));
        assert_eq!(run.state_label(), "finished");
    }
}
