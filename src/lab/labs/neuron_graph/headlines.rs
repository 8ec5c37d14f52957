//! The lab's result: modularity of the neurons' graph beside what chance gives.

use crate::labs::prelude::*;

pub static ALL: &[Headline] = &[
    common::LOSS,
    common::MODULARITY,
    common::MODULARITY_REWIRED,
    common::MODULARITY
        .like("modularity_beyond_nulls", "Q less the highest null", measured!(GraphModularity, beyond_nulls))
        .about("At the largest number of edges measured: Q less that of the most modular of all four null models.")
        .absent("the graph was not compared with its null models yet (`probe.graph_modularity_every`)"),
    common::MODULARITY
        .like("carrying", "neurons with an edge", measured!(ModularityAtStep, |m| m.carrying))
        .about("Share of the neurons that have an edge, 0 to 1: fewer carry a graph whose edges fall on few neurons."),
    HEAVY_PAIRS,
    HEAVY_PAIRS
        .like("heads_not_exciting", "heads without one", measured!(HeadPairs, |m| m.not_exciting() as f64))
        .decimals(0)
        .about("Heads whose neurons act on no head with a heavy positive tail. The paper finds one of four."),
    common::MODULARITY
        .like("rich_club", "core, by degrees", measured!(CorePeriphery, CorePeriphery::rich_club_ratio))
        .decimals(2)
        .about("Density of edges among the tenth of the neurons with most of them, over its mean in rewired graphs of the same degrees.")
        .absent("the graph's core has not been measured yet (`probe.core_periphery_every`)"),
];

const HEAVY_PAIRS: Headline = common::MODULARITY
    .like(
        "heavy_pairs",
        "heavy head pairs",
        measured!(HeadPairs, |m| m.positive() as f64 / m.pairs.len().max(1) as f64),
    )
    .decimals(2)
    .about("Share of the pairs of heads between which more entries of G are large and positive than in random products. The paper finds 12 of 16.")
    .absent("the pairs of heads have not been measured yet (`probe.head_pairs_every`)");

/// A null model is a single draw, so Q is shown beside the highest of them without a verdict; the four decide at the largest number
/// of edges, and over seeds.
pub static LARGE_NUMBERS: &[LargeNumber] = &[
    LargeNumber::new("modularity", "modularity Q", "graph_modularity")
        .in_words(Meaning::Given {
            reference: large::Reference::Measured { channel: GraphModularity::CHANNEL, read: highest_null },
            name: "highest null",
        })
        .measured_on("edges", |payload| ModularityAtStep::from_payload(payload).map(|m| m.edges)),
    LargeNumber::new("modularity_beyond_nulls", "Q less the highest null", "graph_modularity")
        .in_words(Meaning::Sign { negative: "a null model is above Q", positive: "above all null models" })
        .measured_on("edges", |payload| GraphModularity::from_payload(payload)?.edges.iter().copied().max()),
    large::common::LOSS,
];

fn beyond_nulls(m: &GraphModularity) -> Option<f64> {
    let i = (0..m.edges.len()).max_by_key(|i| m.edges[*i])?;
    let highest = nulls_at(m, i).map(|(_, q)| q).fold(f64::NEG_INFINITY, f64::max);
    m.model.get(i).and_then(|q| finite(q - highest))
}

/// Q of each null model with the edges of this index, by its name; first that of the same degrees.
fn nulls_at(m: &GraphModularity, i: usize) -> impl Iterator<Item = (&'static str, f64)> {
    let nulls = [
        ("same degrees", &m.degree_preserving),
        ("random product, same norms", &m.low_rank_same_norms),
        ("random product", &m.low_rank),
        ("G(n, m)", &m.uniform),
    ];
    nulls.into_iter().filter_map(move |(name, q)| Some((name, *q.get(i)?)))
}

/// The most modular null model with as many edges as the graph of the curve. That of the same degrees is measured with each graph,
/// the others now and then, and at some numbers of edges only.
fn highest_null(curve: &Payload, nulls: Option<&Payload>) -> Option<(&'static str, f64)> {
    let curve = ModularityAtStep::from_payload(curve)?;
    let nulls = nulls.and_then(GraphModularity::from_payload);
    let nulls = nulls.and_then(|m| Some((m, m.edges.iter().position(|edges| *edges == curve.edges)?)));
    let Some((m, i)) = nulls else { return Some(("same degrees, the only one measured", curve.degree_preserving)) };
    let all = std::iter::once(("same degrees", curve.degree_preserving)).chain(nulls_at(m, i).skip(1));
    all.filter(|(_, q)| q.is_finite()).max_by(|a, b| a.1.total_cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> GraphModularity {
        let two = |a: f64, b: f64| vec![a, b].into();
        GraphModularity {
            edges: vec![4000, 1000],
            model: two(0.5, 0.1),
            degree_preserving: two(0.2, 0.9),
            low_rank_same_norms: two(0.25, 0.9),
            low_rank: two(0.375, 0.9),
            uniform: two(0.3, 0.9),
            carrying: two(1.0, 1.0),
        }
    }

    #[test]
    fn the_highest_null_at_most_edges_counts() {
        assert_eq!(beyond_nulls(&measured()), Some(0.125));
    }

    /// The null of the same degrees is the weakest with many edges: beside it alone Q says too much.
    #[test]
    fn modularity_is_compared_with_highest_null_of_same_size() {
        let nulls = measured().into_payload();
        let beside = |edges, degree_preserving, nulls| {
            let curve = ModularityAtStep { edges, model: 0.5, degree_preserving, carrying: 1.0 };
            highest_null(&curve.into_payload(), nulls).unwrap()
        };
        assert_eq!(beside(4000, 0.25, Some(&nulls)), ("random product", 0.375));
        assert_eq!(beside(4000, 0.5, Some(&nulls)), ("same degrees", 0.5));
        for nulls in [Some(&nulls), None] {
            assert_eq!(beside(3000, 0.25, nulls), ("same degrees, the only one measured", 0.25));
        }
    }
}
