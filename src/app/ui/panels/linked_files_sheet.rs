//! The sheet that asks before a link makes this machine's files part of a page.

use crate::{experiments::permalink::NamedFile, ui::panels::prelude::*};

/// Longer lists of paths scroll, points.
const TALLEST: f32 = 200.0;

/// Asks about the files that a link names; shows the path of each.
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
        ScrollArea::vertical().max_height(TALLEST).show(ui, |ui| {
            for NamedFile { key, path } in &self.files {
                // quoted, so that no character of a path hides
                ui.label(RichText::new(format!("{key} = {path:?}")).monospace());
            }
        });
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            let close = Button::new(RichText::new("Do not open").color(shell.theme.page)).fill(shell.theme.accent);
            let close = ui.add(close).on_hover_text("Closes this without reading anything (Esc).");
            shell.on_click(close, OpenAction::Back);
            let open = ui.button("Open with these files");
            shell.on_click(open.on_hover_text("Reads these files and opens the page."), OpenAction::UseLinkedFiles);
        });
    }
}
