//! The panel of one channel: a chart, a map, a table or a text.

use super::{
    Entry, chart,
    content::{Content, Curves, NamedMatrix, Table},
    is_number, sample,
};
use crate::ui::{
    plot::Data,
    views::{
        attention::colours::{around_zero, rounded_up},
        prelude::*,
    },
};

/// The state of a panel that outlives a frame.
#[derive(Default)]
pub(super) struct PanelState {
    pub(super) chart: ChartState,
    map: MapState,
    cells: MapCells,
    /// The smallest and the largest finite value of `cells`, if there is one, for its revision.
    extent: KeyedCache<u64, Option<Option<[f64; 2]>>>,
    /// The index of the matrix shown, if there are several.
    matrix: usize,
    /// The measurement that `content` was read from.
    source: Option<Arc<Payload>>,
    content: Option<Content>,
}

impl PanelState {
    /// Reads a measurement, unless it is shown already.
    fn read(&mut self, payload: &Arc<Payload>) {
        if self.source.as_ref().is_none_or(|source| !Arc::ptr_eq(source, payload)) {
            self.content = Some(Content::new(payload));
            self.source = Some(Arc::clone(payload));
        }
    }

    /// The chart that it shows; `None` of a map, a table or a text.
    pub(super) fn chart<'a>(&'a self, cx: &ViewCx<'a>, entry: &Entry) -> Option<Chart<'a>> {
        if is_number(cx, entry) {
            return Some(chart(cx, entry));
        }
        let (variant, _) = sample(cx, entry)?;
        let Content::Curves(curves) = self.content.as_ref()? else { return None };
        let colour = variant_colour(cx.mirror, variant, cx.theme);
        Some(curves_chart(cx, curves, entry.channel.as_str(), colour))
    }

    pub(super) fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, entry: &Entry, size: Vec2) {
        if is_number(cx, entry) {
            return chart_ui(ui, cx, &chart(cx, entry), size, &mut self.chart);
        }
        let Some((variant, sample)) = sample(cx, entry) else {
            let first = entry.variants.iter().filter_map(|v| cx.mirror.samples(*v, entry.channel.as_str()).first());
            let first = first.map(|s| s.step).min();
            let words = first.map_or(String::new(), |step| format!("First logged at step {step}."));
            ui.allocate_ui(size, |ui| ui.label(RichText::new(words).color(cx.theme.secondary)));
            return;
        };
        self.read(&sample.payload);
        let (content, name) = (self.content.take(), entry.channel.as_str());
        match &content {
            Some(Content::Curves(curves)) => {
                let chart = curves_chart(cx, curves, name, variant_colour(cx.mirror, variant, cx.theme));
                chart_ui(ui, cx, &chart, size, &mut self.chart);
            }
            Some(Content::Matrix(matrix)) => self.matrix_ui(ui, cx, name, matrix, size),
            Some(Content::Table(table)) => table_ui(ui, cx, table, name, size),
            Some(Content::Text(words)) => text_ui(ui, cx, words, name, size),
            None => {}
        }
        self.content = content;
    }

    fn matrix_ui(&mut self, ui: &mut Ui, cx: &ViewCx<'_>, name: &str, matrix: &NamedMatrix, size: Vec2) {
        let Some(source) = &self.source else { return };
        let count = matrix.count();
        self.matrix = self.matrix.min(count.saturating_sub(1));
        let mut room = size;
        if count > 1 && cx.shows_controls() {
            let slider = egui::Slider::new(&mut self.matrix, 0..=count - 1).text(format!("of {count}"));
            let slider = ui.add(slider).on_hover_text("The matrix that is shown.");
            room.y -= slider.rect.height() + ui.spacing().item_spacing.y;
        }
        let Some(view) = matrix.array.matrix(self.matrix).filter(|view| view.rows > 0 && view.cols > 0) else {
            ui.label(RichText::new("An empty matrix.").color(cx.theme.secondary));
            return;
        };
        self.cells.cache_matrix(source, &format!("{name} {}", self.matrix), view, |_| true);
        let (cells, extent) = (&self.cells, self.extent.at(self.cells.revision()));
        let extent = extent.get_or_insert_with(|| finite_range(cells.cells().data.iter().map(|v| f64::from(*v))));
        let Some(extent) = extent.map(|ends| ends.map(|v| v as f32)) else {
            ui.label(RichText::new("No finite number anywhere.").color(cx.theme.secondary));
            return;
        };
        let named = |names: &[String], i: usize| names.get(i).map_or(i.to_string(), |name| format!("{i} {name}"));
        let describe = |row: usize, col: usize| {
            let value = self.cells.label(row, col);
            format!("row {}, column {}\n{value}", named(&matrix.rows, row), named(&matrix.columns, col))
        };
        let [rows, cols] = [view.rows, view.cols].map(|n| n.to_string());
        let (row_label, col_label) = (axis(&matrix.row_axis, &rows), axis(&matrix.column_axis, &cols));
        let map = MapUi::attention(name, &self.cells, colours(extent, cx.theme), &describe);
        let map = MapUi { row_label, col_label, ..map };
        map.show(ui, room.max(Vec2::splat(40.0)), cx.theme, &mut self.map);
    }
}

