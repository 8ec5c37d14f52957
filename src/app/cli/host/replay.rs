//! Replays a recorded run or folder of checkpoints into a window, with models.

use super::follow::{self, FollowOptions, FollowOutcome};
use crate::{
    cli::{
        checkpoint_names, checkpoint_series,
        continuation::{self, Continuation},
        other_logs,
        prelude::*,
        remote::FollowedRun,
        settings,
    },
    telemetry::{Command, Inbox},
    trainer::{DriveOptions, Process},
};
use crossbeam::channel::{Receiver, TryRecvError};

/// The end of messages about a run whose models cannot be restored.
const ONLY_NUMBERS: &str = "its numbers can be looked at, but its models cannot be asked";

/// The message about a run that has no checkpoint.
fn without_checkpoint(folder: &Path) -> String {
    let kept = store::snapshots::list(folder);
    let kept = kept.last_key_value().map_or(String::new(), |(step, _)| {
        format!(", and `orrery ask` with `--step {step}` asks the weights that it kept")
    });
    format!("this run has no checkpoint: {ONLY_NUMBERS} here. In a terminal `orrery resume` begins it again{kept}")
}

/// Delivers recorded events to a window; none is replaced by a newer one.
struct Recorded(Arc<Inbox>);

impl Sink for Recorded {
    fn event(&mut self, event: &Event) -> Result<(), String> {
        self.0.deliver_recorded(vec![event.clone()]);
        Ok(())
    }
}

fn ends(process: &Process) -> bool {
    matches!(process.shutdown.try_recv(), Err(TryRecvError::Disconnected))
}

/// A record to be replayed, and the facts that the window knows of it.
pub(super) struct ReplayOrigin<'a> {
    /// A run folder, a folder of checkpoints, or a log of another tool.
    pub folder: &'a Path,
    /// This run if the command line follows it.
    pub followed: Option<&'a FollowedRun>,
    /// The settings that checkpoints are recorded with, where they are not those of their lab.
    pub settings: Option<&'a Config>,
}

/// Records a folder of checkpoints as a run, and tells the window of each as it is measured; returns the run's folder.
fn record_series(
    origin: &ReplayOrigin<'_>,
    out: &Path,
    inbox: &Arc<Inbox>,
    process: Option<&Process>,
) -> Result<PathBuf, String> {
    let folder = origin.folder;
    let configured = match origin.settings {
        Some(chosen) => labs::find_in(labs::LABS, &chosen.lab)
            .map_err(Failure::from)
            .and_then(|lab| Ok((lab, settings::with_absolute_paths(lab, chosen, None)?))),
        None => checkpoint_series::lab_and_config(folder),
    };
    let (lab, config) = configured.map_err(|e| e.message)?;
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(Recorded(Arc::clone(inbox)))];
    let is_wanted = || !process.is_some_and(ends);
    checkpoint_series::record(folder, lab, &config, out, sinks, &is_wanted).map_err(|e| e.message)
}

/// Tells the recorded past, and what is still being written; then stands the models up again from the last checkpoint,
/// so that they can be questioned and, if the run was not finished, continue. Runs that are made from checkpoints or
/// from the log of another tool go to `out`.
pub(super) fn replay(
    origin: &ReplayOrigin<'_>,
    out: &Path,
    inbox: &Arc<Inbox>,
    commands: &Receiver<Command>,
    process: Option<Process>,
) -> Result<(), String> {
    let ReplayOrigin { folder, followed, .. } = *origin;
    let is_checkpoint_folder = checkpoint_names::is_checkpoint_folder(folder);
    let notice = |level, text: String| inbox.deliver(Event::Notice { level, text });
    let recorded = match is_checkpoint_folder {
        true => Some(record_series(origin, out, inbox, process.as_ref())?),
        false => other_logs::import_log(folder, out).map_err(|e| e.message)?.map(|imported| {
            imported.recognised.into_iter().for_each(|words| notice(Level::Info, words));
            imported.folder
        }),
    };
    let folder = recorded.as_deref().unwrap_or(folder);
    if !is_checkpoint_folder {
        let is_ending = || process.as_ref().is_some_and(ends);
        let options = FollowOptions { commands, ends: &is_ending, followed };
        if let FollowOutcome::Left = follow::follow_run(folder, inbox, &options)? {
            return Ok(());
        }
    }
    let (level, words) = match continuation::decide(folder, None) {
        // a model without training steps needs no checkpoint: its weights are those of its file
        Ok(Continuation { plan, from, notices, .. }) if from.is_some() || plan.steps == 0 => {
            notices.into_iter().for_each(|text| notice(Level::Warning, text));
            let replayed = Some(folder.to_owned());
            let options = DriveOptions { stay: true, from, replayed, process, ..DriveOptions::default() };
            trainer::drive(plan, options, commands, vec![Box::new(Arc::clone(inbox))]);
            return Ok(());
        }
        Ok(_) => (Level::Info, without_checkpoint(folder)),
        Err(refusal) => (Level::Warning, format!("{}: {ONLY_NUMBERS}", refusal.message)),
    };
    notice(level, words);
    inbox.deliver(Event::State(RunState::Stopped));
    Ok(())
}
