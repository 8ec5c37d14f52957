//! GraphML (graphml.graphdrawing.org): nodes and edges with named data. Places are the data x and y,
//! as networkx, igraph and Gephi write them.

use super::{
    AttributeValue, Edges, FileEdge, FileNode, GraphFile, GraphFileError, NamedValue, Nodes, PendingEdge, ValueColumns,
    ValueNames, add_value, number, value,
    xml::{Xml, XmlPart, XmlWriter, attribute, needed, valid_text},
    xml_ids,
};

pub fn write(graph: &GraphFile) -> String {
    let of_graph = ValueColumns::new(graph.values.iter());
    let of_nodes = ValueColumns::new(graph.nodes.iter().flat_map(|n| &n.values));
    let of_edges = ValueColumns::new(graph.edges.iter().flat_map(|e| &e.values).filter(|v| !is_id(v)));
    let mut xml = XmlWriter::new();
    xml.open("graphml", &[("xmlns", "http://graphml.graphdrawing.org/xmlns")]);
    write_keys(&mut xml, graph);
    for (of, prefix, columns) in [("graph", "g", &of_graph), ("node", "v", &of_nodes), ("edge", "e", &of_edges)] {
        for (i, (name, value_type)) in columns.all.iter().enumerate() {
            write_key(&mut xml, [&format!("{prefix}{i}"), of, name, value_type.name()]);
        }
    }
    let edge_type = if graph.directed { "directed" } else { "undirected" };
    xml.open("graph", &[("id", "G"), ("edgedefault", edge_type)]);
    if !graph.title.is_empty() {
        xml.text_element("data", &[("key", "title")], &graph.title);
    }
    write_values(&mut xml, &graph.values, "g", &of_graph);
    let ids = xml_ids(graph);
    for (node, id) in graph.nodes.iter().zip(&ids) {
        xml.open("node", &[("id", id)]);
        if let Some(label) = &node.label {
            xml.text_element("data", &[("key", "label")], label);
        }
        node.known_values().into_iter().for_each(|(key, v)| xml.text_element("data", &[("key", key)], &v.to_string()));
        write_values(&mut xml, &node.values, "v", &of_nodes);
        xml.close("node");
    }
    let id = |i: usize| ids.get(i).map_or("", String::as_str);
    graph.edges.iter().for_each(|edge| write_edge(&mut xml, edge, [id(edge.from), id(edge.to)], &of_edges));
    xml.close("graph");
    xml.close("graphml");
    xml.finish()
}

/// Returns true if an edge's value is the id of its element.
fn is_id((name, value): &NamedValue) -> bool {
    matches!((name.as_str(), value), ("id", AttributeValue::Text(_)))
}

/// `key`: its id, whose it is, its name and its type.
fn write_key(xml: &mut XmlWriter, key: [&str; 4]) {
    let names = ["id", "for", "attr.name", "attr.type"];
    xml.empty("key", &[0, 1, 2, 3].map(|i| (names[i], key[i])));
}

/// Declares the keys of the attributes that [`GraphFile`] has fields for, where any item has a value.
fn write_keys(xml: &mut XmlWriter, graph: &GraphFile) {
    let any = |has: fn(&FileNode) -> bool| graph.nodes.iter().any(has);
    let known = [
        (!graph.title.is_empty(), "title", "graph", "description", "string"),
        (any(|n| n.label.is_some()), "label", "node", "label", "string"),
        (any(|n| n.position.is_some()), "x", "node", "x", "double"),
        (any(|n| n.position.is_some()), "y", "node", "y", "double"),
        (any(|n| n.size.is_some()), "size", "node", "size", "double"),
        (any(|n| n.colour.is_some()), "r", "node", "r", "int"),
        (any(|n| n.colour.is_some()), "g", "node", "g", "int"),
        (any(|n| n.colour.is_some()), "b", "node", "b", "int"),
        (graph.edges.iter().any(|e| !e.is_unweighted), "weight", "edge", "weight", "double"),
    ];
    for (_, id, of, name, value_type) in known.into_iter().filter(|key| key.0) {
        write_key(xml, [id, of, name, value_type]);
    }
}

fn write_values<'a>(
    xml: &mut XmlWriter,
    values: impl IntoIterator<Item = &'a NamedValue>,
    prefix: &str,
    columns: &ValueColumns<'_>,
) {
    for named in values {
        let key = format!("{prefix}{}", columns.index(named));
        xml.text_element("data", &[("key", &key)], &named.1.to_string());
    }
}

