//! GraphML (graphml.graphdrawing.org): nodes and edges with named data. Places are the data x and y,
//! as networkx, igraph and Gephi write them.

use super::{
    FileEdge, FileNode, GraphFile, GraphFileError, MOST_EDGES, Nodes, ValueNames, is_whole, number, value_names,
    xml::{Xml, XmlPart, XmlWriter, attribute},
    xml_ids,
};

pub fn write(graph: &GraphFile) -> String {
    let names = value_names(graph);
    let mut xml = XmlWriter::new();
    xml.open("graphml", &[("xmlns", "http://graphml.graphdrawing.org/xmlns")]);
    write_keys(&mut xml, graph, &names);
    let edge_type = if graph.directed { "directed" } else { "undirected" };
    xml.open("graph", &[("id", "G"), ("edgedefault", edge_type)]);
    xml.words("data", &[("key", "title")], &graph.title);
    let ids = xml_ids(graph);
    for (node, id) in graph.nodes.iter().zip(&ids) {
        xml.open("node", &[("id", id)]);
        write_data(&mut xml, node, &names);
        xml.close("node");
    }
    let id = |i: usize| ids.get(i).map_or("", String::as_str);
    for e in &graph.edges {
        xml.open("edge", &[("source", id(e.from)), ("target", id(e.to))]);
        xml.words("data", &[("key", "weight")], &e.weight.to_string());
        xml.close("edge");
    }
    xml.close("graph");
    xml.close("graphml");
    xml.finish()
}

/// The data that nodes and edges may have.
fn write_keys(xml: &mut XmlWriter, graph: &GraphFile, names: &[&str]) {
    let mut key = |id: &str, of: &str, name: &str, value_type: &str| {
        xml.empty("key", &[("id", id), ("for", of), ("attr.name", name), ("attr.type", value_type)]);
    };
    key("title", "graph", "description", "string");
    key("label", "node", "label", "string");
    for name in ["x", "y", "size"] {
        key(name, "node", name, "double");
    }
    for name in ["r", "g", "b"] {
        key(name, "node", name, "int");
    }
    for (i, name) in names.iter().enumerate() {
        key(&format!("v{i}"), "node", name, if is_whole(graph, name) { "long" } else { "double" });
    }
    key("weight", "edge", "weight", "double");
}

fn write_data(xml: &mut XmlWriter, node: &FileNode, names: &[&str]) {
    let mut data = |key: &str, value: &str| xml.words("data", &[("key", key)], value);
    data("label", &node.label);
    if let Some([x, y]) = node.place {
        data("x", &x.to_string());
        data("y", &y.to_string());
    }
    if let Some(size) = node.size {
        data("size", &size.to_string());
    }
    for (key, v) in node.colour.iter().flat_map(|c| ["r", "g", "b"].into_iter().zip(c)) {
        data(key, &v.to_string());
    }
    for (i, name) in names.iter().enumerate() {
        if let Some(v) = node.value(name) {
            data(&format!("v{i}"), &v.to_string());
        }
    }
}

/// What is being read.
enum Open {
    Graph,
    Node(FileNode),
    Edge(String, String, f64),
}

pub fn read(text: &str) -> Result<GraphFile, GraphFileError> {
    let mut xml = Xml::new(text);
    let (mut graph, mut nodes) = (GraphFile::default(), Nodes::default());
    // Names of data by their keys.
    let mut keys = ValueNames::default();
    let (mut open, mut data, mut is_graphml) = (Open::Graph, None::<(String, String)>, false);
    let mut ends: Vec<(String, String, f64, usize)> = vec![];
    while let Some(piece) = xml.next()? {
        let line = xml.line();
        match piece {
            XmlPart::Open(name, at) => {
                let needed = |key: &str| {
                    let words = || format!("a <{name}> has no `{key}`; every one needs it");
                    attribute(&at, key).map(str::to_owned).ok_or_else(|| GraphFileError::new(line, words()))
                };
                match name.as_str() {
                    "graphml" => is_graphml = true,
                    "graph" => graph.directed = attribute(&at, "edgedefault") == Some("directed"),
                    "key" => {
                        let id = needed("id")?;
                        keys.add(&id, attribute(&at, "attr.name").unwrap_or(&id), line)?;
                    }
                    "node" => {
                        let id = needed("id")?;
                        open = Open::Node(FileNode { label: id.clone(), id, ..FileNode::default() });
                    }
                    "edge" => open = Open::Edge(needed("source")?, needed("target")?, 1.0),
                    "data" => {
                        let key = attribute(&at, "key").unwrap_or_default();
                        data = Some((keys.get_or_add(key, line)?.to_owned(), String::new()));
                    }
                    _ => {}
                }
            }
            XmlPart::Text(words) => {
                if let Some((_, text)) = &mut data {
                    text.push_str(&words);
                }
            }
            XmlPart::Close(name) => match name.as_str() {
                "data" => {
                    if let Some((key, value)) = data.take() {
                        take(&mut open, &mut graph, &key, &value, line)?;
                    }
                }
                "node" => {
                    if let Open::Node(node) = std::mem::replace(&mut open, Open::Graph) {
                        nodes.add(node, line)?;
                    }
                }
                "edge" => {
                    if let Open::Edge(from, to, weight) = std::mem::replace(&mut open, Open::Graph) {
                        if ends.len() >= MOST_EDGES {
                            return Err(GraphFileError::new(line, format!("more than {MOST_EDGES} edges")));
                        }
                        ends.push((from, to, weight, line));
                    }
                }
                _ => {}
            },
        }
    }
    if !is_graphml {
        return Err(GraphFileError::new(1, "there is no <graphml> element; is this a GraphML file?"));
    }
    for (from, to, weight, line) in ends {
        let (from, to) = (nodes.find(&from, "source", line)?, nodes.find(&to, "target", line)?);
        graph.edges.push(FileEdge { from, to, weight });
    }
    graph.nodes = nodes.all;
    Ok(graph)
}

/// A datum of what is open.
fn take(open: &mut Open, graph: &mut GraphFile, key: &str, value: &str, line: usize) -> Result<(), GraphFileError> {
    match open {
        Open::Graph if key == "description" => value.clone_into(&mut graph.title),
        Open::Graph => {}
        Open::Edge(_, _, weight) if key == "weight" => *weight = number(value, "an edge's weight", line)?,
        Open::Edge(..) => {}
        Open::Node(node) => {
            let parsed = value.trim().parse::<f64>().ok().filter(|v| v.is_finite());
            let channel = |v: f64| v.clamp(0.0, 255.0) as u8;
            match (key, parsed) {
                ("label", _) => value.clone_into(&mut node.label),
                ("x", Some(x)) => node.place = Some([x, node.place.map_or(0.0, |p| p[1])]),
                ("y", Some(y)) => node.place = Some([node.place.map_or(0.0, |p| p[0]), y]),
                ("x" | "y", None) => {
                    number(value, &format!("a node's {key}"), line)?;
                }
                ("size", Some(size)) => node.size = Some(size),
                ("r" | "g" | "b", Some(v)) => {
                    let k = ["r", "g", "b"].iter().position(|c| *c == key).unwrap_or(0);
                    node.colour.get_or_insert([0; 3])[k] = channel(v);
                }
                // Data in words are not shown, so they are not read.
                (_, None) => {}
                (_, Some(v)) => Nodes::give(node, key, v, line)?,
            }
        }
    }
    Ok(())
}
