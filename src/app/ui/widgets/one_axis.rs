//! Charts on one x axis: its zoom and its division are shared. They stand above one another, with shared margins too,
//! or in rows, beside one another, in a tile that is wide and too low for all of them.

use eframe::egui::{Ui, Vec2, vec2};

use crate::ui::{
    plot::{Chart, ChartState, columns},
    theme::Theme,
};

/// Wide enough for the figures beside any of the charts, points.
const LEFT: f32 = 60.0;

/// Shows charts in this room, each with its share of the height; a state a chart.
pub fn one_axis_ui(
    ui: &mut Ui,
    theme: &Theme,
    room: Vec2,
    charts: Vec<(Chart<'_>, f32)>,
    states: &mut [&mut ChartState],
) {
    let count = charts.len();
    let columns = columns(ui.ctx(), room, count);
    let gap = ui.spacing().item_spacing;
    let high = room.y - gap.y * (count.max(1) - 1) as f32;
    let wide = ((room.x - gap.x * (columns - 1) as f32) / columns as f32).floor();
    let (mut margins, mut shared) = (None, None::<ChartState>);
    let mut left = charts.into_iter().zip(states.iter_mut());
    let mut row_ui = |ui: &mut Ui| {
        for ((mut chart, share), state) in left.by_ref().take(columns) {
            if let Some(shared) = &shared {
                state.share_x(shared);
            }
            let size = if columns > 1 { vec2(wide, room.y) } else { vec2(wide, (high * share).round()) };
            if columns == 1 {
                chart.min_left_margin = chart.min_left_margin.max(LEFT);
                chart.margins = margins;
            }
            margins = margins.or(Some(chart.show(ui, size, theme, state).margins));
            shared = Some((*state).clone());
        }
    };
    for _ in 0..count.div_ceil(columns) {
        if columns > 1 {
            ui.horizontal(&mut row_ui);
        } else {
            row_ui(ui);
        }
    }
    // the first follow what the last were zoomed to
    if let Some(shared) = shared {
        states.iter_mut().for_each(|state| state.share_x(&shared));
    }
}
