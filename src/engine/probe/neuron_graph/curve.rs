//! Modularity at a fixed number of edges, cheap enough to be asked every few steps.

use super::{CompactGraph, Factors, weighed};
use crate::{analysis::graph::null_models, probe::prelude::*};

const RESTARTS: usize = 2;

impl Probe for GraphCurveArgs {
    type Answer = ModularityAtStep;
    type Subject<'m> = &'m dyn SynapseModel;
    const TAKES_LONG: bool = true;

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        answer(&Factors::new(model, &self.graph, cx)?, &self.graph, cx.seed)
    }
}

pub(super) fn answer(factors: &Factors, args: &NeuronGraphArgs, seed: u64) -> Result<Answer<ModularityAtStep>> {
    let found = factors.strongest(args.edges, args.sign, &factors.product()?.spread())?;
    let edges = weighed(&found.edges, args.weighted);
    let model = CompactGraph::from_edges(&edges);
    let other = CompactGraph::from_edges(&null_models::degree_preserving(&edges, seed ^ 3));
    let modularity = |c: &CompactGraph| c.communities(RESTARTS, Some(0), seed).map(|found| found.modularity);
    let measured = ModularityAtStep {
        edges: edges.len(),
        model: modularity(&model)?,
        degree_preserving: modularity(&other)?,
        carrying: model.neurons.len() as f64 / factors.neurons().max(1) as f64,
    };
    let about = format!("{}, best of {RESTARTS} searches", factors.about(args));
    Ok(Answer::new(measured, about, vec![]))
}
