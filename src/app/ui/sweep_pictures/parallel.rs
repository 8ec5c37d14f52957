//! Parallel coordinates: an upright axis a setting and a number, one line per point. A drag on an axis brushes, a click takes the
//! brush away.

use super::{axis_span::AxisSpan, prelude::*};
use crate::ui::{plot::distance_to, theme::FAINT_LINE};

/// Room for the names over the axes, points.
const NAMES_HEIGHT: f32 = 20.0;
const SIDE_MARGIN: f32 = 56.0;
/// Half the width of what is dragged around an axis, points.
const HANDLE_REACH: f32 = 14.0;

/// One axis with its horizontal position.
struct ParallelAxis {
    dimension: Dimension,
    name: String,
    ends: AxisSpan,
    /// The value of each point.
    values: Vec<Option<f64>>,
    x: f32,
}

impl ParallelAxis {
    fn y(&self, value: f64, plot: Rect) -> f32 {
        plot.bottom() - self.ends.share(value) * plot.height()
    }

    /// Paints the axis with its name and figures, which are on a patch of the background so that lines do not cross
    /// them. `room`: the maximum width of the name, points.
    fn paint(&self, ui: &Ui, theme: &Theme, sheet: Rect, plot: Rect, room: f32) {
        ui.painter().vline(self.x, plot.y_range(), Stroke::new(1.0, theme.secondary));
        let name = truncated(ui.painter(), &self.name, theme::small(), theme.text, room.min(240.0));
        let wide = name.size().x;
        let left = (self.x - wide / 2.0).min(sheet.right() - wide).max(sheet.left());
        let at = pos2(left, plot.top() - NAMES_HEIGHT - 2.0);
        ui.painter().galley(at, name, theme.text);
        let wanted = ((plot.height() / 40.0) as usize).clamp(2, 6);
        let mut free_from = f32::INFINITY;
        for (share, words) in self.ends.ticks(wanted) {
            let at = pos2(self.x - 6.0, plot.bottom() - share * plot.height());
            // figures that would touch those below them are left out
            if at.y + 7.0 > free_from {
                continue;
            }
            free_from = at.y - 7.0;
            let galley = ui.painter().layout_no_wrap(words, theme::numbers(), theme.secondary);
            let corner = pos2(at.x - galley.size().x, at.y - galley.size().y / 2.0);
            let patch = Rect::from_min_size(corner, galley.size()).expand2(vec2(2.0, 0.0));
            ui.painter().rect_filled(patch, 2.0, theme.page.gamma_multiply(0.85));
            ui.painter().galley(corner, galley, theme.secondary);
            ui.painter().hline(self.x - 3.0..=self.x + 3.0, at.y, Stroke::new(1.0, theme.secondary));
        }
    }

    /// Handles the brush that selects a range of the axis; true if the pointer is at the axis.
    fn brush_ui(&self, ui: &mut Ui, theme: &Theme, plot: Rect, brush: &mut Brush) -> bool {
        let x_range = self.x - HANDLE_REACH..=self.x + HANDLE_REACH;
        let strip = Rect::from_x_y_ranges(x_range, plot.y_range()).expand2(vec2(0.0, 6.0));
        let id = ui.scope_id().with(("brush", &self.name));
        let response = ui.interact(strip, id, Sense::click_and_drag());
        let name = format!("Brush {}", self.name);
        response.widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::ScrollBar, true, &name));
        let value = |y: f32| self.ends.value(((plot.bottom() - y) / plot.height()).clamp(0.0, 1.0));
        if let (true, Some(from), Some(to)) =
            (response.dragged(), ui.input(|i| i.pointer.press_origin()), response.interact_pointer_pos())
        {
            brush.set(self.dimension.clone(), [value(from.y), value(to.y)]);
        } else if response.clicked() {
            brush.ranges.remove(&self.dimension);
        }
        if let Some(range) = brush.ranges.get(&self.dimension).copied() {
            let [top, bottom] =
                [range[1], range[0]].map(|v| self.y(v, plot).clamp(plot.top() - 4.0, plot.bottom() + 4.0));
            let held = Rect::from_x_y_ranges(self.x - 6.0..=self.x + 6.0, top..=bottom.max(top + 2.0));
            let edge = Stroke::new(1.0, theme.accent);
            ui.painter().rect(held, 2.0, theme.accent.gamma_multiply(0.25), edge, StrokeKind::Inside);
            if response.hovered() || response.dragged() {
                let [from, to] = range.map(number::short);
                let text = format!("{from} to {to}");
                figure_text(ui, pos2(self.x + 12.0, top), Align2::LEFT_CENTER, &text, theme.text);
            }
        }
        let response = response.on_hover_cursor(egui::CursorIcon::ResizeVertical);
        response.hovered() || response.dragged()
    }
}

