//! Everything that a run has logged and no other view is made for: a panel a channel, drawn by what its data are.

mod content;

use std::{collections::HashMap, sync::Arc};

use eframe::egui::{self, ComboBox, Frame, Grid, Label, RichText, ScrollArea, Ui, Vec2, WidgetInfo, vec2};

use crate::{
    labs::foreign,
    telemetry::{Channel, Payload, Sample},
    ui::{
        plot::{
            Axis, Chart, ChartState, Line, Stroke,
            colour_bar::Colours,
            map::{MapFrame, MapState, MapUi},
            map_cells::MapCells,
            value_label,
        },
        seed_series::variant_colour,
        table::Table as Csv,
        theme,
        view::{View, ViewCx},
        views::attention::colours::{around_zero, rounded_up},
    },
};
use content::{Content, Curves, NamedMatrix, Table};

/// Least width of a panel among others, points.
const WIDE: f32 = 260.0;
/// Height of a panel among others, points.
const HIGH: f32 = 190.0;
/// Height of a panel's title, points.
const TITLE: f32 = 20.0;

/// View `logged`.
#[derive(Default)]
pub struct Logged {
    /// The channel that is shown large; all, if none is.
    chosen: Option<Channel>,
    /// What was drawn last of each channel.
    panels: HashMap<Channel, PanelState>,
}

/// What a panel keeps from frame to frame.
#[derive(Default)]
struct PanelState {
    chart: ChartState,
    map: MapState,
    cells: MapCells,
    /// The matrix that is shown, of several.
    matrix: usize,
    /// The measurement that `content` was read from.
    source: Option<Arc<Payload>>,
    content: Option<Content>,
}

/// A channel with the variants that have it.
struct Entry {
    channel: Channel,
    variants: Vec<usize>,
    /// It has a measurement rather than a number a step.
    is_measured: bool,
}

/// The channels that no other view is made for; where there are none, all that have numbers.
fn entries(cx: &ViewCx<'_>) -> Vec<Entry> {
    let entry = |is_measured| move |(channel, variants)| Entry { channel, variants, is_measured };
    let scalars = cx.mirror.scalar_channels().into_iter().map(entry(false));
    let samples = cx.mirror.sample_channels().into_iter().map(entry(true));
    let is_own = |entry: &Entry| foreign::view_of(entry.channel.as_str()) == foreign::LOGGED;
    let all: Vec<Entry> = scalars.chain(samples).collect();
    match all.iter().any(is_own) {
        true => all.into_iter().filter(is_own).collect(),
        false => all.into_iter().filter(|entry| !entry.is_measured).collect(),
    }
}

/// The newest sample of an entry at the shown step, with its variant: of the variant in focus, if it has one.
fn sample<'a>(cx: &ViewCx<'a>, entry: &Entry) -> Option<(usize, &'a Sample)> {
    let mirror = cx.mirror;
    cx.in_focus(|variant| mirror.sample_at(variant, entry.channel.as_str(), cx.step))
}

/// The curve of an entry: a line a variant.
fn chart<'a>(cx: &ViewCx<'a>, entry: &Entry) -> Chart<'a> {
    let name = entry.channel.as_str();
    let mut chart = Chart::new(name, Axis::steps(), Axis::new(name));
    for variant in &entry.variants {
        let label = cx.mirror.variants().get(*variant).map_or("run", |v| v.label.as_str());
        let colour = variant_colour(cx.mirror, *variant, cx.theme);
        if entry.is_measured {
            let value = |s: &Sample| Some([s.step as f64, content::number(&s.payload)?]);
            let points: Vec<[f64; 2]> = cx.mirror.samples(*variant, name).iter().filter_map(value).collect();
            chart.lines.push(Line::new(label, colour, points).dots());
        } else if let Some(curve) = cx.mirror.curve(*variant, name) {
            chart.lines.push(Line::new(label, colour, curve));
        }
    }
    chart.legend = entry.variants.len() > 1;
    chart.marker = cx.marker();
    chart
}

/// The chart of named lines; one alone has the colour of its variant.
fn curves_chart<'a>(cx: &ViewCx<'_>, curves: &Curves, name: &str, own: egui::Color32) -> Chart<'a> {
    let y_axis = if curves.y_axis.is_empty() { name } else { &curves.y_axis };
    let mut chart = Chart::new(name, Axis::new(&curves.x_axis), Axis::new(y_axis));
    for (i, (line, points)) in curves.lines.iter().enumerate() {
        let label = if line.is_empty() { name } else { line };
        let colour = if curves.lines.len() > 1 { cx.theme.series(i) } else { own };
        let stroke = if curves.has_stairs { Stroke::Stairs } else { Stroke::Solid };
        chart.lines.push(Line::new(label, colour, points.clone()).stroke(stroke));
    }
    chart.legend = curves.lines.len() > 1;
    chart
}

