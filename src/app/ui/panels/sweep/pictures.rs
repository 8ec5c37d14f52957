//! The pictures of a sweep on its page, and the slider that moves all of them to one step.

use super::{SweepPage, table};
use crate::ui::{
    panels::prelude::*,
    sweep_pictures::{
        PointedAt, band_legend, colour_legend, curves_ui, heat_ui, mean_line_label, parallel_ui, seeds_legend,
        slice_ui, step_label,
    },
};

/// Minimum width of a slice; narrower ones cannot be distinguished, points.
const MIN_SLICE: f32 = 200.0;
const GAP: f32 = 16.0;

/// Lower than this, what does not fit is scrolled to.
const MIN_HEIGHT: f32 = 440.0;

pub fn pictures_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut SweepPage, prepared: &Prepared) {
    if ui.available_height() >= MIN_HEIGHT {
        return all_ui(ui, shell, page, prepared);
    }
    ScrollArea::vertical().id_salt("pictures").auto_shrink([false, false]).show(ui, |ui| {
        let size = vec2(ui.available_width(), MIN_HEIGHT);
        ui.allocate_ui(size, |ui| {
            ui.set_max_size(size);
            all_ui(ui, shell, page, prepared);
        });
    });
}

fn all_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut SweepPage, prepared: &Prepared) {
    let scale = page.chart.scale_y.unwrap_or(Scale::Linear);
    let theme = shell.theme.clone();
    let view = prepared.view(page.selected, scale, &theme);
    slider_ui(ui, shell, page, &view);
    let room = ui.available_size();
    let (high, low) = ((room.y * 0.42).max(150.0), (room.y * 0.32).max(120.0));
    let width = room.x;
    let mut pointed = PointedAt::default();
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = GAP;
        let curves = (width * 0.44).floor();
        pointed = ui.vertical(|ui| curves_with_title(ui, vec2(curves, high), page, &view, prepared)).inner;
        let rest = vec2(width - curves - GAP, high);
        pointed = pointed.or(slices_ui(ui, rest, &view));
    });
    ui.add_space(8.0);
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = GAP;
        let map = prepared.cells.as_ref();
        let share = if map.is_some() { (width * 0.58).floor() } else { width };
        pointed = pointed.or(parallel_ui(ui, vec2(share, low), &view, &mut page.brush));
        if let Some(cells) = map {
            pointed = pointed.or(heat_ui(ui, vec2(width - share - GAP, low), &view, cells));
        }
    });
    page.take_clicked(ui, shell, pointed.clicked);
    ui.add_space(8.0);
    let clicked = table::table_ui(ui, &mut page.order, &view);
    page.take_clicked(ui, shell, clicked);
}

fn curves_with_title(
    ui: &mut Ui,
    size: Vec2,
    page: &mut SweepPage,
    view: &SweepView<'_>,
    prepared: &Prepared,
) -> PointedAt {
    let results = view.results;
    let words = format!("over steps: {}{}{}", seeds_legend(results), band_legend(results), colour_legend(results));
    ui.spacing_mut().item_spacing.y = 0.0;
    let (rect, _) = ui.allocate_exact_size(vec2(size.x, 20.0), Sense::hover());
    let place = UiBuilder::new().max_rect(rect);
    ui.scope_builder(place, |ui| truncated_ui(ui, words, view.theme.secondary));
    curves_ui(ui, vec2(size.x, size.y - 20.0), view, &prepared.lines, page.step, &mut page.chart)
}

/// A slice for each axis; more than there is room for are scrolled to.
pub fn slices_ui(ui: &mut Ui, size: Vec2, view: &SweepView<'_>) -> PointedAt {
    let count = view.results.axes.len().max(1) as f32;
    let each = ((size.x - GAP * (count - 1.0)) / count).max(MIN_SLICE).floor();
    let mut pointed = PointedAt::default();
    ui.allocate_ui(size, |ui| {
        let area = ScrollArea::horizontal().id_salt("slices").max_width(size.x).auto_shrink([false, false]);
        area.show(ui, |ui| {
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = GAP;
                for axis in 0..view.results.axes.len() {
                    pointed = pointed.or(slice_ui(ui, vec2(each, size.y), view, axis));
                }
            });
        });
    });
    pointed
}

/// Moves every picture and the table to a step; says which steps the values are from and which points have none.
fn slider_ui(ui: &mut Ui, shell: &Shell<'_>, page: &mut SweepPage, view: &SweepView<'_>) {
    let last = view.results.last_step();
    ui.horizontal(|ui| {
        let about = "All pictures and the table show the newest recorded value at or before this step.";
        step_ui(ui, shell.theme, &mut page.step, last, |room| room * 0.44 - 120.0, about);
        let words = format!("{} as recorded {}{}", view.heading(), step_label(view), left_out_message(view));
        truncated_ui(ui, words, shell.theme.secondary).on_hover_ui(|ui| {
            for (i, axis) in view.results.axes.iter().enumerate() {
                ui.label(format!("Slice along {}: a dot a seed; {}.", axis.key, mean_line_label(view, i)));
            }
        });
    });
}

/// Points that are not drawn, because nothing of them is recorded so far.
fn left_out_message(view: &SweepView<'_>) -> String {
    const MAX_NAMED: usize = 4;
    let Some(without) =
        view.values().map(|values_at_step| values_at_step.points_without_value()).filter(|all| !all.is_empty())
    else {
        return String::new();
    };
    let results = &view.results;
    let named: Vec<String> = without.iter().take(MAX_NAMED).map(|p| results.point_name(*p)).collect();
    let more = if without.len() > MAX_NAMED { "; …" } else { "" };
    let [has, are] = if without.len() == 1 { ["has", "is"] } else { ["have", "are"] };
    let (all, count, named) = (results.points.len(), number::grouped(without.len() as u64), named.join("; "));
    format!("; {count} of {all} points {has} no value so far and {are} not drawn: {named}{more}")
}