/// Settings first, then numbers. `brush` is what was brushed so far.
pub fn parallel_ui(ui: &mut Ui, size: Vec2, view: &SweepView<'_>, brush: &mut Brush) -> PointedAt {
    let theme = view.theme;
    let title = "parallel coordinates: drag on an axis to brush, click it to take the brush away";
    let (sheet, response) = sheet_ui(ui, size, view, title);
    let plot =
        Rect::from_min_max(sheet.min + vec2(SIDE_MARGIN, NAMES_HEIGHT + 6.0), sheet.max - vec2(SIDE_MARGIN, 8.0));
    let axes = parallel_axes(view, plot);
    if axes.len() < 2 {
        return empty_picture(ui, sheet, theme);
    }
    let paths: Vec<Vec<Vec<Pos2>>> = (0..view.results.points.len()).map(|point| path(&axes, point, plot)).collect();
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_by_key(|point| (view.selected == Some(*point), view.is_in_brush(*point)));
    for point in order {
        let colour = if view.is_in_brush(point) { view.colour(point) } else { theme.grey().gamma_multiply(FAINT_LINE) };
        let width = if view.selected == Some(point) { 3.0 } else { 1.5 };
        for part in paths[point].iter().filter(|part| part.len() > 1) {
            ui.painter().line(part.clone(), Stroke::new(width, colour));
        }
    }
    let mut is_on_axis = false;
    let room = plot.width() / (axes.len() - 1) as f32 - 16.0;
    for axis in &axes {
        axis.paint(ui, theme, sheet, plot, room);
        is_on_axis |= axis.brush_ui(ui, theme, plot, brush);
    }
    let pointer = response.hover_pos().filter(|_| !is_on_axis);
    let far = |point: usize| {
        let parts = paths[point].iter().map(|part| distance_to(part, pointer.unwrap_or(Pos2::ZERO)));
        (point, parts.fold(f32::INFINITY, f32::min))
    };
    let hovered = nearest_point(pointer, (0..paths.len()).filter(|p| view.is_in_brush(*p)).map(far));
    handle_pointer(&response, view, hovered)
}

fn parallel_axes(view: &SweepView<'_>, plot: Rect) -> Vec<ParallelAxis> {
    let results = view.results;
    let mut axes: Vec<ParallelAxis> = vec![];
    for i in 0..results.axes.len() {
        let Some(ends) = AxisSpan::from_axis(results, i) else { continue };
        let values = results.points.iter().map(|p| p.places.get(i).copied()).collect();
        axes.push(ParallelAxis { dimension: Dimension::Axis(i), name: results.axis_title(i), ends, values, x: 0.0 });
    }
    for place in std::iter::once(view.number).chain(view.others.iter().copied()) {
        let Some(number) = results.numbers.get(place) else { continue };
        let Some(values_at_step) = view.values_at_step.get(&number.id) else { continue };
        let values: Vec<Option<f64>> = (0..results.points.len()).map(|point| values_at_step.mean(point)).collect();
        let scale = if place == view.number { view.scale } else { Scale::Linear };
        let Some(ends) = AxisSpan::around(values.iter().flatten().copied(), scale) else { continue };
        let dimension = Dimension::Number(number.id.clone());
        axes.push(ParallelAxis { dimension, name: number.heading.clone(), ends, values, x: 0.0 });
    }
    let last = axes.len().saturating_sub(1).max(1) as f32;
    axes.iter_mut().enumerate().for_each(|(i, axis)| axis.x = plot.left() + plot.width() * i as f32 / last);
    axes
}

/// A point's line; it is broken where the point has no value.
fn path(axes: &[ParallelAxis], point: usize, plot: Rect) -> Vec<Vec<Pos2>> {
    let mut parts: Vec<Vec<Pos2>> = vec![vec![]];
    for axis in axes {
        let y = axis.values.get(point).copied().flatten().map(|v| axis.y(v, plot)).filter(|y| y.is_finite());
        match (y, parts.last_mut()) {
            (Some(y), Some(part)) => part.push(pos2(axis.x, y)),
            _ => parts.push(vec![]),
        }
    }
    parts
}
