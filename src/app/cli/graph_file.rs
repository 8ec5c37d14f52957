//! `orrery graph`: a graph from a file, in the window, as a picture, or laid out.

use super::{
    OpenArgs, RUNS, Settings, figures,
    graph_events::{GraphReading, LAB, events_of, measure},
    progress::StepProgress,
    window,
};
use crate::{
    analysis::{
        graph::communities::Search,
        graph_file::{Format, GraphFile},
        layout,
    },
    cli::prelude::*,
};

/// The view that draws them.
const VIEW: &str = "neuron_graph";

#[derive(Args)]
pub struct GraphArgs {
    /// A graph: .gexf, .graphml, .gml, .json (node-link), or .csv with source, target and perhaps weight
    file: PathBuf,
    #[command(flatten)]
    reading: GraphReading,
    /// Draw it into this PNG or SVG instead of opening the window
    #[arg(long, value_name = "PICTURE")]
    out: Option<PathBuf>,
    /// Lay it out and write it, with positions, into this file (.gexf, .graphml, .gml or .json)
    #[arg(long, value_name = "FILE")]
    layout: Option<PathBuf>,
    /// Write it into this file, in the format that its name ends in
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Write degrees, communities, components and cores of the nodes with it; communities and cores are those of the edges with a
    /// positive weight
    #[arg(long)]
    measures: bool,
    #[command(flatten)]
    picture: figures::PictureArgs,

    /// Print when the first frame of the window came, and frame times at the end
    #[arg(long)]
    timings: bool,
}

pub fn run(args: &GraphArgs, began: Instant) -> Result<(), Failure> {
    if let Some(out) = &args.out {
        figures::check_picture(out)?;
    }
    let outputs = || [&args.save, &args.layout, &args.out].into_iter().flatten();
    outputs().try_for_each(|out| output::check_file(out, &[&args.file]))?;
    output::check_distinct(outputs())?;
    let is_written = args.save.is_some() || args.layout.is_some();
    ensure!(is_written || !args.measures, "--measures are written into a file: give --save FILE or --layout FILE");
    if let Some(out) = &args.save {
        save(args, out)?;
    }
    if let Some(out) = &args.layout {
        lay_out(args, out)?;
    }
    if let Some(out) = &args.out {
        draw(args, out)?;
    }
    if is_written || args.out.is_some() {
        return Ok(());
    }
    // Wrong files are named here and not first in the window.
    args.reading.read(&args.file).map_err(Failure::usage)?;
    let set = Settings { out: PathBuf::from(RUNS), ..Settings::default() };
    window::open_graph(args.file.clone(), args.reading, &OpenArgs { what: None, timings: args.timings, set }, began)
}

/// Graphs of more nodes are laid out before they are drawn, step by step, so that one sees how far it is.
const LARGE_GRAPH: usize = 20_000;
/// What to choose where a table of edges would lack something.
const HOLDS_NODES: &str = "choose .gexf, .graphml, .gml or .json, which hold the nodes too";
/// Seed of the layout, as the view begins with.
const SEED: u64 = 1;

fn save(args: &GraphArgs, out: &Path) -> Result<(), Failure> {
    let format = Format::from_name(&out.to_string_lossy())
        .ok_or_else(|| usage!("{} should end in {}", out.display(), Format::extensions()))?;
    let (is_table, shown) = (format == Format::Csv, out.display());
    ensure!(!(is_table && args.measures), "{shown} cannot hold measures of nodes: {HOLDS_NODES}");
    let (graph, measured) = graph_of(args)?;
    ensure!(
        !(is_table && graph.edges.is_empty()),
        "{shown} would be empty, because the graph has no edges: {HOLDS_NODES}"
    );
    output::write(out, format.write(&graph).as_bytes(), &[&args.file])?;
    let left_out = format.left_out(&graph);
    if !left_out.is_empty() {
        notice!("note: {shown} holds edges alone; it lacks {}: {HOLDS_NODES}", left_out.join(", "));
    }
    let nodes = counted(if is_table { graph.linked_nodes() } else { graph.nodes.len() }, "node");
    print_line!("{} ({nodes}, {}{measured})", path_label(out), counted(graph.edges.len(), "edge"))
}

/// The graph, and for the line that is printed what its measures are of.
fn graph_of(args: &GraphArgs) -> Result<(GraphFile, String), Failure> {
    let mut graph = args.reading.read(&args.file).map_err(Failure::usage)?;
    let mut measured = String::new();
    if args.measures {
        let restarts = Search::default().restarts;
        let progress = StepProgress::counting("looking for communities", "restart", restarts as u64);
        let progress = Mutex::new(progress);
        let report = |done: usize| progress.lock().unwrap_or_else(PoisonError::into_inner).step(done as u64);
        measured = format!("; {}", measure(&mut graph, &report));
        // the bar goes away also where the file has communities of its own
        report(restarts);
    }
    Ok((graph, measured))
}

fn lay_out(args: &GraphArgs, out: &Path) -> Result<(), Failure> {
    let format = Format::from_name(&out.to_string_lossy()).filter(|f| *f != Format::Csv);
    let format = format.ok_or_else(|| {
        let shown = out.display();
        usage!("{shown} should end in .gexf, .graphml, .gml or .json: those formats hold positions")
    })?;
    let (mut graph, measured) = graph_of(args)?;
    let begun = Instant::now();
    place_nodes(&mut graph);
    let secs = begun.elapsed().as_secs_f64();
    output::write(out, format.write(&graph).as_bytes(), &[&args.file])?;
    let steps = layout::steps_for(graph.nodes.len());
    print_line!("{} ({steps} steps on the processor, {secs:.2} s{measured})", path_label(out))
}

/// Lays out the graph until it is at rest, and reports the progress.
fn place_nodes(graph: &mut GraphFile) {
    let nodes = graph.nodes.len();
    let edges: Vec<_> = graph.edges.iter().map(|e| (e.from as u32, e.to as u32, e.weight as f32)).collect();
    let springs = layout::Springs::new(nodes, &edges);
    let start = layout::start(0..nodes as u32, SEED);
    let steps = u64::from(layout::steps_for(nodes));
    let mut progress = StepProgress::new(format!("laying out {nodes} nodes"), steps);
    let places = layout::run_steps(steps, &springs, &layout::ForceParams::default(), start, |step| progress.step(step));
    for (node, [x, y]) in graph.nodes.iter_mut().zip(places) {
        node.position = Some([f64::from(x), -f64::from(y)]);
    }
}

fn draw(args: &GraphArgs, out: &Path) -> Result<(), Failure> {
    args.picture.check()?;
    let mut mirror = Mirror::default();
    let mut graph = args.reading.read(&args.file).map_err(Failure::usage)?;
    if graph.nodes.len() > LARGE_GRAPH && graph.nodes.iter().any(|node| node.position.is_none()) {
        place_nodes(&mut graph);
    }
    events_of(&graph, &args.file).into_iter().for_each(|e| mirror.apply(e));
    let config = mirror.info.as_ref().map_or_else(|| Config::defaults(LAB, &[]), |i| i.config.clone());
    let theme = args.picture.theme();
    let figure = Figure { step: 0, ..args.picture.sized(Figure::new(VIEW, &mirror, &config, &[], &theme)) };
    figures::draw(&figure, &args.file.display(), out, &[&args.file])
}
