//! A strip above the tiles for important messages: a run that failed, settings that cannot make a run, an earlier
//! run that was cut off. It takes room instead of covering anything.

use super::icon::{Icon, icon_button};
use crate::ui::panels::prelude::*;

pub fn banner_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page, interrupted: Option<&PastRun>) {
    let failure = page.mirror().and_then(failure);
    let error = shell.theme.error;
    if let Some(words) = &page.problem {
        let strip = Strip { title: "No run can be made with these settings", words, colour: error, close_action: None };
        strip_ui(ui, shell, strip, |ui, shell| {
            if let Some(step) = undo::last_settings_step(page) {
                let undo = ui.button("Undo the change").on_hover_text(format!("Undo: {step}"));
                shell.on_click(undo, PageAction::UndoSettings);
            }
            shell.on_click(ui.button("Try again"), RunAction::Reset);
        });
    } else if let Some(Failure { title, words, message }) = failure {
        strip_ui(ui, shell, Strip { title: &title, words: &words, colour: error, close_action: None }, |ui, shell| {
            let reset = ui.button("Reset").on_hover_text("Begin again with the settings shown (R)");
            shell.on_click(reset, RunAction::Reset);
            shell.on_click(ui.button("Copy message"), MessageAction::CopyText(message));
        });
    } else if let Some(run) = interrupted.filter(|run| is_about(page, run)) {
        interrupted_ui(ui, shell, run);
    }
}

struct Failure {
    title: String,
    words: String,
    /// The cause alone.
    message: String,
}

/// The text for a run that failed; of one that never began nothing was recorded.
fn failure(mirror: &Mirror) -> Option<Failure> {
    let Some(RunState::Failed { message }) = &mirror.state else { return None };
    let message = message.clone();
    Some(match mirror.info {
        None => Failure { title: "No run could be made".to_owned(), words: message.clone(), message },
        Some(_) => Failure {
            title: format!("The run stopped at step {}", mirror.step),
            words: format!("{message}\nWhat was recorded is kept: the scrubber still shows every step."),
            message,
        },
    })
}

/// True if the page speaks of an interrupted run: not over that run itself, nor over one that has begun to train here.
fn is_about(page: &Page, interrupted: &PastRun) -> bool {
    let is_calm = page.run.as_ref().is_none_or(|run| run.is_untouched() || run.replayed_folder().is_some());
    is_calm && page.recorded_folder().as_ref() != Some(&interrupted.folder)
}

/// An earlier run was cut off: it can continue from its last checkpoint, or be looked at.
fn interrupted_ui(ui: &mut Ui, shell: &mut Shell<'_>, run: &PastRun) {
    let Some(end) = &run.interruption else { return };
    let name = run.folder.file_name().unwrap_or_default().to_string_lossy();
    let title = format!("The run {name} was interrupted at step {} ({})", grouped(run.steps), end.when);
    let words = match end.checkpoint {
        Some(step) if step < run.steps => format!(
            "It can continue from its checkpoint of step {}; later steps are computed again, with the same numbers.",
            grouped(step)
        ),
        Some(step) => format!("It can continue from its checkpoint of step {}.", grouped(step)),
        None => "It has no checkpoint, so it cannot continue here; `orrery resume` in a terminal begins it again. Its record \
                 can still be viewed."
            .to_owned(),
    };
    let closes = Some(RunsAction::DismissInterruption(run.folder.clone()));
    let strip = Strip { title: &title, words: &words, colour: shell.theme.accent, close_action: closes };
    strip_ui(ui, shell, strip, |ui, shell| {
        let look = match end.checkpoint {
            Some(step) => {
                let about = format!("Opens the run and trains on from step {}.", grouped(step));
                let go_on = ui.add(main_button(shell.theme, "Go on")).on_hover_text(about);
                shell.on_click(go_on, OpenAction::GoOn(run.folder.clone()));
                Button::new("Look")
            }
            None => main_button(shell.theme, "Look"),
        };
        let about = "Opens the run as a replay; nothing is trained, and its folder stays as it is.";
        shell.on_click(ui.add(look).on_hover_text(about), OpenAction::Run(run.folder.clone()));
    });
}

struct Strip<'a> {
    title: &'a str,
    words: &'a str,
    colour: Color32,
    /// The action of a close button; `None`: the strip has none.
    close_action: Option<RunsAction>,
}

fn strip_ui(ui: &mut Ui, shell: &mut Shell<'_>, strip: Strip<'_>, buttons: impl FnOnce(&mut Ui, &mut Shell<'_>)) {
    bordered(shell.theme.panel, strip.colour, Margin::symmetric(16, 8)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        let title = RichText::new(format!("! {}", strip.title)).strong().color(strip.colour);
        match strip.close_action {
            None => _ = ui.label(title),
            Some(action) => {
                ui.horizontal_top(|ui| {
                    ui.with_layout(Layout::right_to_left(Align::Min), |ui| {
                        let close = icon_button(ui, shell.theme, Icon::Close, "Close this message");
                        let about = "Dismisses this message; the run stays in the list of runs.";
                        shell.on_click(close.on_hover_text(about), action);
                        ui.with_layout(Layout::top_down(Align::Min), |ui| ui.add(Label::new(title).wrap()));
                    });
                });
            }
        }
        ui.style_mut().interaction.selectable_labels = true;
        ui.label(strip.words);
        ui.horizontal(|ui| buttons(ui, shell));
    });
    ui.add_space(8.0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{Event, RunInfo};

    #[test]
    fn a_run_that_never_began_has_recorded_nothing() {
        let failed = || Event::State(RunState::Failed { message: "not a file of weights".into() });
        let mut mirror = Mirror::default();
        mirror.apply(failed());
        let unmade = failure(&mirror).unwrap();
        assert_eq!((unmade.title.as_str(), unmade.words.as_str()), ("No run could be made", "not a file of weights"));
        mirror.apply(Event::Started(Arc::new(RunInfo::default())));
        mirror.apply(failed());
        let stopped = failure(&mirror).unwrap();
        assert_eq!(stopped.title, "The run stopped at step 0");
        assert!(stopped.words.starts_with("not a file of weights\nWhat was recorded is kept"));
    }
}
