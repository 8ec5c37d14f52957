//! Node-link JSON, as networkx and d3 write it: an object with `nodes` and with `edges` (networkx from 3.4 on) or `links`.
//! It is read as it streams by, so that a file of any shape takes memory for what it says and no more.

use std::fmt::Write as _;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::config::json_error_message;

use super::{
    AttributeValue, Edges, FileNode, GraphFile, GraphFileError, NamedValue, Nodes, PendingEdge, add_value, check_count,
    number, take, value,
};

mod json;

use json::{JsonValue, close, quoted, values_json};

pub fn write(graph: &GraphFile) -> String {
    let is_multigraph = graph.is_multigraph();
    let mut out = format!("{{\"directed\":{},\"multigraph\":{is_multigraph},\"graph\":{{", graph.directed);
    let title = (!graph.title.is_empty() && value(&graph.values, TITLE).is_none())
        .then(|| (TITLE.to_owned(), AttributeValue::Text(graph.title.clone())));
    values_json(&mut out, title.iter().chain(&graph.values));
    out.push_str("},\"nodes\":[");
    let id = |node: &FileNode| if node.is_json_id { node.id.clone() } else { quoted(&node.id) };
    for (i, node) in graph.nodes.iter().enumerate() {
        let _ = write!(out, "{}{{\"id\":{}", if i == 0 { "\n" } else { ",\n" }, id(node));
        let label = node.label.clone().map(|label| ("label".to_owned(), AttributeValue::Text(label)));
        let taken: Vec<NamedValue> =
            node.known_values().into_iter().map(|(key, v)| (key.to_owned(), AttributeValue::Float(v))).collect();
        let all = label.iter().chain(&taken).chain(&node.values).filter(|(name, _)| name != "id");
        out.push(',');
        values_json(&mut out, all);
        close(&mut out, '}');
    }
    out.push_str("\n],\"edges\":[");
    for (i, edge) in graph.edges.iter().enumerate() {
        let end = |at: usize| graph.nodes.get(at).map_or_else(String::new, id);
        let separator = if i == 0 { "\n" } else { ",\n" };
        let _ = write!(out, "{separator}{{\"source\":{},\"target\":{}", end(edge.from), end(edge.to));
        if !edge.is_unweighted {
            let _ = write!(out, ",\"weight\":{}", edge.weight);
        }
        out.push(',');
        values_json(&mut out, edge.values.iter().filter(|(name, _)| !EDGE_KEYS.contains(&name.as_str())));
        close(&mut out, '}');
    }
    out.push_str("\n]}\n");
    out
}

/// The name of what the graph is, in its own values.
const TITLE: &str = "description";
const EDGE_KEYS: [&str; 3] = ["source", "target", "weight"];

pub fn read(text: &str) -> Result<GraphFile, GraphFileError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let mut reading = NodeLinkReader::default();
    let read = json.deserialize_map(GraphVisitor(&mut reading)).and_then(|()| json.end());
    read.map_err(|e| {
        let message = match (e.is_data(), json_error_message(&e)) {
            (true, said) => said,
            (false, said) => format!("this is not well-formed JSON ({said}); the file may be cut off"),
        };
        GraphFileError::new(e.line().max(1), message)
    })?;
    let NodeLinkReader { graph, nodes, edges, has_nodes, has_edges } = reading;
    ensure!(has_nodes && has_edges, GraphFileError::new(1, NO_GRAPH));
    edges.finish(graph, nodes)
}

const NO_GRAPH: &str = "this JSON is not a node-link graph: write {\"nodes\": [{\"id\": ..}, ..], \"edges\": \
                        [{\"source\": .., \"target\": ..}, ..]}, as networkx.node_link_data does (`links` for `edges` \
                        is read too)";

#[derive(Default)]
struct NodeLinkReader {
    graph: GraphFile,
    nodes: Nodes,
    edges: Edges,
    /// True once the list of nodes, or of edges, has begun.
    has_nodes: bool,
    has_edges: bool,
}

/// The object that a file is.
struct GraphVisitor<'a>(&'a mut NodeLinkReader);

