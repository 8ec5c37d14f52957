//! The runs that a page showed before: a step that put another in a run's place is undone by opening its record again.

use std::path::PathBuf;

use super::{
    Page,
    undo::{ShownRun, Snapshot},
};
use crate::ui::run::Run;

impl Page {
    /// The run on the page, as a step back finds it again; `None` where nothing of it is recorded.
    fn shown_run(&self) -> Option<ShownRun> {
        if self.run.as_ref().is_some_and(Run::is_example) {
            return Some(ShownRun::Example);
        }
        self.recorded_folder().map(ShownRun::Recorded)
    }

    /// The folder of the run on the page; `None` where nothing of it is recorded.
    pub fn recorded_folder(&self) -> Option<PathBuf> {
        let run = self.run.as_ref()?;
        run.replayed_folder().map(ToOwned::to_owned).or_else(|| self.folder().filter(|_| !run.is_untouched()))
    }

    /// The run that an undone step brings back, once.
    pub fn take_wanted_run(&mut self) -> Option<ShownRun> {
        let wanted = self.wanted.take()?;
        self.reopened = match &wanted {
            ShownRun::Recorded(folder) => Some(folder.clone()),
            ShownRun::Example | ShownRun::New => None,
        };
        Some(wanted)
    }

    /// True if the run is opened because an undone step brings it back.
    pub(super) fn is_reopened(&self, run: &Run) -> bool {
        self.reopened.is_some() && self.reopened.as_deref() == run.replayed_folder()
    }

    /// Notes that the run on the page gives way to another. Where every setting was replaced in the same moment, as by
    /// a preset, that is one step with it.
    pub(super) fn note_left_run(&mut self) {
        let Some(shown) = self.shown_run() else { return };
        let now = self.seen.now;
        let (what, name) = match &shown {
            ShownRun::Recorded(folder) => {
                let is_replay = self.run.as_ref().is_some_and(|run| run.replayed_folder().is_some());
                let run = folder.file_name().unwrap_or_default().to_string_lossy();
                let name = format!("left the {} {run}", if is_replay { "replay of" } else { "run" });
                (format!("run {}", folder.display()), name)
            }
            ShownRun::Example | ShownRun::New => ("example".to_owned(), "left the example".to_owned()),
        };
        let is_joined = self.history.last_noted_at(now).is_some_and(|step| step.join_run(&shown));
        if !is_joined {
            self.history.note(Snapshot::from_run(shown), &what, name, now);
        }
    }

    /// The present run gives way to that of an undone step; the present one, for the way back.
    pub(super) fn swap_run(&mut self, wanted: ShownRun) -> ShownRun {
        let shown = self.shown_run().unwrap_or(ShownRun::New);
        self.wanted = Some(wanted);
        shown
    }
}
