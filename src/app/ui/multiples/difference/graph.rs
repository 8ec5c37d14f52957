//! The edges that two graphs of the same nodes share or have alone: points of the adjacency matrix, without a layout.

use std::collections::BTreeMap;

use eframe::egui::{Align2, Color32, Mesh, Painter, Pos2, Rect, Sense, Stroke, StrokeKind, Ui, Vec2, pos2, vec2};

use super::{DifferenceSides, Pair};
use crate::{
    telemetry::measurements::NeuronGraph,
    ui::{
        plot::{Scale, empty_ui, value_label},
        table::{Table, optional_field},
        theme::{self, Theme},
        widgets::{notes::canvas_ui, number::grouped, truncated::paint_truncated},
    },
};

/// Room for the numbers of rows, points.
const LEFT_MARGIN: f32 = 40.0;

#[derive(Debug, Clone)]
pub struct GraphDifference {
    about: String,
    /// The weight of each edge in either graph; an edge is keyed by the positions of its ends on the axes.
    edges: BTreeMap<(u32, u32), [Option<f32>; 2]>,
    /// The names of the nodes; empty where nodes are neurons of a model, which have numbers.
    ids: Vec<String>,
    /// The number of edges that these nodes could have.
    entries: u64,
    directed: bool,
}

/// The nodes of both graphs, numbered so that one number means the same node in both.
struct Nodes {
    /// For each of the two graphs, the number of each of its nodes.
    number: [Vec<u32>; 2],
    ids: Vec<String>,
    entries: u64,
    directed: bool,
}

/// # Errors
/// If they are not of the same nodes.
fn nodes(a: &NeuronGraph, b: &NeuronGraph) -> Result<Nodes, String> {
    let others = |words: String| Err(format!("No difference: the graphs are of different nodes ({words})."));
    match (&a.file, &b.file) {
        (None, None) => {
            let sizes = [a, b].map(|g| g.summary.as_ref().map(|s| (s.neurons, s.entries)));
            match sizes {
                [Some((n, _)), Some((m, _))] if n != m => others(format!("{n} neurons and {m}")),
                [Some((_, entries)), Some(_)] => {
                    let number = [a.neurons.clone(), b.neurons.clone()];
                    Ok(Nodes { number, ids: vec![], entries, directed: true })
                }
                _ => others("how many neurons the models have was not recorded".to_owned()),
            }
        }
        (Some(file), Some(other)) => {
            let ids: BTreeMap<&str, u32> = file.ids.iter().map(String::as_str).zip(0..).collect();
            let second: Option<Vec<u32>> = other.ids.iter().map(|id| ids.get(id.as_str()).copied()).collect();
            let second = second.filter(|s| s.len() == file.ids.len() && ids.len() == s.len());
            let Some(second) = second else { return others("their ids differ".to_owned()) };
            if file.directed != other.directed {
                return others("one is directed, and one is not".to_owned());
            }
            let n = file.ids.len() as u64;
            let entries = if file.directed { n * n.saturating_sub(1) } else { n * n.saturating_sub(1) / 2 };
            let number = [(0..n as u32).collect(), second];
            Ok(Nodes { number, ids: file.ids.clone(), entries, directed: file.directed })
        }
        _ => others("one is a model's, and one is a file's".to_owned()),
    }
}

impl GraphDifference {
    pub(super) fn new(pair: Pair<'_, NeuronGraph>) -> Result<Self, String> {
        let nodes = nodes(pair.values[0], pair.values[1])?;
        let mut edges: BTreeMap<(u32, u32), [Option<f32>; 2]> = BTreeMap::new();
        for (side, graph) in pair.values.iter().enumerate() {
            let number = |place: u32| nodes.number[side].get(place as usize).copied();
            for (from, to, weight) in graph.edges.iter() {
                let Some((from, to)) = number(from).zip(number(to)) else { continue };
                let ends = if nodes.directed || from <= to { (from, to) } else { (to, from) };
                edges.entry(ends).or_default()[side] = Some(weight);
            }
        }
        let Nodes { ids, entries, directed, .. } = nodes;
        Ok(Self { about: pair.steps_label(), edges, ids, entries, directed })
    }

