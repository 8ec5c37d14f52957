//! The thresholded graph at one threshold: its spread of entries, its neurons with communities, its
//! degrees with their fits.

use super::{CompactGraph, Factors, degrees, weighted_edges};
use crate::{
    analysis::graph::{
        Graph as Csr,
        cores::coreness,
        degrees::degrees as count,
        partition_similarity::nmi,
        product::{EntryDistribution, Sign, TopEntries},
    },
    probe::prelude::*,
};

/// Bins and thresholds of the distribution of entries.
const BINS: usize = 161;
const THRESHOLDS: usize = 241;

impl Probe for NeuronGraphArgs {
    type Answer = (measurements::EntryHistogram, (NeuronGraph, GraphDegrees));
    type Subject<'m> = &'m dyn SynapseModel;

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        answer(Factors::new(model, self, cx)?, self.clone(), cx.seed)
    }
}

/// The answer about the graph of these factors.
pub(super) fn answer(
    factors: Factors,
    args: NeuronGraphArgs,
    seed: u64,
) -> Result<Answer<<NeuronGraphArgs as Probe>::Answer>> {
    let cut = CutGraph::new(factors, args)?;
    let neurons = cut.neurons(seed)?;
    let histogram = histogram(&cut.entries, cut.found.beta, cut.found.edges.len());
    let degrees =
        GraphDegrees { outgoing: degrees::distribution(&cut.outgoing), incoming: degrees::distribution(&cut.incoming) };
    Ok(Answer::new((histogram, (neurons, degrees)), cut.label(), vec![]))
}

/// The graph of these arguments, and what it is in words, of a model's weights outside of any run.
///
/// # Errors
/// If a head is not there.
pub fn neuron_graph(model: &dyn SynapseModel, args: &NeuronGraphArgs, seed: u64) -> Result<(NeuronGraph, String)> {
    let cut = CutGraph::new(Factors::from_weights(model, args)?, args.clone())?;
    Ok((cut.neurons(seed)?, cut.label()))
}

/// A thresholded graph and the distribution of the entries that it was taken from.
struct CutGraph {
    args: NeuronGraphArgs,
    factors: Factors,
    entries: EntryDistribution,
    found: TopEntries,
    /// The edges by new numbers.
    compact: CompactGraph,
    outgoing: Vec<u32>,
    incoming: Vec<u32>,
}

impl CutGraph {
    fn new(factors: Factors, args: NeuronGraphArgs) -> Result<Self> {
        let entries = factors.product()?.spread();
        let found = factors.edges(&args, &entries)?;
        let compact = CompactGraph::from_edges(&weighted_edges(&found.edges, args.weighted));
        let (outgoing, incoming) = count(compact.neurons.len(), &compact.edges);
        Ok(Self { args, factors, entries, found, compact, outgoing, incoming })
    }

    fn label(&self) -> String {
        let beta = self.found.beta;
        let cut = match self.args.sign {
            Sign::Excitatory => format!("entries above {beta:.4}"),
            Sign::Inhibitory => format!("entries below \u{2212}{beta:.4}"),
            Sign::Both => format!("|entries| above {beta:.4}"),
        };
        format!("{}, {cut}", self.factors.about(&self.args))
    }

    /// The neurons that carry edges, with their communities.
    fn neurons(&self, seed: u64) -> Result<NeuronGraph> {
        let Self { args, factors, entries, found, compact, .. } = self;
        let communities = compact.communities(args.restarts, None, seed)?;
        let csr = Csr::new(compact.neurons.len(), &compact.edges, true)?;
        let core = coreness(&csr);
        let ids = || compact.neurons.iter().map(|v| *v as usize);
        let heads: Vec<u32> = ids().map(|v| factors.head(v)).collect();
        let octaves: Option<Vec<u32>> = ids().map(|v| factors.octave(v)).collect();
        let provenance: Option<Vec<u32>> = ids().map(|v| factors.shape.parent(v).map(|p| p as u32)).collect();
        let present = |of: Option<Vec<u32>>| of.filter(|of| !of.is_empty());
        let (octaves, provenance) = (present(octaves), present(provenance));
        let agreement = |labels: &[u32]| nmi(&communities.membership, labels).unwrap_or(f64::NAN);
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
        Ok(NeuronGraph {
            neurons: compact.neurons.clone(),
            labels: ids().map(|v| factors.label(v)).collect(),
            // the edges by the new numbers, with their entries and signs
            edges: GraphEdges::new(compact.edges.iter().zip(&found.edges).map(|((a, b, _), (_, _, g))| (*a, *b, *g))),
            in_degree: self.incoming.clone(),
            out_degree: self.outgoing.clone(),
            core,
            groups: NeuronGroups {
                community: Some(all(&communities.membership)),
                head: Some(all(&heads)),
                octave: octaves.as_deref().map(all),
                provenance: provenance.as_deref().map(all),
            },
            positions: None,
            file: None,
            summary: Some(summary),
        })
    }
}

/// Density with its symmetric part min(f(x), f(-x)) and the rest (figure 9a of the paper), and how many
/// entries are larger than each of some thresholds.
fn histogram(entries: &EntryDistribution, beta: f32, edges: usize) -> EntryHistogram {
    // all but the outermost millionth, or the threshold, whichever is further out
    let reach = entries.upper_quantile(1e-6).max(1.15 * beta) * 1.05;
    let step = 2.0 * f64::from(reach) / BINS as f64;
    let counts = entries.histogram(reach, BINS);
    let density: Vec<f64> = counts.iter().map(|c| c / (entries.n as f64 * step).max(f64::MIN_POSITIVE)).collect();
    let symmetric: Vec<f64> = (0..BINS).map(|i| density[i].min(density[BINS - 1 - i])).collect();
    let skew = density.iter().zip(&symmetric).map(|(f, s)| f - s).collect();
    let entry = (0..BINS).map(|i| -f64::from(reach) + (i as f64 + 0.5) * step).collect();

    let thresholds: Vec<f32> = (0..THRESHOLDS).map(|i| reach * i as f32 / (THRESHOLDS - 1) as f32).collect();
    let above = |sign: Sign| -> Numbers {
        let count = |beta: &f32| {
            // between the two bounds as if the bin were level
            let (least, most) = entries.count_above(*beta, sign);
            0.5 * (least as f64 + most as f64)
        };
        thresholds.iter().map(count).collect()
    };
    let m = entries.moments();
    EntryHistogram {
        entry,
        density: density.into(),
        symmetric: symmetric.into(),
        skew,
        threshold: thresholds.iter().map(|b| f64::from(*b)).collect(),
        above: EntriesAbove {
            excitatory: above(Sign::Excitatory),
            inhibitory: above(Sign::Inhibitory),
            both: above(Sign::Both),
        },
        beta: f64::from(beta),
        edges,
        entries: entries.n,
        mean: m.mean,
        standard_deviation: m.sd,
        skewness: m.skew,
        kurtosis: m.kurtosis,
    }
}
