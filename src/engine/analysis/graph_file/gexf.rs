//! GEXF 1.3 (gexf.net): nodes and edges with places, colours, sizes and named values. Versions 1.1 and 1.2 do not
//! differ in the parts that are read.

use super::{
    AttributeValue, Edges, FileEdge, FileNode, GraphFile, GraphFileError, NamedValue, Nodes, PendingEdge, ValueColumns,
    ValueNames, add_value, number, value,
    xml::{Xml, XmlPart, XmlWriter, attribute, needed},
    xml_ids,
};

pub fn write(graph: &GraphFile) -> String {
    let of_nodes = ValueColumns::new(graph.nodes.iter().flat_map(|n| &n.values));
    let of_edges = ValueColumns::new(graph.edges.iter().flat_map(|e| &e.values).filter(|v| !is_of_element(v)));
    let mut xml = XmlWriter::new();
    let namespaces = [("xmlns", "http://gexf.net/1.3"), ("xmlns:viz", "http://gexf.net/1.3/viz"), ("version", "1.3")];
    xml.open("gexf", &namespaces);
    xml.open("meta", &[]);
    xml.text_element("creator", &[], "Orrery");
    xml.text_element("description", &[], &graph.title);
    xml.close("meta");
    let edge_type = if graph.directed { "directed" } else { "undirected" };
    xml.open("graph", &[("defaultedgetype", edge_type), ("mode", "static")]);
    for (class, columns) in CLASSES.into_iter().zip([&of_nodes, &of_edges]) {
        if columns.all.is_empty() {
            continue;
        }
        xml.open("attributes", &[("class", class), ("mode", "static")]);
        for (i, (name, value_type)) in columns.all.iter().enumerate() {
            // networkx stores the key that distinguishes parallel edges under this name
            let name = if class == "edge" && *name == "key" { NETWORKX_KEY } else { name };
            xml.empty("attribute", &[("id", &i.to_string()), ("title", name), ("type", value_type.name())]);
        }
        xml.close("attributes");
    }
    xml.open("nodes", &[]);
    let ids = xml_ids(graph);
    graph.nodes.iter().zip(&ids).for_each(|(node, id)| write_node(&mut xml, node, id, &of_nodes));
    xml.close("nodes");
    xml.open("edges", &[]);
    let id = |i: usize| ids.get(i).map_or("", String::as_str);
    for (i, edge) in graph.edges.iter().enumerate() {
        write_edge(&mut xml, edge, &[&i.to_string(), id(edge.from), id(edge.to)], &of_edges);
    }
    xml.close("edges");
    xml.close("graph");
    xml.close("gexf");
    xml.finish()
}

const NETWORKX_KEY: &str = "networkx_key";
/// The classes of attributes: of nodes, and of edges.
const CLASSES: [&str; 2] = ["node", "edge"];

/// Returns true if an edge's value is in its element rather than among its attributes.
fn is_of_element((name, value): &NamedValue) -> bool {
    matches!((name.as_str(), value), ("id" | "label", AttributeValue::Text(_)))
}

fn write_values<'a>(xml: &mut XmlWriter, values: impl Iterator<Item = &'a NamedValue>, columns: &ValueColumns<'_>) {
    let mut values = values.peekable();
    if values.peek().is_none() {
        return;
    }
    xml.open("attvalues", &[]);
    for named in values {
        let (place, text) = (columns.index(named).to_string(), named.1.to_string());
        xml.empty("attvalue", &[("for", &place), ("value", &text)]);
    }
    xml.close("attvalues");
}

fn write_node(xml: &mut XmlWriter, node: &FileNode, id: &str, columns: &ValueColumns<'_>) {
    xml.open("node", &[("id", id), ("label", node.name())]);
    write_values(xml, node.values.iter(), columns);
    if let Some([r, g, b]) = node.colour.map(|c| c.map(|v| v.to_string())) {
        xml.empty("viz:color", &[("r", &r), ("g", &g), ("b", &b)]);
    }
    if let Some([x, y]) = node.position.map(|p| p.map(|v| v.to_string())) {
        xml.empty("viz:position", &[("x", &x), ("y", &y), ("z", "0")]);
    }
    if let Some(size) = node.size {
        xml.empty("viz:size", &[("value", &size.to_string())]);
    }
    xml.close("node");
}