/// True for a channel whose measurements are single numbers.
fn is_number(cx: &ViewCx<'_>, entry: &Entry) -> bool {
    !entry.is_measured || sample(cx, entry).is_some_and(|(_, s)| content::number(&s.payload).is_some())
}

fn colours(cells: &MapCells, cx: &ViewCx<'_>) -> Colours {
    let finite = || cells.cells().data.iter().copied().filter(|v| v.is_finite());
    let (low, high) = finite().fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    match low < 0.0 {
        true => around_zero(rounded_up(cells.largest()), cx.theme),
        false if low < high => Colours { map: Default::default(), range: [low, high], log: false },
        false => Colours { map: Default::default(), range: [0.0, rounded_up(cells.largest())], log: false },
    }
}

impl PanelState {
    /// Reads a measurement, unless it is the one that is shown.
    fn read(&mut self, payload: &Arc<Payload>) {
        if self.source.as_ref().is_none_or(|source| !Arc::ptr_eq(source, payload)) {
            self.content = Some(Content::new(payload));
            self.source = Some(Arc::clone(payload));
        }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, entry: &Entry, size: Vec2) {
        if is_number(cx, entry) {
            return chart_ui(ui, cx, &chart(cx, entry), size, &mut self.chart);
        }
        let Some((variant, sample)) = sample(cx, entry) else {
            let first = entry.variants.iter().filter_map(|v| cx.mirror.samples(*v, entry.channel.as_str()).first());
            let words =
                first.map(|s| s.step).min().map_or(String::new(), |step| format!("First logged at step {step}."));
            ui.allocate_ui(size, |ui| ui.label(RichText::new(words).color(cx.theme.secondary)));
            return;
        };
        self.read(&sample.payload);
        match self.content.take() {
            Some(Content::Curves(curves)) => {
                let own = variant_colour(cx.mirror, variant, cx.theme);
                let chart = curves_chart(cx, &curves, entry.channel.as_str(), own);
                chart_ui(ui, cx, &chart, size, &mut self.chart);
                self.content = Some(Content::Curves(curves));
            }
            Some(Content::Matrix(matrix)) => {
                self.matrix_ui(ui, cx, &matrix, (&sample.payload, entry.channel.as_str()), size);
                self.content = Some(Content::Matrix(matrix));
            }
            Some(Content::Table(table)) => {
                table_ui(ui, cx, &table, entry.channel.as_str(), size);
                self.content = Some(Content::Table(table));
            }
            Some(Content::Text(words)) => {
                text_ui(ui, cx, &words, entry.channel.as_str(), size);
                self.content = Some(Content::Text(words));
            }
            None => {}
        }
    }

    fn matrix_ui(
        &mut self,
        ui: &mut Ui,
        cx: &ViewCx<'_>,
        matrix: &NamedMatrix,
        (payload, name): (&Arc<Payload>, &str),
        size: Vec2,
    ) {
        let count = matrix.count();
        self.matrix = self.matrix.min(count.saturating_sub(1));
        let mut room = size;
        if count > 1 && cx.has_controls {
            let slider = egui::Slider::new(&mut self.matrix, 0..=count - 1).text(format!("of {count}"));
            let slider = ui.add(slider).on_hover_text("The matrix that is shown.");
            room.y -= slider.rect.height() + ui.spacing().item_spacing.y;
        }
        let Some(view) = matrix.array.matrix(self.matrix).filter(|view| view.rows > 0 && view.cols > 0) else {
            ui.label(RichText::new("An empty matrix.").color(cx.theme.secondary));
            return;
        };
        self.cells.hold(payload, &format!("{name} {}", self.matrix), view, |v| v.is_finite());
        let named = |names: &[String], i: usize| names.get(i).map_or(i.to_string(), |name| format!("{i} {name}"));
        let describe = |row: usize, col: usize| {
            let value = value_label(f64::from(self.cells.value(row, col)));
            format!("row {}, column {}\n{value}", named(&matrix.rows, row), named(&matrix.columns, col))
        };
        let [rows, cols] = [view.rows, view.cols].map(|n| n.to_string());
        let map = MapUi {
            name,
            held: &self.cells,
            colours: colours(&self.cells, cx),
            row_label: axis(&matrix.row_axis, &rows),
            col_label: axis(&matrix.column_axis, &cols),
            describe: &describe,
            marked: None,
            cell: None,
            frame: MapFrame::default(),
        };
        map.show(ui, room.max(Vec2::splat(40.0)), cx.theme, &mut self.map);
    }
}

