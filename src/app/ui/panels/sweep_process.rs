//! The process that makes the runs of a sweep, as the pages of sweeps and of claims show it: what stops it, and how it ended.

use crate::ui::panels::prelude::*;

/// The button that stops a process, with this name for screen readers; from the click on it says that the process is stopping.
pub(super) fn stop_ui(ui: &mut Ui, shell: &mut Shell<'_>, process: &SweepProcess, folder: &Path, name: &str) {
    if *process == SweepProcess::Stopping {
        note_ui(ui, shell.theme, "stopping\u{2026}")
            .on_hover_text("Runs that are being made write a checkpoint first.");
        return;
    }
    let stop = ui.button("Stop");
    stop.widget_info(|| WidgetInfo::labeled(Role::Button, stop.enabled(), name));
    let about = "Runs that are being made stop with a checkpoint, and go on from there later.";
    shell.on_click(stop.on_hover_text(about), RunsAction::StopSweep(folder.to_owned()));
}

/// Says how a process ended: quietly if it was asked to, as an error if it failed. `others` names the button that makes the
/// runs that are not among those made.
pub(super) fn end_ui(ui: &mut Ui, theme: &Theme, process: &SweepProcess, others: &str, made: usize, all: usize) {
    match process {
        SweepProcess::Stopped => {
            let rest = if made < all { format!("; {others} makes the others") } else { String::new() };
            wrapped_ui(ui, format!("Stopped. {made} of {all} runs are made{rest}."), theme.secondary);
        }
        SweepProcess::Failed(words) => {
            wrapped_ui(ui, format!("The process that made the runs ended: {words}"), theme.error);
        }
        SweepProcess::Absent | SweepProcess::Running | SweepProcess::Stopping => {}
    }
}
