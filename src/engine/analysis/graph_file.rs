//! Graphs as files that other programs read: GEXF 1.3 (Gephi, with places and colours), GraphML, GML, node-link JSON
//! and a table of edges. Strings in, strings out.

use std::collections::{HashMap, HashSet};

mod edge_table;
mod gexf;
mod gml;
mod graphml;
mod node_link;
mod values;
mod xml;

pub use values::{AttributeType, AttributeValue, NamedValue};
use values::{ValueColumns, ValueNames, add_value, take, value};

/// A graph of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GraphFile {
    /// A description of the graph.
    pub title: String,
    /// True if edges have a direction.
    pub directed: bool,
    /// The nodes in the order of the file.
    pub nodes: Vec<FileNode>,
    /// The edges in the order of the file.
    pub edges: Vec<FileEdge>,
    /// Named values of the graph itself.
    pub values: Vec<NamedValue>,
}

/// A node of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileNode {
    /// The unique id of the node.
    pub id: String,
    /// The id is a JSON value other than a string: 7, or `[0,1]`.
    pub is_json_id: bool,
    /// The name to show; `None` if the node is named by its id.
    pub label: Option<String>,
    /// x to the right, y upwards.
    pub position: Option<[f64; 2]>,
    /// sRGB.
    pub colour: Option<[u8; 3]>,
    /// The size at which the node is drawn, if the file gives one.
    pub size: Option<f64>,
    /// Named values: "community", "head", ..
    pub values: Vec<NamedValue>,
}

/// An edge between two indices into [`GraphFile::nodes`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileEdge {
    /// The index of the source node.
    pub from: usize,
    /// The index of the target node.
    pub to: usize,
    /// The weight of the edge; 1 if the file gives no weight.
    pub weight: f64,
    /// True if the file gives no weight for the edge.
    pub is_unweighted: bool,
    /// Named values of the edge.
    pub values: Vec<NamedValue>,
}

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// GEXF 1.3, the format of Gephi.
    Gexf,
    /// GraphML, an XML format.
    GraphMl,
    /// GML, a text format of nested lists.
    Gml,
    /// The node-link JSON of networkx and d3.
    NodeLinkJson,
    /// A table of edges as comma-separated values.
    Csv,
}

/// An error in a file: its line (from 1), the reason and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct GraphFileError {
    /// The line of the file, from 1.
    pub line: usize,
    /// The reason and the remedy, as a sentence.
    pub message: String,
}

impl GraphFileError {
    fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

/// The largest number of nodes, and of edges, that are read: a larger graph cannot be seen in a picture.
pub const MAX_NODES: usize = 1_000_000;
/// The largest number of edges that is read.
pub const MAX_EDGES: usize = 8_000_000;
/// The largest number of named values of one item, and of different names in one file.
pub const MAX_VALUES: usize = 1024;
/// The maximum length of such a name in bytes.
const MAX_NAME: usize = 256;

type Writer = fn(&GraphFile) -> String;
type Reader = fn(&str) -> Result<GraphFile, GraphFileError>;

impl Format {
    /// Every format, in the order of the menus.
    pub const ALL: [Self; 5] = [Self::Gexf, Self::GraphMl, Self::Gml, Self::NodeLinkJson, Self::Csv];

    /// The extension of a file's name, the writer and the reader.
    fn parts(self) -> (&'static str, Writer, Reader) {
        match self {
            Self::Gexf => ("gexf", gexf::write, gexf::read),
            Self::GraphMl => ("graphml", graphml::write, graphml::read),
            Self::Gml => ("gml", gml::write, gml::read),
            Self::NodeLinkJson => ("json", node_link::write, node_link::read),
            Self::Csv => ("csv", edge_table::write, edge_table::read),
        }
    }

    /// The extension of a file's name.
    pub fn extension(self) -> &'static str {
        self.parts().0
    }

