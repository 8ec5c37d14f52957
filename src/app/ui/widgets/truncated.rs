//! Text on one line that ends with an ellipsis where it is too wide.

use std::sync::Arc;

use eframe::egui::{
    Color32, FontId, Galley, Painter, Pos2,
    text::{LayoutJob, TextWrapping},
};

/// Narrower than this nothing can be read, points.
const MIN_WIDTH: f32 = 8.0;

/// Lays out one line of text, truncated at `width` points.
pub fn truncated(painter: &Painter, text: &str, font: FontId, colour: Color32, width: f32) -> Arc<Galley> {
    let mut job = LayoutJob::simple_singleline(text.to_owned(), font, colour);
    job.wrap = TextWrapping::truncate_at_width(width.max(MIN_WIDTH));
    painter.layout_job(job)
}

/// Paints such a line; `at` is its upper left corner.
pub fn paint_truncated(painter: &Painter, at: Pos2, text: &str, font: FontId, colour: Color32, width: f32) {
    painter.galley(at, truncated(painter, text, font, colour, width), colour);
}
