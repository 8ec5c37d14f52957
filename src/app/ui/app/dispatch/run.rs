//! The effect of actions on the run.

use super::{open_run::record_checkpoints_again, time};
use crate::ui::{app::prelude::*, page::training};

pub(super) fn dispatch(app: &mut App, action: RunAction, ctx: &Context) {
    let Some(page) = app.page() else { return };
    match action {
        RunAction::Space if play::space_plays(page) => return time::dispatch(app, TimeAction::Play, ctx),
        RunAction::RunPause if play::run_plays(page) => return time::dispatch(app, TimeAction::Play, ctx),
        RunAction::RightArrow if play::space_plays(page) => return time::dispatch(app, TimeAction::Next, ctx),
        // settings of which no run can be made end none
        RunAction::LetterR if (page.lab.plan)(&page.config).is_ok() => {
            let lab = page.lab.id;
            if app.must_wait(lab, "begin again with the settings shown") {
                app.waiting = Some(PendingAction::Action(RunAction::Reset.into()));
                return;
            }
        }
        RunAction::Space
        | RunAction::RunPause
        | RunAction::TrainOn
        | RunAction::StepOnce
        | RunAction::RightArrow
        | RunAction::RunTo(_)
        | RunAction::Reset
        | RunAction::LetterR
        | RunAction::Pace(_)
        | RunAction::Checkpoint
        | RunAction::Ask(_)
        | RunAction::Cancel(_) => {}
    }
    if matches!(action, RunAction::Reset | RunAction::LetterR) && record_checkpoints_again(app, ctx) {
        return;
    }
    let level = if action.is_question() { Level::Info } else { Level::Warning };
    if action.trains() {
        app.milestones.note_run_request();
    }
    let Some((page, host)) = app.page_and_host() else { return };
    let outcome = match action {
        RunAction::Space | RunAction::RunPause => training::run_or_pause(page, host, ctx),
        RunAction::TrainOn => training::train_on(page, host, ctx),
        RunAction::StepOnce | RunAction::RightArrow => training::train(page, Command::StepOnce, host, ctx),
        RunAction::RunTo(step) => training::train(page, Command::RunTo(step), host, ctx),
        RunAction::Reset | RunAction::LetterR => {
            page.launch(host, ctx);
            Ok(())
        }
        RunAction::Pace(pace) => {
            page.pace = pace;
            if page.run.as_ref().is_some_and(Run::is_example) { Ok(()) } else { page.send(Command::Pace(pace)) }
        }
        RunAction::Checkpoint => training::checkpoint(page),
        RunAction::Ask(question) => page.send(Command::Measure(question)),
        RunAction::Cancel(request) => page.send(Command::Cancel(request)),
    };
    if let Err(words) = outcome {
        app.toasts.push(level, words);
    }
}
