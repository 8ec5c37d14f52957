//! The training of a page's run: begun, paused and continued; and the settings that a run brings along.

use super::{controls::by_label, prelude::*, undo::note_everything};
use crate::{
    labs::TrainSettings,
    ui::{session::adopt_recorded, widgets::number::grouped},
};

/// Changes made closer together than this are applied at once, seconds.
const SETTLE_SECONDS: f64 = 0.3;
/// The number of updates that is proposed for training a model that was opened without training.
const DEFAULT_UPDATES: i64 = 200;

/// The memory of a run that may begin.
pub(super) struct MemoryConsent {
    /// Its size as text, where the host can estimate it.
    pub size: Option<String>,
    /// The run was refused for its memory before, and is asked for again.
    pub insists: bool,
}

/// Decides whether a run of the settings may have the memory that it takes; the first time that this is refused `None`,
/// with the reason as the problem.
pub(super) fn memory_consent(page: &mut Page, host: &dyn Host) -> Option<MemoryConsent> {
    let (size, refusal) = host.memory(&page.config).map_or((None, None), |need| (Some(need.size), need.refusal));
    let Some(why) = refusal else { return Some(MemoryConsent { size, insists: false }) };
    if page.refused_memory.as_ref() == Some(&page.config) {
        return Some(MemoryConsent { size, insists: true });
    }
    page.refused_memory = Some(page.config.clone());
    page.problem = Some(format!("{why}. Ask again to start it anyway; the system may end it."));
    None
}

pub(super) fn show_config_error(page: &mut Page, e: &ConfigError) {
    let words = by_label(page, &e.to_string());
    if let Some(key) = e.key() {
        page.refused.insert(key.to_owned(), words.clone());
    }
    page.problem = Some(words);
}

/// The message if the user wants to train or save a run that another process trains.
const TRAINED_BY_ANOTHER: &str =
    "another process trains this run: Ask the run, at the bottom, shows what it may be asked";

/// The run of the page, unless it is the example of the lab.
fn own_or_replayed(page: &Page) -> Option<&Run> {
    page.run.as_ref().filter(|run| !run.is_example())
}

/// True if the run button begins a run other than the current one.
fn begins_run(page: &Page) -> bool {
    let is_changed = || !page.pending().is_empty() && page.run.as_ref().is_some_and(Run::is_untouched);
    own_or_replayed(page).is_none() || is_changed()
}

/// The reason why nothing runs on the page of a graph file.
pub const NOTHING_TRAINS: &str = "this is a graph from a file: nothing trains here";

/// The reason why the current run makes no further step; `None` if it can make one, or if there is no run.
pub fn why_ended(page: &Page) -> Option<&'static str> {
    let run = own_or_replayed(page).filter(|run| run.has_ended())?;
    Some(match (&run.mirror.state, &run.origin) {
        _ if !page.lab.has_runs() => NOTHING_TRAINS,
        (_, RunOrigin::Folder(_)) if !page.lab.makes_runs() => {
            "another program trains this run: Space plays what it has recorded so far"
        }
        _ if run.mirror.is_followed() => TRAINED_BY_ANOTHER,
        (_, RunOrigin::Folder(_)) => "this is a replay: Space plays it, R begins a new run with these settings",
        (Some(RunState::Failed { .. }), _) => "this run failed, as the message above says; R tries the settings again",
        (Some(RunState::Finished), _) if is_inspection_only(page) => {
            "this model is not being trained; Train on, beside the step, starts to train it"
        }
        (Some(RunState::Finished), _) => "all steps are done; R begins again, or raise Steps and reset",
        _ => "this run has ended; R begins a new one",
    })
}

/// The reason why the Run button is disabled; `None` if it is enabled.
pub fn why_idle(page: &Page) -> Option<&'static str> {
    why_ended(page).filter(|_| !begins_run(page))
}

/// Runs or pauses; makes the run first if there is none.
pub fn run_or_pause(page: &mut Page, host: &mut dyn Host, ctx: &Context) -> Result<(), String> {
    if begins_run(page) {
        page.launch(host, ctx);
    }
    let Some(run) = own_or_replayed(page) else {
        return Err(page.problem.clone().unwrap_or_else(|| "no run could be made".into()));
    };
    if let Some(why) = why_ended(page) {
        return Err(why.into());
    }
    if run.is_running() {
        return run.handle.send(Command::Pause).map_err(Into::into);
    }
    page.run.as_mut().map_or(Ok(()), |run| run.train(Command::Run))
}

