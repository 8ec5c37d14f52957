//! A strip over the tiles for what the user must know: a run that failed, settings of which no run can be made, and that
//! what is shown is an example. It takes room; it covers nothing.

use eframe::egui::{Frame, Margin, RichText, Stroke, Ui};

use super::Shell;
use crate::{
    telemetry::RunState,
    ui::{
        action::{MessageAction, PageAction, RunAction},
        page::{
            Page,
            example::{self, ExampleLabel},
            undo,
        },
        theme,
    },
};

pub fn banner_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page) {
    if let Some(label) = example::label(page) {
        example_ui(ui, shell, &label);
    }
    let failure = page.mirror().and_then(|m| match &m.state {
        Some(RunState::Failed { message }) => Some((m.step, message.clone())),
        _ => None,
    });
    if let Some(words) = &page.problem {
        let title = "No run can be made of these settings";
        strip_ui(ui, shell, title, words, |ui, shell| {
            if let Some(step) = undo::last_settings_step(page)
                && ui.button("Undo the change").on_hover_text(format!("Undo: {step}")).clicked()
            {
                shell.act(PageAction::UndoSettings);
            }
            if ui.button("Try again").clicked() {
                shell.act(RunAction::Reset);
            }
        });
    } else if let Some((step, message)) = failure {
        let title = format!("The run stopped at step {step}");
        let words = format!("{message}\nWhat was recorded is kept: the scrubber still shows every step.");
        strip_ui(ui, shell, &title, &words, |ui, shell| {
            if ui.button("Reset").on_hover_text("Begin again with the settings shown (R)").clicked() {
                shell.act(RunAction::Reset);
            }
            if ui.button("Copy message").clicked() {
                shell.act(MessageAction::CopyText(message.clone()));
            }
        });
    }
}

/// One line that says of what the example is, and how it makes way for a run of the user's own.
fn example_ui(ui: &mut Ui, shell: &Shell<'_>, label: &ExampleLabel) {
    ui.horizontal_wrapped(|ui| {
        ui.add_space(8.0);
        let words = ui.label(RichText::new(&label.words).strong().color(shell.theme.accent));
        words.on_hover_text(
            "A run that was recorded beforehand and comes with the program. It can be played and scrubbed; its models \
             cannot be asked. R makes a run that waits.",
        );
        ui.label(RichText::new(label.hint).color(shell.theme.secondary));
    });
    ui.add_space(4.0);
}

fn strip_ui(
    ui: &mut Ui,
    shell: &mut Shell<'_>,
    title: &str,
    words: &str,
    buttons: impl FnOnce(&mut Ui, &mut Shell<'_>),
) {
    let frame = Frame::NONE
        .fill(shell.theme.panel)
        .stroke(Stroke::new(1.0, shell.theme.error))
        .corner_radius(theme::CORNER)
        .inner_margin(Margin::symmetric(16, 8));
    frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.label(RichText::new(format!("! {title}")).strong().color(shell.theme.error));
        ui.style_mut().interaction.selectable_labels = true;
        ui.label(words);
        ui.horizontal(|ui| buttons(ui, shell));
    });
    ui.add_space(8.0);
}
