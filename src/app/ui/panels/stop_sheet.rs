//! The sheet that asks before a training ends for something else.

use crate::ui::panels::prelude::*;

/// A sheet that asks before an action ends a training; it names the training and the action.
#[derive(Debug)]
pub struct StopSheet {
    /// The id and the title of the lab.
    pub id: &'static str,
    pub lab: &'static str,
    pub step: u64,
    pub total: u64,
    /// Continues from "to": "open the replay".
    pub doing: String,
}

impl StopSheet {
    pub fn ui(&self, ui: &mut Ui, shell: &mut Shell<'_>) {
        ui.label(RichText::new("A run is training").text_style(theme::title_style()));
        let (step, total) = (number::grouped(self.step), number::grouped(self.total));
        let words = format!(
            "{} is at step {step} of {total}. To {}, that training has to stop. Its record stays in its folder; opened from there, the run can be viewed and continued.",
            self.lab, self.doing
        );
        quiet_ui(ui, shell.theme, words);
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            let keep = Button::new(RichText::new("Keep training").color(shell.theme.page)).fill(shell.theme.accent);
            shell.on_click(ui.add(keep).on_hover_text("Nothing changes (Esc)."), OpenAction::Back);
            shell.on_click(ui.button("Stop it and go on"), OpenAction::StopAndGoOn);
        });
    }
}
