//! The effect of actions on the run and on the shown step.

use super::open_run::record_checkpoints_again;
use crate::ui::{app::prelude::*, page::training};

pub(super) fn dispatch(app: &mut App, action: RunAction, ctx: &Context) {
    let Some(page) = app.page() else { return };
    let may_play = matches!(action, RunAction::Space | RunAction::RightArrow) && play::space_plays(page);
    if may_play || action == RunAction::RunPause && play::run_plays(page) {
        let shown = if action == RunAction::RightArrow { TimeAction::Next } else { TimeAction::Play };
        return dispatch_time(app, shown, ctx);
    }
    // settings that cannot make a run do not end one
    if action == RunAction::LetterR && (page.lab.plan)(&page.config).is_ok() {
        let lab = page.lab.id;
        if app.must_wait(lab, "begin again with the settings shown") {
            app.waiting = Some(PendingAction::Action(RunAction::Reset.into()));
            return;
        }
    }
    if matches!(action, RunAction::Reset | RunAction::LetterR) && record_checkpoints_again(app, ctx) {
        return;
    }
    let level = if action.is_question() { Level::Info } else { Level::Warning };
    if action.may_train() {
        app.milestones.note_run_request();
    }
    let Some((page, host)) = app.page_and_host() else { return };
    let outcome = match action {
        RunAction::Space | RunAction::RunPause => training::run_or_pause(page, host, ctx),
        RunAction::TrainOn => training::train_on(page, host, ctx),
        RunAction::StepOnce | RunAction::RightArrow => training::train(page, Command::StepOnce, host, ctx),
        RunAction::RunTo(step) => training::train(page, Command::RunTo(step), host, ctx),
        RunAction::Reset | RunAction::LetterR if !page.lab.has_runs() => Err(training::NOTHING_TRAINS.to_owned()),
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

pub(super) fn dispatch_time(app: &mut App, action: TimeAction, ctx: &Context) {
    let Some(page) = app.page_mut() else { return };
    match action {
        TimeAction::Play => {
            let outcome = play::play_or_pause(page, ctx.input(|i| i.time));
            app.warn_on_error(outcome);
        }
        TimeAction::Next => {
            let outcome = play::show_next(page);
            app.warn_on_error(outcome);
        }
        TimeAction::PlaySpeed(seconds) => page.play.seconds = seconds,
        TimeAction::PlayLoops(loops) => page.play.loops = loops,
        TimeAction::Follow => play::follow(page),
        TimeAction::Scrub(step) => play::scrub_to(page, step),
    }
}
