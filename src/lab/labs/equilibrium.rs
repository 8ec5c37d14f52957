//! The Equilibrium lab (arXiv 2606.16730, sections 5 to 8): the quasi-steady state of a fast linear flow with generator
//! structure is a stationary distribution, and what breaks that.
//!
//! **Data flow.** The model owns a generator whose log rates a slow control tilts, and a network that learns the
//! stationary distribution from that control; its batches are controls of its own, and the corpus plays no part. What a
//! person changes (the control, single rates, the step of forward Euler) is read by views alone and goes to the probes as
//! arguments, so that every picture is an answer of the run's own generator.

mod headlines;
pub mod settings;
pub mod slow_manifold;

use crate::{
    labs::{headline::rounded, prelude::*},
    models::{
        fast_slow::FastSlowSpec,
        stationary::{RateSource, StationarySpec},
    },
};
use settings::{EquilibriumSettings, GeneratorSettings, MapSettings, Task};

pub static LAB: Lab = Lab {
    id: "equilibrium",
    title: "Equilibrium",
    question: "A fast flow settles where the slow context sends it. When is that a stationary distribution, and can a network predict it?",
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
        "Mass spreads at once inside a cluster and crosses a weak bridge only slowly: the spectral gap, the slowest \
         rate, is small, and the map is hard to learn.";
        "equilibrium_ring", "A ring",
        "Sixteen states in a circle, each joined with its two neighbours: mass goes round step by step, and the gap \
         shrinks about with the square of the circle's length.";
        "equilibrium_reducible", "Cut in two",
        "No rate joins the two halves: each has a stationary distribution of its own, and where the flow ends depends \
         on where it began.";
        "equilibrium_block", "A trained block",
        "A fast-slow model learns a text. Nothing makes its block a generator: how far is it from one, before training \
         and after? Its slow state also controls a generator beside it. A few minutes.";
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
    drawing: draw,
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

const N_STATES: usize = 14;
const TIMES: [f32; 5] = [0.0, 0.6, 1.8, 5.0, 40.0];
const TIME_STEP: f32 = 0.05;

/// The gallery's drawing of the lab Equilibrium: mass that starts in one state of a ring and relaxes to a stationary
/// distribution that a slow control tilts.
fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let y = 3.0 * canvas.pointer_or(0.66) - 1.5;
    // A drift along the line of states that reverses in its middle, stronger or weaker with y.
    let up = |k: usize| (y * (k as f32 / (N_STATES - 1) as f32 - 0.3)).exp();
    let mut p = [0.0; N_STATES];
    p[2] = 1.0;
    let (mut done, mut lines) = (0.0, vec![]);
    for until in TIMES {
        while done < until {
            let mut next = p;
            for k in 0..N_STATES - 1 {
                let flow = TIME_STEP * (up(k) * p[k] - 1.0 / up(k + 1) * p[k + 1]);
                next[k] -= flow;
                next[k + 1] += flow;
            }
            p = next;
            done += TIME_STEP;
        }
        lines.push(p);
    }
    let [width, height] = canvas.size;
    let (left, base) = (0.12 * width, 0.82 * height);
    let highest = lines.iter().skip(1).flatten().fold(0.05f32, |a, b| a.max(*b));
    let place = |k: usize, p: f32| {
        [left + 0.76 * width * k as f32 / (N_STATES - 1) as f32, base - 0.62 * height * (p / highest).min(1.15)]
    };
    drawing.path(vec![[left, base], [0.88 * width, base]], Ink::Line, 1.0);
    let last = lines.len() - 1;
    for (i, line) in lines.iter().enumerate().skip(1) {
        let points = line.iter().enumerate().map(|(k, p)| place(k, *p)).collect();
        let share = i as f32 / last as f32;
        drawing.path(points, Ink::Fast.mixed(Ink::Slow, share), if i == last { 2.0 } else { 1.0 });
    }
    lines[last].iter().enumerate().for_each(|(k, p)| drawing.disc(place(k, *p), 2.5, Ink::Slow));
    drawing.caption = format!("dp/dt = A(y) p relaxes to its stationary distribution, y = {}", rounded(y, 1));
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