/// True if the run makes no updates, because its models were only opened for inspection.
pub fn is_inspection_only(page: &Page) -> bool {
    page.run.as_ref().filter(|r| r.is_own()).and_then(|r| r.mirror.info.as_ref()).is_some_and(|i| i.total_steps == 0)
}

/// Begins to train a model that was only opened; the view Loss shows the losses before and after.
pub fn train_on(page: &mut Page, host: &mut dyn Host, ctx: &Context) -> Result<(), String> {
    if is_inspection_only(page) {
        page.change(TrainSettings::steps.name, Value::Int(DEFAULT_UPDATES), ctx.input(|i| i.time));
        page.launch(host, ctx);
    }
    run_or_pause(page, host, ctx)
}

/// Sends the run a command to train for some steps and pause; makes the run first if there is none.
pub fn train(page: &mut Page, command: Command, host: &mut dyn Host, ctx: &Context) -> Result<(), String> {
    if own_or_replayed(page).is_none() {
        page.launch(host, ctx);
    }
    match page.run.as_mut().filter(|run| !run.is_example()) {
        Some(run) if run.mirror.is_followed() => Err(TRAINED_BY_ANOTHER.into()),
        Some(run) if run.has_ended() => Err("this run has ended; R begins a new one".into()),
        Some(run) => run.train(command),
        None => Err(page.problem.clone().unwrap_or_else(|| "no run could be made".into())),
    }
}

/// Writes a checkpoint of the current step, or says why there is none to write.
pub fn checkpoint(page: &Page) -> Result<(), String> {
    match &page.run {
        None => Err("there is no run yet that could be saved; Space begins one".into()),
        Some(run) => why_unsaved(run).map_or_else(|| page.send(Command::Checkpoint), Err),
    }
}

/// The reason why no checkpoint of the run would be written; `None` if one would be, and for an example, which takes no
/// command.
fn why_unsaved(run: &Run) -> Option<String> {
    let mirror = &run.mirror;
    match &run.origin {
        RunOrigin::Example => None,
        RunOrigin::Folder(_) if mirror.is_followed() => Some(TRAINED_BY_ANOTHER.into()),
        RunOrigin::Folder(_) => Some("this is a replay: nothing was trained here, so its record stays as it is".into()),
        RunOrigin::Own if run.is_untouched() => Some("no step has been made yet, so there is nothing to save".into()),
        RunOrigin::Own if !run.is_running() && mirror.is_checkpointed() => {
            Some(format!("the checkpoint of step {} is written already", grouped(mirror.step)))
        }
        RunOrigin::Own => None,
    }
}

/// Applies settled changes to a run that has not begun. Returns how long to wait if changes are still settling.
pub fn settle(page: &mut Page, host: &mut dyn Host, ctx: &Context, now: f64) -> Option<f64> {
    let since = page.dirty_since?;
    let untouched = match &page.run {
        // an example stays as it is, whatever is set, until a run of the settings is begun over it
        Some(run) => run.is_own() && run.is_untouched(),
        None => page.lab.opens_with_run,
    };
    if !untouched || page.pending().is_empty() && page.problem.is_none() && page.run.is_some() {
        page.dirty_since = None;
        return None;
    }
    let held = ctx.input(|i| i.pointer.any_down());
    let wait = SETTLE_SECONDS - (now - since);
    if wait > 0.0 || held {
        return Some(wait.max(0.05));
    }
    page.launch(host, ctx);
    None
}

/// Takes over settings that a run found out as it began, such as a trained model's tokens, if the user left them alone.
pub(super) fn adopt_discovered_settings(page: &mut Page) {
    let Some(run) = page.run.as_ref().filter(|run| run.is_own()) else { return };
    let (Some(info), Some(launched)) = (&run.mirror.info, &mut page.launched) else { return };
    for key in info.config.changed_keys(launched) {
        let Some(found) = info.config.get(&key) else { continue };
        if page.config.get(&key) == launched.get(&key) {
            page.config.replace(&key, found.clone());
        }
        launched.replace(&key, found.clone());
    }
}

/// Gives up the live changes that were sent to a run after its last step: it has not taken them, so they wait for the
/// next run.
pub(super) fn give_up_late_changes(page: &mut Page) {
    let (Some(run), Some(launched)) = (&mut page.run, &mut page.launched) else { return };
    let Some(info) = run.mirror.info.as_ref().filter(|_| run.mirror.state == Some(RunState::Finished)) else { return };
    if run.is_untouched() {
        return;
    }
    for key in std::mem::take(&mut run.changed_here) {
        if let Some(value) = run.mirror.set_value(&key).or_else(|| info.config.get(&key)) {
            launched.replace(&key, value.clone());
        }
    }
}

