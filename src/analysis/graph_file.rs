//! Graphs as files that other programs read: GEXF 1.3 (Gephi, with places and colours), GraphML and
//! a table of edges. Strings in, strings out; it does not know what the nodes are.

use std::collections::{HashMap, HashSet};

mod edge_table;
mod gexf;
mod graphml;
mod xml;

/// A graph of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GraphFile {
    /// What it is, in words.
    pub title: String,
    pub directed: bool,
    pub nodes: Vec<FileNode>,
    pub edges: Vec<FileEdge>,
}

/// A node of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileNode {
    pub id: String,
    pub label: String,
    /// x to the right, y upwards.
    pub place: Option<[f64; 2]>,
    /// sRGB.
    pub colour: Option<[u8; 3]>,
    pub size: Option<f64>,
    /// Named numbers: "community", "head", ..
    pub values: Vec<(String, f64)>,
}

/// An edge between two places in [`GraphFile::nodes`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FileEdge {
    pub from: usize,
    pub to: usize,
    pub weight: f64,
}

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Gexf,
    GraphMl,
    Csv,
}

/// What is wrong with a file, at which line (from 1), and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {words}")]
pub struct GraphFileError {
    pub line: usize,
    pub words: String,
}

impl GraphFileError {
    fn new(line: usize, words: impl Into<String>) -> Self {
        Self { line, words: words.into() }
    }
}

/// No file has more of either; beyond it a graph is no picture.
pub const MOST_NODES: usize = 1_000_000;
pub const MOST_EDGES: usize = 8_000_000;
/// Named numbers of one node, and names of them in one file.
pub const MOST_VALUES: usize = 1024;
/// Bytes of such a name.
const LONGEST_NAME: usize = 256;

impl Format {
    pub const ALL: [Self; 3] = [Self::Gexf, Self::GraphMl, Self::Csv];

    /// The ending of a file's name.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Gexf => "gexf",
            Self::GraphMl => "graphml",
            Self::Csv => "csv",
        }
    }

    /// By the ending of a file's name.
    pub fn of(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        Self::ALL.into_iter().find(|f| name.ends_with(&format!(".{}", f.ending())))
    }

    pub fn write(self, graph: &GraphFile) -> String {
        match self {
            Self::Gexf => gexf::write(graph),
            Self::GraphMl => graphml::write(graph),
            Self::Csv => edge_table::write(graph),
        }
    }

    pub fn read(self, text: &str) -> Result<GraphFile, GraphFileError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let graph = match self {
            Self::Gexf => gexf::read(text),
            Self::GraphMl => graphml::read(text),
            Self::Csv => edge_table::read(text),
        }?;
        if graph.nodes.is_empty() {
            return Err(GraphFileError::new(1, "the file has no nodes, so there is nothing to see"));
        }
        Ok(graph)
    }
}

impl FileNode {
    pub fn value(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|(n, _)| n == name).map(|(_, v)| *v)
    }
}

/// Names of the nodes' numbers, in the order of their first appearance.
fn value_names(graph: &GraphFile) -> Vec<&str> {
    let mut seen = HashSet::new();
    let names = graph.nodes.iter().flat_map(|n| &n.values).map(|(name, _)| name.as_str());
    names.filter(|name| seen.insert(*name)).collect()
}

/// The nodes' ids as XML can say them. What it cannot say is left out; an id that another node has then is told
/// apart by a number.
fn xml_ids(graph: &GraphFile) -> Vec<String> {
    let plain: Vec<String> = graph.nodes.iter().map(|n| xml::sayable(&n.id)).collect();
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

/// Whether all values of a name are whole.
fn is_whole(graph: &GraphFile, name: &str) -> bool {
    graph.nodes.iter().filter_map(|n| n.value(name)).all(|v| v.fract() == 0.0 && v.abs() < 9e15)
}

/// Nodes being read, by their ids.
#[derive(Default)]
struct Nodes {
    all: Vec<FileNode>,
    places: HashMap<String, usize>,
}

impl Nodes {
    fn add(&mut self, node: FileNode, line: usize) -> Result<usize, GraphFileError> {
        if self.all.len() >= MOST_NODES {
            return Err(GraphFileError::new(line, format!("more than {MOST_NODES} nodes; open a part of the graph")));
        }
        let place = self.all.len();
        if self.places.insert(node.id.clone(), place).is_some() {
            return Err(GraphFileError::new(line, format!("a second node `{}`; give each its own id", node.id)));
        }
        self.all.push(node);
        Ok(place)
    }

    /// Gives a node one more named number.
    fn give(node: &mut FileNode, name: &str, value: f64, line: usize) -> Result<(), GraphFileError> {
        if node.values.len() >= MOST_VALUES {
            return Err(GraphFileError::new(
                line,
                format!("a node has more than {MOST_VALUES} values; leave some out"),
            ));
        }
        node.values.push((name.to_owned(), value));
        Ok(())
    }

    fn find(&self, id: &str, end: &str, line: usize) -> Result<usize, GraphFileError> {
        self.places.get(id).copied().ok_or_else(|| {
            GraphFileError::new(
                line,
                format!("an edge's {end} is `{id}`, and there is no such node; list it or correct the edge"),
            )
        })
    }
}

/// Names of values by what the file calls them.
#[derive(Default)]
struct ValueNames(HashMap<String, String>);

impl ValueNames {
    fn add(&mut self, id: &str, name: &str, line: usize) -> Result<(), GraphFileError> {
        if name.len() > LONGEST_NAME || id.len() > LONGEST_NAME {
            let words =
                format!("`{}` is too long a name ({} bytes); shorten it", short(name), name.len().max(id.len()));
            return Err(GraphFileError::new(line, words));
        }
        if self.0.len() >= MOST_VALUES && !self.0.contains_key(id) {
            return Err(GraphFileError::new(line, format!("more than {MOST_VALUES} kinds of values; leave some out")));
        }
        self.0.insert(id.to_owned(), name.to_owned());
        Ok(())
    }

    /// The name of what the file may not have named: then it is called as it is.
    fn get_or_add(&mut self, id: &str, line: usize) -> Result<&str, GraphFileError> {
        if !self.0.contains_key(id) {
            self.add(id, id, line)?;
        }
        Ok(self.get(id).unwrap_or_default())
    }

    fn get(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(String::as_str)
    }
}

/// A finite number.
fn number(text: &str, what: &str, line: usize) -> Result<f64, GraphFileError> {
    let found = text.trim().parse::<f64>().ok().filter(|v| v.is_finite());
    found.ok_or_else(|| GraphFileError::new(line, format!("{what} is `{}`; it should be a number", short(text))))
}

/// The beginning of a text, for messages.
fn short(text: &str) -> String {
    let mut out: String = text.chars().take(40).collect();
    if out.len() < text.len() {
        out.push('\u{2026}');
    }
    out
}
