//! The nodes and the edges of the graph as a table: sorted by a column, filtered by words and conditions. A click selects
//! the node in the picture, and what is selected there is marked here.

use super::{
    columns::Column,
    network::{ColourBy, Network, NetworkCache},
};
use crate::{
    experiments::run_table::query::{self, FilteredRow, QueryTerm, QueryTest},
    ui::{
        views::{connectivity, prelude::*},
        widgets::sorted_table::{CellText, SortedTable, TableColumn, cell_ui},
    },
};

const ROW_HEIGHT: f32 = 20.0;
const EMPTY: &str = "No graph to list yet. A BDH has one before its first step: press Space, or open a graph file.";
/// Rows whose words decide how wide a column is.
const SAMPLED_ROWS: usize = 200;
const COLUMN_WIDTH_RANGE: (f32, f32) = (52.0, 240.0);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum TableKind {
    #[default]
    Nodes,
    Edges,
}

/// The column that is sorted by, and true for a descending order.
type Sort = Option<(usize, bool)>;

#[derive(Default)]
pub struct GraphTable {
    shown: NetworkCache,
    listed: TableKind,
    filter: String,
    sort: Sort,
    /// The list, filter and order that the rows were made for.
    made_for: Option<(TableKind, String, Sort)>,
    /// The indices of the rows that are shown, in their order.
    rows: Vec<u32>,
    widths: Vec<f32>,
    /// The reason why the filter cannot be applied.
    error_message: Option<String>,
    /// The neuron that was selected last.
    selected: Option<u32>,
}

/// One row of either list.
struct Item<'a> {
    network: &'a Network,
    listed: TableKind,
    at: usize,
}

fn columns(network: &Network, listed: TableKind) -> Vec<&str> {
    let (fixed, more) = match listed {
        TableKind::Nodes => (&["id", "label", "community", "component"][..], &network.columns),
        TableKind::Edges => (&["source", "target", "weight"][..], &network.edge_columns),
    };
    fixed.iter().copied().chain(more.iter().map(|c| c.name.as_str())).collect()
}

impl Item<'_> {
    /// The number of a column, NaN where it has none, and its text.
    fn cell(&self, column: usize) -> (f64, String) {
        let (network, at) = (self.network, self.at);
        let edge = network.edges.get(at).filter(|_| self.listed == TableKind::Edges);
        let parsed = |text: String| (text.parse().unwrap_or(f64::NAN), text);
        let end = |node: Option<u32>| parsed(node.map_or("", |node| network.label(node)).to_owned());
        let group = |kind: ColourBy| {
            let group = network.group(kind, at as u32);
            (group.map_or(f64::NAN, f64::from), optional_field(group))
        };
        let value = |columns: &[Column], column: usize| {
            columns.get(column).map_or((f64::NAN, String::new()), |column| (column.number(at), column.text(at)))
        };
        match (self.listed, column) {
            (TableKind::Nodes, 0) => parsed(network.id(at as u32)),
            (TableKind::Nodes, 1) => (f64::NAN, network.label(at as u32).to_owned()),
            (TableKind::Nodes, 2) => group(ColourBy::Community),
            (TableKind::Nodes, 3) => group(ColourBy::Component),
            (TableKind::Nodes, column) => value(&network.columns, column - 4),
            (TableKind::Edges, 0) => end(edge.map(|e| e.0)),
            (TableKind::Edges, 1) => end(edge.map(|e| e.1)),
            (TableKind::Edges, 2) => (edge.map_or(f64::NAN, |e| f64::from(e.2)), optional_field(edge.map(|e| e.2))),
            (TableKind::Edges, column) => value(&network.edge_columns, column - 3),
        }
    }

    fn text(&self, column: usize) -> String {
        self.cell(column).1
    }
}

/// A row of the table, with its column names, that a filter can test.
struct NamedRow<'a> {
    names: &'a [&'a str],
    /// The row's number in a column, NaN if it has none there, and its text.
    cell: &'a dyn Fn(usize) -> (f64, String),
}

impl NamedRow<'_> {
    fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|column| column.eq_ignore_ascii_case(name))
    }
}

