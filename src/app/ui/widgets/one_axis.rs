//! Charts on one x axis: its zoom and its division are shared. They are above one another, with shared margins too, or
//! in rows, beside one another, in a tile that is wide and too low for all of them.

use eframe::egui::{Ui, Vec2, vec2};

use crate::ui::{
    plot::{Chart, ChartState, columns},
    theme::Theme,
};

/// Wide enough for the figures beside any of the charts, points.
const LEFT_MARGIN: f32 = 60.0;

/// Shows charts in this room, each with its share of the height; a state a chart.
pub fn one_axis_ui(
    ui: &mut Ui,
    theme: &Theme,
    room: Vec2,
    charts: Vec<(Chart<'_>, f32)>,
    states: &mut [&mut ChartState],
) {
    let Some((first, others)) = states.split_first_mut() else { return };
    let count = charts.len();
    let columns = columns(ui.ctx(), room, count);
    let gap = ui.spacing().item_spacing;
    let high = room.y - gap.y * (count.max(1) - 1) as f32;
    let wide = ((room.x - gap.x * (columns - 1) as f32) / columns as f32).floor();
    let mut margins = None;
    let (mut charts, mut others) = (charts.into_iter().enumerate(), others.iter_mut());
    let mut row_ui = |ui: &mut Ui| {
        for (nth, (mut chart, share)) in charts.by_ref().take(columns) {
            let size = if columns > 1 { vec2(wide, room.y) } else { vec2(wide, (high * share).round()) };
            if columns == 1 {
                chart.min_left_margin = chart.min_left_margin.max(LEFT_MARGIN);
                chart.margins = margins;
            }
            if nth == 0 {
                margins = Some(chart.show(ui, size, theme, first).margins);
            } else if let Some(state) = others.next() {
                state.share_x(first);
                chart.show(ui, size, theme, state);
                first.share_x(state);
            }
        }
    };
    for _ in 0..count.div_ceil(columns) {
        if columns > 1 {
            ui.horizontal(&mut row_ui);
        } else {
            row_ui(ui);
        }
    }
}
