//! The panel of one channel: a chart, a map, a table or a text.

use eframe::egui::{TextStyle, containers::scroll_area::ScrollBarVisibility};

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
    fn read(&mut self, sample: &Sample) {
        if self.source.as_ref().is_none_or(|source| !Arc::ptr_eq(source, &sample.payload)) {
            self.content = Some(Content::from(sample));
            self.source = Some(Arc::clone(&sample.payload));
        }
    }

    /// The chart that it shows; `None` of a map, a table or a text.
    pub(super) fn chart<'a>(&'a self, cx: &ViewCx<'a>, entry: &Entry) -> Option<Chart<'a>> {
        if is_number(cx, entry) {
            return Some(chart(cx, entry));
        }
        let (variant, _) = sample(cx, &entry.channel)?;
        let Content::Curves(curves) = self.content.as_ref()? else { return None };
        let colour = variant_colour(cx.mirror, variant, cx.theme);
        Some(curves_chart(cx, curves, entry.channel.as_str(), colour))
    }

    pub(super) fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, entry: &Entry, size: Vec2) {
        if is_number(cx, entry) {
            return chart_ui(ui, cx, &chart(cx, entry), size, &mut self.chart);
        }
        let Some((variant, sample)) = sample(cx, &entry.channel) else {
            let first = entry.variants.iter().filter_map(|v| cx.mirror.samples(*v, entry.channel.as_str()).first());
            let first = first.map(|s| s.step).min();
            let words = first.map_or(String::new(), |step| format!("First logged at step {step}."));
            ui.allocate_ui(size, |ui| ui.label(RichText::new(words).color(cx.theme.secondary)));
            return;
        };
        self.read(sample);
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
        if count > 1 {
            let all = format!("of 0 to {}", count - 1);
            let shown = match cx.shows_controls() {
                true => ui.add(Slider::new(&mut self.matrix, 0..=count - 1).text(all)),
                false => note_ui(ui, cx.theme, format!("matrix {} {all}", self.matrix)),
            };
            room.y -= shown.on_hover_text("The matrix that is shown.").rect.height() + ui.spacing().item_spacing.y;
        }
        let Some(view) = matrix.array.matrix(self.matrix).filter(|view| view.rows > 0 && view.cols > 0) else {
            ui.label(RichText::new("An empty matrix.").color(cx.theme.secondary));
            return;
        };
        self.cells.cache_matrix(source, &format!("{name} {}", self.matrix), view);
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
    let mut xs = curves.lines.iter().flat_map(|(_, points)| points).map(|[x, _]| x);
    let integer_ticks = !curves.has_stairs && xs.all(|x| x.fract() == 0.0);
    let mut chart = Chart::new(name, Axis { integer_ticks, ..Axis::new(&curves.x_axis) }, y_axis);
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

/// The gaps between the columns and the rows of a table, points.
const CELL_GAP: Vec2 = vec2(12.0, 4.0);

/// A panel's scroll area; in a picture, where nothing can be scrolled, it has no bars.
fn scroll_area(area: ScrollArea, cx: &ViewCx<'_>) -> ScrollArea {
    let bars = if cx.has_controls { ScrollBarVisibility::VisibleWhenNeeded } else { ScrollBarVisibility::AlwaysHidden };
    area.auto_shrink([false, false]).scroll_bar_visibility(bars)
}

/// The number of these lengths that have room one after another.
fn count_fitting(lengths: impl IntoIterator<Item = f32>, gap: f32, room: f32) -> usize {
    let ends = lengths.into_iter().scan(-gap, |end, length| {
        *end += gap + length;
        Some(*end)
    });
    ends.take_while(|end| *end <= room).count()
}

/// The numbers of a table's first columns and rows that have room without being cut.
fn fitting_cells(ui: &Ui, table: &Table, room: Vec2) -> [usize; 2] {
    let size =
        |text: &String, font: FontId| ui.painter().layout_no_wrap(text.clone(), font, Color32::PLACEHOLDER).size();
    let heading: Vec<Vec2> = table.columns.iter().map(|name| size(name, theme::small())).collect();
    let row = |cells: &Vec<String>| cells.iter().map(|cell| size(cell, theme::numbers())).collect::<Vec<_>>();
    let most = (room.y / CELL_GAP.y).max(0.0) as usize;
    let rows: Vec<Vec<Vec2>> = std::iter::once(heading).chain(table.rows.iter().take(most).map(row)).collect();
    let heights = rows.iter().map(|row| row.iter().map(|size| size.y).fold(0.0, f32::max));
    let count = count_fitting(heights, CELL_GAP.y, room.y);
    let least = ui.spacing().interact_size.x;
    let width =
        |column: usize| rows[..count].iter().filter_map(|row| row.get(column)).map(|size| size.x).fold(least, f32::max);
    let columns = count_fitting((0..table.columns.len()).map(width), CELL_GAP.x, room.x);
    [columns.max(1).min(table.columns.len()), count.saturating_sub(1)]
}

/// A table. A picture has only the columns and rows that are whole in it, and says how many there are.
fn table_ui(ui: &mut Ui, cx: &ViewCx<'_>, table: &Table, name: &str, size: Vec2) {
    ui.allocate_ui(size, |ui| {
        ui.set_min_size(size);
        let all = [table.columns.len(), table.rows.len()];
        let [mut columns, mut rows] = if cx.has_controls { all } else { fitting_cells(ui, table, size) };
        if [columns, rows] != all {
            let note = note_height(ui, "0", size.x) + ui.spacing().item_spacing.y;
            [columns, rows] = fitting_cells(ui, table, size - vec2(0.0, note));
        }
        let shown = scroll_area(ScrollArea::both().id_salt(("table", name)), cx).show(ui, |ui| {
            let grid = Grid::new(("table", name)).num_columns(columns).spacing(CELL_GAP).striped(true);
            let grid = if cx.has_controls { grid } else { grid.min_row_height(0.0) };
            grid.show(ui, |ui| {
                table.columns[..columns].iter().for_each(|column| _ = note_ui(ui, cx.theme, column));
                ui.end_row();
                for row in &table.rows[..rows] {
                    let cells = row.iter().take(columns);
                    cells.for_each(|cell| _ = ui.label(RichText::new(cell).font(theme::numbers())));
                    ui.end_row();
                }
            });
            let counts = [(rows, table.total, "rows"), (columns, table.columns.len(), "columns")];
            let missing = counts.iter().filter(|(shown, all, _)| shown < all);
            let words: Vec<String> = missing.map(|(shown, all, what)| format!("{shown} of {all} {what}")).collect();
            if !words.is_empty() {
                note_ui(ui, cx.theme, words.join(", "));
            }
        });
        note_table(ui.ctx(), "logged", shown.inner_rect.width(), shown.content_size.x);
    });
}

/// A text. A picture has only the lines that are whole in it.
fn text_ui(ui: &mut Ui, cx: &ViewCx<'_>, words: &str, name: &str, size: Vec2) {
    ui.allocate_ui(size, |ui| {
        ui.set_min_size(size);
        let font = TextStyle::Body.resolve(ui.style());
        let mut job = LayoutJob::simple(words.to_owned(), font, cx.theme.text, size.x);
        if !cx.has_controls {
            job.wrap.max_rows = (size.y / ui.text_style_height(&TextStyle::Body)).max(1.0) as usize;
        }
        scroll_area(ScrollArea::vertical().id_salt(("text", name)), cx).show(ui, |ui| {
            ui.add(Label::new(job).wrap().selectable(true));
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_without_room_are_not_counted() {
        let count = |room: f32| count_fitting([20.0; 3], 4.0, room);
        assert_eq!([10.0, 20.0, 43.0, 44.0, 500.0].map(count), [0, 1, 1, 2, 3]);
    }

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
