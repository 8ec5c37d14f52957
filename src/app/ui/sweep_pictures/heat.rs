//! A number over two settings: a cell a point, its colour the mean over seeds. A point without a value has no colour.

use super::{axis_span::AxisSpan, prelude::*};
use crate::ui::plot::colour_bar::scaled_colour_bar;

const LEFT_MARGIN: f32 = 68.0;
const BOTTOM_MARGIN: f32 = 34.0;
/// Width of the colour bar with its figures, points.
const COLOUR_BAR_WIDTH: f32 = 64.0;

pub fn heat_ui(ui: &mut Ui, size: Vec2, view: &SweepView<'_>, cells: &Cells) -> PointedAt {
    let (results, theme) = (view.results, view.theme);
    let title = format!("{}, {}", view.heading(), seeds_legend(results));
    let (sheet, response) = sheet_ui(ui, size, view, &title);
    let found = view.values().and_then(|values_at_step| {
        let means = (0..results.points.len()).filter_map(|p| values_at_step.mean(p));
        Some((values_at_step, AxisSpan::around(means, view.scale)?))
    });
    let Some((values_at_step, ends)) = found else { return empty_picture(ui, sheet, theme) };
    let right_margin = COLOUR_BAR_WIDTH + 12.0;
    let plot = Rect::from_min_max(sheet.min + vec2(LEFT_MARGIN, 2.0), sheet.max - vec2(right_margin, BOTTOM_MARGIN));
    let grid = CellGrid { plot, cells };
    let colour = |value: f64| ColourMap::Viridis.colour(ends.share(value));
    for ((column, row), point) in &cells.points {
        let (rect, mean) = (grid.cell(*column, *row), values_at_step.mean(*point));
        paint_cell(ui, view, rect, *point, mean.filter(|m| ends.share(*m).is_finite()).map(colour));
    }
    if let Some(((column, row), _)) = cells.points.iter().find(|(_, point)| view.selected == Some(**point)) {
        let edge = Stroke::new(2.0, theme.text);
        ui.painter().rect_stroke(grid.cell(*column, *row), 0.0, edge, StrokeKind::Inside);
    }
    grid.labels(ui, view);
    let bar = Rect::from_min_max(pos2(plot.right() + 12.0, plot.top()), pos2(plot.right() + 22.0, plot.bottom()));
    scaled_colour_bar(ui.painter(), bar, ColourMap::Viridis, ends.scale, [ends.from, ends.to], theme);
    let under = |at: Pos2| cells.points.iter().find(|((column, row), _)| grid.cell(*column, *row).contains(at));
    let hovered = response.hover_pos().and_then(under).map(|(_, point)| *point);
    handle_pointer(&response, view, hovered)
}

/// Colour and, where it fits, the value.
fn paint_cell(ui: &Ui, view: &SweepView<'_>, rect: Rect, point: usize, colour: Option<Color32>) {
    let theme = view.theme;
    let strength = if view.is_in_brush(point) { 1.0 } else { 0.25 };
    let ground = colour.map_or(theme.raised, |c| c.gamma_multiply(strength));
    ui.painter().rect_filled(rect, 0.0, ground);
    let mean = view.values().and_then(|values_at_step| values_at_step.mean(point));
    let words = match (mean, view.shown_number()) {
        (Some(mean), Some(number)) if colour.is_some() => number_label(number, mean),
        _ => "–".to_owned(),
    };
    let is_light = |c: Color32| 0.299 * f32::from(c.r()) + 0.587 * f32::from(c.g()) + 0.114 * f32::from(c.b()) > 140.0;
    let ink = match colour.filter(|_| view.is_in_brush(point)) {
        Some(colour) if is_light(colour) => Color32::BLACK,
        Some(_) => Color32::WHITE,
        None => theme.secondary,
    };
    let galley = ui.painter().layout_no_wrap(words, theme::numbers(), ink);
    if galley.size().x + 6.0 <= rect.width() && galley.size().y + 2.0 <= rect.height() {
        ui.painter().galley(rect.center() - galley.size() / 2.0, galley, ink);
    }
}

struct CellGrid<'a> {
    plot: Rect,
    cells: &'a Cells,
}

impl CellGrid<'_> {
    fn cell(&self, column: usize, row: usize) -> Rect {
        let [columns, rows] = [self.cells.places[0].len(), self.cells.places[1].len()];
        let side = vec2(self.plot.width() / columns as f32, self.plot.height() / rows as f32);
        let corner = pos2(self.plot.left() + side.x * column as f32, self.plot.bottom() - side.y * (row + 1) as f32);
        Rect::from_min_size(corner, side).shrink(0.5)
    }

    fn labels(&self, ui: &Ui, view: &SweepView<'_>) {
        let Self { plot, cells } = self;
        let (results, theme) = (view.results, view.theme);
        let label = |axis: usize, i: usize| {
            let place = cells.places[axis].get(i)?;
            let point = results.points.iter().position(|p| p.places.get(axis) == Some(place))?;
            Some(results.value_label(point, axis))
        };
        let mut free_from = plot.left() - LEFT_MARGIN;
        for column in 0..cells.places[0].len() {
            let at = self.cell(column, 0).center().x;
            let words = label(0, column).unwrap_or_default();
            let wide = text_width(ui.painter(), &words, theme::numbers());
            if at - wide / 2.0 >= free_from {
                figure_text(ui, pos2(at, plot.bottom() + 3.0), Align2::CENTER_TOP, &words, theme.secondary);
                free_from = at + wide / 2.0 + 6.0;
            }
        }
        let mut free_to = f32::INFINITY;
        for row in 0..cells.places[1].len() {
            let at = self.cell(0, row).center().y;
            if at + 6.0 <= free_to {
                let words = label(1, row).unwrap_or_default();
                figure_text(ui, pos2(plot.left() - 6.0, at), Align2::RIGHT_CENTER, &words, theme.secondary);
                free_to = at - 8.0;
            }
        }
        let [across, up] = [0, 1].map(|axis| results.axis_title(axis));
        let (name, room) = (format!("{across} across, {up} up"), plot.width() + LEFT_MARGIN);
        let name = truncated(ui.painter(), &name, theme::small(), theme.secondary, room);
        let at = pos2(plot.right() - name.size().x, plot.bottom() + 18.0);
        ui.painter().galley(at, name, theme.secondary);
    }
}
