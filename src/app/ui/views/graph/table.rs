//! The nodes and the edges of the graph as a table: sorted by a column, filtered by words and conditions. A click selects
//! the node in the picture, and what is selected there is marked here.

use eframe::egui::{
    Align2, Color32, FontId, Rect, Response, RichText, ScrollArea, Sense, TextEdit, Ui, WidgetInfo, accesskit::Role,
    pos2, vec2,
};

use super::{
    drawing::one_line,
    network::{Network, NetworkCache},
    table_filter::{Cells, NamedRow, terms},
};
use crate::{
    telemetry::measurements,
    ui::{
        table::Table,
        theme,
        views::{View, ViewCx, connectivity},
        widgets::number::grouped,
    },
};

const ROW: f32 = 20.0;
const EMPTY: &str = "No graph to list yet. Open a graph file, or a run of the neuron graph lab.";
/// Rows whose words decide how wide a column is.
const SAMPLED: usize = 200;
const WIDTHS: (f32, f32) = (52.0, 240.0);

/// The items that the table lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum TableKind {
    #[default]
    Nodes,
    Edges,
}

/// The column that is sorted by, and true for a descending order.
type Sort = Option<(usize, bool)>;

/// View `graph_table`.
#[derive(Default)]
pub struct GraphTable {
    shown: NetworkCache,
    listed: TableKind,
    filter: String,
    sort: Sort,
    /// The list, filter and order that the rows were made for.
    made_for: Option<(TableKind, String, Sort)>,
    /// Places of the rows that are shown, in their order.
    rows: Vec<u32>,
    widths: Vec<f32>,
    /// Why the filter means nothing.
    complaint: Option<String>,
    /// The neuron that was selected last.
    selected: Option<u32>,
}

/// One row of either list.
struct Item<'a> {
    network: &'a Network,
    listed: TableKind,
    at: usize,
}

/// Columns of a list before those of values.
fn fixed(listed: TableKind) -> &'static [&'static str] {
    match listed {
        TableKind::Nodes => &["id", "label", "community", "component"],
        TableKind::Edges => &["source", "target", "weight"],
    }
}

fn columns(network: &Network, listed: TableKind) -> Vec<&str> {
    let more = if listed == TableKind::Nodes { &network.columns } else { &network.edge_columns };
    fixed(listed).iter().copied().chain(more.iter().map(|c| c.name.as_str())).collect()
}

impl Item<'_> {
    fn group(&self, column: usize) -> Option<u32> {
        use super::network::ColourBy::{Community, Component};
        self.network.group(if column == 2 { Community } else { Component }, self.at as u32)
    }
}

impl Cells for Item<'_> {
    fn number(&self, column: usize) -> f64 {
        let (network, at) = (self.network, self.at);
        match (self.listed, column) {
            (TableKind::Nodes, 0) => network.id(at as u32).parse().unwrap_or(f64::NAN),
            (TableKind::Nodes, 1) => f64::NAN,
            (TableKind::Nodes, 2 | 3) => self.group(column).map_or(f64::NAN, f64::from),
            (TableKind::Nodes, c) => network.columns.get(c - 4).map_or(f64::NAN, |c| c.number(at)),
            (TableKind::Edges, 0 | 1) => self.text(column).parse().unwrap_or(f64::NAN),
            (TableKind::Edges, 2) => network.edges.get(at).map_or(f64::NAN, |e| f64::from(e.2)),
            (TableKind::Edges, c) => network.edge_columns.get(c - 3).map_or(f64::NAN, |c| c.number(at)),
        }
    }

    fn text(&self, column: usize) -> String {
        let (network, at) = (self.network, self.at);
        let name = |node: u32| network.labels.get(node as usize).cloned().unwrap_or_default();
        match (self.listed, column) {
            (TableKind::Nodes, 0) => network.id(at as u32),
            (TableKind::Nodes, 1) => name(at as u32),
            (TableKind::Nodes, 2 | 3) => self.group(column).map_or(String::new(), |g| g.to_string()),
            (TableKind::Nodes, c) => network.columns.get(c - 4).map_or(String::new(), |c| c.text(at)),
            (TableKind::Edges, 0) => network.edges.get(at).map_or(String::new(), |e| name(e.0)),
            (TableKind::Edges, 1) => network.edges.get(at).map_or(String::new(), |e| name(e.1)),
            (TableKind::Edges, 2) => network.edges.get(at).map_or(String::new(), |e| e.2.to_string()),
            (TableKind::Edges, c) => network.edge_columns.get(c - 3).map_or(String::new(), |c| c.text(at)),
        }
    }
}

impl GraphTable {
    fn count(&self, network: &Network) -> usize {
        if self.listed == TableKind::Nodes { network.len() } else { network.edges.len() }
    }

