//! Exports the graph that is shown: a model's with positions, colours and groups, a file's with its values.

use super::network::Network;
pub use crate::analysis::graph_file::Format;
use crate::{
    analysis::graph_file::{AttributeValue, FileEdge, FileNode, GraphFile, NamedValue},
    gpu::graph::NodeStyle,
    telemetry::measurements::{ColumnType, FileGraph, GraphColumn},
};

/// Units of a file for a unit of the layout: what Gephi's nodes of size 1 to 10 are well seen at.
const SCALE: f64 = 20.0;

/// The graph that is shown.
pub struct ShownGraph<'a> {
    pub network: &'a Network,
    pub places: &'a [[f32; 2]],
    pub styles: &'a [NodeStyle],
    pub title: String,
}

impl ShownGraph<'_> {
    /// Converts the graph to a file of a format.
    pub fn to_file(&self, format: Format) -> GraphFile {
        let network = self.network;
        let edge = |(i, (from, to, weight)): (usize, &(u32, u32, f32))| FileEdge {
            from: *from as usize,
            to: *to as usize,
            weight: f64::from(*weight),
            is_unweighted: network.file.as_ref().is_some_and(|file| !file.weighted),
            values: network.file.as_ref().map_or(vec![], |file| values_of(&file.edge_values, i)),
        };
        let node = |i: usize| match &network.file {
            None => self.neuron(i),
            Some(file) => self.node(file, format, i),
        };
        GraphFile {
            title: if network.file.is_some() { String::new() } else { self.title.clone() },
            directed: network.is_directed(),
            nodes: (0..network.len()).map(node).collect(),
            edges: network.edges.iter().enumerate().map(edge).collect(),
            ..GraphFile::default()
        }
    }

    /// Upwards in a file, downwards on the screen.
    fn place(&self, i: usize) -> Option<[f64; 2]> {
        self.places.get(i).map(|[x, y]| [f64::from(*x) * SCALE, -f64::from(*y) * SCALE])
    }

    fn neuron(&self, i: usize) -> FileNode {
        let network = self.network;
        let whole = |v: u32| AttributeValue::Integer(i64::from(v));
        let groups = network.kinds().filter_map(|k| {
            let group = network.group(k, i as u32)?;
            Some((network.kind_name(k).to_owned(), whole(group)))
        });
        let degrees = [("in", &network.degree_in), ("out", &network.degree_out)];
        let degrees = degrees.into_iter().filter_map(|(name, counts)| Some((name.to_owned(), whole(*counts.get(i)?))));
        FileNode {
            id: network.id(i as u32),
            label: network.labels.get(i).cloned(),
            position: self.place(i),
            colour: self.styles.get(i).map(|d| [d.colour[0], d.colour[1], d.colour[2]]),
            size: self.styles.get(i).map(|d| f64::from(d.radius)),
            values: groups.chain(degrees).collect(),
            ..FileNode::default()
        }
    }

    /// The file's own values. GEXF has a place for what a node looks like; in the others that would be data.
    fn node(&self, file: &FileGraph, format: Format, i: usize) -> FileNode {
        let id = self.network.id(i as u32);
        let style = self.styles.get(i).filter(|_| format == Format::Gexf);
        FileNode {
            label: self.network.labels.get(i).filter(|label| **label != id).cloned(),
            id,
            is_json_id: file.are_ids_numbers,
            position: self.place(i),
            colour: style.map(|d| [d.colour[0], d.colour[1], d.colour[2]]),
            size: style.map(|d| f64::from(d.radius)),
            values: values_of(&file.node_values, i),
        }
    }
}

/// The values of one item, in the types that the file gave them.
fn values_of(columns: &[GraphColumn], i: usize) -> Vec<NamedValue> {
    let value = |column: &GraphColumn| {
        let number = column.numbers.get(i).copied().filter(|v| !v.is_nan());
        let text = || column.texts.get(i).cloned().flatten();
        match column.of {
            ColumnType::Integer => number.map(|v| AttributeValue::Integer(v as i64)),
            ColumnType::Float => number.map(AttributeValue::Float),
            ColumnType::Boolean => number.map(|v| AttributeValue::Boolean(v > 0.0)),
            ColumnType::Text => text().map(AttributeValue::Text),
            ColumnType::Json => text().map(AttributeValue::Json),
        }
    };
    columns.iter().filter_map(|column| Some((column.name.clone(), value(column)?))).collect()
}
