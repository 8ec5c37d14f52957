//! Modularity at a fixed number of edges, cheap enough to be asked every few steps.

use super::{Compact, Factors, Question, applies, line, weighed};
use crate::{
    analysis::graph::null,
    models::Model,
    nn::Result,
    probe::{Finding, Probe, ProbeContext},
    telemetry::{Payload, Series, channels},
};

/// Searches a measurement.
const RESTARTS: usize = 2;

/// Arguments as of `neuron_graph`; `beta` is not read.
pub struct GraphCurve;

impl Probe for GraphCurve {
    fn id(&self) -> &'static str {
        "graph_curve"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        applies(model)
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let question = Question::of(cx.args);
        let factors = Factors::of(cx.model, &question)?;
        let found = factors.strongest(question.edges, question.sign, &factors.product()?.spread())?;
        let edges = weighed(&found.edges, question.weighted);
        let model = Compact::of(&edges);
        let other = Compact::of(&null::degree_preserving(&edges, cx.seed ^ 3));
        let of = |c: &Compact| c.communities(RESTARTS, cx.seed).map(|found| vec![found.modularity]);
        let series = Series {
            x_label: "edges".into(),
            y_label: "modularity Q".into(),
            x: vec![edges.len() as f64],
            lines: vec![
                line("model", of(&model)?),
                line("degree-preserving", of(&other)?),
                line("carrying", vec![model.neurons.len() as f64 / factors.neurons().max(1) as f64]),
            ],
        };
        let about = format!("{}, best of {RESTARTS} searches", question.words());
        Ok(vec![Finding { channel: channels::GRAPH_CURVE, about, tokens: vec![], payload: Payload::Series(series) }])
    }
}
