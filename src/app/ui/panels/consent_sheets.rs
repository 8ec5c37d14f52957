//! The sheets that ask before a training ends for something else, and before a link makes this machine's files part of a page.

use crate::{experiments::permalink::NamedFile, ui::panels::prelude::*};

/// A sheet that asks before an action ends a training; it names the training and the action.
#[derive(Debug)]
pub struct StopSheet {
    /// The id and the title of the lab.
    pub id: &'static str,
    pub lab: &'static str,
    pub step: u64,
    pub total: u64,
    /// Continues from "to": "open the replay".
    pub action: String,
}

impl StopSheet {
    pub fn ui(&self, ui: &mut Ui, shell: &mut Shell<'_>) {
        ui.label(RichText::new("A run is training").text_style(theme::title_style()));
        let (step, total) = (number::grouped(self.step), number::grouped(self.total));
        let words = format!(
            "{} is at step {step} of {total}. To {}, that training has to stop. Its record stays in its folder; opened from there, the run can be viewed and continued.",
            self.lab, self.action
        );
        quiet_ui(ui, shell.theme, words);
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            let keep = main_button(shell.theme, "Keep training");
            shell.on_click(ui.add(keep).on_hover_text("Nothing changes (Esc)."), OpenAction::Back);
            shell.on_click(ui.button("Stop it and go on"), OpenAction::StopAndGoOn);
        });
    }
}

/// Longer lists of paths scroll, points.
const MAX_LIST_HEIGHT: f32 = 200.0;

#[derive(Debug)]
pub struct LinkedFilesSheet {
    /// The title of the link's lab.
    pub lab: &'static str,
    pub files: Vec<NamedFile>,
}

impl LinkedFilesSheet {
    pub fn ui(&self, ui: &mut Ui, shell: &mut Shell<'_>) {
        ui.label(RichText::new("The link names files of this machine").text_style(theme::title_style()));
        let words = format!(
            "To open its page of {}, they are read and become part of the run. Agree only if you know who wrote the link.",
            self.lab
        );
        quiet_ui(ui, shell.theme, words);
        ui.add_space(8.0);
        ScrollArea::vertical().max_height(MAX_LIST_HEIGHT).show(ui, |ui| {
            for NamedFile { key, path } in &self.files {
                // quoted, so that no character of a path hides
                ui.label(RichText::new(format!("{key} = {path:?}")).monospace());
            }
        });
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            let close = main_button(shell.theme, "Do not open");
            let close = ui.add(close).on_hover_text("Closes this without reading anything (Esc).");
            shell.on_click(close, OpenAction::Back);
            let open = ui.button("Open with these files");
            shell.on_click(open.on_hover_text("Reads these files and opens the page."), OpenAction::UseLinkedFiles);
        });
    }
}