    /// Finds and sorts the rows when what they depend on has changed.
    fn keep_rows(&mut self, network: &Network) {
        let inputs = (self.listed, self.filter.clone(), self.sort);
        if self.made_for.as_ref() == Some(&inputs) {
            return;
        }
        let names = columns(network, self.listed);
        let item = |at: u32| Item { network, listed: self.listed, at: at as usize };
        let terms = terms(&self.filter, &names);
        self.complaint = terms.as_ref().err().cloned();
        let terms = terms.unwrap_or_default();
        let shown = |at: &u32| {
            let row = NamedRow { cells: &item(*at), names: &names };
            terms.iter().all(|term| term.holds(&row))
        };
        let mut rows: Vec<u32> = (0..self.count(network) as u32).filter(shown).collect();
        if let Some((column, falls)) = self.sort.filter(|(column, _)| *column < names.len()) {
            sort(&mut rows, |at| (item(at).number(column), item(at).text(column)), falls);
        }
        let wide = |column: usize| {
            let sampled = rows.iter().take(SAMPLED).map(|at| item(*at).text(column).chars().count());
            let max = sampled.max().unwrap_or(0).max(names[column].chars().count() + 2);
            (max as f32 * 7.4 + 16.0).clamp(WIDTHS.0, WIDTHS.1)
        };
        self.widths = (0..names.len()).map(wide).collect();
        self.rows = rows;
        self.made_for = Some(inputs);
    }

    fn controls_ui(&mut self, ui: &mut Ui, network: &Network, cx: &ViewCx<'_>) {
        ui.horizontal_wrapped(|ui| {
            for (listed, words) in
                [(TableKind::Nodes, format!("{}s", network.noun())), (TableKind::Edges, "edges".into())]
            {
                if ui.selectable_label(self.listed == listed, words).clicked() {
                    (self.listed, self.sort) = (listed, None);
                }
            }
            let field = TextEdit::singleline(&mut self.filter).hint_text("words, degree>5").desired_width(180.0);
            let field = ui.add(field);
            field.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, "filter"));
            field.on_hover_text(
                "Words that a row has, and conditions on columns: degree>5, kind=salt, \"net mass\"<=0.5, label!=x, \
                 label:part; a ! before one leaves out. All of them must hold.",
            );
            match &self.complaint {
                Some(words) => ui.label(RichText::new(words).color(cx.theme.error)),
                None => {
                    let (some, all) = (self.rows.len() as u64, self.count(network) as u64);
                    ui.label(format!("{} of {}", grouped(some), grouped(all)))
                }
            };
        });
    }

    /// True where the first listed row that has a value in the column has a number.
    fn holds_numbers(&self, network: &Network, column: usize) -> bool {
        let mut items = self.rows.iter().map(|at| Item { network, listed: self.listed, at: *at as usize });
        items.find(|item| !item.text(column).is_empty()).is_some_and(|item| !item.number(column).is_nan())
    }

    /// Names of the columns, over numbers to the right as they are; a click sorts by one.
    fn header_ui(&mut self, ui: &mut Ui, network: &Network, cx: &ViewCx<'_>) {
        let (row, _) = ui.allocate_exact_size(vec2(self.widths.iter().sum(), ROW), Sense::hover());
        let mut left = row.left();
        for (column, name) in columns(network, self.listed).into_iter().enumerate() {
            let place = Rect::from_min_size(pos2(left, row.top()), vec2(self.widths[column], ROW));
            left += self.widths[column];
            let response = ui.interact(place, ui.scope_id().with(("column", column)), Sense::click());
            let mark = match self.sort {
                Some((sorted, falls)) if sorted == column => {
                    if falls {
                        " \u{2193}"
                    } else {
                        " \u{2191}"
                    }
                }
                _ => "",
            };
            response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("sort by {name}")));
            let colour = if response.hovered() { cx.theme.accent } else { cx.theme.secondary };
            let side = if self.holds_numbers(network, column) { Side::Right } else { Side::Left };
            cell(ui, place, format!("{name}{mark}"), (side, FontId::proportional(theme::SMALL)), colour);
            if response.on_hover_text("Click to sort by it, again for the other way round.").clicked() {
                // numbers are looked for at their large end
                self.sort = Some((column, self.sort.is_none_or(|(sorted, falls)| sorted != column || !falls)));
            }
        }
        ui.painter().hline(row.x_range(), row.bottom(), (1.0, cx.theme.line));
    }

    fn row_ui(&self, ui: &mut Ui, network: &Network, at: u32, cx: &ViewCx<'_>) -> Response {
        let item = Item { network, listed: self.listed, at: at as usize };
        let (row, response) = ui.allocate_exact_size(vec2(self.widths.iter().sum(), ROW), Sense::click());
        let name = format!("{} {}", item.text(0), item.text(1));
        let is_selected = cx.selection.neuron.is_some_and(|neuron| self.neurons(network, at).contains(&Some(neuron)));
        response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_selected, &name));
        if is_selected || response.hovered() {
            let fill =
                if is_selected { cx.theme.accent.gamma_multiply(0.18) } else { cx.theme.line.gamma_multiply(0.5) };
            ui.painter().rect_filled(row, 2.0, fill);
        }
        let mut left = row.left();
        for (column, wide) in self.widths.iter().enumerate() {
            let place = Rect::from_min_size(pos2(left, row.top()), vec2(*wide, ROW));
            left += wide;
            let how = match item.number(column).is_nan() {
                true => (Side::Left, FontId::proportional(theme::SMALL)),
                false => (Side::Right, theme::numbers()),
            };
            cell(ui, place, item.text(column), how, cx.theme.text);
        }
        response
    }

    /// The numbers of the neurons that a row is of.
    fn neurons(&self, network: &Network, at: u32) -> Vec<Option<u32>> {
        let name = |node: u32| network.names.get(node as usize).copied();
        match self.listed {
            TableKind::Nodes => vec![name(at)],
            TableKind::Edges => {
                network.edges.get(at as usize).map_or(vec![], |(from, to, _)| vec![name(*from), name(*to)])
            }
        }
    }

    fn rows_ui(&mut self, ui: &mut Ui, network: &Network, cx: &mut ViewCx<'_>) {
        // A node that was selected elsewhere is scrolled into view; one that was clicked here is visible already.
        let news = self.selected != cx.selection.neuron;
        self.selected = cx.selection.neuron;
        let wanted = self.selected.filter(|_| news);
        let at = wanted.and_then(|neuron| {
            self.rows.iter().position(|at| self.neurons(network, *at).first() == Some(&Some(neuron)))
        });
        let mut area = ScrollArea::vertical().id_salt(("rows", self.listed == TableKind::Nodes)).auto_shrink(false);
        if let Some(at) = at {
            area = area.vertical_scroll_offset((at as f32 - 3.0).max(0.0) * ROW);
        }
        ui.spacing_mut().item_spacing.y = 0.0;
        let mut clicked = None;
        area.show_rows(ui, ROW, self.rows.len(), |ui, range| {
            for at in self.rows.get(range).unwrap_or_default() {
                if self.row_ui(ui, network, *at, cx).clicked() {
                    clicked = Some(*at);
                }
            }
        });
        if let Some(at) = clicked {
            let neuron = self.neurons(network, at).first().copied().flatten();
            cx.selection.neuron = if neuron == cx.selection.neuron { None } else { neuron };
            self.selected = cx.selection.neuron;
        }
    }

    fn csv_of(&self, network: &Network, rows: &[u32]) -> String {
        let names = columns(network, self.listed);
        let mut out = Table::new(names.iter().copied());
        for at in rows {
            let item = Item { network, listed: self.listed, at: *at as usize };
            out.row((0..names.len()).map(|column| item.text(column)));
        }
        out.finish()
    }
}