/// `ids` are the id of the edge, which is its number if it has none of its own, and the ids of both ends.
fn write_edge(xml: &mut XmlWriter, edge: &FileEdge, ids: &[&str; 3], columns: &ValueColumns<'_>) {
    let own = |name: &str| match value(&edge.values, name) {
        Some(AttributeValue::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let weight = edge.weight.to_string();
    let mut at = vec![("id", own("id").unwrap_or(ids[0])), ("source", ids[1]), ("target", ids[2])];
    at.extend(own("label").map(|label| ("label", label)));
    if !edge.is_unweighted {
        at.push(("weight", &weight));
    }
    if edge.values.iter().all(is_of_element) {
        xml.empty("edge", &at);
        return;
    }
    xml.open("edge", &at);
    write_values(xml, edge.values.iter().filter(|v| !is_of_element(v)), columns);
    xml.close("edge");
}

#[derive(Default)]
struct GexfReader {
    graph: GraphFile,
    nodes: Nodes,
    edges: Edges,
    /// The names of the values of each class.
    names: [ValueNames; 2],
    /// The class whose attributes are being declared.
    class: Option<usize>,
    node: Option<FileNode>,
    edge: Option<PendingEdge>,
    is_gexf: bool,
    in_title: bool,
}

pub fn read(text: &str) -> Result<GraphFile, GraphFileError> {
    let (mut xml, mut reading) = (Xml::new(text), GexfReader::default());
    while let Some(piece) = xml.next()? {
        let line = xml.line();
        match piece {
            XmlPart::Open(name, at) => reading.open(&name, &at, line)?,
            XmlPart::Text(text) if reading.in_title => reading.graph.title.push_str(&text),
            XmlPart::Text(_) => {}
            XmlPart::Close(name) => reading.close(&name, line)?,
        }
    }
    let GexfReader { graph, nodes, mut edges, is_gexf, .. } = reading;
    ensure!(is_gexf, GraphFileError::new(1, "there is no <gexf> element; is this a GEXF file?"));
    // ids that only count the edges carry no information
    let counted = |(i, edge): (usize, &PendingEdge)| match value(&edge.values, "id") {
        Some(AttributeValue::Text(id)) => *id == i.to_string(),
        _ => true,
    };
    if edges.all.iter().enumerate().all(counted) {
        edges.all.iter_mut().for_each(|edge| edge.values.retain(|(name, _)| name != "id"));
    }
    edges.finish(graph, nodes)
}

impl GexfReader {
    fn open(&mut self, name: &str, at: &[(String, String)], line: usize) -> Result<(), GraphFileError> {
        match name {
            "gexf" => self.is_gexf = true,
            "graph" => self.graph.directed = attribute(at, "defaultedgetype") == Some("directed"),
            "description" => self.in_title = true,
            "attributes" => {
                let class = attribute(at, "class");
                self.class = CLASSES.into_iter().position(|known| class == Some(known));
            }
            "attribute" => {
                if let (Some(class), Some(id), Some(title)) = (self.class, attribute(at, "id"), attribute(at, "title"))
                {
                    self.names[class].add(id, title, attribute(at, "type"), line)?;
                }
            }
            "node" => {
                let id = needed(at, "id", "a node", line)?;
                let label = attribute(at, "label").filter(|label| *label != id).map(str::to_owned);
                self.node = Some(FileNode { id: id.to_owned(), label, ..FileNode::default() });
            }
            "attvalue" => self.value(at, line)?,
            "color" | "position" | "size" => {
                if let Some(node) = &mut self.node {
                    node_style(node, name, at, line)?;
                }
            }
            "edge" => self.edge = Some(self.edge(at, line)?),
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, name: &str, line: usize) -> Result<(), GraphFileError> {
        match name {
            "node" => self.node.take().map_or(Ok(()), |node| self.nodes.add(node, line))?,
            "edge" => self.edge.take().map_or(Ok(()), |edge| self.edges.add(edge))?,
            "description" => self.in_title = false,
            "attributes" => self.class = None,
            _ => {}
        }
        Ok(())
    }

    fn edge(&mut self, at: &[(String, String)], line: usize) -> Result<PendingEdge, GraphFileError> {
        let ends = [needed(at, "source", "an edge", line)?, needed(at, "target", "an edge", line)?];
        let weight = attribute(at, "weight").map(|w| number(w, "an edge's weight", line)).transpose()?;
        let own = attribute(at, "type").map(|t| t == "directed");
        self.edges.set_directed(own.unwrap_or(self.graph.directed), line)?;
        let text = |name: &str| Some((name.to_owned(), AttributeValue::Text(attribute(at, name)?.to_owned())));
        let values = ["id", "label"].into_iter().filter_map(text).collect();
        Ok(PendingEdge { ends: ends.map(str::to_owned), weight, values, line })
    }

    /// A value of the open node or edge; undeclared values are left out.
    fn value(&mut self, at: &[(String, String)], line: usize) -> Result<(), GraphFileError> {
        let id = attribute(at, "for").or(attribute(at, "id")).unwrap_or_default();
        let names = &self.names[usize::from(self.edge.is_some())];
        let (Some(text), true) = (attribute(at, "value"), names.get(id).is_some()) else { return Ok(()) };
        let Some((mut name, value)) = names.read(id, text, line)? else { return Ok(()) };
        if self.edge.is_some() && name == NETWORKX_KEY {
            "key".clone_into(&mut name);
        }
        match (&mut self.edge, &mut self.node) {
            (Some(edge), _) if name == "weight" && edge.weight.is_none() && value.is_number() => {
                edge.weight = value.number();
            }
            (Some(edge), _) => add_value(&mut edge.values, &name, value, line)?,
            (None, Some(node)) => add_value(&mut node.values, &name, value, line)?,
            (None, None) => {}
        }
        Ok(())
    }
}

fn node_style(node: &mut FileNode, name: &str, at: &[(String, String)], line: usize) -> Result<(), GraphFileError> {
    let value = |key: &str| attribute(at, key).map(|v| number(v, &format!("a {name}'s `{key}`"), line)).transpose();
    match name {
        "position" => {
            if let (Some(x), Some(y)) = (value("x")?, value("y")?) {
                node.position = Some([x, y]);
            }
        }
        "size" => node.size = value("value")?,
        _ => {
            if let (Some(r), Some(g), Some(b)) = (value("r")?, value("g")?, value("b")?) {
                node.colour = Some([r, g, b].map(|v| v.clamp(0.0, 255.0) as u8));
            }
        }
    }
    Ok(())
}
