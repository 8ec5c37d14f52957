//! One run of a sweep: made, resumed, or left as it is, depending on its folder.

use super::{
    super::headless::{self, ResumeArgs, RunOptions},
    folder::{SweepFolder, SweepRuns, task_name},
    lock::{self, LockOutcome},
};
use crate::cli::prelude::*;

/// Makes the run of this number, unless it has ended or another process is making it.
pub fn run(sweep: &SweepFolder, number: usize) -> Result<(), Failure> {
    let tasks = sweep.sweep.tasks();
    let count = tasks.len();
    let Some(task) = tasks.get(number).copied() else {
        return Err(usage!("there is no run {number}: the sweep has 0 to {}", count.saturating_sub(1)));
    };
    // taken before the runs are listed: what another process makes is there, or its lock is held
    let _lock = match lock::lock_task(sweep, task)? {
        LockOutcome::Held(lock) => lock,
        LockOutcome::Taken(who) => {
            notice!("{}: is being made by {who}", task_name(task));
            return Ok(());
        }
    };
    let state = sweep.states()?.swap_remove(number);
    let (name, config) = (task_name(state.task), sweep.sweep.config(state.task));
    let words = sweep.sweep.values_label(&config);
    match state.row {
        Some(row) if row.state == RowState::Finished || row.state.is_in_use() => {
            notice!("{name} ({words}): {}", row.state_label());
            return Ok(());
        }
        Some(row) => {
            notice!("{name} ({words}): {}; going on", row.state_label());
            match headless::resume(&ResumeArgs::without_figures(row.path.clone())) {
                // a run that cannot be resumed starts over; one that was interrupted does not
                Err(failure) if failure.code == 2 => notice!("{}: {}; making it again", row.folder, failure.message),
                ended => return ended,
            }
        }
        None => {
            SweepRuns::find(&sweep.path)?.check_names()?;
            notice!("{name}: {words}");
        }
    }
    headless::train(sweep.sweep.lab, &config, &sweep.runs(), RunOptions::without_figures()).map(|_| ())
}

/// The shell command that makes the run of this number.
pub fn command_line(sweep: &SweepFolder, number: usize) -> Result<String, Failure> {
    let program = std::env::current_exe().map_err(Failure::failed)?;
    Ok(format!("{} sweep {} --task {number}", quoted(&program), quoted(&sweep.path)))
}