/// Sorts by number where both rows have one, else by text; empty cells come last in either order.
fn sort(rows: &mut Vec<u32>, key: impl Fn(u32) -> (f64, String), falls: bool) {
    let mut keyed: Vec<(u32, (f64, String))> = rows.iter().map(|at| (*at, key(*at))).collect();
    keyed.sort_by(|(_, a), (_, b)| {
        let by = match (a.0.is_nan(), b.0.is_nan()) {
            (false, false) => a.0.total_cmp(&b.0),
            (true, true) if a.1.is_empty() != b.1.is_empty() => return a.1.is_empty().cmp(&b.1.is_empty()),
            (true, true) => a.1.cmp(&b.1),
            (a, b) => return a.cmp(&b),
        };
        if falls { by.reverse() } else { by }
    });
    *rows = keyed.into_iter().map(|(at, _)| at).collect();
}

/// Alignment of a cell's text: numbers and their headings to the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Draws the text of a cell, cut off where it is too long.
fn cell(ui: &Ui, place: Rect, words: String, (side, font): (Side, FontId), colour: Color32) {
    let inner = place.shrink2(vec2(6.0, 0.0));
    let galley = one_line(ui, words, font, colour, inner.width());
    let align = if side == Side::Right { Align2::RIGHT_CENTER } else { Align2::LEFT_CENTER };
    let at = align.align_size_within_rect(galley.size(), inner).min;
    ui.painter().galley(at, galley, colour);
}

impl View for GraphTable {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if self.shown.take(connectivity::shown(cx)) {
            self.made_for = None;
        }
        let Some(network) = self.shown.network.clone() else {
            return cx.unmeasured_ui::<measurements::NeuronGraph>(ui, EMPTY);
        };
        self.keep_rows(&network);
        if cx.has_controls {
            self.controls_ui(ui, &network, cx);
            self.keep_rows(&network);
        }
        ScrollArea::horizontal().auto_shrink(false).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            ui.vertical(|ui| {
                self.header_ui(ui, &network, cx);
                self.rows_ui(ui, &network, cx);
            });
        });
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        match connectivity::shown::<measurements::NeuronGraph>(cx) {
            Some(graph) => graph.sample.about.clone(),
            None => "nodes and edges with their values".to_owned(),
        }
    }

    /// The rows that are shown, in their order.
    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let network = match &self.shown.network {
            Some(network) => network.clone(),
            None => Network::from_graph(connectivity::shown(cx)?.value)?.into(),
        };
        let all: Vec<u32> = (0..self.count(&network) as u32).collect();
        Some(self.csv_of(&network, if self.made_for.is_some() { &self.rows } else { &all }))
    }
}
