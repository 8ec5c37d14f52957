//! Charts above one another on one x axis: its zoom, its division and its margins are shared.

use eframe::egui::{Ui, vec2};

use crate::ui::{
    plot::{Chart, ChartState},
    theme::Theme,
};

/// Wide enough for the figures beside any of the charts, points.
const LEFT: f32 = 60.0;

/// Fills what is left of the tile with charts, each with its share of the height; a state a chart.
pub fn stacked_ui<'c>(
    ui: &mut Ui,
    theme: &Theme,
    charts: impl IntoIterator<Item = (Chart<'c>, f32)>,
    states: &mut [&mut ChartState],
) {
    let size = ui.available_size();
    stacked_within_ui(ui, theme, size.y, charts, states);
}

/// Stacks charts like [`stacked_ui`], within a height.
pub fn stacked_within_ui<'c>(
    ui: &mut Ui,
    theme: &Theme,
    height: f32,
    charts: impl IntoIterator<Item = (Chart<'c>, f32)>,
    states: &mut [&mut ChartState],
) {
    let width = ui.available_width();
    let gap = ui.spacing().item_spacing.y * (states.len().max(1) - 1) as f32;
    let mut margins = None;
    let Some((first, others)) = states.split_first_mut() else { return };
    let mut others = others.iter_mut();
    for (mut chart, share) in charts {
        let size = vec2(width, ((height - gap) * share).round());
        match margins {
            None => {
                chart.min_left_margin = chart.min_left_margin.max(LEFT);
                margins = Some(chart.show(ui, size, theme, first).margins);
            }
            Some(_) => {
                let Some(state) = others.next() else { return };
                chart.margins = margins;
                state.share_x(first);
                chart.show(ui, size, theme, state);
                first.share_x(state);
            }
        }
    }
}
