//! Graphs from files as the events of an ended run, which the lab of graph files shows.

use std::{collections::HashSet, fs::File};

use super::trained::grouped;
use crate::{
    analysis::{
        graph::{
            Edge, Graph,
            communities::{self, Search},
            components, cores, degrees,
        },
        graph_file::{AttributeValue, FileNode, Format, GraphFile, NamedValue},
    },
    cli::prelude::*,
    files::{check_memory, open, read_all},
    telemetry::{
        Array, Measurement, VariantInfo,
        measurements::{ColumnType, FileGraph, GraphColumn, GraphEdges, NeuronGraph, NeuronGroups},
        number::Number,
    },
};

/// The lab whose page shows them.
pub const LAB: &str = labs::graph_file::ID;
/// Larger files are refused.
pub const MAX_BYTES: u64 = 1 << 30;
/// A graph takes at most this many times the bytes of its file.
const MAX_GROWTH: u64 = 32;
/// Communities and cores of graphs of more edges are not looked for when a file is opened.
const MAX_SEARCHED: usize = 2_000_000;

/// The graph format that a file name's extension stands for.
fn format_of(path: &Path) -> Option<Format> {
    Format::from_name(&path.file_name()?.to_string_lossy())
}

/// True if a path's extension is that of a graph file.
pub fn is_graph(path: &Path) -> bool {
    format_of(path).is_some()
}

/// Stricter than [`is_graph`]: a table could as well be a text to train on, and JSON a tokeniser.
pub fn is_certainly_graph(path: &Path) -> bool {
    format_of(path).is_some_and(Format::is_graph_only) && path.is_file()
}

/// Checks that a file of this length is no longer than a graph may be, and that there is memory for `growth` times its bytes. The
/// length is first, because no free memory helps against it.
pub fn check_length(length: u64, growth: u64) -> Result<(), FileError> {
    match length > MAX_BYTES {
        true => Err(FileError::TooLong { limit: MAX_BYTES }),
        false => Ok(check_memory(length.saturating_mul(growth))?),
    }
}

/// Opens a file for which [`check_length`] holds. The error says which file it is.
pub fn open_checked(path: &Path, growth: u64) -> Result<File, String> {
    let opened = || -> Result<File, FileError> {
        let file = open(path)?;
        check_length(file.metadata()?.len(), growth)?;
        Ok(file)
    };
    opened().map_err(|e| format!("{} cannot be read: {e}", path.display()))
}

/// Reads a graph file of at most 1 GiB, in the format that its name ends in.
pub fn read(path: &Path) -> Result<GraphFile, String> {
    let shown = path.display();
    let format = format_of(path).ok_or_else(|| {
        format!("{shown} is not a graph that can be read: its name should end in {}", Format::extensions())
    })?;
    let file = open_checked(path, MAX_GROWTH)?;
    let bytes = read_all(file, MAX_BYTES).map_err(|e| format!("{shown} cannot be read: {e}"))?;
    let text = String::from_utf8(bytes)
        .map_err(|e| format!("{shown} is not UTF-8 (byte {}); save it as UTF-8", e.utf8_error().valid_up_to()))?;
    format.read(&text).map_err(|e| format!("{shown}, {e}"))
}

/// How the graph of a file is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, clap::Args)]
pub struct GraphReading {
    /// Treat edges as directed from source to target, whatever the file says (the default for a .csv that says nothing)
    #[arg(long, conflicts_with = "undirected")]
    directed: bool,
    /// Treat edges as undirected, whatever the file says
    #[arg(long)]
    undirected: bool,
    /// Leave out edges whose weight is nearer to 0 than this
    #[arg(long, value_name = "WEIGHT")]
    threshold: Option<f64>,
}

impl GraphReading {
    pub fn read(self, path: &Path) -> Result<GraphFile, String> {
        let mut graph = read(path)?;
        if self.directed || self.undirected {
            graph.directed = self.directed;
        }
        let Some(min) = self.threshold else { return Ok(graph) };
        if !(min.is_finite() && min >= 0.0) {
            return Err(format!("--threshold {min} should be a number of 0 or more"));
        }
        let max = graph.edges.iter().map(|e| e.weight.abs()).fold(0.0, f64::max);
        graph.edges.retain(|e| e.weight.abs() >= min);
        if graph.edges.is_empty() {
            return Err(format!("--threshold {min} leaves no edge: the greatest weight is {max}"));
        }
        Ok(graph)
    }
}

