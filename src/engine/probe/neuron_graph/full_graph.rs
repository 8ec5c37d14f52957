//! The thresholded graph at one threshold: its spread of entries, its neurons with communities, its
//! degrees with their fits.

use super::{CompactGraph, Factors, GraphQuery, degrees, spread, weighed};
use crate::{
    analysis::graph::{
        Graph as Csr,
        cores::coreness,
        degrees::degrees as count,
        partition_similarity::nmi,
        product::{Spread, Strongest},
    },
    models::capabilities::SynapseModel,
    nn::Result,
    probe::{Answer, Probe, ProbeInputs},
    telemetry::{
        measurements::{self, GraphEdges, GraphSummary, NeuronGraphArgs, NeuronGroups},
        number::Number,
    },
};

/// Makes an [`EntryHistogram`](measurements::EntryHistogram), a [`measurements::NeuronGraph`] and a
/// [`GraphDegrees`](measurements::GraphDegrees).
pub struct NeuronGraph;

impl Probe for NeuronGraph {
    type Args = NeuronGraphArgs;
    type Subject<'m> = &'m dyn SynapseModel;

    fn ask(model: &dyn SynapseModel, args: &NeuronGraphArgs, cx: &ProbeInputs<'_>) -> Result<Vec<Answer>> {
        let question = GraphQuery::from(args);
        let factors = Factors::new(model, &question)?;
        let entries = factors.product()?.spread();
        let found = factors.edges(&question, &entries)?;
        let compact = CompactGraph::from_edges(&weighed(&found.edges, question.weighted));
        let counted = count(compact.neurons.len(), &compact.edges);
        let about = format!("{}, entries above {:.4}", question.label(), found.beta);
        let cut = CutInputs { factors: &factors, question: &question, entries: &entries, found: &found };
        let neurons = neurons(&cut, &compact, &counted, cx.seed)?;
        let histogram = spread::histogram(&entries, found.beta, found.edges.len());
        Ok(vec![
            Answer::new(histogram, about.clone(), vec![]),
            Answer::new(neurons, about.clone(), vec![]),
            Answer::new(degrees::measured(&counted.0, &counted.1), about, vec![]),
        ])
    }
}

/// The graph of these arguments, and what it is in words, of a model outside of any run.
///
/// # Errors
/// If a head is not there.
pub fn neuron_graph(
    model: &dyn SynapseModel,
    args: &NeuronGraphArgs,
    seed: u64,
) -> Result<(measurements::NeuronGraph, String)> {
    let question = GraphQuery::from(args);
    let factors = Factors::new(model, &question)?;
    let entries = factors.product()?.spread();
    let found = factors.edges(&question, &entries)?;
    let compact = CompactGraph::from_edges(&weighed(&found.edges, question.weighted));
    let counted = count(compact.neurons.len(), &compact.edges);
    let cut = CutInputs { factors: &factors, question: &question, entries: &entries, found: &found };
    let about = format!("{}, entries above {:.4}", question.label(), found.beta);
    Ok((neurons(&cut, &compact, &counted, seed)?, about))
}

/// The inputs that a graph was cut from.
struct CutInputs<'a> {
    factors: &'a Factors,
    question: &'a GraphQuery,
    entries: &'a Spread,
    found: &'a Strongest,
}

/// The neurons that carry edges, with their communities; `compact` holds the edges by new numbers.
fn neurons(
    cut: &CutInputs<'_>,
    compact: &CompactGraph,
    degrees: &(Vec<u32>, Vec<u32>),
    seed: u64,
) -> Result<measurements::NeuronGraph> {
    let CutInputs { factors, question, entries, found } = cut;
    let communities = compact.communities(question.restarts, None, seed)?;
    let csr = Csr::new(compact.neurons.len(), &compact.edges, true).map_err(candle_core::Error::wrap)?;
    let core = coreness(&csr);
    let ids = || compact.neurons.iter().map(|v| *v as usize);
    let heads: Vec<u32> = ids().map(|v| factors.head(v) as u32).collect();
    let octaves: Option<Vec<u32>> = ids().map(|v| factors.octave(v).map(|o| o as u32)).collect();
    let provenance: Option<Vec<u32>> = ids().map(|v| factors.provenance(v).map(|p| p as u32)).collect();
    let present = |of: Option<Vec<u32>>| of.filter(|of| !of.is_empty());
    let (octaves, provenance) = (present(octaves), present(provenance));
    let agreement = |labels: &[u32]| nmi(&communities.of, labels).unwrap_or(f64::NAN);
    let deepest = core.iter().copied().max().unwrap_or_default();
    let both_ways = csr.iter().filter(|(a, b, _)| csr.has_arc(*b, *a)).count();
    let summary = GraphSummary {
        neurons: factors.neurons(),
        carrying: compact.neurons.len(),
        beta: f64::from(found.beta),
        edges: found.edges.len(),
        entries: entries.n,
        communities: communities.count,
        modularity: communities.modularity,
        nmi_heads: agreement(&heads),
        nmi_octaves: octaves.as_deref().map(|o| Number(agreement(o))),
        nmi_provenance: provenance.as_deref().map(|p| Number(agreement(p))),
        core_k: deepest,
        core_size: core.iter().filter(|k| **k == deepest).count(),
        reciprocity: both_ways as f64 / found.edges.len().max(1) as f64,
    };
    let all = |groups: &[u32]| groups.iter().map(|g| Some(*g)).collect::<Vec<_>>();
    let (outgoing, incoming) = degrees.clone();
    Ok(measurements::NeuronGraph {
        neurons: compact.neurons.clone(),
        labels: ids().map(|v| factors.label(v)).collect(),
        // the edges by the new numbers, with their entries and signs
        edges: GraphEdges::new(compact.edges.iter().zip(&found.edges).map(|((a, b, _), (_, _, g))| (*a, *b, *g))),
        in_degree: incoming,
        out_degree: outgoing,
        core,
        groups: NeuronGroups {
            community: Some(all(&communities.of)),
            head: Some(all(&heads)),
            octave: octaves.as_deref().map(all),
            provenance: provenance.as_deref().map(all),
        },
        positions: None,
        file: None,
        summary: Some(summary),
    })
}
