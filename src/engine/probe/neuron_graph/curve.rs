//! Modularity at a fixed number of edges, cheap enough to be asked every few steps.

use super::{CompactGraph, Factors, weighed};
use crate::{analysis::graph::null_models, probe::prelude::*};

const RESTARTS: usize = 2;

/// Makes a [`ModularityAtStep`].
pub struct GraphCurve;

impl Probe for GraphCurve {
    type Args = GraphCurveArgs;
    type Subject<'m> = &'m dyn SynapseModel;

    const TAKES_LONG: bool = true;

    fn ask(model: &dyn SynapseModel, args: &GraphCurveArgs, cx: &ProbeInputs<'_>) -> Result<Vec<Answer>> {
        answers(&Factors::new(model, &args.graph, cx)?, &args.graph, cx.seed)
    }
}

pub(super) fn answers(factors: &Factors, args: &NeuronGraphArgs, seed: u64) -> Result<Vec<Answer>> {
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
    Ok(vec![Answer::new(measured, about, vec![])])
}
