//! The graph that is shown, as a file for others: with places, colours and groups.

use super::network::Network;
pub use crate::analysis::graph_file::Format;
use crate::{
    analysis::graph_file::{AttributeValue, FileEdge, FileNode, GraphFile},
    gpu::graph::NodeStyle,
};

/// Units of a file for a unit of the layout: what Gephi's nodes of size 1 to 10 are well seen at.
const SCALE: f64 = 20.0;

/// What is shown, as a file.
pub fn graph_of(network: &Network, places: &[[f32; 2]], styles: &[NodeStyle], title: String) -> GraphFile {
    let node = |i: usize| {
        let mut values: Vec<(String, AttributeValue)> = network
            .kinds()
            .filter_map(|k| Some((k.name().to_owned(), AttributeValue::Integer(network.group(k, i as u32)?.into()))))
            .collect();
        for (name, degrees) in [("in", &network.degree_in), ("out", &network.degree_out)] {
            values.extend(degrees.get(i).map(|d| (name.to_owned(), AttributeValue::Integer((*d).into()))));
        }
        FileNode {
            id: network.names.get(i).map_or(String::new(), u32::to_string),
            label: network.labels.get(i).cloned(),
            // Upwards in a file, downwards on the screen.
            place: places.get(i).map(|[x, y]| [f64::from(*x) * SCALE, -f64::from(*y) * SCALE]),
            colour: styles.get(i).map(|d| [d.colour[0], d.colour[1], d.colour[2]]),
            size: styles.get(i).map(|d| f64::from(d.radius)),
            values,
            ..FileNode::default()
        }
    };
    let edge = |(from, to, weight): &(u32, u32, f32)| FileEdge {
        from: *from as usize,
        to: *to as usize,
        weight: f64::from(*weight),
        ..FileEdge::default()
    };
    GraphFile {
        title,
        directed: true,
        nodes: (0..network.len()).map(node).collect(),
        edges: network.edges.iter().map(edge).collect(),
        ..GraphFile::default()
    }
}