    /// A list of all extensions.
    pub fn extensions() -> &'static str {
        ".gexf, .graphml, .gml, .json (node-link) or .csv"
    }

    /// The format of a file by the extension of its name.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        Self::ALL.into_iter().find(|f| name.ends_with(&format!(".{}", f.extension())))
    }

    /// Returns true if a file with this extension can only be a graph.
    pub fn is_graph_only(self) -> bool {
        !matches!(self, Self::Csv | Self::NodeLinkJson)
    }

    /// Returns the graph as the text of a file in this format.
    pub fn write(self, graph: &GraphFile) -> String {
        self.parts().1(graph)
    }

    /// Returns what a file in this format does not hold of the graph, a phrase each; only a table of edges lacks anything.
    pub fn left_out(self, graph: &GraphFile) -> Vec<String> {
        if self == Self::Csv { edge_table::left_out(graph) } else { vec![] }
    }

    /// Reads a graph from the text of a file in this format; the error names the line.
    pub fn read(self, text: &str) -> Result<GraphFile, GraphFileError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let graph = self.parts().2(text)?;
        ensure!(!graph.nodes.is_empty(), GraphFileError::new(1, "the file has no nodes, so there is nothing to see"));
        Ok(graph)
    }
}

impl GraphFile {
    /// Returns true if two edges join the same nodes, or one has a key to distinguish it from such an edge.
    fn is_multigraph(&self) -> bool {
        let mut pairs = HashSet::new();
        let ends = |e: &FileEdge| if self.directed || e.from < e.to { (e.from, e.to) } else { (e.to, e.from) };
        self.edges.iter().any(|e| !pairs.insert(ends(e)) || value(&e.values, "key").is_some())
    }

    /// The number of nodes that have edges.
    pub fn linked_nodes(&self) -> usize {
        self.edges.iter().flat_map(|e| [e.from, e.to]).collect::<HashSet<_>>().len()
    }
}

impl FileNode {
    /// The name.
    pub fn name(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.id)
    }

    /// The number under a name.
    pub fn value(&self, name: &str) -> Option<f64> {
        value(&self.values, name).and_then(AttributeValue::number)
    }

    /// Sets position, size and colour from the values named x, y, size, r, g and b; `values` are all values of the
    /// file.
    fn with_values(mut self, values: Vec<NamedValue>) -> Self {
        let number = |name: &str| value(&values, name).filter(|v| v.is_number()).and_then(AttributeValue::number);
        self.position = number("x").zip(number("y")).map(|(x, y)| [x, y]);
        self.size = number("size");
        let channel = |name| number(name).filter(|v| v.fract() == 0.0 && (0.0..=255.0).contains(v)).map(|v| v as u8);
        self.colour = channel("r").zip(channel("g")).zip(channel("b")).map(|((r, g), b)| [r, g, b]);
        let (placed, sized, coloured) = (self.position.is_some(), self.size.is_some(), self.colour.is_some());
        let is_taken = |name: &str| match name {
            "x" | "y" => placed,
            "size" => sized,
            "r" | "g" | "b" => coloured,
            _ => false,
        };
        self.values = values.into_iter().filter(|(name, _)| !is_taken(name)).collect();
        self
    }

    /// The numbers that [`Self::with_values`] took, under their names.
    fn known_values(&self) -> Vec<(&'static str, f64)> {
        let place = self.position.iter().flat_map(|p| ["x", "y"].into_iter().zip(*p));
        let size = self.size.iter().map(|s| ("size", *s));
        let colour = self.colour.iter().flat_map(|c| ["r", "g", "b"].into_iter().zip(c.map(f64::from)));
        place.chain(size).chain(colour).collect()
    }
}

/// The nodes' ids as XML allows them. Characters that XML forbids are left out, and a number is appended to an id that
/// would then be another node's.
fn xml_ids(graph: &GraphFile) -> Vec<String> {
    let plain: Vec<String> = graph.nodes.iter().map(|n| xml::valid_text(&n.id)).collect();
    let is_same = |(node, plain): &(&FileNode, &String)| node.id == **plain;
    let same = graph.nodes.iter().zip(&plain).filter(is_same).map(|(_, plain)| plain.clone());
    let mut taken: HashSet<String> = same.collect();
    let mut tried: HashMap<&str, usize> = HashMap::new();
    let ids = graph.nodes.iter().zip(&plain).map(|(node, plain)| {
        let mut id = plain.clone();
        while node.id != id && !taken.insert(id.clone()) {
            let n = tried.entry(plain).and_modify(|n| *n += 1).or_insert(2);
            id = format!("{plain}-{n}");
        }
        id
    });
    ids.collect()
}