/// The graph of a file as the events of a run that has ended.
pub fn events_of(graph: &GraphFile, path: &Path) -> Vec<Event> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut config = Config::defaults(LAB, &[]);
    // the name of the page, as of another program's run
    config.preset.clone_from(&name);
    let info = RunInfo {
        lab: LAB.into(),
        config,
        variants: vec![VariantInfo {
            id: "file".into(),
            label: name.clone(),
            group: "file".into(),
            seed: 0,
            params: 0,
        }],
        ..RunInfo::default()
    };
    let about = if graph.title.is_empty() { name } else { format!("{name}: {}", graph.title) };
    let sample = Sample {
        step: 0,
        variant: 0,
        channel: NeuronGraph::CHANNEL.into(),
        about,
        tokens: vec![],
        request: None,
        payload: Arc::new(neuron_graph(graph, &|_| ()).into_payload()),
    };
    vec![Event::Started(Arc::new(info)), Event::Sample(sample), Event::State(RunState::Stopped)]
}

/// The measurement that the view reads: the graph, and values of its nodes that are computed once. `report` is given the
/// number of restarts of the search for communities that are done.
fn neuron_graph(graph: &GraphFile, report: &(dyn Fn(usize) + Sync)) -> NeuronGraph {
    let numbers: Option<Vec<u32>> = graph.nodes.iter().map(|n| n.id.trim().parse().ok()).collect();
    let distinct = |all: &Vec<u32>| all.iter().collect::<HashSet<_>>().len() == all.len();
    let neurons = numbers.filter(distinct).unwrap_or_else(|| (0..graph.nodes.len() as u32).collect());
    let all: Vec<Edge> = graph.edges.iter().map(|e| (e.from as u32, e.to as u32, e.weight)).collect();
    let (out_degree, in_degree) = degrees::degrees(graph.nodes.len(), &all);
    // Positions count only if every node has one.
    let places: Option<Vec<[f64; 2]>> = graph.nodes.iter().map(|n| n.position).collect();
    let positions = places.and_then(|places| {
        let flat: Vec<f32> = places.iter().flatten().map(|v| *v as f32).collect();
        Array::new([places.len(), 2], flat).ok()
    });
    let own = values(graph, &["community", "modularity_class", "modularity class", "group"]);
    let positive = positive_subgraph(graph, &all);
    let found = positive.as_ref().filter(|_| own.is_none());
    let found = found.map(|graph| communities::communities_with_progress(graph, Search::default(), report));
    let modularity = found.as_ref().map(|found| Number(found.modularity));
    let community = own.or_else(|| found.map(|found| found.membership.into_iter().map(Some).collect()));
    NeuronGraph {
        neurons,
        labels: graph.nodes.iter().map(|n| n.name().to_owned()).collect(),
        edges: GraphEdges::new(all.iter().map(|(from, to, weight)| (*from, *to, *weight as f32))),
        in_degree,
        out_degree,
        core: positive.as_ref().map_or_else(Vec::new, cores::coreness),
        groups: NeuronGroups {
            community,
            head: values(graph, &["head"]),
            octave: values(graph, &["octave"]),
            // `heritage` is what files of earlier versions call it.
            provenance: values(graph, &["provenance", "heritage"]),
        },
        positions,
        summary: None,
        file: Some(file_graph(graph, &all, modularity)),
    }
}

/// Adds the measures of every node as values, under names that the file does not use. `report` is given the number of
/// restarts of the search for communities, of [`Search::default`], that are done. Returns which edges communities and cores are
/// of: "communities (Q = 0.511) and cores of the 135 positive edges of 206".
pub fn measure(graph: &mut GraphFile, report: &(dyn Fn(usize) + Sync)) -> String {
    let measured = neuron_graph(graph, report);
    let file = measured.file.unwrap_or_default();
    let positive = graph.edges.iter().filter(|e| e.weight > 0.0).count();
    let edges = match graph.edges.len() {
        all if all == positive => "all edges".to_owned(),
        all => format!("the {} of {all}", counted(positive, "positive edge")),
    };
    let none = if measured.groups.community.is_some() { "no cores" } else { "no communities or cores" };
    let words = match (file.modularity, measured.core.is_empty()) {
        (_, true) if positive == 0 => format!("{none}, because no edge has a positive weight"),
        (_, true) => format!("{none}, which are looked for among at most {} edges", grouped(MAX_SEARCHED)),
        (Some(Number(q)), false) => format!("communities (Q = {q:.3}) and cores of {edges}"),
        (None, false) => format!("communities of the file, cores of {edges}"),
    };
    let community: Vec<u32> = measured.groups.community.iter().flatten().map(|c| c.unwrap_or(0)).collect();
    let degree: Vec<u32> = measured.in_degree.iter().zip(&measured.out_degree).map(|(i, o)| i + o).collect();
    let mut all = vec![("degree", &degree), ("community", &community), ("core", &measured.core)];
    all.push(("component", &file.component));
    if graph.directed {
        all.extend([("in_degree", &measured.in_degree), ("out_degree", &measured.out_degree)]);
        all.push(("strong_component", &file.strong_component));
    }
    let taken: HashSet<String> = graph.nodes.iter().flat_map(|n| &n.values).map(|(name, _)| name.clone()).collect();
    for (name, values) in all.into_iter().filter(|(name, _)| !taken.contains(*name)) {
        for (node, value) in graph.nodes.iter_mut().zip(values) {
            node.values.push((name.to_owned(), AttributeValue::Integer(i64::from(*value))));
        }
    }
    words
}

