//! The table of a sweep's points, or of compared runs: settings, runs, and numbers as mean and standard deviation over
//! seeds. The best of each number is marked. Only rows in sight are drawn.

use std::collections::BTreeMap;

use eframe::egui::{self, FontId, Rect, ScrollArea, Sense, Stroke, Ui, pos2, vec2};

use crate::{
    experiments::sweep::results::{
        Number, NumberId, PointValue,
        order::{Column, PointOrder},
    },
    ui::{
        sweep_pictures::{SweepView, number_label},
        theme,
        widgets::truncated::truncated,
    },
};

const ROW: f32 = 24.0;
const HEAD: f32 = 22.0;
const PAD: f32 = 8.0;
/// Width of a point's number with its colour, points.
const POINT: f32 = 72.0;
/// Width of a named point with its colour, points.
const NAMED_POINT: f32 = 240.0;
/// Least width of a setting; a number has half as much again, points.
const PART: f32 = 72.0;
/// Width of how many runs have ended, points.
const RUNS: f32 = 72.0;

/// A column with its heading and width.
struct PlacedColumn {
    column: Column,
    words: String,
    x: f32,
    width: f32,
}

/// Draws the table; the point that was clicked. Columns that have no room are scrolled to.
pub fn table_ui(ui: &mut Ui, order: &mut PointOrder, view: &SweepView<'_>) -> Option<usize> {
    let needed = least_width(view);
    if needed <= ui.available_width() {
        return rows_ui(ui, order, view);
    }
    let area = ScrollArea::horizontal().id_salt("columns").auto_shrink([false, false]);
    let shown = area.show(ui, |ui| {
        ui.set_width(needed);
        rows_ui(ui, order, view)
    });
    shown.inner
}

fn rows_ui(ui: &mut Ui, order: &mut PointOrder, view: &SweepView<'_>) -> Option<usize> {
    let columns = columns(view, ui.available_width());
    head_ui(ui, view, order, &columns);
    let order = rows(order, view);
    let best = best_points(view);
    let mut clicked = None;
    ui.spacing_mut().item_spacing.y = 0.0;
    ScrollArea::vertical().id_salt("points").auto_shrink([false, false]).show_rows(
        ui,
        ROW,
        order.len(),
        |ui, range| {
            for point in order.get(range).unwrap_or_default() {
                if row_ui(ui, view, &columns, &TableRow { point: *point, best: &best }).clicked() {
                    clicked = Some(*point);
                }
            }
        },
    );
    clicked
}

/// A row, and the best point of each number.
struct TableRow<'a> {
    point: usize,
    best: &'a BTreeMap<NumberId, usize>,
}

impl TableRow<'_> {
    fn is_best(&self, id: &NumberId) -> bool {
        self.best.get(id) == Some(&self.point)
    }
}

/// The best point of each number, where one way is better and there is more than one to choose from.
fn best_points(view: &SweepView<'_>) -> BTreeMap<NumberId, usize> {
    let places = std::iter::once(view.number).chain(view.others.iter().copied());
    let best = |place: usize| {
        let id = &view.results.numbers.get(place)?.id;
        let as_of = view.as_of.get(id)?;
        let known = (0..view.results.points.len()).filter(|point| as_of.mean(*point).is_some()).count();
        Some((id.clone(), view.results.best(place, as_of).filter(|_| known > 1)?))
    };
    places.filter_map(best).collect()
}

/// The points that a brush leaves, in order.
fn rows(order: &PointOrder, view: &SweepView<'_>) -> Vec<usize> {
    let as_of = match &order.column {
        Column::Number(id) => view.as_of.get(id),
        _ => None,
    };
    let order = order.sorted(view.results, as_of);
    order.into_iter().filter(|point| view.kept.get(*point).copied().unwrap_or(true)).collect()
}

fn numbers<'a>(view: &SweepView<'a>) -> impl Iterator<Item = &'a Number> {
    let places = std::iter::once(view.number).chain(view.others.iter().copied());
    places.filter_map(|place| view.results.numbers.get(place))
}

/// Width at which every column can be read, points.
fn least_width(view: &SweepView<'_>) -> f32 {
    let numbers = 1 + view.others.len();
    point_width(view) + RUNS + PART * (view.results.axes.len() as f32 + 1.5 * numbers as f32)
}

/// Named points need more room than numbered ones.
fn point_width(view: &SweepView<'_>) -> f32 {
    if view.results.names.is_empty() { POINT } else { NAMED_POINT }
}

fn columns(view: &SweepView<'_>, width: f32) -> Vec<PlacedColumn> {
    let settings = view.results.axes.iter().enumerate().map(|(i, axis)| (Column::Axis(i), axis.key.clone()));
    let numbers: Vec<(Column, String)> =
        numbers(view).map(|n| (Column::Number(n.id.clone()), n.heading.clone())).collect();
    // a number with its spread is wider than a setting
    let parts = view.results.axes.len() as f32 + 1.5 * numbers.len() as f32;
    let point = point_width(view);
    let part = (width - point - RUNS) / parts.max(1.0);
    let heading = if view.results.names.is_empty() { "point" } else { "run" };
    let all = std::iter::once((Column::Point, heading.to_owned(), point))
        .chain(settings.map(|(column, words)| (column, words, part)))
        .chain([(Column::Runs, "finished".to_owned(), RUNS)])
        .chain(numbers.into_iter().map(|(column, words)| (column, words, 1.5 * part)));
    let mut x = 0.0;
    let placed = all.map(|(column, words, width)| {
        x += width;
        PlacedColumn { column, words, x: x - width, width }
    });
    placed.collect()
}

