//! The Equilibrium lab (arXiv 2606.16730, sections 5 to 8): the quasi-steady state of a fast linear flow with generator
//! structure is a stationary distribution, and what breaks that.
//!
//! **Data flow.** The model owns a generator whose log rates a slow control tilts, and a network that learns the
//! stationary distribution from that control; its batches are controls of its own, and the corpus plays no part. What a
//! person changes (the control, single rates, the step of forward Euler) is read by views alone and goes to the probes as
//! arguments, so that every picture is an answer of the run's own generator.

mod drawing;
mod headlines;
pub mod settings;
pub mod slow_manifold;

use crate::{
    labs::prelude::*,
    models::{
        fast_slow::FastSlowSpec,
        stationary::{RateSource, StationarySpec},
    },
    telemetry::measurements::{
        AttentionChainArgs, AttentionMapsArgs, GapBySizeArgs, GeneratorDistanceArgs, ResidualArgs, TokenResidualsArgs,
    },
};
use settings::{EquilibriumSettings, GeneratorSettings, MapSettings, Task};

pub static LAB: Lab = Lab {
    id: "equilibrium",
    title: "Equilibrium",
    question: "A fast flow settles wherever the slow context sends it. When is that place a stationary distribution, and who can foretell it?",
    source: "Fast-slow hierarchical pretraining, arXiv 2606.16730, \u{a7}5\u{2013}8",
    lesson: include_str!("../../../assets/lessons/equilibrium.md"),
    groups: groups! {
        task = "Task", control = "Slow control", generator = "Generator", flow = "Flow", map = "Learned map",
        slow_manifold = "Slow manifold", corpus, train, probe, run
    },
    essentials: keys! {
        control.y0, control.y1, flow.dt, generator.cut, slow_manifold.epsilon, task.kind, generator.topology,
        generator.states
    },
    knobs: EquilibriumSettings::schema,
    presets: presets! {
        "equilibrium", "Twelve states",
        "A random generator of twelve states, as in the paper's check, and a network that learns where its flow \
         settles.";
        "equilibrium_bridge", "Two clusters and a bridge",
        "Mass spreads at once inside a cluster and crosses a weak bridge only slowly: the spectral gap is small, and \
         the map is hard to learn.";
        "equilibrium_ring", "A ring",
        "Sixteen states in a circle, each joined with its two neighbours: mass goes round step by step, and the gap \
         shrinks about with the square of the circle's length.";
        "equilibrium_reducible", "Cut in two",
        "No rate joins the two halves: the kernel has two dimensions, and where the flow ends depends on where it \
         began.";
        "equilibrium_block", "A trained block",
        "A fast-slow model learns a text. Its block has a quasi-steady state, and nothing makes it a generator: how \
         far it is from one, before training and after. Its own slow state drives one beside it. Some minutes.";
        "equilibrium_slow_manifold", "Slow manifold",
        "Van der Pol's oscillator: particles collapse on the slow manifold and jump where it folds. Move the \
         timescale ratio, the parameter and the start.";
    },
    plan: |config| {
        let settings = EquilibriumSettings::read(config)?;
        match settings.task.kind {
            Task::Map => map_plan(config, &settings),
            Task::Block => block_plan(config, &settings),
        }
    },
    drawing: drawing::draw,
    panes: panes! {
        0: "generator", "slow_manifold";
        1: "generator_flow", "generator_distance";
        1: "generator_spectrum", "stationary_map", "losses";
        more: "residual", "attention", "attention_chain";
    },
    headlines: headlines::ALL,
    large_numbers: headlines::LARGE_NUMBERS,
    opens_with_run: true,
};

/// Plans the training of the network with its generator; the text of the plan plays no part.
fn map_plan(config: &Config, s: &EquilibriumSettings) -> Result<Plan, ConfigError> {
    let GeneratorSettings { topology, states, sparsity, file_holds, controls, strength, .. } = s.generator;
    let MapSettings { hidden, range } = s.map;
    let rates = match s.generator.file.path() {
        Some(path) => RateSource::File { path, holds: file_holds },
        None => RateSource::Drawn { topology, states, sparsity },
    };
    let spec = StationarySpec { rates, controls, strength, range, hidden };
    // The trainer counts in windows of a text, which this model does not read.
    let corpus = CorpusSettings {
        source: GeneratedCorpus::by_id("symbols"),
        tokenizer: TokenKind::Char,
        vocab: 64,
        ..CorpusSettings::default()
    };
    let variants = [Variant::new("network", "network", ModelSpec::Stationary(spec))];
    s.corpus.refuse_own_text("the network reads no text; empty it, or set `task.kind` to block")?;
    refuse_accumulation(&s.train)?;
    let every = s.probe.map;
    let probes = vec![
        every.ask(&s.map_args()),
        every.ask(&s.args()),
        every.ask(&s.flow_args()),
        // The gap does not change with training: it is measured only at the start and the end.
        ask_at_ends(&GapBySizeArgs::default(), &s.train),
    ];
    Ok(Experiment::new(config, &s.train, &s.run).plan(corpus.spec()?, &variants, probes))
}

/// A fast-slow model at the paper's sizes, which learns a text.
fn block_plan(config: &Config, s: &EquilibriumSettings) -> Result<Plan, ConfigError> {
    let variants = [Variant::new("coupled", "coupled", ModelSpec::FastSlow(FastSlowSpec::default()))];
    let every = s.probe.block;
    let probes = vec![
        every.ask(&ResidualArgs::default()),
        every.ask(&AttentionMapsArgs::default()),
        every.ask(&AttentionChainArgs::default()),
        every.ask(&GeneratorDistanceArgs::default()),
        every.ask(&TokenResidualsArgs::default()),
        // the model's own slow state as the control of a generator
        every.ask(&s.args()),
        every.ask(&s.flow_args()),
    ];
    Ok(Experiment::new(config, &s.train, &s.run).plan(s.corpus.spec()?, &variants, probes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{
        generator::{Topology, TopologySettings, spectrum},
        statistics,
    };

    /// The preset *A ring* promises this.
    #[test]
    fn a_ring_joins_neighbours_and_its_gap_falls_with_the_square_of_its_length() {
        let config = LAB.config(Some("equilibrium_ring")).unwrap();
        let GeneratorSettings { topology, states, .. } = EquilibriumSettings::read(&config).unwrap().generator;
        assert_eq!((topology, states), (Topology::Ring, 16));
        let draw = |states, seed| TopologySettings { topology, states, sparsity: 0.0 }.draw(seed).unwrap();
        let ring = draw(states, config.seed);
        for from in 0..states {
            let joined: Vec<usize> = (0..states).filter(|to| *to != from && ring.rate(from, *to) > 0.0).collect();
            let mut neighbours = [(from + 1) % states, (from + states - 1) % states];
            neighbours.sort_unstable();
            assert_eq!(joined, neighbours, "of state {from}");
        }
        // rates are drawn, so that a mean of many rings shows it
        let gap = |states| {
            let gaps: Vec<f64> = (0..16).map(|seed| spectrum(&draw(states, seed), 1).unwrap().gap).collect();
            statistics::mean(&gaps)
        };
        let gaps = [4, 8, 16, 32].map(gap);
        for pair in gaps.windows(2) {
            let falls = pair[0] / pair[1];
            assert!((2.0..8.0).contains(&falls), "a ring twice as long has a gap {falls} times smaller: {gaps:?}");
        }
        let falls = gaps[0] / gaps[3];
        assert!((32.0..128.0).contains(&falls), "{gaps:?}");
    }
}
