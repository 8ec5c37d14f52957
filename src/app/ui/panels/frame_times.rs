//! Two small overlays: frame times (key T) and, in presenter mode, the key just pressed.

use crate::ui::{frames::FrameStats, panels::prelude::*};

pub fn frame_times_ui(ctx: &Context, theme: &Theme, stats: FrameStats) {
    let text = RichText::new(stats.to_string()).font(theme::numbers()).color(theme.text);
    plate_ui(ctx, theme, "frame times", Align2::CENTER_TOP, vec2(0.0, 48.0), text);
}

pub fn key_ui(ctx: &Context, theme: &Theme, key: &str) {
    let text = RichText::new(key).size(theme::HEADING).color(theme.accent);
    plate_ui(ctx, theme, "key pressed", Align2::CENTER_BOTTOM, vec2(0.0, -60.0), text);
}

fn plate_ui(ctx: &Context, theme: &Theme, id: &str, align: Align2, offset: Vec2, text: RichText) {
    Area::new(Id::unique(id)).order(Order::Foreground).anchor(align, offset).interactable(false).show(ctx, |ui| {
        Frame::NONE
            .fill(theme.raised)
            .corner_radius(theme::CORNER)
            .inner_margin(Margin::symmetric(12, 6))
            .show(ui, |ui| ui.add(Label::new(text).extend()));
    });
}
