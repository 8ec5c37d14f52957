//! The core of the thresholded graph, compared with those of rewired graphs with the same degrees.

use super::{CompactGraph, Factors, weighted_edges};
use crate::{
    analysis::graph::{
        Edge, Graph,
        cores::{coreness, rich_club},
        null_models,
    },
    probe::prelude::*,
};

impl Probe for CorePeripheryArgs {
    type Answer = CorePeriphery;
    type Subject<'m> = &'m dyn SynapseModel;
    const IS_SLOW: bool = true;

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let factors = Factors::new(model, &self.graph, cx)?;
        let found = factors.edges(&self.graph, &factors.product()?.spread())?;
        let compact = CompactGraph::from_edges(&weighted_edges(&found.edges, false));
        let given = Core::new(&compact, &compact.edges, self.share)?;
        let mut rewired = vec![];
        for k in 0..self.rewirings {
            cx.progress.at(k, self.rewirings)?;
            let edges = null_models::degree_preserving(&compact.edges, cx.seed ^ (k as u64 + 1));
            rewired.push(Core::new(&compact, &edges, self.share)?);
        }
        let measured = CorePeriphery {
            edges: compact.edges.len(),
            carrying: compact.neurons.len(),
            core_k: given.k,
            core_size: given.size,
            core_k_rewired: rewired.iter().map(|c| c.k).collect(),
            rich_club: given.rich_club,
            rich_club_rewired: rewired.iter().map(|c| c.rich_club).collect(),
        };
        let about = format!("{}, {} rewired graphs", factors.about(&self.graph), self.rewirings);
        Ok(Answer::new(measured, about, vec![]))
    }
}

struct Core {
    k: u32,
    size: usize,
    rich_club: f64,
}

impl Core {
    fn new(compact: &CompactGraph, edges: &[Edge], share: f64) -> Result<Self> {
        let graph = Graph::new(compact.neurons.len(), edges, true)?;
        let all = coreness(&graph);
        let k = all.iter().copied().max().unwrap_or_default();
        Ok(Self { k, size: all.iter().filter(|c| **c == k).count(), rich_club: rich_club(&graph, share) })
    }
}