/// A chart of named lines; if there is only one line, it has the colour of its variant.
fn curves_chart<'a>(cx: &ViewCx<'_>, curves: &'a Curves, name: &str, own: Color32) -> Chart<'a> {
    // no label by default, because the panel's title is the same name
    let y_axis = if curves.y_axis.is_empty() { Axis::new(name).hide_label() } else { Axis::new(&curves.y_axis) };
    let mut chart = Chart::new(name, Axis::new(&curves.x_axis), y_axis);
    for (i, (line, points)) in curves.lines.iter().enumerate() {
        let label = if line.is_empty() { name } else { line };
        let colour = if curves.lines.len() > 1 { cx.theme.series(i) } else { own };
        let stroke = if curves.has_stairs { Stroke::Stairs } else { Stroke::Solid };
        chart.lines.push(Line::new(label, colour, points.as_slice()).stroke(stroke));
    }
    chart.legend = curves.lines.len() > 1;
    chart
}

/// Colours from the smallest to the largest value; where some are negative, they diverge from 0.
fn colours([low, high]: [f32; 2], theme: &Theme) -> Colours {
    if low < 0.0 {
        return around_zero(rounded_up(high.abs().max(-low)).min(f32::MAX), theme);
    }
    let range = if low < high { [low, high] } else { [0.0, rounded_up(high.max(0.0)).min(f32::MAX)] };
    Colours { map: ColourMap::default(), range, log: false }
}

/// A chart, or words in its place: one panel without values does not leave the view with nothing to show.
fn chart_ui(ui: &mut Ui, cx: &ViewCx<'_>, chart: &Chart<'_>, size: Vec2, state: &mut ChartState) {
    if let Some(words) = why_empty(chart) {
        ui.allocate_ui(size, |ui| ui.label(RichText::new(words).color(cx.theme.secondary)));
    } else {
        chart.show(ui, size, cx.theme, state);
    }
}

/// The text for a chart on which nothing can be drawn: it has no values, or none that is finite.
fn why_empty(chart: &Chart<'_>) -> Option<String> {
    let points = || chart.lines.iter().flat_map(|line| points_of(&line.data));
    if points().any(|[_, y]| y.is_finite()) {
        return None;
    }
    let what = if points().all(|[_, y]| y.is_nan()) { "Not a number" } else { "Not finite" };
    let ends = points().map(|[x, _]| [x, x]).reduce(|[low, high], [x, _]| [low.min(x), high.max(x)]);
    Some(match ends {
        None => "No values.".to_owned(),
        Some(_) if !chart.x.counts_steps => format!("{what} anywhere."),
        Some([low, high]) if low == high => format!("{what} at step {low:.0}."),
        Some([low, high]) => format!("{what} at steps {low:.0} to {high:.0}."),
    })
}

fn points_of(data: &Data<'_>) -> impl Iterator<Item = [f64; 2]> {
    (0..data.len()).filter_map(move |i| match data {
        Data::Curve(curve) => curve.point(i).map(|(step, value)| [step as f64, value]),
        Data::Points(points) => points.get(i).copied(),
    })
}

/// The label of an axis: its own, or its length if it has none.
fn axis<'a>(words: &'a str, length: &'a str) -> &'a str {
    if words.is_empty() { length } else { words }
}

fn table_ui(ui: &mut Ui, cx: &ViewCx<'_>, table: &Table, name: &str, size: Vec2) {
    ui.allocate_ui(size, |ui| {
        ui.set_min_size(size);
        let shown = ScrollArea::both().id_salt(("table", name)).auto_shrink([false, false]).show(ui, |ui| {
            Grid::new(("table", name)).num_columns(table.columns.len()).spacing([12.0, 4.0]).striped(true).show(
                ui,
                |ui| {
                    table.columns.iter().for_each(|column| _ = note_ui(ui, cx.theme, column));
                    ui.end_row();
                    for row in &table.rows {
                        row.iter().for_each(|cell| _ = ui.label(RichText::new(cell).font(theme::numbers())));
                        ui.end_row();
                    }
                },
            );
            if table.rows.len() < table.total {
                let words = format!("{} of {} rows", table.rows.len(), table.total);
                note_ui(ui, cx.theme, words);
            }
        });
        note_table(ui.ctx(), "logged", shown.inner_rect.width(), shown.content_size.x);
    });
}

fn text_ui(ui: &mut Ui, cx: &ViewCx<'_>, words: &str, name: &str, size: Vec2) {
    ui.allocate_ui(size, |ui| {
        ui.set_min_size(size);
        ScrollArea::vertical().id_salt(("text", name)).auto_shrink([false, false]).show(ui, |ui| {
            ui.add(Label::new(RichText::new(words).color(cx.theme.text)).wrap().selectable(true));
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_cannot_be_drawn_are_named() {
        let words = |x: Axis, values: &[f64]| {
            let points: Vec<[f64; 2]> = values.iter().zip(1u8..).map(|(y, i)| [50.0 * f64::from(i), *y]).collect();
            why_empty(&Chart::new("t", x, Axis::new("y")).line(Line::new("a", Color32::RED, points)))
        };
        let steps = |values: &[f64]| words(Axis::steps(), values);
        assert_eq!(steps(&[]).unwrap(), "No values.");
        assert_eq!(steps(&[f64::NAN]).unwrap(), "Not a number at step 50.");
        assert_eq!(steps(&[f64::NAN; 3]).unwrap(), "Not a number at steps 50 to 150.");
        assert_eq!(steps(&[f64::NAN, f64::INFINITY]).unwrap(), "Not finite at steps 50 to 100.");
        assert_eq!(words(Axis::new("place"), &[f64::NAN]).unwrap(), "Not a number anywhere.");
        assert_eq!(steps(&[f64::NAN, 1.0]), None);
    }
}
