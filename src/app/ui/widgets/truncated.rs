//! Text on one line that ends with an ellipsis where it is too wide.

use std::sync::Arc;

use eframe::egui::{
    Color32, FontId, Galley, Ui,
    text::{LayoutJob, TextWrapping},
};

/// Narrower than this nothing can be read, points.
const MIN_WIDTH: f32 = 8.0;

/// One line of text, at most so many points wide.
pub fn truncated(ui: &Ui, text: &str, font: FontId, colour: Color32, width: f32) -> Arc<Galley> {
    let mut job = LayoutJob::simple_singleline(text.to_owned(), font, colour);
    job.wrap = TextWrapping::truncate_at_width(width.max(MIN_WIDTH));
    ui.painter().layout_job(job)
}
