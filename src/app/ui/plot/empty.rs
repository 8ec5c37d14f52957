//! The text of an empty tile, and the reason why a picture has nothing to show.

use eframe::egui::{self, FontId, Id, Response, Sense, Ui, Vec2, WidgetInfo, accesskit::Role, pos2};

use crate::ui::theme::Theme;

const MESSAGE_KEY: &str = "nothing to show";

/// The message of a view drawn in this context that had nothing to show, if there was one.
pub fn empty_message(ctx: &egui::Context) -> Option<String> {
    ctx.data(|data| data.get_temp(Id::unique(MESSAGE_KEY)))
}

/// Shows in the middle of an empty tile how to fill it.
pub fn empty_ui(ui: &mut Ui, size: Vec2, theme: &Theme, words: &str) -> Response {
    ui.data_mut(|data| data.insert_temp(Id::unique(MESSAGE_KEY), words.to_owned()));
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let galley = |size: f32, margin: f32, max: f32| {
        let width = (rect.width() - 2.0 * margin).clamp(60.0, max);
        let font = FontId::proportional(size);
        let mut job = egui::text::LayoutJob::simple(words.to_owned(), font, theme.secondary, width);
        job.halign = egui::Align::Center;
        ui.painter().layout_job(job)
    };
    // A low tile has smaller words in longer lines.
    let usual = galley(14.0, 16.0, 420.0);
    let galley = if usual.size().y > rect.height() { galley(12.0, 4.0, 760.0) } else { usual };
    let at = pos2(rect.center().x, rect.center().y - galley.size().y / 2.0);
    ui.painter().with_clip_rect(rect).galley(at, galley, theme.secondary);
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, words));
    response
}
