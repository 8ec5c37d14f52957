//! Modularity against the number of edges, compared with random graphs of as many edges; and at a fixed number of
//! edges, cheap enough to be asked every few steps.

use std::cell::Cell;

use super::{CompactGraph, Factors, weighted_edges};
use crate::{
    analysis::graph::{Edge, null_models, product::TopEntries},
    probe::prelude::*,
};

impl Probe for GraphModularityArgs {
    type Answer = GraphModularity;
    type Subject<'m> = &'m dyn SynapseModel;
    const IS_SLOW: bool = true;

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        answer(&Factors::new(model, &self.graph, cx)?, self, cx.seed, cx.progress)
    }
}

pub(super) fn answer(
    factors: &Factors,
    args: &GraphModularityArgs,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Answer<GraphModularity>> {
    let (restarts, most) = (args.searches.unwrap_or(args.graph.restarts), args.most);
    let graph = &NeuronGraphArgs { restarts, ..args.graph.clone() };
    let model = RankedEdges::new(factors, graph, most)?;
    let sizes: Vec<usize> = (0..).map(|k| 1000 << k).take_while(|m| *m <= most.min(model.0.len())).collect();
    // a graph smaller than the minimum size is measured whole
    let sizes = if sizes.is_empty() && !model.0.is_empty() { vec![model.0.len()] } else { sizes };
    let thin = RankedEdges::new(&factors.random(false, seed ^ 1), graph, most)?;
    let matched = RankedEdges::new(&factors.random(true, seed ^ 2), graph, most)?;
    // the time of a search is about proportional to the number of edges
    let (work, done) = (5 * sizes.iter().sum::<usize>(), Cell::new(0));
    let q = |edges: &[Edge]| -> Result<f64> {
        progress.at(done.get(), work)?;
        let communities = CompactGraph::from_edges(edges).communities(graph.restarts, Some(0), seed)?;
        done.set(done.get() + edges.len());
        Ok(communities.modularity)
    };
    let mut columns: [Vec<f64>; 6] = Default::default();
    for &m in &sizes {
        let given = model.first(m, graph.weighted);
        let values = [
            q(&given)?,
            q(&null_models::degree_preserving(&given, seed ^ 3))?,
            q(&matched.first(m, graph.weighted))?,
            q(&thin.first(m, graph.weighted))?,
            q(&factors.uniform(m, seed ^ 4))?,
            CompactGraph::from_edges(&given).neurons.len() as f64 / factors.neurons().max(1) as f64,
        ];
        columns.iter_mut().zip(values).for_each(|(c, v)| c.push(v));
    }
    let [model, degree_preserving, low_rank_same_norms, low_rank, uniform, carrying] = columns.map(Into::into);
    let measured =
        GraphModularity { edges: sizes, model, degree_preserving, low_rank_same_norms, low_rank, uniform, carrying };
    let edges = if graph.weighted { "weighted" } else { "each edge as 1" };
    let about = format!("{}, {edges}, best of {restarts} searches, seed {seed}", factors.about(graph));
    Ok(Answer::new(measured, about, vec![]))
}

/// A graph at every number of edges: the strongest ones, by falling strength.
struct RankedEdges(Vec<(u32, u32, f32)>);

impl RankedEdges {
    fn new(factors: &Factors, graph: &NeuronGraphArgs, most: usize) -> Result<Self> {
        let TopEntries { mut edges, .. } = factors.strongest(most, graph.sign, &factors.product()?.spread())?;
        edges.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()).then((a.0, a.1).cmp(&(b.0, b.1))));
        Ok(Self(edges))
    }

    fn first(&self, m: usize, weighted: bool) -> Vec<Edge> {
        weighted_edges(&self.0[..m.min(self.0.len())], weighted)
    }
}

/// Searches for communities at a fixed number of edges.
const RESTARTS: usize = 2;

impl Probe for GraphCurveArgs {
    type Answer = ModularityAtStep;
    type Subject<'m> = &'m dyn SynapseModel;
    const IS_SLOW: bool = true;

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        at_step(&Factors::new(model, &self.graph, cx)?, &self.graph, cx.seed)
    }
}

pub(super) fn at_step(factors: &Factors, args: &NeuronGraphArgs, seed: u64) -> Result<Answer<ModularityAtStep>> {
    let found = factors.strongest(args.edges, args.sign, &factors.product()?.spread())?;
    let edges = weighted_edges(&found.edges, args.weighted);
    let model = CompactGraph::from_edges(&edges);
    let other = CompactGraph::from_edges(&null_models::degree_preserving(&edges, seed ^ 3));
    let modularity = |c: &CompactGraph| c.communities(RESTARTS, Some(0), seed).map(|found| found.modularity);
    let measured = ModularityAtStep {
        edges: edges.len(),
        model: modularity(&model)?,
        degree_preserving: modularity(&other)?,
        carrying: model.neurons.len() as f64 / factors.neurons().max(1) as f64,
    };
    let about = format!("{}, best of {RESTARTS} searches, seed {seed}", factors.about(args));
    Ok(Answer::new(measured, about, vec![]))
}