    /// Edges of the first alone, of the second alone, of both.
    pub fn counts(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        self.edges.values().for_each(|weights| counts[class(weights)] += 1);
        counts
    }

    /// Edges that two graphs with as many edges would share by chance.
    fn expected_by_chance(&self) -> f64 {
        let [a, b, both] = self.counts().map(|n| n as f64);
        if self.entries == 0 { f64::NAN } else { (a + both) * (b + both) / self.entries as f64 }
    }

    pub(super) fn subtitle(&self) -> String {
        let [a, b, both] = self.counts().map(|n| grouped(n as u64));
        let chance = value_label(self.expected_by_chance());
        format!(
            "{} \u{b7} {b} edges only in the second, {a} only in the first, {both} in both (by chance {chance})",
            self.about
        )
    }

    /// Every edge as a sign at its place in the adjacency matrix, whatever their number: one mesh.
    pub(super) fn ui(&self, ui: &mut Ui, sides: DifferenceSides<'_>, theme: &Theme) {
        let (sheet, _, _) = canvas_ui(ui, ui.available_size(), Sense::hover(), "difference of graphs");
        if self.edges.is_empty() {
            empty_ui(ui, sheet.size(), theme, "Neither graph has an edge.");
            return;
        }
        let painter = ui.painter_at(sheet);
        let foot = self.legend(&painter, sheet, sides, theme);
        let [rows, columns] = if self.directed { ["target", "source"] } else { ["node", "node"] };
        let items = if self.ids.is_empty() { "neurons" } else { "nodes by their place" };
        let words = format!("rows: {rows}, columns: {columns} ({items})");
        painter.text(pos2(sheet.left(), foot), Align2::LEFT_TOP, words, theme::small(), theme.secondary);
        let corner = pos2(sheet.left() + LEFT_MARGIN, foot + 20.0);
        let side = (sheet.right() - corner.x - 4.0).min(sheet.bottom() - corner.y - 20.0).max(16.0);
        let rect = Rect::from_min_size(corner, vec2(side, side));
        painter.rect_stroke(rect, 0.0, Stroke::new(1.0, theme.line), StrokeKind::Outside);
        let max = self.edges.keys().map(|(a, b)| (*a).max(*b)).max().unwrap_or(0);
        let place = |n: f32| (n + 0.5) / (max as f32 + 1.0) * side;
        for (value, words) in Scale::Linear.ticks(0.0, f64::from(max), (side / 64.0).clamp(1.0, 8.0) as usize) {
            let at = place(value as f32);
            let below = pos2(rect.left() + at, rect.bottom() + 3.0);
            let beside = pos2(rect.left() - 5.0, rect.top() + at);
            painter.text(below, Align2::CENTER_TOP, &words, theme::numbers(), theme.secondary);
            painter.text(beside, Align2::RIGHT_CENTER, words, theme::numbers(), theme.secondary);
        }
        let (mut mesh, colours) = (Mesh::default(), sign_colours(sides, theme));
        for class_shown in [0, 1, 2] {
            for ((from, to), _) in self.edges.iter().filter(|(_, weights)| class(weights) == class_shown) {
                let at = rect.min + vec2(place(*from as f32), place(*to as f32));
                paint_sign(&mut mesh, at, class_shown, colours[class_shown]);
            }
        }
        painter.add(mesh);
    }

