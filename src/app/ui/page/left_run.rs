//! The runs that a page showed before: a step that put another in a run's place is undone by opening its record again.

use super::{
    prelude::*,
    undo::{ShownRun, Snapshot, shown_run},
};

/// The run that an undone step brings back, once.
pub fn take_wanted_run(page: &mut Page) -> Option<ShownRun> {
    let wanted = page.wanted.take()?;
    // it has the settings of the page
    page.dirty_since = None;
    page.reopened = match &wanted {
        ShownRun::Recorded(folder) => Some(folder.clone()),
        ShownRun::Example | ShownRun::New => None,
    };
    Some(wanted)
}

/// Takes the run that an undone step brings back from those still being opened: the next step finds it as if it were on
/// the page.
pub fn take_awaited(page: &mut Page, opening: &mut Vec<Run>) -> Option<Run> {
    let run = opening.remove(opening.iter().position(|run| is_reopened(page, run))?);
    page.wanted = page.reopened.clone().map(ShownRun::Recorded);
    Some(run)
}

/// Drops what is still being opened for undone steps of pages on which another run has begun since.
pub fn drop_superseded<'a>(pages: impl Iterator<Item = &'a mut Page>, opening: &mut Vec<Run>) {
    for folder in pages.filter_map(|page| page.superseded.take()) {
        opening.retain(|run| run.replayed_folder() != Some(folder.as_path()));
    }
}

/// True if the run is opened because an undone step brings it back.
pub(super) fn is_reopened(page: &Page, run: &Run) -> bool {
    page.reopened.is_some() && page.reopened.as_deref() == run.replayed_folder()
}

/// Notes that the run on the page gives way to another. Where every setting was replaced in the same moment, as by
/// a preset, that is one step with it. A run that nothing is recorded of is part of such a step alone: it comes back as a
/// new one of the settings that were replaced.
pub(super) fn note_left_run(page: &mut Page) {
    let now = page.seen.now;
    let Some(shown) = shown_run(page) else {
        if page.run.as_ref().is_some_and(Run::is_untouched)
            && let Some(step) = page.history.last_noted_at(now)
        {
            step.join_run(&ShownRun::New);
        }
        return;
    };
    let (what, name) = match &shown {
        ShownRun::Recorded(folder) => {
            let is_replay = page.run.as_ref().is_some_and(|run| run.replayed_folder().is_some());
            let run = folder.file_name().unwrap_or_default().to_string_lossy();
            let name = format!("left the {} {run}", if is_replay { "replay of" } else { "run" });
            (format!("run {}", folder.display()), name)
        }
        ShownRun::Example | ShownRun::New => ("example".to_owned(), "left the example".to_owned()),
    };
    let is_joined = page.history.last_noted_at(now).is_some_and(|step| step.join_run(&shown));
    if !is_joined {
        page.history.note(Snapshot::from_run(shown, page.scrub), &what, name, now);
    }
}
