//! The lesson of a lab: its question, its page of text, its source.

use eframe::egui::{RichText, Ui};
use egui_commonmark::CommonMarkViewer;

use super::Shell;
use crate::ui::{page::Page, theme};

pub fn lesson_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page) {
    ui.label(RichText::new(page.lab.question).text_style(theme::title_style()));
    ui.label(RichText::new(page.lab.source).small().color(shell.theme.secondary));
    ui.add_space(8.0);
    CommonMarkViewer::new().default_width(Some(ui.available_width() as usize)).show(
        ui,
        &mut page.markdown,
        page.lab.lesson,
    );
}
