//! GEXF 1.3 (gexf.net): nodes and edges with places, colours, sizes and named numbers. Of what it
//! reads, 1.1 and 1.2 are alike.

use std::{collections::HashMap, fmt::Write as _};

use super::{
    FileEdge, FileNode, GraphFile, GraphFileError, MOST_EDGES, Nodes, is_whole, number, value_names,
    xml::{Piece, Xml, attribute, escaped},
};

pub fn write(graph: &GraphFile) -> String {
    let mut out = String::with_capacity(256 * graph.nodes.len() + 64 * graph.edges.len());
    let kind = if graph.directed { "directed" } else { "undirected" };
    let names = value_names(graph);
    out.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str("<gexf xmlns=\"http://gexf.net/1.3\" xmlns:viz=\"http://gexf.net/1.3/viz\" version=\"1.3\">\n");
    let _ = writeln!(
        out,
        "  <meta>\n    <creator>Orrery</creator>\n    <description>{}</description>\n  </meta>",
        escaped(&graph.title)
    );
    let _ = writeln!(out, "  <graph defaultedgetype=\"{kind}\" mode=\"static\">");
    if !names.is_empty() {
        out.push_str("    <attributes class=\"node\" mode=\"static\">\n");
        for (i, name) in names.iter().enumerate() {
            let type_of = if is_whole(graph, name) { "long" } else { "double" };
            let _ = writeln!(out, "      <attribute id=\"{i}\" title=\"{}\" type=\"{type_of}\"/>", escaped(name));
        }
        out.push_str("    </attributes>\n");
    }
    out.push_str("    <nodes>\n");
    for node in &graph.nodes {
        let _ = writeln!(out, "      <node id=\"{}\" label=\"{}\">", escaped(&node.id), escaped(&node.label));
        if !node.values.is_empty() {
            out.push_str("        <attvalues>\n");
            for (i, name) in names.iter().enumerate() {
                if let Some(v) = node.value(name) {
                    let _ = writeln!(out, "          <attvalue for=\"{i}\" value=\"{v}\"/>");
                }
            }
            out.push_str("        </attvalues>\n");
        }
        if let Some([r, g, b]) = node.colour {
            let _ = writeln!(out, "        <viz:color r=\"{r}\" g=\"{g}\" b=\"{b}\"/>");
        }
        if let Some([x, y]) = node.place {
            let _ = writeln!(out, "        <viz:position x=\"{x}\" y=\"{y}\" z=\"0\"/>");
        }
        if let Some(size) = node.size {
            let _ = writeln!(out, "        <viz:size value=\"{size}\"/>");
        }
        out.push_str("      </node>\n");
    }
    out.push_str("    </nodes>\n    <edges>\n");
    let id = |i: usize| graph.nodes.get(i).map_or(String::new(), |n| escaped(&n.id));
    for (i, e) in graph.edges.iter().enumerate() {
        let (from, to) = (id(e.from), id(e.to));
        let _ = writeln!(out, "      <edge id=\"{i}\" source=\"{from}\" target=\"{to}\" weight=\"{}\"/>", e.weight);
    }
    out.push_str("    </edges>\n  </graph>\n</gexf>\n");
    out
}

pub fn read(text: &str) -> Result<GraphFile, GraphFileError> {
    let mut xml = Xml::new(text);
    let (mut graph, mut nodes) = (GraphFile { directed: false, ..GraphFile::default() }, Nodes::default());
    // Titles of attributes by their ids, of nodes only.
    let mut titles: HashMap<String, String> = HashMap::new();
    let (mut of_nodes, mut in_title, mut is_gexf) = (false, false, false);
    let mut node: Option<FileNode> = None;
    let mut ends: Vec<(String, String, f64, usize)> = vec![];
    while let Some(piece) = xml.next()? {
        let line = xml.line();
        match piece {
            Piece::Open(name, at) => match name.as_str() {
                "gexf" => is_gexf = true,
                "graph" => graph.directed = attribute(&at, "defaultedgetype") == Some("directed"),
                "description" => in_title = true,
                "attributes" => of_nodes = attribute(&at, "class") == Some("node"),
                "attribute" if of_nodes => {
                    if let (Some(id), Some(title)) = (attribute(&at, "id"), attribute(&at, "title")) {
                        titles.insert(id.to_owned(), title.to_owned());
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
                        node.values.push((title.clone(), v));
                    }
                }
                "color" | "position" | "size" => {
                    if let Some(node) = &mut node {
                        dress(node, &name, &at, line)?;
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
            Piece::Text(words) if in_title => graph.title.push_str(&words),
            Piece::Close(name) => match name.as_str() {
                "node" => {
                    if let Some(node) = node.take() {
                        nodes.add(node, line)?;
                    }
                }
                "description" => in_title = false,
                "attributes" => of_nodes = false,
                _ => {}
            },
            Piece::Text(_) => {}
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

fn dress(node: &mut FileNode, name: &str, at: &[(String, String)], line: usize) -> Result<(), GraphFileError> {
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