fn head_ui(ui: &mut Ui, view: &SweepView<'_>, order: &mut PointOrder, columns: &[PlacedColumn]) {
    let theme = view.theme;
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), HEAD), Sense::hover());
    for column in columns {
        let place = Rect::from_min_size(pos2(rect.left() + column.x, rect.top()), vec2(column.width, HEAD));
        let response = ui.interact(place, ui.scope_id().with(("sort", &column.words)), Sense::click());
        let words = &column.words;
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Sort by {words}")));
        let sign = match (order.column == column.column, order.is_falling) {
            (true, true) => " ▾",
            (true, false) => " ▴",
            _ => "",
        };
        let is_bright = !sign.is_empty() || response.hovered();
        let colour = if is_bright { theme.text } else { theme.secondary };
        let font = FontId::proportional(theme::SMALL);
        let galley = truncated(ui, &format!("{words}{sign}"), font, colour, column.width - PAD);
        let left = if column.column == Column::Point { PAD } else { column.width - galley.size().x - PAD };
        ui.painter().galley(pos2(place.left() + left, rect.center().y - galley.size().y / 2.0), galley, colour);
        if response.on_hover_cursor(egui::CursorIcon::PointingHand).clicked() {
            order.click(column.column.clone());
        }
    }
    ui.painter().hline(rect.x_range(), rect.bottom(), Stroke::new(1.0, theme.line));
}

fn row_ui(ui: &mut Ui, view: &SweepView<'_>, columns: &[PlacedColumn], row: &TableRow<'_>) -> egui::Response {
    let point = row.point;
    let is_best = view.shown().is_some_and(|number| row.is_best(&number.id));
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::click());
    let (theme, is_selected) = (view.theme, view.selected == Some(point));
    let name = format!("point {}, {}", point + 1, view.results.point_name(point));
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::ListItem, true, is_selected, &name));
    if is_selected {
        ui.painter().rect_filled(rect, theme::CORNER, theme.raised);
        ui.painter().rect_filled(Rect::from_min_size(rect.min, vec2(2.0, ROW)), 0.0, theme.accent);
    } else if response.hovered() {
        ui.painter().rect_filled(rect, theme::CORNER, theme.panel);
    }
    ui.painter().hline(rect.x_range(), rect.bottom(), Stroke::new(1.0, theme.line));
    for column in columns {
        let (left, middle) = (rect.left() + column.x, rect.center().y);
        if column.column == Column::Point {
            let swatch = Rect::from_center_size(pos2(left + PAD + 5.0, middle), vec2(10.0, 10.0));
            ui.painter().rect_filled(swatch, 2.0, view.colours.get(point).copied().unwrap_or(theme.text));
            let mark = if is_best { " ★" } else { "" };
            let (words, font) = match view.results.names.get(point) {
                Some(name) => (format!("{name}{mark}"), FontId::proportional(theme::BODY)),
                None => (format!("{}{mark}", point + 1), theme::numbers()),
            };
            let galley = truncated(ui, &words, font, theme.text, column.width - 24.0);
            ui.painter().galley(pos2(left + PAD + 16.0, middle - galley.size().y / 2.0), galley, theme.text);
            continue;
        }
        let mut words = cell(view, &column.column, point);
        if let Column::Number(id) = &column.column
            && row.is_best(id)
        {
            words = format!("★ {words}");
        }
        let colour = if words == NOTHING { theme.secondary } else { theme.text };
        let galley = truncated(ui, &words, theme::numbers(), colour, column.width - PAD);
        let at = pos2(left + column.width - galley.size().x - PAD, middle - galley.size().y / 2.0);
        ui.painter().galley(at, galley, colour);
    }
    let response = response.on_hover_cursor(egui::CursorIcon::PointingHand);
    let best = numbers(view).filter(|number| row.is_best(&number.id)).map(|number| number.heading.as_str());
    let best: Vec<&str> = best.collect();
    match best.is_empty() {
        true => response,
        false => response.on_hover_text(format!("★ best by {} at this step", best.join("; "))),
    }
}

/// Stands where nothing is recorded so far.
const NOTHING: &str = "no value";

fn cell(view: &SweepView<'_>, column: &Column, point: usize) -> String {
    let results = view.results;
    match column {
        Column::Point => String::new(),
        Column::Axis(axis) => results.value_label(point, *axis),
        Column::Runs => format!("{} of {}", results.finished(point), results.seeds.len()),
        Column::Number(id) => {
            let number = numbers(view).find(|n| n.id == *id);
            let value = view.as_of.get(id).and_then(|as_of| as_of.values.get(point)?.as_ref());
            match (number, value) {
                (Some(number), Some(value)) => value_label(number, value, results.seeds.len()),
                _ => NOTHING.to_owned(),
            }
        }
    }
}

/// "0.0123 ± 0.0011", and of how many seeds where some have no value yet.
fn value_label(number: &Number, value: &PointValue, seeds: usize) -> String {
    let mean = number_label(number, value.mean);
    let of = if value.each.len() < seeds { format!(" ({} of {seeds})", value.each.len()) } else { String::new() };
    match value.each.len() {
        1 => format!("{mean}{of}"),
        _ => format!("{mean} ± {}{of}", number_label(number, value.sd)),
    }
}
