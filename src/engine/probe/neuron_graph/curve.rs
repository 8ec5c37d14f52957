//! Modularity at a fixed number of edges, cheap enough to be asked every few steps.

use super::{Compact, Factors, Question, applies, weighed};
use crate::{
    analysis::graph::null_models,
    models::Trainable,
    nn::Result,
    probe::{Finding, ProbeContext, UntypedProbe},
    telemetry::measurements::ModularityAtStep,
};

/// Searches a measurement.
const RESTARTS: usize = 2;

/// Arguments as of `neuron_graph`; `beta` is not read. Makes a [`ModularityAtStep`].
pub struct GraphCurve;

impl UntypedProbe for GraphCurve {
    fn id(&self) -> &'static str {
        "graph_curve"
    }

    fn applies(&self, model: &dyn Trainable) -> bool {
        applies(model)
    }

    fn takes_long(&self) -> bool {
        true
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let question = Question::of(cx.args);
        let factors = Factors::of(cx.model, &question)?;
        let found = factors.strongest(question.edges, question.sign, &factors.product()?.spread())?;
        let edges = weighed(&found.edges, question.weighted);
        let model = Compact::of(&edges);
        let other = Compact::of(&null_models::degree_preserving(&edges, cx.seed ^ 3));
        let modularity = |c: &Compact| c.communities(RESTARTS, Some(0), cx.seed).map(|found| found.modularity);
        let measured = ModularityAtStep {
            edges: edges.len(),
            model: modularity(&model)?,
            degree_preserving: modularity(&other)?,
            carrying: model.neurons.len() as f64 / factors.neurons().max(1) as f64,
        };
        let about = format!("{}, best of {RESTARTS} searches", question.words());
        Ok(vec![Finding::new(measured, about, vec![])])
    }
}