/// The nodes that were read so far, with their indices by id.
#[derive(Default)]
struct Nodes {
    all: Vec<FileNode>,
    /// The nodes by id; at most [`MAX_NODES`] of them.
    index_by_id: HashMap<Box<str>, u32>,
}

impl Nodes {
    fn add(&mut self, node: FileNode, line: usize) -> Result<(), GraphFileError> {
        let (place, wrong) = (self.all.len(), |message| GraphFileError::new(line, message));
        ensure!(place < MAX_NODES, wrong(format!("more than {MAX_NODES} nodes; open a part of the graph")));
        let old = self.index_by_id.insert(node.id.as_str().into(), place as u32);
        ensure!(old.is_none(), wrong(format!("a second node `{}`; give each its own id", short(&node.id))));
        self.all.push(node);
        Ok(())
    }

    fn find(&self, id: &str, end: &str, line: usize) -> Result<usize, GraphFileError> {
        self.index_by_id.get(id).map(|place| *place as usize).ok_or_else(|| {
            let id = short(id);
            GraphFileError::new(
                line,
                format!("an edge's {end} is `{id}`, and there is no such node; list it or correct the edge"),
            )
        })
    }
}

/// An edge being read, whose nodes may come later.
struct PendingEdge {
    ends: [String; 2],
    weight: Option<f64>,
    values: Vec<NamedValue>,
    line: usize,
}

impl PendingEdge {
    fn resolve(self, nodes: &Nodes) -> Result<FileEdge, GraphFileError> {
        let Self { ends: [from, to], weight, values, line } = self;
        let (from, to) = (nodes.find(&from, "source", line)?, nodes.find(&to, "target", line)?);
        Ok(FileEdge { from, to, weight: weight.unwrap_or(1.0), is_unweighted: weight.is_none(), values })
    }
}

/// Edges being read, and whether they have a direction: a graph has edges of one kind.
#[derive(Default)]
struct Edges {
    all: Vec<PendingEdge>,
    /// The direction of the edges; `None` before the first.
    directed: Option<bool>,
}

impl Edges {
    fn add(&mut self, edge: PendingEdge) -> Result<(), GraphFileError> {
        check_count(self.all.len(), edge.line)?;
        self.all.push(edge);
        Ok(())
    }

    /// Sets whether the edge about to be added is directed; an error if the others are not of that kind.
    fn set_directed(&mut self, directed: bool, line: usize) -> Result<(), GraphFileError> {
        let message = "some edges are directed and some are not; make them of one kind (an undirected edge is one each \
                       way)";
        let is_same = *self.directed.get_or_insert(directed) == directed;
        is_same.then_some(()).ok_or_else(|| GraphFileError::new(line, message))
    }

    fn finish(self, graph: GraphFile, nodes: Nodes) -> Result<GraphFile, GraphFileError> {
        let directed = self.directed.unwrap_or(graph.directed);
        let edges = self.all.into_iter().map(|edge| edge.resolve(&nodes)).collect::<Result<_, _>>()?;
        Ok(GraphFile { directed, nodes: nodes.all, edges, ..graph })
    }
}

/// Checks that one more edge may be read.
fn check_count(edges: usize, line: usize) -> Result<(), GraphFileError> {
    if edges >= MAX_EDGES { Err(GraphFileError::new(line, format!("more than {MAX_EDGES} edges"))) } else { Ok(()) }
}

/// A finite number.
fn number(text: &str, what: &str, line: usize) -> Result<f64, GraphFileError> {
    let found = text.trim().parse::<f64>().ok().filter(|v| v.is_finite());
    found.ok_or_else(|| GraphFileError::new(line, format!("{what} is `{}`; it should be a number", short(text))))
}

/// Shortens a text of the file, so that a message that quotes it stays readable.
fn short(text: &str) -> String {
    let mut out: String = text.chars().take(40).collect();
    if out.len() < text.len() {
        out.push('\u{2026}');
    }
    out
}