fn file_graph(graph: &GraphFile, all: &[Edge], modularity: Option<Number<f64>>) -> FileGraph {
    let (nodes, ends) = (graph.nodes.len(), || all.iter().map(|(a, b, _)| (*a, *b)));
    FileGraph {
        directed: graph.directed,
        weighted: graph.edges.iter().any(|e| !e.is_unweighted),
        ids: graph.nodes.iter().map(|n| n.id.clone()).collect(),
        are_ids_numbers: graph.nodes.iter().all(|n| n.is_json_id),
        node_values: node_columns(graph),
        edge_values: columns(graph.edges.len(), graph.edges.iter().map(|e| e.values.as_slice())),
        component: components::weakly_connected(nodes, ends()),
        strong_component: if graph.directed { components::strongly_connected(nodes, ends()) } else { vec![] },
        modularity,
    }
}

/// The subgraph of edges with positive weight, unless it is too large to search while the user waits.
fn positive_subgraph(graph: &GraphFile, all: &[Edge]) -> Option<Graph> {
    let positive: Vec<Edge> = all.iter().copied().filter(|(_, _, weight)| *weight > 0.0).collect();
    if positive.is_empty() || positive.len() > MAX_SEARCHED {
        return None;
    }
    Graph::new(graph.nodes.len(), &positive, graph.directed).ok()
}

/// The values of the nodes, and their sizes and colours where the file gives them.
fn node_columns(graph: &GraphFile) -> Vec<GraphColumn> {
    let nodes = &graph.nodes;
    let mut all = columns(nodes.len(), nodes.iter().map(|n| n.values.as_slice()));
    let mut given = |name: &str, of: ColumnType, value: &dyn Fn(&FileNode) -> Option<f64>| {
        let is_taken = all.iter().any(|column| column.name == name);
        if !is_taken && nodes.iter().any(|n| value(n).is_some()) {
            let numbers = nodes.iter().map(|n| value(n).unwrap_or(f64::NAN)).collect();
            all.push(GraphColumn { name: name.to_owned(), of, numbers, texts: vec![] });
        }
    };
    given("size", ColumnType::Float, &|n| n.size);
    for (k, name) in ["r", "g", "b"].into_iter().enumerate() {
        given(name, ColumnType::Integer, &|n| n.colour.map(|c| f64::from(c[k])));
    }
    all
}

/// Named values as lists, one a name and type, in the order of their first appearance.
fn columns<'a>(count: usize, items: impl Iterator<Item = &'a [NamedValue]>) -> Vec<GraphColumn> {
    let (mut all, mut places) = (Vec::<GraphColumn>::new(), HashMap::<(&str, ColumnType), usize>::new());
    for (i, values) in items.enumerate() {
        for (name, value) in values {
            let of = match value {
                AttributeValue::Integer(_) => ColumnType::Integer,
                AttributeValue::Float(_) => ColumnType::Float,
                AttributeValue::Boolean(_) => ColumnType::Boolean,
                AttributeValue::Text(_) => ColumnType::Text,
                AttributeValue::Json(_) => ColumnType::Json,
            };
            let place = *places.entry((name.as_str(), of)).or_insert_with(|| {
                let is_text = matches!(of, ColumnType::Text | ColumnType::Json);
                let (numbers, texts) = if is_text { (0, count) } else { (count, 0) };
                let numbers = vec![f64::NAN; numbers].into();
                all.push(GraphColumn { name: name.clone(), of, numbers, texts: vec![None; texts] });
                all.len() - 1
            });
            let column = &mut all[place];
            match value.number() {
                Some(number) => column.numbers.0[i] = number,
                None => column.texts[i] = Some(value.to_string()),
            }
        }
    }
    all
}

/// Reads each node's attribute under one of these names, if it is a whole number; `None` if no node has one.
fn values(graph: &GraphFile, names: &[&str]) -> Option<Vec<Option<u32>>> {
    let value = |node: &FileNode| {
        let (_, v) = node.values.iter().find(|(n, _)| names.contains(&n.to_lowercase().as_str()))?;
        let v = if v.is_number() { v.number()? } else { return None };
        (v.fract() == 0.0 && v >= 0.0 && v < f64::from(u32::MAX)).then_some(v as u32)
    };
    let all: Vec<Option<u32>> = graph.nodes.iter().map(value).collect();
    all.iter().any(Option::is_some).then_some(all)
}
