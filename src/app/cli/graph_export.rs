//! `orrery export --gexf` and `--graphml`: the graph that a BDH's weights draw between its neurons, as a file.

use super::{damage::PartialArgs, trained_run::newest_whole};
use crate::{
    analysis::{
        graph::product::Sign,
        graph_file::{AttributeValue, FileEdge, FileNode, Format, GraphFile},
    },
    cli::prelude::*,
    models::{
        Trainable,
        bdh::{Bdh, BdhSpec, Checkpoint},
    },
    probe::neuron_graph::{self, MAX_EDGES},
    telemetry::measurements::{Matrix, NeuronGraph, NeuronGraphArgs},
};

/// The seed of the search for communities.
const SEED: u64 = 0;

#[derive(Args)]
pub struct GraphArgs {
    /// Write the graph of the neurons into this GEXF file
    #[arg(long, value_name = "FILE")]
    pub gexf: Option<PathBuf>,
    /// Write the graph of the neurons into this GraphML file
    #[arg(long, value_name = "FILE")]
    pub graphml: Option<PathBuf>,
    /// The decoder through which neurons act on each other: x is G_x = E D_x, y is G_y = E D_y
    #[arg(long, value_parser = one_by_id(&[Matrix::X, Matrix::Y]), default_value = "x")]
    matrix: Matrix,
    /// The sign of the entries that become edges
    #[arg(long, value_parser = one_by_id(&Sign::ALL), default_value = "excitatory")]
    sign: Sign,
    /// How many edges, the strongest
    #[arg(long, default_value_t = 16_000, value_parser = clap::value_parser!(u64).range(1..=MAX_EDGES as u64))]
    edges: u64,
    /// Take all entries of that sign further than this from 0 instead, unless there are too many
    #[arg(long, value_name = "THRESHOLD", conflicts_with = "edges")]
    beta: Option<f64>,
}

impl GraphArgs {
    pub fn is_wanted(&self) -> bool {
        self.gexf.is_some() || self.graphml.is_some()
    }

    fn probe_args(&self) -> Result<NeuronGraphArgs, Failure> {
        if let Some(beta) = self.beta.filter(|b| !(b.is_finite() && *b > 0.0)) {
            return Err(usage!("--beta {beta} should be a number above 0"));
        }
        let (matrix, sign) = (self.matrix, self.sign);
        let (edges, beta) = (self.edges as usize, self.beta.unwrap_or(0.0));
        Ok(NeuronGraphArgs { matrix, sign, edges, beta, ..NeuronGraphArgs::default() })
    }

    /// Writes the files; `from` is a file, or a run folder whose newest checkpoint has the variant's model.
    pub fn write(&self, from: &Path, variant: Option<&str>, partial: PartialArgs) -> Result<(), Failure> {
        let args = self.probe_args()?;
        let model = model(from, variant, partial)?;
        let (found, about) = neuron_graph::neuron_graph(&model, &args, SEED).map_err(Failure::failed)?;
        if self.beta.is_some() && found.edges.len() >= MAX_EDGES {
            notice!("note: more entries are above the threshold; the {MAX_EDGES} strongest are written");
        }
        ensure!(!found.edges.is_empty(), "no entry is above the threshold, so that the graph is empty: lower --beta");
        let graph = graph_of(&found, about);
        for (path, format) in [(&self.gexf, Format::Gexf), (&self.graphml, Format::GraphMl)] {
            if let Some(path) = path {
                output::write(path, format.write(&graph).as_bytes(), &[from])?;
                let (neurons, edges) = (counted(graph.nodes.len(), "neuron"), counted(graph.edges.len(), "edge"));
                print_line!("{} ({neurons}, {edges})", path_label(path))?;
            }
        }
        Ok(())
    }
}

/// The model whose graph is exported. The graph follows from the weights alone, for any number of layers.
fn model(from: &Path, variant: Option<&str>, partial: PartialArgs) -> Result<Bdh, Failure> {
    if !from.is_dir() {
        let checkpoint = Checkpoint::open(from, &BdhSpec::default(), &Device::Cpu).map_err(Failure::wrong)?;
        return checkpoint.model(checkpoint.facts.layers.map_or(1, |known| known.value)).map_err(Failure::failed);
    }
    let found = newest_whole(from, variant, partial)?;
    let ModelSpec::Bdh(spec) = found.spec else {
        return Err(usage!("{} holds no BDH; only BDHs have a graph of neurons", from.display()));
    };
    let spec = BdhSpec { weights: None, twofold: false, carry: None, ..spec.resolved().map_err(Failure::wrong)? };
    let vocab =
        found.weights.iter().find(|(name, _)| name == "embed.weight").and_then(|(_, t)| t.dims().first().copied());
    let vocab = vocab.ok_or_else(|| Failure::usage("the checkpoint lacks the tensor `embed.weight`"))?;
    let model = Bdh::new(&spec, vocab, 0, &Device::Cpu).map_err(Failure::wrong)?;
    for (name, value) in found.weights.iter().filter(|(name, _)| model.params().get(name).is_some()) {
        model.params().load(name, value).map_err(Failure::wrong)?;
    }
    Ok(model)
}

/// The measurement as a file's graph; a neuron is called by its number in the model.
fn graph_of(found: &NeuronGraph, title: String) -> GraphFile {
    let groups = [
        ("community", &found.groups.community),
        ("head", &found.groups.head),
        ("octave", &found.groups.octave),
        ("provenance", &found.groups.provenance),
    ];
    let counts = [("in", &found.in_degree), ("out", &found.out_degree), ("core", &found.core)];
    let node = |(i, neuron): (usize, &u32)| {
        let grouped = groups.iter().filter_map(|(name, of)| {
            let group = of.as_ref()?.get(i).copied().flatten()?;
            Some(((*name).to_owned(), AttributeValue::Integer(i64::from(group))))
        });
        let count = |of: &Vec<u32>| of.get(i).map(|n| AttributeValue::Integer(i64::from(*n)));
        let counted = counts.iter().filter_map(|(name, of)| Some(((*name).to_owned(), count(of)?)));
        FileNode {
            id: neuron.to_string(),
            label: found.labels.get(i).cloned(),
            values: grouped.chain(counted).collect(),
            ..FileNode::default()
        }
    };
    let edges = found.edges.iter().map(|(from, to, weight)| FileEdge {
        from: from as usize,
        to: to as usize,
        weight: f64::from(weight),
        ..FileEdge::default()
    });
    GraphFile {
        title,
        directed: true,
        nodes: found.neurons.iter().enumerate().map(node).collect(),
        edges: edges.collect(),
        ..GraphFile::default()
    }
}
