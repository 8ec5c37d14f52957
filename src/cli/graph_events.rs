//! Graphs from files as the events of a run that has ended, so that the neuron graph's lab shows them as it
//! shows its own. It does not know who asks: the command, or the window on which a file was dropped.

use std::{collections::HashSet, path::Path, sync::Arc};

use crate::{
    analysis::graph_file::{FileNode, Format, GraphFile},
    config::Config,
    files::{FileError, check_memory, open, read_all},
    labs,
    telemetry::{
        Array, Event, Measurement, RunInfo, RunState, Sample, VariantInfo,
        measurements::{GraphEdges, NeuronGraph, NeuronGroups},
    },
};

/// The lab whose page shows graphs.
pub const LAB: &str = "neuron_graph";
/// Larger files are refused.
const MOST_BYTES: u64 = 1 << 30;
/// A graph takes at most so many times the bytes of its file.
const GROWTH: u64 = 32;

/// Whether a path is a graph's, by its ending.
pub fn is_graph(path: &Path) -> bool {
    path.file_name().is_some_and(|name| Format::of(&name.to_string_lossy()).is_some())
}

/// As [`is_graph`], where a table could as well be a text to train on.
pub fn is_certainly_graph(path: &Path) -> bool {
    let format = path.file_name().and_then(|name| Format::of(&name.to_string_lossy()));
    format.is_some_and(|f| f != Format::Csv) && path.is_file()
}

/// Reads a graph file of at most 1 GiB, in the format that its name ends in.
///
/// # Errors
/// A sentence for the user, where the file has another ending, is too large, not UTF-8, or malformed.
pub fn read(path: &Path) -> Result<GraphFile, String> {
    let shown = path.display();
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let format = Format::of(&name).ok_or_else(|| {
        format!("{shown} is no graph that can be read: its name should end in .gexf, .graphml or .csv")
    })?;
    let wrong = |e: FileError| format!("{shown} cannot be read: {e}");
    let file = open(path).map_err(wrong)?;
    let length = file.metadata().map_err(|e| wrong(e.into()))?.len();
    check_memory(length.saturating_mul(GROWTH)).map_err(|e| wrong(e.into()))?;
    let bytes = read_all(file, MOST_BYTES).map_err(wrong)?;
    let text = String::from_utf8(bytes)
        .map_err(|e| format!("{shown} is not UTF-8 (byte {}); save it as UTF-8", e.utf8_error().valid_up_to()))?;
    format.read(&text).map_err(|e| format!("{shown}, {e}"))
}

/// A graph file as the events of a run that has ended.
pub fn events(path: &Path) -> Result<Vec<Event>, String> {
    read(path).map(|graph| events_of(&graph, path))
}

/// The graph of a file as the events of a run that has ended.
pub fn events_of(graph: &GraphFile, path: &Path) -> Vec<Event> {
    let config = labs::find(LAB).and_then(|lab| lab.config(None).ok()).unwrap_or_else(|| Config::defaults(LAB, &[]));
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
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
        total_steps: 0,
        device: "no device".into(),
        threads: 1,
        corpus: format!("the file {name}"),
        vocab: 0,
        tokens_per_step: 0,
        folder: None,
        inputs: vec![],
        stages: vec![],
    };
    let about = if graph.title.is_empty() { name } else { format!("{name}: {}", graph.title) };
    let sample = Sample {
        step: 0,
        variant: 0,
        channel: NeuronGraph::CHANNEL.into(),
        about,
        tokens: vec![],
        request: None,
        payload: Arc::new(neuron_graph(graph).into_payload()),
    };
    vec![Event::Started(Arc::new(info)), Event::Sample(sample), Event::State(RunState::Stopped)]
}

/// What the view reads: the graph, and what is known of its nodes.
fn neuron_graph(graph: &GraphFile) -> NeuronGraph {
    let numbers: Option<Vec<u32>> = graph.nodes.iter().map(|n| n.id.trim().parse().ok()).collect();
    let distinct = |all: &Vec<u32>| all.iter().collect::<HashSet<_>>().len() == all.len();
    let neurons = numbers.filter(distinct).unwrap_or_else(|| (0..graph.nodes.len() as u32).collect());
    let counts = |names: &[&str]| values(graph, names).map_or(vec![], |v| v.iter().map(|c| c.unwrap_or(0)).collect());
    // Positions count only if every node has one.
    let places: Option<Vec<[f64; 2]>> = graph.nodes.iter().map(|n| n.place).collect();
    let positions = places.and_then(|places| {
        let flat: Vec<f32> = places.iter().flatten().map(|v| *v as f32).collect();
        Array::new([places.len(), 2], flat).ok()
    });
    NeuronGraph {
        neurons,
        labels: graph.nodes.iter().map(|n| n.label.clone()).collect(),
        edges: GraphEdges::new(graph.edges.iter().map(|e| (e.from as u32, e.to as u32, e.weight as f32))),
        in_degree: counts(&["in"]),
        out_degree: counts(&["out"]),
        core: vec![],
        groups: NeuronGroups {
            community: values(graph, &["community", "modularity_class", "modularity class", "group"]),
            head: values(graph, &["head"]),
            octave: values(graph, &["octave"]),
            // `heritage` is what files of earlier versions call it.
            provenance: values(graph, &["provenance", "heritage"]),
        },
        positions,
        summary: None,
    }
}

/// A value that a file gives under one of these names, by node; `None` if no node has it.
fn values(graph: &GraphFile, names: &[&str]) -> Option<Vec<Option<u32>>> {
    let value = |node: &FileNode| {
        let (_, v) = node.values.iter().find(|(n, _)| names.contains(&n.to_lowercase().as_str()))?;
        (*v >= 0.0 && *v < f64::from(u32::MAX)).then_some(*v as u32)
    };
    let all: Vec<Option<u32>> = graph.nodes.iter().map(value).collect();
    all.iter().any(Option::is_some).then_some(all)
}