/// A chart, or words in its place: one panel without values does not leave the view with nothing to show.
fn chart_ui(ui: &mut Ui, cx: &ViewCx<'_>, chart: &Chart<'_>, size: Vec2, state: &mut ChartState) {
    if chart.is_empty() {
        ui.allocate_ui(size, |ui| ui.label(RichText::new("No values.").color(cx.theme.secondary)));
    } else {
        chart.show(ui, size, cx.theme, state);
    }
}

/// Words for an axis: its own, or its length.
fn axis<'a>(words: &'a str, length: &'a str) -> &'a str {
    if words.is_empty() { length } else { words }
}

fn table_ui(ui: &mut Ui, cx: &ViewCx<'_>, table: &Table, name: &str, size: Vec2) {
    ui.allocate_ui(size, |ui| {
        ui.set_min_size(size);
        ScrollArea::both().id_salt(("table", name)).auto_shrink([false, false]).show(ui, |ui| {
            Grid::new(("table", name)).num_columns(table.columns.len()).spacing([12.0, 4.0]).striped(true).show(
                ui,
                |ui| {
                    for column in &table.columns {
                        ui.label(RichText::new(column).small().color(cx.theme.secondary));
                    }
                    ui.end_row();
                    for row in &table.rows {
                        for cell in row {
                            ui.label(RichText::new(cell).font(theme::numbers()));
                        }
                        ui.end_row();
                    }
                },
            );
            if table.rows.len() < table.total {
                let words = format!("{} of {} rows", table.rows.len(), table.total);
                ui.label(RichText::new(words).small().color(cx.theme.secondary));
            }
        });
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

impl Logged {
    /// The list of channels, above the panels.
    fn controls_ui(&mut self, ui: &mut Ui, entries: &[Entry]) {
        ui.horizontal(|ui| {
            const ALL: &str = "All channels";
            let shown = self.chosen.as_ref().map_or(ALL, Channel::as_str).to_owned();
            let combo = ComboBox::from_id_salt("channel").selected_text(&shown).width(200.0).truncate();
            let list = combo.show_ui(ui, |ui| {
                ui.selectable_value(&mut self.chosen, None, ALL);
                for entry in entries {
                    ui.selectable_value(&mut self.chosen, Some(entry.channel.clone()), entry.channel.as_str());
                }
            });
            list.response.widget_info(|| WidgetInfo::labeled(egui::Role::ComboBox, true, "Channel"));
            list.response.on_hover_text("The channel that is shown large.");
            if self.chosen.is_some() && ui.button("All").on_hover_text("Shows every channel.").clicked() {
                self.chosen = None;
            }
        });
    }

    /// All panels, as many in a row as there is room for. A picture has those that fit.
    fn grid_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, entries: &[Entry]) {
        let room = ui.available_size();
        let gap = ui.spacing().item_spacing;
        let most = ((room.x + gap.x) / (WIDE + gap.x)).floor().max(1.0) as usize;
        let columns = most.min(entries.len()).max(1);
        let rows = entries.len().div_ceil(columns);
        let width = ((room.x - gap.x * (columns - 1) as f32) / columns as f32).floor();
        // few panels share the room; many are scrolled
        let share = (room.y - (gap.y + TITLE) * rows as f32) / rows as f32;
        let size = vec2(width - 2.0, (share - 4.0).max(HIGH - TITLE).min((room.y - TITLE - 4.0).max(90.0)));
        let visible = match cx.has_controls {
            true => rows,
            false => (((room.y + gap.y) / (size.y + TITLE + gap.y)).floor() as usize).clamp(1, rows),
        };
        let mut all_ui = |ui: &mut Ui| {
            for row in entries.chunks(columns).take(visible) {
                ui.horizontal_top(|ui| {
                    for entry in row {
                        ui.vertical(|ui| self.panel_ui(ui, cx, entry, size));
                    }
                });
            }
        };
        match cx_scrolls(visible, rows, size.y, room.y) {
            true => {
                ScrollArea::vertical().id_salt("panels").auto_shrink([false, false]).show(ui, all_ui);
            }
            false => all_ui(ui),
        }
    }

    /// A panel under its name, which a click shows large.
    fn panel_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, entry: &Entry, size: Vec2) {
        ui.set_max_width(size.x);
        let name = entry.channel.as_str();
        let words = RichText::new(name).size(theme::SMALL).color(cx.theme.secondary);
        match cx.has_controls {
            true => {
                let title = ui.add_sized([size.x, TITLE - 4.0], egui::Button::new(words).frame(false).truncate());
                title.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, format!("Show {name} large")));
                if title.on_hover_text("Shows this channel large.").clicked() {
                    self.chosen = Some(entry.channel.clone());
                }
            }
            false => {
                ui.add_sized([size.x, TITLE - 4.0], Label::new(words).truncate());
            }
        }
        let state = self.panels.entry(entry.channel.clone()).or_default();
        Frame::NONE.show(ui, |ui| ui.push_id(name, |ui| state.ui(ui, cx, entry, size)));
    }
}

