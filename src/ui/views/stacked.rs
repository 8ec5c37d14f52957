//! Two charts above one another on one x axis: its zoom, its division and its margins are shared.

use eframe::egui::{Ui, vec2};

use crate::ui::{
    plot::{Chart, ChartState},
    theme::{GRID, Theme},
};

/// Fills what is left of the tile; the upper chart has this share of the height.
pub fn stacked_ui(
    ui: &mut Ui,
    theme: &Theme,
    (upper, share): (Chart<'_>, f32),
    mut lower: Chart<'_>,
    states: &mut [ChartState; 2],
) {
    let size = ui.available_size();
    let [first, second] = states;
    let high = ((size.y - GRID) * share).round();
    let shown = upper.show(ui, vec2(size.x, high), theme, first);
    second.share_x(first);
    lower.margins = Some(shown.margins);
    lower.show(ui, vec2(size.x, size.y - GRID - high), theme, second);
    first.share_x(second);
}
