//! The search for communities, timed, alone or in turn with leidenalg, igraph and networkx on the same
//! graphs.

use std::{fmt::Write as _, fs, path::PathBuf, time::Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

use super::{BenchArgs, case::median, line_peer::LinePeer};
use orrery::{
    analysis::graph::{
        Edge, Graph,
        communities::{Search, communities},
        null_models,
        product::{Product, Sign},
    },
    cli::Failure,
};

/// Name, nodes, edges.
type Case = (&'static str, usize, Vec<Edge>);

/// Peers, with how often one is asked: networkx takes up to minutes.
const PEERS: &[(&str, Option<usize>)] = &[("leidenalg", None), ("igraph", None), ("networkx", Some(1))];

#[derive(Debug, Clone, Copy, Deserialize)]
struct SearchTiming {
    ms: f64,
    q: f64,
}

/// Forty groups of 500, six edges of ten within them; a graph without groups; and the kind that the
/// neuron graph is made of.
fn cases() -> Vec<Case> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let n = 20_000u32;
    let mut planted: Vec<(u32, u32)> = (0..200_000)
        .map(|_| {
            let a = rng.random_range(0..n);
            let b =
                if rng.random_bool(0.6) { a / 500 * 500 + rng.random_range(0..500) } else { rng.random_range(0..n) };
            (a, b)
        })
        .filter(|(a, b)| a != b)
        .collect();
    planted.sort_unstable();
    planted.dedup();
    let (a, b) = (null_models::factor(2048, 64, 1), null_models::factor(2048, 64, 2));
    let thin = Product::new(&a, &b, 64, true).map(|p| p.strongest(16_000, Sign::Excitatory, &p.spread()).edges);
    let thin = thin.unwrap_or_default();
    vec![
        ("40 groups", n as usize, planted.into_iter().map(|(a, b)| (a, b, 1.0)).collect()),
        ("no groups", n as usize, null_models::uniform(n as usize, 200_000, 2)),
        ("product", 2048, thin.into_iter().map(|(a, b, _)| (a, b, 1.0)).collect()),
    ]
}

/// A graph in a file that the peer can read; gone with its owner.
struct EdgeFile(PathBuf);

impl EdgeFile {
    fn write(name: usize, edges: &[Edge]) -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("orrery-edges-{}-{name}.txt", std::process::id()));
        let mut text = String::new();
        for (a, b, _) in edges {
            // writing to a string does not fail
            let _ = writeln!(text, "{a} {b}");
        }
        fs::write(&path, text)?;
        Ok(Self(path))
    }
}

impl Drop for EdgeFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Two rounds from one seed, as leidenalg and igraph do by default; networkx runs until nothing gains.
fn ours(graph: &Graph, seed: u64) -> SearchTiming {
    let began = Instant::now();
    let found = communities(graph, Search { seed, restarts: 1, rounds: 2, perturbations: Some(0) });
    SearchTiming { ms: began.elapsed().as_secs_f64() * 1e3, q: found.modularity }
}

fn summary(found: &[SearchTiming]) -> SearchTiming {
    let ms: Vec<f64> = found.iter().map(|f| f.ms).collect();
    SearchTiming { ms: median(&ms), q: found.iter().map(|f| f.q).sum::<f64>() / found.len().max(1) as f64 }
}

/// Prints for each graph and peer the medians of both sides, their ratio and the mean modularities.
pub fn report(args: &BenchArgs, mut peer: Option<LinePeer>) -> Result<(), Failure> {
    println!("one seed, two rounds, one thread; {} searches a case, in turn", args.steps);
    for (number, (name, nodes, edges)) in cases().into_iter().enumerate() {
        let failed = |e: &dyn std::fmt::Display| Failure::run(format!("{name}: {e}"));
        let graph = |directed| Graph::new(nodes, &edges, directed).map_err(|e| failed(&e));
        let (directed, plain) = (graph(true)?, graph(false)?);
        let file = EdgeFile::write(number, &edges).map_err(|e| failed(&e))?;
        println!("{name}: {nodes} nodes, {} edges", edges.len());
        let Some(peer) = &mut peer else {
            let all: Vec<SearchTiming> = (0..=args.steps as u64).map(|seed| ours(&directed, seed)).skip(1).collect();
            let all = summary(&all);
            println!("  {:<34}{:>9.1} ms, Q {:.4}", "directed", all.ms, all.q);
            continue;
        };
        for (method, rounds) in PEERS {
            // igraph's own search takes undirected graphs only
            let graph = if *method == "igraph" { &plain } else { &directed };
            let (mut here, mut there) = (vec![], vec![]);
            let rounds = rounds.unwrap_or(args.steps).min(args.steps) as u64;
            for round in 0..=rounds {
                // the first is not counted, and not asked of the slow one
                if round > 0 || rounds > 1 {
                    let theirs: SearchTiming = peer.ask(&format!("{method} {round} {nodes} {}", file.0.display()))?;
                    there.extend((round > 0).then_some(theirs));
                }
                let ours = ours(graph, round);
                here.extend((round > 0).then_some(ours));
            }
            let (here, there) = (summary(&here), summary(&there));
            let kind = if *method == "igraph" { "undirected" } else { "directed" };
            println!(
                "  {kind:<12}{:>9.1} ms, Q {:.4}; {method:<10}{:>10.1} ms, Q {:.4}; ratio {:.3}",
                here.ms,
                here.q,
                there.ms,
                there.q,
                here.ms / there.ms
            );
        }
    }
    Ok(())
}
