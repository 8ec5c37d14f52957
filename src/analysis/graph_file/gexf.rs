//! GEXF 1.3 (gexf.net): nodes and edges with places, colours, sizes and named numbers. Of what it
//! reads, 1.1 and 1.2 are alike.

use super::{
    FileEdge, FileNode, GraphFile, GraphFileError, MOST_EDGES, Nodes, ValueNames, is_whole, number, value_names,
    xml::{Xml, XmlPart, XmlWriter, attribute},
    xml_ids,
};

pub fn write(graph: &GraphFile) -> String {
    let names = value_names(graph);
    let mut xml = XmlWriter::new();
    let namespaces = [("xmlns", "http://gexf.net/1.3"), ("xmlns:viz", "http://gexf.net/1.3/viz"), ("version", "1.3")];
    xml.open("gexf", &namespaces);
    xml.open("meta", &[]);
    xml.words("creator", &[], "Orrery");
    xml.words("description", &[], &graph.title);
    xml.close("meta");
    let edge_type = if graph.directed { "directed" } else { "undirected" };
    xml.open("graph", &[("defaultedgetype", edge_type), ("mode", "static")]);
    if !names.is_empty() {
        xml.open("attributes", &[("class", "node"), ("mode", "static")]);
        for (i, name) in names.iter().enumerate() {
            let value_type = if is_whole(graph, name) { "long" } else { "double" };
            xml.empty("attribute", &[("id", &i.to_string()), ("title", name), ("type", value_type)]);
        }
        xml.close("attributes");
    }
    xml.open("nodes", &[]);
    let ids = xml_ids(graph);
    graph.nodes.iter().zip(&ids).for_each(|(node, id)| write_node(&mut xml, node, id, &names));
    xml.close("nodes");
    xml.open("edges", &[]);
    let id = |i: usize| ids.get(i).map_or("", String::as_str);
    for (i, e) in graph.edges.iter().enumerate() {
        let (number, weight) = (i.to_string(), e.weight.to_string());
        xml.empty("edge", &[("id", &number), ("source", id(e.from)), ("target", id(e.to)), ("weight", &weight)]);
    }
    xml.close("edges");
    xml.close("graph");
    xml.close("gexf");
    xml.finish()
}

fn write_node(xml: &mut XmlWriter, node: &FileNode, id: &str, names: &[&str]) {
    xml.open("node", &[("id", id), ("label", &node.label)]);
    if !node.values.is_empty() {
        xml.open("attvalues", &[]);
        for (i, name) in names.iter().enumerate() {
            if let Some(v) = node.value(name) {
                xml.empty("attvalue", &[("for", &i.to_string()), ("value", &v.to_string())]);
            }
        }
        xml.close("attvalues");
    }
    if let Some([r, g, b]) = node.colour.map(|c| c.map(|v| v.to_string())) {
        xml.empty("viz:color", &[("r", &r), ("g", &g), ("b", &b)]);
    }
    if let Some([x, y]) = node.place.map(|p| p.map(|v| v.to_string())) {
        xml.empty("viz:position", &[("x", &x), ("y", &y), ("z", "0")]);
    }
    if let Some(size) = node.size {
        xml.empty("viz:size", &[("value", &size.to_string())]);
    }
    xml.close("node");
}

pub fn read(text: &str) -> Result<GraphFile, GraphFileError> {
    let mut xml = Xml::new(text);
    let (mut graph, mut nodes) = (GraphFile { directed: false, ..GraphFile::default() }, Nodes::default());
    // Titles of attributes by their ids, of nodes only.
    let mut titles = ValueNames::default();
    let (mut of_nodes, mut in_title, mut is_gexf) = (false, false, false);
    let mut node: Option<FileNode> = None;
    let mut ends: Vec<(String, String, f64, usize)> = vec![];
    while let Some(piece) = xml.next()? {
        let line = xml.line();
        match piece {
            XmlPart::Open(name, at) => match name.as_str() {
                "gexf" => is_gexf = true,
                "graph" => graph.directed = attribute(&at, "defaultedgetype") == Some("directed"),
                "description" => in_title = true,
                "attributes" => of_nodes = attribute(&at, "class") == Some("node"),
                "attribute" if of_nodes => {
                    if let (Some(id), Some(title)) = (attribute(&at, "id"), attribute(&at, "title")) {
                        titles.add(id, title, line)?;
                    }
                }
                "node" => {
                    let id = needed(&at, "id", "a node", line)?;
                    let label = attribute(&at, "label").unwrap_or(id);
                    node = Some(FileNode { id: id.to_owned(), label: label.to_owned(), ..FileNode::default() });
                }
                "attvalue" => {
                    let id = attribute(&at, "for").or(attribute(&at, "id")).unwrap_or_default();
                    // Attributes in words are not shown, so they are not read.
                    if let (Some(node), Some(title)) = (&mut node, titles.get(id))
                        && let Some(v) = attribute(&at, "value").and_then(|v| v.trim().parse::<f64>().ok())
                        && v.is_finite()
                    {
                        Nodes::give(node, title, v, line)?;
                    }
                }
                "color" | "position" | "size" => {
                    if let Some(node) = &mut node {
                        node_style(node, &name, &at, line)?;
                    }
                }
                "edge" => {
                    let (from, to) = (needed(&at, "source", "an edge", line)?, needed(&at, "target", "an edge", line)?);
                    let weight = attribute(&at, "weight").map_or(Ok(1.0), |w| number(w, "an edge's weight", line))?;
                    if ends.len() >= MOST_EDGES {
                        return Err(GraphFileError::new(line, format!("more than {MOST_EDGES} edges")));
                    }
                    ends.push((from.to_owned(), to.to_owned(), weight, line));
                }
                _ => {}
            },
            XmlPart::Text(words) if in_title => graph.title.push_str(&words),
            XmlPart::Close(name) => match name.as_str() {
                "node" => {
                    if let Some(node) = node.take() {
                        nodes.add(node, line)?;
                    }
                }
                "description" => in_title = false,
                "attributes" => of_nodes = false,
                _ => {}
            },
            XmlPart::Text(_) => {}
        }
    }
    if !is_gexf {
        return Err(GraphFileError::new(1, "there is no <gexf> element; is this a GEXF file?"));
    }
    for (from, to, weight, line) in ends {
        let (from, to) = (nodes.find(&from, "source", line)?, nodes.find(&to, "target", line)?);
        graph.edges.push(FileEdge { from, to, weight });
    }
    graph.nodes = nodes.all;
    Ok(graph)
}

fn needed<'a>(
    attributes: &'a [(String, String)],
    name: &str,
    whose: &str,
    line: usize,
) -> Result<&'a str, GraphFileError> {
    attribute(attributes, name)
        .ok_or_else(|| GraphFileError::new(line, format!("{whose} has no `{name}`; every one needs it")))
}

fn node_style(node: &mut FileNode, name: &str, at: &[(String, String)], line: usize) -> Result<(), GraphFileError> {
    let value = |key: &str| attribute(at, key).map(|v| number(v, &format!("a {name}'s `{key}`"), line)).transpose();
    match name {
        "position" => {
            if let (Some(x), Some(y)) = (value("x")?, value("y")?) {
                node.place = Some([x, y]);
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
