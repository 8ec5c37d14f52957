//! The thresholded graph at one threshold: its spread of entries, its neurons with communities, its
//! degrees with their fits.

use super::{Compact, Factors, Question, applies, degrees, facts, line, spread, weighed};
use crate::{
    analysis::graph::{Graph as Csr, compare::nmi, cores::coreness, degrees::degrees as count, product::Spread},
    models::Model,
    nn::Result,
    probe::{Finding, Probe, ProbeContext},
    telemetry::{Graph, Payload, Series, channels},
};

/// Arguments: `matrix` (x, y), `from_head` and `to_head` (from 1; 0 for the whole graph), `sign`
/// (excitatory, inhibitory, both), `edges` or `beta`, `weighted`, `restarts`.
pub struct NeuronGraph;

impl Probe for NeuronGraph {
    fn id(&self) -> &'static str {
        "neuron_graph"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        applies(model)
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let question = Question::of(cx.args);
        let factors = Factors::of(cx.model, &question)?;
        let entries = factors.product()?.spread();
        let found = factors.edges(&question, &entries)?;
        let compact = Compact::of(&weighed(&found.edges, question.weighted));
        let (out, into) = count(compact.neurons.len(), &compact.edges);
        let about = format!("{}, entries above {:.4}", question.words(), found.beta);
        let finding = |channel, payload| Finding { channel, about: about.clone(), tokens: vec![], payload };
        let neurons = neurons(&factors, &question, &compact, &found.edges, found.beta, &entries, cx.seed)?;
        Ok(vec![
            finding(channels::GRAPH_HISTOGRAM, spread::payload(&entries, found.beta, found.edges.len())),
            finding(channels::GRAPH_NEURONS, neurons),
            finding(channels::GRAPH_DEGREES, degrees::payload(&out, &into)),
        ])
    }
}

#[allow(clippy::too_many_arguments)]
fn neurons(
    factors: &Factors,
    question: &Question,
    compact: &Compact,
    edges: &[(u32, u32, f32)],
    beta: f32,
    entries: &Spread,
    seed: u64,
) -> Result<Payload> {
    let communities = compact.communities(question.restarts, seed)?;
    let csr = Csr::new(compact.neurons.len(), &compact.edges, true).map_err(candle_core::Error::wrap)?;
    let core = coreness(&csr);
    let (out, into) = count(compact.neurons.len(), &compact.edges);
    let ids = || compact.neurons.iter().map(|v| *v as usize);
    let heads: Vec<u32> = ids().map(|v| factors.head(v) as u32).collect();
    let deepest = core.iter().copied().max().unwrap_or_default();
    let both_ways = csr.iter().filter(|(a, b, _)| csr.row(*b).any(|(c, _)| c == *a)).count();
    let mut all = vec![
        ("n", factors.neurons() as f64),
        ("beta", f64::from(beta)),
        ("edges", edges.len() as f64),
        ("entries", entries.n as f64),
        ("carrying", compact.neurons.len() as f64),
        ("communities", communities.count as f64),
        ("modularity", communities.modularity),
        ("nmi_heads", nmi(&communities.of, &heads).unwrap_or(f64::NAN)),
        ("core_k", f64::from(deepest)),
        ("core_size", core.iter().filter(|k| **k == deepest).count() as f64),
        ("mutual", both_ways as f64 / edges.len().max(1) as f64),
    ];
    let mut lines = vec![
        line("community", communities.of.iter().map(|c| f64::from(*c)).collect()),
        line("head", heads.iter().map(|h| f64::from(*h)).collect()),
        line("in", into.iter().map(|d| f64::from(*d)).collect()),
        line("out", out.iter().map(|d| f64::from(*d)).collect()),
        line("core", core.iter().map(|k| f64::from(*k)).collect()),
    ];
    let octaves: Option<Vec<f64>> = ids().map(|v| factors.octave(v)).collect();
    let heritage: Option<Vec<f64>> = ids().map(|v| factors.heritage(v)).collect();
    for (name, fact, of) in [("octave", "nmi_octaves", octaves), ("heritage", "nmi_heritage", heritage)] {
        let Some(of) = of.filter(|of| !of.is_empty()) else { continue };
        let labels: Vec<u32> = of.iter().map(|o| *o as u32).collect();
        all.push((fact, nmi(&communities.of, &labels).unwrap_or(f64::NAN)));
        lines.push(line(name, of));
    }
    // the edges by the new numbers, with their entries and signs
    let edges = compact.edges.iter().zip(edges).map(|((a, b, _), (_, _, g))| (*a, *b, *g)).collect();
    let graph = Graph { nodes: compact.neurons.len(), edges, labels: ids().map(|v| factors.label(v)).collect() };
    let x = ids().map(|v| v as f64).collect();
    let neurons = Series { x_label: "neuron".to_owned(), y_label: String::new(), x, lines };
    Ok(Payload::Bundle(vec![
        ("graph".to_owned(), Payload::Graph(graph)),
        ("neurons".to_owned(), Payload::Series(neurons)),
        ("facts".to_owned(), Payload::Series(facts(all))),
    ]))
}
