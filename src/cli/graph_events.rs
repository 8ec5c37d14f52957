//! Graphs from files as the events of a run that has ended, so that the neuron graph's lab shows them as it
//! shows its own. It does not know who asks: the command, or the window on which a file was dropped.

use std::{collections::HashSet, path::Path, sync::Arc};

use crate::{
    analysis::graph_file::{FileNode, Format, GraphFile},
    config::Config,
    labs,
    telemetry::{Event, Graph, Line, Payload, RunInfo, RunState, Sample, Series, VariantInfo, channels::GRAPH_NEURONS},
};

/// The lab whose page shows graphs.
pub const LAB: &str = "neuron_graph";
/// Larger files are refused.
const MOST_BYTES: u64 = 1 << 30;

/// Whether a path is a graph's, by its ending.
pub fn is_graph(path: &Path) -> bool {
    path.file_name().is_some_and(|name| Format::of(&name.to_string_lossy()).is_some())
}

/// As [`is_graph`], where a table could as well be a text to train on.
pub fn is_certainly_graph(path: &Path) -> bool {
    let format = path.file_name().and_then(|name| Format::of(&name.to_string_lossy()));
    format.is_some_and(|f| f != Format::Csv) && path.is_file()
}

/// Reads a graph file of at most 1 GiB, its format told by its name.
///
/// # Errors
/// A sentence for the user, where the file has another ending, is too large, not UTF-8, or malformed.
pub fn read(path: &Path) -> Result<GraphFile, String> {
    let shown = path.display();
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let format = Format::of(&name).ok_or_else(|| {
        format!("{shown} is no graph that can be read: its name should end in .gexf, .graphml or .csv")
    })?;
    let wrong = |e: std::io::Error| format!("{shown} cannot be read: {e}");
    let size = std::fs::metadata(path).map_err(wrong)?.len();
    if size > MOST_BYTES {
        return Err(format!("{shown} is too large ({size} bytes; at most {MOST_BYTES})"));
    }
    let bytes = std::fs::read(path).map_err(wrong)?;
    let text = String::from_utf8(bytes)
        .map_err(|e| format!("{shown} is not UTF-8 (byte {}); save it as UTF-8", e.utf8_error().valid_up_to()))?;
    format.read(&text).map_err(|e| format!("{shown}, {e}"))
}

/// A graph file as the events of a run that has ended.
pub fn events(path: &Path) -> Result<Vec<Event>, String> {
    let graph = read(path)?;
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
    };
    let about = if graph.title.is_empty() { name } else { format!("{name}: {}", graph.title) };
    let sample = Sample {
        step: 0,
        variant: 0,
        channel: GRAPH_NEURONS.into(),
        about,
        tokens: vec![],
        request: None,
        payload: Arc::new(payload(&graph)),
    };
    Ok(vec![Event::Started(Arc::new(info)), Event::Sample(sample), Event::State(RunState::Stopped)])
}

/// What the view reads: the graph, and a line for each thing that is known of the nodes.
fn payload(graph: &GraphFile) -> Payload {
    let numbers: Option<Vec<u32>> = graph.nodes.iter().map(|n| n.id.trim().parse().ok()).collect();
    let distinct = |all: &Vec<u32>| all.iter().collect::<HashSet<_>>().len() == all.len();
    let names = numbers.filter(distinct).unwrap_or_else(|| (0..graph.nodes.len() as u32).collect());
    let mut lines = vec![];
    for (name, known_as) in [
        ("community", &["community", "modularity_class", "modularity class", "group"][..]),
        ("head", &["head"]),
        ("octave", &["octave"]),
        ("heritage", &["heritage"]),
        ("in", &["in"]),
        ("out", &["out"]),
    ] {
        let value = |node: &FileNode| {
            let is = |n: &str| known_as.contains(&n.to_lowercase().as_str());
            node.values.iter().find(|(n, _)| is(n)).map_or(f64::NAN, |(_, v)| *v)
        };
        let y: Vec<f64> = graph.nodes.iter().map(value).collect();
        if y.iter().any(|v| v.is_finite()) {
            lines.push(Line { name: name.into(), y });
        }
    }
    // Places count only if every node has one.
    if graph.nodes.iter().all(|n| n.place.is_some()) {
        for (k, name) in ["x", "y"].into_iter().enumerate() {
            let y = graph.nodes.iter().filter_map(|n| n.place.map(|p| p[k])).collect();
            lines.push(Line { name: name.into(), y });
        }
    }
    Payload::Bundle(vec![
        (
            "graph".into(),
            Payload::Graph(Graph {
                nodes: graph.nodes.len(),
                edges: graph.edges.iter().map(|e| (e.from as u32, e.to as u32, e.weight as f32)).collect(),
                labels: graph.nodes.iter().map(|n| n.label.clone()).collect(),
            }),
        ),
        (
            "neurons".into(),
            Payload::Series(Series {
                x_label: "neuron".into(),
                y_label: String::new(),
                x: names.iter().map(|n| f64::from(*n)).collect(),
                lines,
            }),
        ),
    ])
}