impl FilteredRow for NamedRow<'_> {
    fn mentions(&self, words: &str) -> bool {
        (0..self.names.len()).any(|column| (self.cell)(column).1.to_lowercase().contains(words))
    }

    fn numbers(&self, name: &str) -> Vec<f64> {
        self.column(name).map(|column| (self.cell)(column).0).filter(|n| !n.is_nan()).into_iter().collect()
    }

    fn text(&self, name: &str) -> Option<String> {
        self.column(name).map(|column| (self.cell)(column).1)
    }
}

/// Parses a filter whose terms may name only existing columns. A label such as `0:12` is read as plain text.
fn parse_filter(filter: &str, names: &[&str]) -> Result<Vec<QueryTerm>, String> {
    let mut terms = query::parse(filter)?;
    let is_column = |key: &str| names.iter().any(|name| name.eq_ignore_ascii_case(key));
    for term in &mut terms {
        match &term.test {
            QueryTest::Has { key, text } if !is_column(key) => term.test = QueryTest::Words(format!("{key}:{text}")),
            QueryTest::Compare { key, .. } if !is_column(key) => {
                return Err(format!("there is no column \u{201c}{key}\u{201d}"));
            }
            _ => {}
        }
    }
    Ok(terms)
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
        let terms = parse_filter(&self.filter, &names);
        self.error_message = terms.as_ref().err().cloned();
        let terms = terms.unwrap_or_default();
        let shown = |at: &u32| {
            let row = NamedRow { names: &names, cell: &|column| item(*at).cell(column) };
            terms.iter().all(|term| term.holds(&row))
        };
        let mut rows: Vec<u32> = (0..self.count(network) as u32).filter(shown).collect();
        if let Some((column, falls)) = self.sort.filter(|(column, _)| *column < names.len()) {
            sort(&mut rows, |at| item(at).cell(column), falls);
        }
        let wide = |column: usize| {
            let sampled = rows.iter().take(SAMPLED_ROWS).map(|at| item(*at).text(column).chars().count());
            let max = sampled.max().unwrap_or(0).max(names[column].chars().count() + 2);
            (max as f32 * 7.4 + 16.0).clamp(COLUMN_WIDTH_RANGE.0, COLUMN_WIDTH_RANGE.1)
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
            // of columns that every graph has
            let hint = if self.listed == TableKind::Nodes { "community=1" } else { "weight>0.1" };
            let field = TextEdit::singleline(&mut self.filter).hint_text(hint).desired_width(180.0);
            text_field(ui, field, "filter").on_hover_text(
                "Words that a row has, and conditions on columns: degree>5, kind=salt, \"net mass\"<=0.5, label!=x, \
                 label:part; a ! before one excludes its matches. All terms must match.",
            );
            match &self.error_message {
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
        let cell = |at: &u32| Item { network, listed: self.listed, at: *at as usize }.cell(column);
        self.rows.iter().map(cell).find(|(_, text)| !text.is_empty()).is_some_and(|(number, _)| !number.is_nan())
    }

    /// The frame of the table; a node that was selected elsewhere is scrolled into view.
    fn frame<'a>(&self, network: &Network, theme: &'a Theme, wanted: Option<u32>) -> SortedTable<'a> {
        let column = |(i, name): (usize, &str)| TableColumn {
            heading: name.to_owned(),
            width: self.widths[i],
            align_right: self.holds_numbers(network, i),
            descending: self.sort.and_then(|(sorted, falls)| (sorted == i).then_some(falls)),
        };
        let is_wanted = |at: &u32| self.neurons(network, *at).first() == Some(&wanted);
        SortedTable {
            id: if self.listed == TableKind::Nodes { "nodes" } else { "edges" },
            theme,
            columns: columns(network, self.listed).into_iter().enumerate().map(column).collect(),
            left: 0.0,
            head: ROW_HEIGHT,
            row: ROW_HEIGHT,
            wanted: wanted.and_then(|_| self.rows.iter().position(is_wanted)),
        }
    }

    fn row_ui(&self, ui: &mut Ui, table: &SortedTable<'_>, item: &Item<'_>, cx: &ViewCx<'_>) -> Response {
        let name = format!("{} {}", item.text(0), item.text(1));
        let neurons = self.neurons(item.network, item.at as u32);
        let is_selected = cx.selection.neuron.is_some_and(|neuron| neurons.contains(&Some(neuron)));
        let response = table.row_ui(ui, &name, is_selected);
        for (column, place) in table.places(response.rect).enumerate() {
            let (number, text) = item.cell(column);
            let align_right = !number.is_nan();
            let font = if align_right { theme::numbers() } else { theme::small() };
            cell_ui(ui, place, CellText { text, font, colour: cx.theme.text, align_right });
        }
        response
    }

    /// The indices of the neurons that a row is about.
    fn neurons(&self, network: &Network, at: u32) -> Vec<Option<u32>> {
        match self.listed {
            TableKind::Nodes => vec![network.neuron_of(at)],
            TableKind::Edges => {
                let edge = network.edges.get(at as usize);
                edge.map_or(vec![], |(from, to, _)| [*from, *to].map(|n| network.neuron_of(n)).into())
            }
        }
    }

    fn table_ui(&mut self, ui: &mut Ui, network: &Network, cx: &mut ViewCx<'_>) {
        // a neuron clicked in this table is visible already
        let wanted = cx.selection.neuron.filter(|_| self.selected != cx.selection.neuron);
        self.selected = cx.selection.neuron;
        let table = self.frame(network, cx.theme, wanted);
        let mut clicked = None;
        let sorted = table.show(ui, self.rows.len(), |ui, i| {
            let item = Item { network, listed: self.listed, at: self.rows[i] as usize };
            if self.row_ui(ui, &table, &item, cx).clicked() {
                clicked = Some(self.rows[i]);
            }
        });
        if let Some(column) = sorted {
            // numbers are looked for at their large end
            self.sort = Some((column, self.sort.is_none_or(|(sorted, falls)| sorted != column || !falls)));
        }
        if let Some(at) = clicked {
            let neuron = self.neurons(network, at).first().copied().flatten();
            cx.selection.neuron = if neuron == cx.selection.neuron { None } else { neuron };
            self.selected = cx.selection.neuron;
        }
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

impl View for GraphTable {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if self.shown.take(connectivity::shown(cx)) {
            self.made_for = None;
        }
        let Some(network) = self.shown.network.clone() else {
            return cx.unmeasured_ui::<measurements::NeuronGraph>(ui, EMPTY);
        };
        self.keep_rows(&network);
        cx.controls_ui(ui, |ui, cx| {
            self.controls_ui(ui, &network, cx);
            self.keep_rows(&network);
        });
        self.table_ui(ui, &network, cx);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        match connectivity::shown::<measurements::NeuronGraph>(cx) {
            Some(graph) if graph.value.file.is_some() => graph.sample.about.clone(),
            graph => sample_subtitle(graph.map(|g| g.sample), "", "nodes and edges with their values"),
        }
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let network = match &self.shown.network {
            Some(network) => network.clone(),
            None => Network::from_graph(connectivity::shown(cx)?.value)?.into(),
        };
        let all: Vec<u32> = (0..self.count(&network) as u32).collect();
        let rows = if self.made_for.is_some() { &self.rows } else { &all };
        let names = columns(&network, self.listed);
        let mut out = Table::new(names.iter().copied());
        for at in rows {
            let item = Item { network: &network, listed: self.listed, at: *at as usize };
            out.row((0..names.len()).map(|column| item.text(column)));
        }
        Some(out.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_hold() {
        let names = ["name", "degree", "kind"];
        let cell = |column: usize| ([f64::NAN, 5.0, f64::NAN][column], ["Blue Whale", "5", ""][column].to_owned());
        let row = NamedRow { names: &names, cell: &cell };
        let holds = |text: &str| parse_filter(text, &names).map(|all| all.iter().all(|term| term.holds(&row)));
        for text in ["", "whale", "degree>4 degree<=5", "DEGREE=5", "name=\"blue whale\"", "kind!=x", "blue degree>=5"]
        {
            assert_eq!(holds(text), Ok(true), "{text}");
        }
        for text in
            ["shark", "degree>5", "degree!=5", "name=blue", "kind=x", "kind>a", "whale degree<5", "!whale", "0:12"]
        {
            assert_eq!(holds(text), Ok(false), "{text}");
        }
        assert!(holds("size>4").unwrap_err().contains("size"));
        assert!(holds("degree>").unwrap_err().contains("what?"));
    }
}
