//! Charts on one x axis: its zoom and its division are shared. They stand above one another, with shared margins too,
//! or beside one another in a tile that is wide and too low for all of them.

use eframe::egui::{Ui, Vec2, vec2};

use crate::ui::{
    plot::{Chart, ChartState, fits_beside},
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
    if fits_beside(ui.ctx(), room, charts.len()) {
        let gaps = ui.spacing().item_spacing.x * (charts.len() - 1) as f32;
        let size = vec2(((room.x - gaps) / charts.len() as f32).floor(), room.y);
        ui.horizontal(|ui| all_ui(ui, theme, charts.into_iter().map(|(chart, _)| (chart, size)), states, false));
    } else {
        let high = room.y - ui.spacing().item_spacing.y * (states.len().max(1) - 1) as f32;
        let sized = charts.into_iter().map(|(chart, share)| (chart, vec2(room.x, (high * share).round())));
        all_ui(ui, theme, sized, states, true);
    }
}

fn all_ui<'c>(
    ui: &mut Ui,
    theme: &Theme,
    charts: impl Iterator<Item = (Chart<'c>, Vec2)>,
    states: &mut [&mut ChartState],
    has_one_margin: bool,
) {
    let Some((first, others)) = states.split_first_mut() else { return };
    let (mut others, mut margins) = (others.iter_mut(), None);
    for (nth, (mut chart, size)) in charts.enumerate() {
        if nth == 0 {
            if has_one_margin {
                chart.min_left_margin = chart.min_left_margin.max(LEFT);
            }
            margins = Some(chart.show(ui, size, theme, first).margins).filter(|_| has_one_margin);
        } else if let Some(state) = others.next() {
            chart.margins = margins;
            state.share_x(first);
            chart.show(ui, size, theme, state);
            first.share_x(state);
        }
    }
}
