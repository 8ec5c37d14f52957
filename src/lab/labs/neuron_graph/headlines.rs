//! The lab's result: modularity of the neurons' graph beside what chance gives.

use crate::{
    labs::prelude::*,
    telemetry::{
        Measurement,
        measurements::{CorePeriphery, GraphModularity, HeadPairs, ModularityAtStep},
    },
};

const MODULARITY: Headline = Headline {
    id: "modularity",
    name: "Q",
    unit: "",
    about: "Newman's modularity of the strongest entries of G (`graph.matrix`, `graph.sign`) as a graph, at the number of edges of the settings.",
    better: Better::Neither,
    digits: Digits::Decimals(3),
    absent: "the graph was not measured yet (`probe.graph_curve_every`)",
    source: measured!(ModularityAtStep, |m| m.model),
};

pub static ALL: &[Headline] = &[
    common::LOSS,
    MODULARITY,
    Headline {
        id: "modularity_rewired",
        name: "Q, degrees kept",
        about: "Modularity of the same graph with its edges rewired and every degree as it was.",
        source: measured!(ModularityAtStep, |m| m.degree_preserving),
        ..MODULARITY
    },
    Headline {
        id: "modularity_beyond_nulls",
        name: "Q less the highest null",
        about: "At the largest number of edges measured: Q less that of the most modular of all four null models.",
        absent: "the graph was not compared with its null models yet (`probe.graph_modularity_every`)",
        source: measured!(GraphModularity, beyond_nulls),
        ..MODULARITY
    },
    Headline {
        id: "carrying",
        name: "neurons with an edge",
        about: "Share of the neurons that have an edge, 0 to 1: fewer carry a graph whose edges fall on few neurons.",
        source: measured!(ModularityAtStep, |m| m.carrying),
        ..MODULARITY
    },
    HEAVY_PAIRS,
    Headline {
        id: "heads_not_exciting",
        name: "heads without one",
        about: "Heads whose neurons act on no head with a heavy positive tail. The paper finds one of four.",
        digits: Digits::Decimals(0),
        source: measured!(HeadPairs, |m| m.not_exciting() as f64),
        ..HEAVY_PAIRS
    },
    Headline {
        id: "rich_club",
        name: "core, by degrees",
        about: "Density of edges among the tenth of the neurons with most of them, over its mean in rewired graphs of the same degrees.",
        digits: Digits::Decimals(2),
        absent: "the graph's core was not measured yet (`probe.core_periphery_every`)",
        source: measured!(CorePeriphery, CorePeriphery::rich_club_ratio),
        ..MODULARITY
    },
];

const HEAVY_PAIRS: Headline = Headline {
    id: "heavy_pairs",
    name: "heavy head pairs",
    about: "Share of the pairs of heads between which more entries of G are large and positive than in random products. The paper finds 12 of 16.",
    digits: Digits::Decimals(2),
    absent: "the pairs of heads were not measured yet (`probe.head_pairs_every`)",
    source: measured!(HeadPairs, |m| m.positive() as f64 / m.pairs.len().max(1) as f64),
    ..MODULARITY
};

/// A rewired graph is a single draw, so Q is shown beside its Q without a verdict; the four null models decide, and do so at
/// another number of edges.
pub static LARGE_NUMBERS: &[LargeNumber] = &[
    LargeNumber::new(
        "modularity",
        "modularity Q",
        "graph_modularity",
        Meaning::given("modularity_rewired", "same degrees"),
    )
    .measured_on("edges", |payload| ModularityAtStep::from_payload(payload).map(|m| m.edges)),
    LargeNumber::new(
        "modularity_beyond_nulls",
        "Q less the highest null",
        "graph_modularity",
        Meaning::Sign { negative: "a null model is above Q", positive: "above all null models" },
    )
    .measured_on("edges", |payload| GraphModularity::from_payload(payload)?.edges.iter().copied().max()),
    large::common::LOSS,
];

fn beyond_nulls(m: &GraphModularity) -> Option<f64> {
    let i = (0..m.edges.len()).max_by_key(|i| m.edges[*i])?;
    let nulls = [&m.degree_preserving, &m.low_rank_same_norms, &m.low_rank, &m.uniform];
    let highest = nulls.iter().filter_map(|q| q.get(i)).copied().fold(f64::NEG_INFINITY, f64::max);
    m.model.get(i).map(|q| q - highest).filter(|q| q.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_null_at_most_edges_counts() {
        let two = |a: f64, b: f64| vec![a, b].into();
        let m = GraphModularity {
            edges: vec![4000, 1000],
            model: two(0.5, 0.1),
            degree_preserving: two(0.2, 0.9),
            low_rank_same_norms: two(0.25, 0.9),
            low_rank: two(0.375, 0.9),
            uniform: two(0.3, 0.9),
            carrying: two(1.0, 1.0),
        };
        assert_eq!(beyond_nulls(&m), Some(0.125));
    }
}