impl<'de> Visitor<'de> for GraphVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object with `nodes` and `edges`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let reading = self.0;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "directed" => {
                    let said: JsonValue = map.next_value()?;
                    match said.0 {
                        Some(AttributeValue::Boolean(directed)) => reading.graph.directed = directed,
                        _ => return Err(A::Error::custom("`directed` should be true or false")),
                    }
                }
                "nodes" if !std::mem::replace(&mut reading.has_nodes, true) => {
                    map.next_value_seed(Items { reading: &mut *reading, take: NodeLinkReader::take_node })?
                }
                "edges" | "links" if !std::mem::replace(&mut reading.has_edges, true) => {
                    map.next_value_seed(Items { reading: &mut *reading, take: NodeLinkReader::take_edge })?
                }
                "nodes" | "edges" | "links" => {
                    return Err(A::Error::custom(format!("there is a second list of {key}; leave one out")));
                }
                "graph" => {
                    let mut values = vec![];
                    map.next_value_seed(Fields(&mut values))?;
                    if let Some(AttributeValue::Text(title)) = value(&values, TITLE) {
                        reading.graph.title = title.clone();
                        values.retain(|(name, _)| name != TITLE);
                    }
                    reading.graph.values = values;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// A list of objects, each taken by itself.
struct Items<'a> {
    reading: &'a mut NodeLinkReader,
    take: fn(&mut NodeLinkReader, Vec<NamedValue>) -> Result<(), String>,
}

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        loop {
            let mut values = vec![];
            if items.next_element_seed(Fields(&mut values))?.is_none() {
                return Ok(());
            }
            (self.take)(self.reading, values).map_err(A::Error::custom)?;
        }
    }
}

/// The fields of an object, without those that are null.
struct Fields<'a>(&'a mut Vec<NamedValue>);

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object, {\"id\": ..} for a node and {\"source\": .., \"target\": ..} for an edge")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let fits = name.len() <= super::MAX_NAME;
            ensure!(fits, A::Error::custom(format!("`{}` is too long a name; shorten it", super::short(&name))));
            let JsonValue(read) = map.next_value()?;
            if let Some(read) = read {
                // of a repeated key the last value counts, as is usual in JSON
                self.0.retain(|(n, _)| *n != name);
                add_value(self.0, &name, read, 0).map_err(|e| A::Error::custom(e.message))?;
            }
        }
        Ok(())
    }
}

/// An id as text, and true if it was not a string.
fn id_of(value: AttributeValue) -> (String, bool) {
    match value {
        AttributeValue::Text(id) => (id, false),
        other => (other.to_string(), true),
    }
}

impl NodeLinkReader {
    /// A node without an id is named by its index, as d3 does.
    fn take_node(&mut self, mut values: Vec<NamedValue>) -> Result<(), String> {
        let place = AttributeValue::Integer(self.nodes.all.len() as i64);
        let (id, is_json_id) = id_of(take(&mut values, "id").unwrap_or(place));
        let label = take(&mut values, "label").map(|label| label.to_string()).filter(|label| *label != id);
        let node = FileNode { id, is_json_id, label, ..FileNode::default() }.with_values(values);
        self.nodes.add(node, 0).map_err(|e| e.message)
    }

    fn take_edge(&mut self, mut values: Vec<NamedValue>) -> Result<(), String> {
        check_count(self.edges.all.len(), 0).map_err(|e| e.message)?;
        let mut end = |name: &str| {
            let id = take(&mut values, name).map(|id| id_of(id).0);
            id.ok_or_else(|| format!("an edge has no `{name}`; every one needs it"))
        };
        let ends = [end("source")?, end("target")?];
        // other formats could not read a weight that is not a number, so it is refused here too
        let weight = take(&mut values, "weight").map(|said| number(&said.to_string(), "an edge's weight", 0));
        let weight = weight.transpose().map_err(|e| e.message)?;
        let edge = PendingEdge { ends, weight, values, line: 1 };
        if self.has_nodes {
            for (id, end) in edge.ends.iter().zip(["source", "target"]) {
                self.nodes.find(id, end, 0).map_err(|e| e.message)?;
            }
        }
        self.edges.all.push(edge);
        Ok(())
    }
}