/// Whose settings the controls show once a recorded run is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingsOwner {
    Run,
    /// The controls stay as they are: the run comes back by an undone step, which has its own settings.
    Page,
}

/// The settings of a replayed run, so that R makes one like it.
pub(super) fn take_recorded(page: &mut Page, recorded: &Config, owner: SettingsOwner) {
    let (config, complaints) = match page.lab.makes_runs() {
        true => adopt_recorded(page.lab, &page.knobs, recorded),
        false => (recorded.clone(), vec![]),
    };
    if owner == SettingsOwner::Page {
        page.launched = Some(config);
        return;
    }
    let before = std::mem::replace(&mut page.config, config.clone());
    if before != config && page.lab.makes_runs() {
        note_everything(page, before, None, "settings of the replayed run".into());
    }
    page.launched = Some(config);
    page.preset = preset_of(page.lab, &page.knobs, &page.config);
    page.complaints.extend(complaints);
}

/// Takes over the live settings that were changed while a recorded run trained, unless the user moved a control.
pub(super) fn take_changes(page: &mut Page, owner: SettingsOwner) {
    let (Some(run), Some(launched)) = (&mut page.run, &mut page.launched) else { return };
    for (key, value) in run.take_recorded_changes() {
        let is_of_run = owner == SettingsOwner::Run && page.config.get(&key) == launched.get(&key);
        // a value that this version does not take keeps the run from continuing
        let is_taken = launched.set(&page.knobs, &key, value.clone()).is_ok();
        if is_taken && is_of_run {
            let _ = page.config.set(&page.knobs, &key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use crossbeam::channel::bounded;

    use super::*;
    use crate::{
        labs,
        telemetry::{Event, FollowedState, RunHandle, RunInfo, StepStats},
    };

    /// A page whose run has reported this, and whether a command for a checkpoint is sent; otherwise the reason.
    fn saved(origin: RunOrigin, events: Vec<Event>) -> Result<bool, String> {
        let lab = labs::find("fast_slow").unwrap();
        let (commands, sent) = bounded(1);
        let mut run =
            Run::new(RunHandle { commands, inbox: Default::default() }, Mirror::default(), origin, &Context::default());
        run.mirror.apply(Event::Started(RunInfo::default().into()));
        events.into_iter().for_each(|event| run.mirror.apply(event));
        let mut page = Page::new(lab, lab.config(None).unwrap());
        page.run = Some(run);
        checkpoint(&page).map(|()| sent.try_recv() == Ok(Command::Checkpoint))
    }

    #[test]
    fn a_checkpoint_that_would_not_be_written_is_refused_with_the_reason() {
        let lab = labs::find("fast_slow").unwrap();
        assert!(checkpoint(&Page::new(lab, lab.config(None).unwrap())).unwrap_err().contains("no run yet"));
        let step = || Event::Step(StepStats { step: 9, variant: 0, scalars: vec![], wall_secs: 0.0 });
        let state = |state: &RunState| Event::State(state.clone());
        let replay = || RunOrigin::Folder("runs/1".into());
        for ended in [RunState::Finished, RunState::Paused, RunState::Stopped] {
            let refusal = saved(replay(), vec![step(), state(&ended)]).unwrap_err();
            assert!(refusal.contains("this is a replay"), "{refusal}");
        }
        let followed = RunState::Followed(FollowedState::Running);
        assert_eq!(saved(replay(), vec![step(), state(&followed)]), Err(TRAINED_BY_ANOTHER.into()));
        assert!(
            saved(RunOrigin::Own, vec![state(&RunState::Paused)]).unwrap_err().contains("no step has been made yet")
        );
        assert_eq!(saved(RunOrigin::Own, vec![step(), state(&RunState::Paused)]), Ok(true));
        let written = vec![step(), Event::Checkpoint { step: 9 }, state(&RunState::Finished)];
        assert!(saved(RunOrigin::Own, written).unwrap_err().contains("of step 9 is written already"));
        let changed = Event::Changed { step: 9, key: "train.lr".into(), value: Value::Float(0.02) };
        let events = vec![step(), Event::Checkpoint { step: 9 }, changed, state(&RunState::Paused)];
        assert_eq!(saved(RunOrigin::Own, events), Ok(true), "the checkpoint holds the settings before the change");
    }
}
