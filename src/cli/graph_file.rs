//! Graphs from files, shown as the neuron graph's lab shows its own: `orrery view-graph`, and what is
//! dropped on the window. A file becomes the events of a run that has ended.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use clap::Args;

use super::{Open, RUNS, Settings, failure::Failure, figures, window};
use crate::{
    analysis::{
        graph_file::{Format, GraphFile},
        layout,
    },
    config::Config,
    gpu::offscreen::Offscreen,
    labs,
    telemetry::{Event, Graph, Line, Payload, RunInfo, RunState, Sample, Series, VariantInfo, channels::GRAPH_NEURONS},
    ui::{figure::Figure, mirror::Mirror, theme::Theme},
};

/// The lab whose page shows graphs, and its view.
const LAB: &str = "neuron_graph";
const VIEW: &str = "neuron_graph";
/// Larger files are refused.
const MOST_BYTES: u64 = 1 << 30;

#[derive(Args)]
pub struct ViewGraphArgs {
    /// A graph: .gexf, .graphml, or .csv with source, target and perhaps weight
    file: PathBuf,
    /// Draw it into this PNG instead of opening the window
    #[arg(long, value_name = "PNG")]
    out: Option<PathBuf>,
    /// Lay it out and write it, with places, into this file (.gexf or .graphml)
    #[arg(long, value_name = "FILE")]
    layout: Option<PathBuf>,
    /// Width and height in points
    #[arg(long, default_value = "960x600", value_parser = figures::size)]
    size: (f32, f32),
    /// Pixels a point
    #[arg(long, default_value_t = 2.0)]
    scale: f32,
    /// On paper instead of the dark ground
    #[arg(long)]
    light: bool,
}

pub fn run(args: &ViewGraphArgs, began: Instant) -> Result<(), Failure> {
    if let Some(out) = &args.layout {
        lay_out(&args.file, out)?;
    }
    if let Some(out) = &args.out {
        draw(args, out)?;
    }
    if args.layout.is_some() || args.out.is_some() {
        return Ok(());
    }
    // Wrong files are named here and not first in the window.
    read(&args.file).map_err(Failure::usage)?;
    let set = Settings { out: PathBuf::from(RUNS), ..Settings::default() };
    window::open_graph(args.file.clone(), &Open { what: None, timings: false, set }, began)
}

/// Whether a path is a graph's, by its ending.
pub fn is_graph(path: &Path) -> bool {
    path.file_name().is_some_and(|name| Format::of(&name.to_string_lossy()).is_some())
}

/// As [`is_graph`], where a table could as well be a text to train on.
pub fn is_certainly_graph(path: &Path) -> bool {
    let format = path.file_name().and_then(|name| Format::of(&name.to_string_lossy()));
    format.is_some_and(|f| f != Format::Csv) && path.is_file()
}

fn read(path: &Path) -> Result<GraphFile, String> {
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
        let value = |node: &crate::analysis::graph_file::FileNode| {
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

/// Seed of the layout, as the view begins with.
const SEED: u64 = 1;

fn lay_out(file: &Path, out: &Path) -> Result<(), Failure> {
    let format = Format::of(&out.to_string_lossy()).filter(|f| *f != Format::Csv);
    let format = format.ok_or_else(|| {
        Failure::usage(format!("{} should end in .gexf or .graphml: those hold places", out.display()))
    })?;
    let mut graph = read(file).map_err(Failure::usage)?;
    let edges: Vec<_> = graph.edges.iter().map(|e| (e.from as u32, e.to as u32, e.weight as f32)).collect();
    let springs = layout::Springs::new(graph.nodes.len(), &edges);
    let begun = Instant::now();
    let start = layout::start(0..graph.nodes.len() as u32, SEED);
    let places = layout::settle(&springs, &layout::Laws::default(), start);
    for (node, [x, y]) in graph.nodes.iter_mut().zip(places) {
        node.place = Some([f64::from(x), -f64::from(y)]);
    }
    let secs = begun.elapsed().as_secs_f64();
    std::fs::write(out, format.write(&graph))
        .map_err(|e| Failure::usage(format!("{} cannot be written: {e}", out.display())))?;
    println!("{} ({} steps on the processor, {secs:.2} s)", out.display(), layout::STEPS);
    Ok(())
}

fn draw(args: &ViewGraphArgs, out: &Path) -> Result<(), Failure> {
    if !(0.25..=8.0).contains(&args.scale) {
        return Err(Failure::usage("--scale goes from 0.25 to 8 pixels a point"));
    }
    let mut mirror = Mirror::default();
    events(&args.file).map_err(Failure::usage)?.into_iter().for_each(|e| mirror.apply(e));
    let mut offscreen = Offscreen::new().map_err(|e| Failure::run(e.to_string()))?;
    let config = mirror.info.as_ref().map_or_else(|| Config::defaults(LAB, &[]), |i| i.config.clone());
    let figure = Figure {
        view: VIEW,
        mirror: &mirror,
        step: 0,
        config: &config,
        knobs: &[],
        theme: &if args.light { Theme::light() } else { Theme::dark() },
        size: [args.size.0, args.size.1],
        pixels_per_point: args.scale,
    };
    let png = figure.png(&mut offscreen).map_err(Failure::run)?;
    std::fs::write(out, png).map_err(|e| Failure::usage(format!("{} cannot be written: {e}", out.display())))?;
    println!("{}", out.display());
    Ok(())
}