/// True where the panels are higher than the room.
fn cx_scrolls(visible: usize, rows: usize, height: f32, room: f32) -> bool {
    visible == rows && (height + TITLE) * rows as f32 > room
}

impl View for Logged {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let entries = entries(cx);
        if entries.is_empty() {
            let words =
                cx.why_no_curve("Nothing is logged yet.", "This run has logged nothing that could be shown here.");
            return cx.nothing_ui(ui, &words);
        }
        if self.chosen.as_ref().is_some_and(|chosen| entries.iter().all(|entry| entry.channel != *chosen)) {
            self.chosen = None;
        }
        if cx.has_controls {
            self.controls_ui(ui, &entries);
        }
        let chosen = self.chosen.clone();
        match chosen.and_then(|chosen| entries.iter().find(|entry| entry.channel == chosen)) {
            Some(entry) => {
                let size = ui.available_size();
                let state = self.panels.entry(entry.channel.clone()).or_default();
                state.ui(ui, cx, entry, size);
            }
            None => self.grid_ui(ui, cx, &entries),
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let Some(chosen) = &self.chosen else {
            let n = entries(cx).len();
            return cx.subtitle(&format!("{n} {}", if n == 1 { "channel" } else { "channels" }));
        };
        let sample = cx.in_focus(|variant| cx.mirror.sample_at(variant, chosen.as_str(), cx.step));
        match sample {
            Some((_, s)) if s.about.is_empty() => format!("step {} \u{b7} {chosen}", s.step),
            Some((_, s)) => format!("step {} \u{b7} {chosen} \u{b7} {}", s.step, s.about),
            None => cx.subtitle(chosen.as_str()),
        }
    }

    /// The chosen channel; of all, every number as of the shown step.
    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let entries = entries(cx);
        let chosen = self.chosen.as_ref().and_then(|chosen| entries.iter().find(|entry| entry.channel == *chosen));
        match chosen {
            None => numbers_csv(cx, &entries),
            Some(entry) if is_number(cx, entry) => {
                let state = self.panels.get(&entry.channel).map(|panel| panel.chart.clone()).unwrap_or_default();
                chart(cx, entry).csv(&state)
            }
            Some(entry) => sample(cx, entry).map(|(_, sample)| content_csv(&Content::new(&sample.payload))),
        }
    }
}

fn numbers_csv(cx: &ViewCx<'_>, entries: &[Entry]) -> Option<String> {
    let mut csv = Csv::new(["channel", "variant", "step", "value"]);
    let mut is_empty = true;
    for entry in entries.iter().filter(|entry| !entry.is_measured) {
        for variant in &entry.variants {
            let curve = cx.mirror.curve(*variant, entry.channel.as_str());
            let Some((step, value)) = curve.and_then(|curve| curve.point_at(cx.step)) else { continue };
            let label = cx.mirror.variants().get(*variant).map_or("run", |v| v.id.as_str());
            csv.row([entry.channel.as_str(), label, &step.to_string(), &value.to_string()]);
            is_empty = false;
        }
    }
    (!is_empty).then(|| csv.finish())
}

fn content_csv(content: &Content) -> String {
    match content {
        Content::Curves(curves) => {
            let mut csv = Csv::new(["line", "x", "y"]);
            for (name, points) in &curves.lines {
                points.iter().for_each(|[x, y]| csv.row([name.as_str(), &x.to_string(), &y.to_string()]));
            }
            csv.finish()
        }
        Content::Matrix(matrix) => {
            let mut csv = Csv::new(["matrix", "row", "column", "value"]);
            for nth in 0..matrix.count() {
                let Some(view) = matrix.array.matrix(nth) else { continue };
                for (i, value) in view.data.iter().enumerate() {
                    let (row, col) = (i / view.cols.max(1), i % view.cols.max(1));
                    csv.row([nth.to_string(), row.to_string(), col.to_string(), value.to_string()]);
                }
            }
            csv.finish()
        }
        Content::Table(table) => {
            let mut csv = Csv::new(table.columns.iter().map(String::as_str));
            table.rows.iter().for_each(|row| csv.row(row));
            csv.finish()
        }
        Content::Text(words) => {
            let mut csv = Csv::new(["text"]);
            csv.row([words]);
            csv.finish()
        }
    }
}
