//! Exports the graph that is shown: a model's with positions, colours and groups, a file's with its values.

use super::{NeuronGraph, network::Network};
use crate::{
    analysis::graph_file::{AttributeValue, FileEdge, FileNode, Format, GraphFile, NamedValue},
    ui::views::{connectivity, prelude::*},
};

/// Units of a file for a unit of the layout: what Gephi's nodes of size 1 to 10 are well seen at.
const FILE_SCALE: f64 = 20.0;

impl NeuronGraph {
    pub(super) fn export_ui(&self, ui: &mut Ui, network: &Network, cx: &mut ViewCx<'_>) {
        for (words, format) in [
            ("GEXF (Gephi, networkx)", Format::Gexf),
            ("GraphML", Format::GraphMl),
            ("GML", Format::Gml),
            ("JSON, node-link (networkx, d3)", Format::NodeLinkJson),
            ("Edges as CSV", Format::Csv),
        ] {
            if ui.add(Button::new(words).frame(false)).clicked() {
                let bytes = format.write(&self.to_file(network, cx, format)).into_bytes();
                let step =
                    connectivity::shown::<measurements::NeuronGraph>(cx).map_or(cx.step, |graph| graph.sample.step);
                let stem = if network.file.is_some() { "graph".to_owned() } else { format!("neuron-graph-step{step}") };
                cx.act(FileAction::SaveInExports(format!("{stem}.{}", format.extension()), bytes));
                ui.close();
            }
        }
    }

    fn to_file(&self, network: &Network, cx: &ViewCx<'_>, format: Format) -> GraphFile {
        let edge = |(i, (from, to, weight)): (usize, &(u32, u32, f32))| FileEdge {
            from: *from as usize,
            to: *to as usize,
            weight: f64::from(*weight),
            is_unweighted: network.file.as_ref().is_some_and(|file| !file.weighted),
            values: network.file.as_ref().map_or(vec![], |file| values_of(&file.edge_values, i)),
        };
        GraphFile {
            title: if network.file.is_some() { String::new() } else { self.subtitle(cx) },
            directed: network.is_directed(),
            nodes: (0..network.len()).map(|i| self.file_node(network, format, i)).collect(),
            edges: network.edges.iter().enumerate().map(edge).collect(),
            ..GraphFile::default()
        }
    }

    /// A node, in a file with the file's own values. Only GEXF has a place for its look: elsewhere that would be data.
    fn file_node(&self, network: &Network, format: Format, i: usize) -> FileNode {
        let (id, file) = (network.id(i as u32), network.file.as_ref());
        let style = self.picture.styles.get(i).filter(|_| file.is_none() || format == Format::Gexf);
        FileNode {
            label: network.labels.get(i).filter(|label| file.is_none() || **label != id).cloned(),
            id,
            is_json_id: file.is_some_and(|file| file.are_ids_numbers),
            // upwards in a file, downwards on the screen
            position: self.motion.places.get(i).map(|[x, y]| [f64::from(*x) * FILE_SCALE, -f64::from(*y) * FILE_SCALE]),
            colour: style.map(|d| [d.colour[0], d.colour[1], d.colour[2]]),
            size: style.map(|d| f64::from(d.radius)),
            values: file.map_or_else(|| neuron_values(network, i), |file| values_of(&file.node_values, i)),
        }
    }
}

/// Groups and degrees of a neuron.
fn neuron_values(network: &Network, i: usize) -> Vec<NamedValue> {
    let whole = |v: u32| AttributeValue::Integer(i64::from(v));
    let groups = network.kinds().filter_map(|k| {
        let group = network.group(k, i as u32)?;
        Some((network.kind_name(k).to_owned(), whole(group)))
    });
    let degrees = [("in", &network.degree_in), ("out", &network.degree_out)];
    let degrees = degrees.into_iter().filter_map(|(name, counts)| Some((name.to_owned(), whole(*counts.get(i)?))));
    groups.chain(degrees).collect()
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
