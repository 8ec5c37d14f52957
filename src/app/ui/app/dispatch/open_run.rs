//! Opens a run by its folder: its page opens once the run's lab is known.

use crate::{
    labs::TrainSettings,
    ui::{app::prelude::*, page::left_run, run::RunOrigin},
};

/// Begins to open a run folder; its page opens once the lab is known.
pub(in crate::ui) fn open_run(app: &mut App, folder: PathBuf, ctx: &Context) {
    let handle = app.host.open_run(folder.clone());
    app.opening.push(Run::new(handle, Mirror::default(), RunOrigin::Folder(folder), ctx));
    (app.overlay, app.resuming_run, app.consented_run) = (None, None, None);
}

/// Where the page shows the run of a folder of checkpoints, records the folder again with the settings of the page: a run of the
/// newest checkpoint alone would have no time axis. False for any other page.
pub(super) fn record_checkpoints_again(app: &mut App, ctx: &Context) -> bool {
    // settings that cannot make a run are refused where any other run would be
    let planned = app.page().filter(|page| (page.lab.plan)(&page.config).is_ok());
    let found = planned.and_then(|page| Some((checkpoint_folder(page)?, page.config.clone())));
    let Some((folder, config)) = found else { return false };
    // a key that is held must not record them many times
    if app.opening.iter().any(|run| run.replayed_folder() == Some(folder.as_path())) {
        return true;
    }
    let handle = app.host.record_checkpoints(folder.clone(), &config);
    let words = format!("The checkpoints of {} are recorded again with these settings.", folder.display());
    app.toasts.push(Level::Info, words);
    app.opening.push(Run::new(handle, Mirror::default(), RunOrigin::Folder(folder), ctx));
    true
}

/// The folder whose checkpoints the run on the page has recorded, as long as the settings name the newest of them and train
/// nothing. Such a run has steps that its updates did not make.
fn checkpoint_folder(page: &Page) -> Option<PathBuf> {
    let mirror = page.mirror().filter(|mirror| mirror.step > 0 && !mirror.is_example && !mirror.is_preparing)?;
    let recorded = &mirror.info.as_ref().filter(|info| info.total_steps == 0)?.config;
    let key = page.file_key(FileKind::Checkpoint)?;
    let newest = recorded.get(key).filter(|newest| page.config.get(key) == Some(*newest))?.to_string();
    let trains = page.config.value(TrainSettings::steps).is_ok_and(|steps| steps > 0);
    let folder = Path::new(&newest).parent().filter(|folder| !trains && folder.is_absolute())?;
    Some(folder.to_owned())
}

pub(in crate::ui) fn pump_opening(app: &mut App) {
    left_run::drop_superseded(app.pages.values_mut(), &mut app.opening);
    let mut waiting = vec![];
    for mut run in std::mem::take(&mut app.opening) {
        run.pump();
        let Some(info) = &run.mirror.info else {
            match run.mirror.state.clone() {
                Some(RunState::Failed { message }) => app.toasts.push(Level::Error, message),
                _ => waiting.push(run),
            }
            continue;
        };
        let Some(lab) = app.lists.lab(&info.lab) else {
            let words = format!("This run is of a lab \u{201c}{}\u{201d} that this build does not have.", info.lab);
            app.toasts.push(Level::Error, words);
            continue;
        };
        let is_it = |agreed: &mut PathBuf| run.replayed_folder() == Some(agreed.as_path());
        let is_agreed = app.consented_run.take_if(is_it).is_some();
        if !is_agreed && app.must_wait(lab.id, "open the replay") {
            app.waiting = Some(PendingAction::Replay(Box::new(run)));
        } else {
            show_replay(app, run);
        }
    }
    app.opening = waiting;
}

/// Shows a run that was opened from its folder, in its lab.
pub(in crate::ui) fn show_replay(app: &mut App, run: Run) {
    let id = run.mirror.info.as_ref().map(|i| i.lab.clone()).unwrap_or_default();
    let Some(lab) = app.lists.lab(&id) else { return };
    let page = app.pages.entry(lab.id).or_insert_with(|| Page::restore(lab, &LabSession::default()).0);
    page.replay(run);
    app.open = Some(lab.id);
    show_linked_step(app);
    resume_training(app);
}

/// Resumes training from the last checkpoint, if the shown run was opened for that.
fn resume_training(app: &mut App) {
    let Some(run) = app.open.and_then(|id| app.pages.get_mut(id)).and_then(|page| page.run.as_mut()) else { return };
    let is_sought = |going_on: &mut PathBuf| run.replayed_folder() == Some(going_on.as_path());
    let Some(folder) = app.resuming_run.take_if(is_sought) else { return };
    let outcome = run.train(Command::Run);
    app.past_runs.mark_resumed(&folder);
    app.warn_on_error(outcome);
}

/// Shows the step of the link that led to the shown run, if one did.
fn show_linked_step(app: &mut App) {
    let Some(page) = app.open.and_then(|id| app.pages.get_mut(id)) else { return };
    let folder = page.run.as_ref().and_then(|run| run.replayed_folder().map(ToOwned::to_owned));
    let Some((_, link)) = app.linked_run.take_if(|(sought, _)| Some(&*sought) == folder.as_ref()) else { return };
    link::select(page, &link);
    if let Some(step) = link.step {
        play::scrub_to(page, step);
        let words = format!("A run of the link's settings was here: it is shown at step {}.", grouped(step));
        app.toasts.push(Level::Info, words);
    }
}
