//! The effect of actions on the table of runs, on comparisons, on sweeps and on the runs of claims.

use crate::ui::app::prelude::*;

pub(super) fn dispatch(app: &mut App, action: RunsAction) {
    match action {
        RunsAction::Compare(runs) => app.host.compare_runs(runs),
        RunsAction::Replay(runs) => app.host.replay_runs(runs),
        RunsAction::Note(run, note) => {
            app.runs.apply_note(&run, &note);
            app.host.write_note(run, note);
        }
        RunsAction::Discard(run) => app.host.discard_run(run),
        RunsAction::DismissInterruption(run) => app.session.dismiss_run(&run),
        RunsAction::TakeBack(place) => {
            app.trash.retain(|run| run.place != place);
            app.toasts.withdraw(&RunsAction::TakeBack(place.clone()).into());
            app.host.restore_run(place);
        }
        RunsAction::MakeSweep(file, is_begun) => app.host.make_sweep(*file, is_begun),
        RunsAction::ReadSweep(folder) => app.host.read_sweep(folder),
        RunsAction::CompleteSweep(folder) => app.host.complete_sweep(folder),
        RunsAction::StopSweep(folder) => {
            app.sweep.show_stopping(&folder);
            app.claims.show_stopping(&folder);
            app.host.stop_sweep(folder);
        }
        RunsAction::ListClaims => {
            let claims = &mut app.claims;
            if claims.begin_reading() {
                app.host.list_claims();
            } else if let Some(page) = app.open.and_then(|lab| app.pages.get_mut(lab)) {
                page.claims = claims.count_for_lab(page.lab.id);
            }
        }
        RunsAction::ReadClaim(claim) => app.host.read_claim(claim),
        RunsAction::RunClaim(claim) => app.host.run_claim(claim),
    }
}