    /// Draws the signs with their counts; returns where the legend ends.
    fn legend(&self, painter: &Painter, sheet: Rect, sides: DifferenceSides<'_>, theme: &Theme) -> f32 {
        let (counts, names, colours) = (self.counts(), sides.names, sign_colours(sides, theme));
        let words = [format!("only {}", names[0]), format!("only {}", names[1]), "in both".to_owned()];
        let mut y = sheet.top();
        for (i, words) in words.into_iter().enumerate() {
            let mut mesh = Mesh::default();
            paint_sign(&mut mesh, pos2(sheet.left() + 5.0, y + 8.0), i, colours[i]);
            painter.add(mesh);
            let words = format!("{words}: {}", grouped(counts[i] as u64));
            let at = pos2(sheet.left() + 16.0, y);
            paint_truncated(painter, at, &words, theme::small(), theme.text, sheet.width() - 16.0);
            y += 18.0;
        }
        y + 4.0
    }

    pub(super) fn csv(&self, names: [&str; 2]) -> String {
        let weights = names.map(|name| format!("weight in {name}"));
        let mut table = Table::new(["source", "target", "in", &weights[0], &weights[1]]);
        let id = |n: u32| self.ids.get(n as usize).cloned().unwrap_or_else(|| n.to_string());
        for ((from, to), both) in &self.edges {
            let found_in = ["first", "second", "both"][class(both)];
            table.row([id(*from), id(*to), found_in.to_owned()].into_iter().chain(both.map(optional_field)));
        }
        table.finish()
    }
}

/// A dash for an edge of the first alone, an upright one for the second; both together are a plus.
fn paint_sign(mesh: &mut Mesh, at: Pos2, class: usize, colour: Color32) {
    let (long, thin) = (5.0, 1.5);
    let mut dash = |size: Vec2| mesh.add_colored_rect(Rect::from_center_size(at, size), colour);
    match class {
        0 => dash(vec2(long, thin)),
        1 => dash(vec2(thin, long)),
        _ => {
            dash(vec2(long + 2.0, thin));
            dash(vec2(thin, long + 2.0));
        }
    }
}

fn sign_colours(sides: DifferenceSides<'_>, theme: &Theme) -> [Color32; 3] {
    let [first, second] = sides.colours;
    [first, second, theme.text]
}

/// 0: of the first alone; 1: of the second alone; 2: of both.
fn class(weights: &[Option<f32>; 2]) -> usize {
    match weights {
        [_, None] => 0,
        [None, _] => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::measurements::{FileGraph, GraphEdges};

    fn graph(ids: &[&str], edges: &[(u32, u32, f32)], directed: bool) -> NeuronGraph {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        let file = Some(FileGraph { ids, directed, ..FileGraph::default() });
        NeuronGraph { edges: GraphEdges::new(edges.iter().copied()), file, ..NeuronGraph::default() }
    }

    #[test]
    fn nodes_are_told_by_their_ids() {
        let a = graph(&["x", "y", "z"], &[(0, 1, 1.0), (1, 2, 0.5)], true);
        let b = graph(&["z", "y", "x"], &[(2, 1, 2.0), (0, 1, 1.0)], true);
        let nodes = nodes(&a, &b).unwrap();
        assert_eq!((nodes.number[1].as_slice(), nodes.entries), ([2, 1, 0].as_slice(), 6));
        for (other, words) in [
            (graph(&["x", "y", "w"], &[], true), "their ids differ"),
            (graph(&["x", "y"], &[], true), "their ids differ"),
            (graph(&["x", "y", "z"], &[], false), "one is directed"),
            (NeuronGraph::default(), "one is a model's"),
        ] {
            assert!(super::nodes(&a, &other).err().is_some_and(|e| e.contains(words)), "{words}");
        }
    }

    #[test]
    fn chance_is_the_product_of_both_shares() {
        let edges = [((0, 1), [Some(1.0), None]), ((0, 2), [None, Some(1.0)]), ((1, 2), [Some(1.0), Some(2.0)])];
        let difference =
            GraphDifference { about: String::new(), edges: edges.into(), ids: vec![], entries: 8, directed: true };
        assert_eq!(difference.counts(), [1, 1, 1]);
        assert_eq!(difference.expected_by_chance(), 0.5, "two of eight, twice");
        assert_eq!(difference.csv(["a", "b"]).lines().nth(2), Some("0,2,second,,1"));
    }
}
