//! `docs/imports.svg`: the import graph of the crate, and of each of its folders. Modules stand in rows, each
//! above all that it uses, so that every arrow points down; a dark arrow is one that no path of others
//! implies (the transitive reduction), the rest is faint.
//!
//! To draw it again: `cargo test --test tidy import_picture -- --ignored`. That it is up to date is not a test: who
//! adds a module should not have to draw it again.

use std::{fmt::Write as _, fs, path::Path};

use petgraph::{
    algo::{condensation, toposort, tred},
    graph::{DiGraph, NodeIndex},
};

use super::imports::Imports;

/// Folders whose modules are drawn under the crate's own.
const FOLDERS: [&str; 10] =
    ["cli", "ui", "ui::plot", "labs", "experiments", "probe", "telemetry", "models", "nn", "corpus"];

const ROW: f64 = 74.0;
const BOX: f64 = 26.0;
const GAP: f64 = 18.0;
const MARGIN: f64 = 24.0;
const HEADING: f64 = 40.0;

/// A graph with a place for each of its nodes.
struct Drawing {
    graph: DiGraph<String, ()>,
    /// Row of each node: 0 uses nothing.
    rows: Vec<usize>,
    /// Left edge and width of each node's box.
    boxes: Vec<(f64, f64)>,
    width: f64,
}

impl Drawing {
    /// A circle, which has no rows, is drawn as one box.
    fn new(graph: DiGraph<String, ()>) -> Self {
        let graph = condensation(graph, true).map(|_, names| names.join(" \u{21c4} "), |_, ()| ());
        let order = toposort(&graph, None).expect("a condensation has no circle");
        let mut rows = vec![0; graph.node_count()];
        for node in order.iter().rev() {
            rows[node.index()] = graph.neighbors(*node).map(|used| rows[used.index()] + 1).max().unwrap_or(0);
        }
        let mut drawing = Self { boxes: vec![], width: 0.0, rows, graph };
        drawing.place();
        drawing
    }

    fn height(&self) -> f64 {
        HEADING + ROW * (self.rows.iter().max().map_or(0, |r| r + 1)) as f64
    }

    /// Orders every row by the mean place of its nodes' neighbours, and centres the rows.
    fn place(&mut self) {
        let count = self.rows.iter().max().map_or(0, |r| r + 1);
        let mut rows: Vec<Vec<usize>> = vec![vec![]; count];
        (0..self.rows.len()).for_each(|i| rows[self.rows[i]].push(i));
        let width_of = |i: usize| self.graph[NodeIndex::new(i)].chars().count() as f64 * 7.4 + 18.0;
        let row_width = |row: &Vec<usize>| row.iter().map(|i| width_of(*i) + GAP).sum::<f64>() - GAP;
        let widest = rows.iter().map(row_width).fold(0.0, f64::max);
        let mut boxes = vec![(0.0, 0.0); self.rows.len()];
        for _ in 0..12 {
            for row in &mut rows {
                let mut x = (widest - row_width(row)) / 2.0;
                for i in row {
                    boxes[*i] = (x, width_of(*i));
                    x += width_of(*i) + GAP;
                }
            }
            let centre = |i: usize| boxes[i].0 + boxes[i].1 / 2.0;
            let wish = |i: usize| {
                let near: Vec<f64> =
                    self.graph.neighbors_undirected(NodeIndex::new(i)).map(|n| centre(n.index())).collect();
                if near.is_empty() { centre(i) } else { near.iter().sum::<f64>() / near.len() as f64 }
            };
            rows.iter_mut().for_each(|row| row.sort_by(|a, b| wish(*a).total_cmp(&wish(*b))));
        }
        (self.boxes, self.width) = (boxes, widest);
    }

    /// Whether an edge is implied by no path of other edges.
    fn essential(&self) -> impl Fn(NodeIndex, NodeIndex) -> bool {
        let order = toposort(&self.graph, None).unwrap_or_default();
        let (sorted, place) = tred::dag_to_toposorted_adjacency_list::<_, u32>(&self.graph, &order);
        let (reduced, _) = tred::dag_transitive_reduction_closure(&sorted);
        move |from, to| reduced.contains_edge(place[from.index()], place[to.index()])
    }

    fn svg(&self, heading: &str, top: f64, into: &mut String) {
        let last = self.rows.iter().max().copied().unwrap_or(0);
        let y = |node: NodeIndex| top + HEADING + ROW * (last - self.rows[node.index()]) as f64;
        let centre = |node: NodeIndex| MARGIN + self.boxes[node.index()].0 + self.boxes[node.index()].1 / 2.0;
        let _ = writeln!(into, r#"<text x="{MARGIN}" y="{}" class="heading">{heading}</text>"#, top + 18.0);
        let essential = self.essential();
        let mut edges: Vec<_> = self.graph.edge_indices().filter_map(|e| self.graph.edge_endpoints(e)).collect();
        edges.sort_by_key(|(from, to)| (essential(*from, *to), *from, *to));
        for (from, to) in edges {
            let (x0, y0, x1, y1) = (centre(from), y(from) + BOX, centre(to), y(to));
            let class = if essential(from, to) { "direct" } else { "implied" };
            let bend = (y1 - y0) / 2.0;
            let _ = writeln!(
                into,
                r#"<path class="{class}" d="M{x0:.0} {y0:.0}C{x0:.0} {:.0} {x1:.0} {:.0} {x1:.0} {y1:.0}"/>"#,
                y0 + bend,
                y1 - bend
            );
        }
        for node in self.graph.node_indices() {
            let (x, width) = (MARGIN + self.boxes[node.index()].0, self.boxes[node.index()].1);
            let (y, middle) = (y(node), centre(node));
            let _ = writeln!(into, r#"<rect x="{x:.0}" y="{y:.0}" width="{width:.0}" height="{BOX}" rx="4"/>"#);
            let name = &self.graph[node];
            let _ = writeln!(into, r#"<text x="{middle:.0}" y="{:.0}" text-anchor="middle">{name}</text>"#, y + 17.0);
        }
    }
}

const STYLE: &str = "text{font:12px monospace;fill:#1b1f24}.heading{font-weight:bold;font-size:14px}\
rect{fill:#eef2f7;stroke:#6b7785}path{fill:none}.direct{stroke:#27496d;marker-end:url(#tip)}\
.implied{stroke:#d5dbe2}.ground{fill:#fff;stroke:none}";

/// The whole picture.
fn picture(imports: &Imports) -> String {
    let headed = [("orrery", vec![])]
        .into_iter()
        .map(|(name, folder)| (name.to_owned(), folder))
        .chain(FOLDERS.iter().map(|name| (format!("orrery::{name}"), name.split("::").map(str::to_owned).collect())));
    let drawings: Vec<(String, Drawing)> =
        headed.map(|(name, folder)| (name, Drawing::new(imports.siblings(&folder)))).collect();
    let width = drawings.iter().map(|(_, d)| d.width).fold(0.0, f64::max) + 2.0 * MARGIN;
    let height = drawings.iter().map(|(_, d)| d.height()).sum::<f64>() + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\">\n<style>{STYLE}</style>\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
         markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" style=\"fill:#27496d\"/></marker></defs>\n\
         <rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n"
    );
    let mut top = MARGIN;
    for (heading, drawing) in &drawings {
        drawing.svg(heading, top, &mut svg);
        top += drawing.height();
    }
    svg.push_str("</svg>\n");
    svg
}

#[test]
#[ignore = "writes a file of this repository"]
fn draws_the_import_graph_of_modules() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/imports.svg");
    fs::write(path, picture(&Imports::of_crate())).unwrap();
}