fn write_edge(xml: &mut XmlWriter, edge: &FileEdge, ends: [&str; 2], columns: &ValueColumns<'_>) {
    let mut at = vec![];
    if let Some(AttributeValue::Text(id)) = value(&edge.values, "id") {
        at.push(("id", id.as_str()));
    }
    at.extend([("source", ends[0]), ("target", ends[1])]);
    if edge.is_unweighted && edge.values.iter().all(is_id) {
        xml.empty("edge", &at);
        return;
    }
    xml.open("edge", &at);
    if !edge.is_unweighted {
        xml.text_element("data", &[("key", "weight")], &edge.weight.to_string());
    }
    write_values(xml, edge.values.iter().filter(|v| !is_id(v)), "e", columns);
    xml.close("edge");
}

#[derive(Default)]
struct GraphmlReader {
    graph: GraphFile,
    nodes: Nodes,
    edges: Edges,
    /// Names of data by their keys.
    keys: ValueNames,
    /// The node that is open, with all that it is given.
    node: Option<(FileNode, Vec<NamedValue>)>,
    edge: Option<PendingEdge>,
    /// The datum that is open.
    data: Option<(String, String)>,
    is_graphml: bool,
}

pub fn read(text: &str) -> Result<GraphFile, GraphFileError> {
    let (mut xml, mut reading) = (Xml::new(text), GraphmlReader::default());
    while let Some(piece) = xml.next()? {
        let line = xml.line();
        match piece {
            XmlPart::Open(name, at) => reading.open(&name, &at, line)?,
            XmlPart::Text(part) => reading.data.iter_mut().for_each(|(_, text)| text.push_str(&part)),
            XmlPart::Close(name) => reading.close(&name, line)?,
        }
    }
    let GraphmlReader { graph, nodes, edges, is_graphml, .. } = reading;
    ensure!(is_graphml, GraphFileError::new(1, "there is no <graphml> element; is this a GraphML file?"));
    edges.finish(graph, nodes)
}

impl GraphmlReader {
    fn open(&mut self, name: &str, at: &[(String, String)], line: usize) -> Result<(), GraphFileError> {
        let needed = |key: &str| needed(at, key, format_args!("a <{name}>"), line).map(str::to_owned);
        match name {
            "graphml" => self.is_graphml = true,
            "graph" => self.graph.directed = attribute(at, "edgedefault") == Some("directed"),
            "key" => {
                let id = needed("id")?;
                let name = attribute(at, "attr.name").unwrap_or(&id);
                self.keys.add(&id, name, attribute(at, "attr.type"), line)?;
            }
            "node" => {
                let id = needed("id")?;
                self.node = Some((FileNode { id, ..FileNode::default() }, vec![]));
            }
            "edge" => {
                let own = attribute(at, "directed").map(|d| d == "true");
                self.edges.set_directed(own.unwrap_or(self.graph.directed), line)?;
                let id = attribute(at, "id").map(|id| ("id".to_owned(), AttributeValue::Text(id.to_owned())));
                let ends = [needed("source")?, needed("target")?];
                self.edge = Some(PendingEdge { ends, weight: None, values: id.into_iter().collect(), line });
            }
            "data" => {
                let key = attribute(at, "key").unwrap_or_default();
                if self.keys.get(key).is_none() {
                    self.keys.add(key, key, None, line)?;
                }
                self.data = Some((key.to_owned(), String::new()));
            }
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, name: &str, line: usize) -> Result<(), GraphFileError> {
        match name {
            "data" => self.data.take().map_or(Ok(()), |(key, text)| self.take(&key, &text, line)),
            "node" => self.node.take().map_or(Ok(()), |(node, of)| self.nodes.add(node.with_values(of), line)),
            "edge" => self.edge.take().map_or(Ok(()), |edge| self.edges.add(edge)),
            _ => Ok(()),
        }
    }

    /// Stores a datum of the node or edge that is open.
    fn take(&mut self, key: &str, text: &str, line: usize) -> Result<(), GraphFileError> {
        let Some((name, value)) = self.keys.read(key, text, line)? else { return Ok(()) };
        let (name, content) = (valid_text(&name), || value.to_string()); // the name as it can be written again
        match (&mut self.edge, &mut self.node, name.as_str()) {
            (Some(edge), _, "weight") => edge.weight = Some(number(&content(), "an edge's weight", line)?),
            (Some(edge), ..) => add_value(&mut edge.values, &name, value, line)?,
            (None, Some((node, _)), "label") => node.label = Some(content()).filter(|label| *label != node.id),
            (None, Some(_), "x" | "y") if !value.is_number() => {
                number(&content(), &format!("a node's {name}"), line)?;
            }
            (None, Some((_, values)), _) => add_value(values, &name, value, line)?,
            (None, None, "description") => self.graph.title = content(),
            (None, None, _) => add_value(&mut self.graph.values, &name, value, line)?,
        }
        Ok(())
    }
}
