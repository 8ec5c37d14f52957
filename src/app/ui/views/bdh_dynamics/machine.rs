//! The rules at work on a model's weights: the position in the text, the last round, and the flow along its edges.

use std::cell::OnceCell;

use crate::{
    analysis::bdh_dynamics::{Dense, Drift, Flow, Round, State, System, TrainedSynapses, Weights, checks::Model},
    ui::views::prelude::*,
};

/// Edges that a picture can show.
const MAX_SHOWN: usize = 90;
/// Synapses that a picture can show.
const MAX_SHOWN_SYNAPSES: usize = 60;
/// The smallest flow of an edge that is drawn, as a share of the strongest edge's flow.
const MIN_DRAWN_FLOW: f64 = 0.04;

/// An input: a token of the text, or a poke at a neuron.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MachineInput {
    Token(usize),
    Poke(usize),
}

impl MachineInput {
    fn token(&self) -> Option<usize> {
        if let Self::Token(t) = self { Some(*t) } else { None }
    }
}

pub(super) struct Machine {
    /// The payload that the weights were read from; another payload means other weights.
    payload: Arc<Payload>,
    pub system: System<f64>,
    pub state: State<f64>,
    pulses: Vec<Vec<f64>>,
    /// All inputs so far; the last one may still be in progress.
    pub inputs: Vec<MachineInput>,
    pub last: Option<Round>,
    /// The strongest flows of the last round.
    pub flows: Vec<Flow>,
    /// The number of edges that carried anything.
    pub carrying_edges: usize,
    /// Largest X, Y and |A| so far, for their bars.
    pub max: [f64; 3],
    /// The strongest synapses of the layer, found once a round.
    memory: OnceCell<Vec<(usize, usize, f64)>>,
}

fn dense(array: &Array) -> Option<Dense<f64>> {
    let m = array.matrix(0)?;
    let values: Vec<f64> = m.data.iter().map(|v| f64::from(*v)).collect();
    Dense::from_rows(m.rows, m.cols, &values)
}

impl Machine {
    /// A machine at rest with these weights; `None` if their shapes do not match.
    pub fn from_weights(measured: Measured<'_, BdhDynamicsWeights>) -> Option<Self> {
        let given = measured.value;
        let mut weights = Weights::new(dense(&given.e)?, dense(&given.d_x)?, dense(&given.d_y)?)?;
        let gain = if given.gain.is_finite() { given.gain } else { 1.0 };
        weights.dy.data.iter_mut().for_each(|v| *v *= gain);
        let n = weights.n();
        let drift = if given.rotates { Drift::rope(n) } else { Drift::identity(n) }.with_damping(given.keep);
        let layers = given.layers.clamp(1, 64);
        let pulses = dense(&given.pulses).filter(|m| m.cols == n)?;
        let system = match &given.graph {
            None => Model::system(&weights, &drift, layers),
            Some(graph) => {
                let synapses = TrainedSynapses {
                    weights: dense(&graph.weights)?,
                    retention: graph.keep.to_vec(),
                    norms: graph.norms,
                    single_state: graph.single_state,
                };
                synapses.system([&weights.gx(), &weights.gy()], &drift, layers)?
            }
        };
        let state = system.initial_state();
        Some(Self {
            payload: measured.sample.payload.clone(),
            system,
            state,
            pulses: (0..pulses.rows).map(|t| pulses.row(t).to_vec()).collect(),
            inputs: vec![],
            last: None,
            flows: vec![],
            carrying_edges: 0,
            max: [0.0; 3],
            memory: OnceCell::new(),
        })
    }

    pub fn was_built_from(&self, sample: &Sample) -> bool {
        Arc::ptr_eq(&self.payload, &sample.payload)
    }

    /// A machine with other weights, advanced to the same position of the same text.
    pub fn replayed_on(&self, measured: Measured<'_, BdhDynamicsWeights>) -> Option<Self> {
        let mut other = Self::from_weights(measured)?;
        let rounds = match self.system.is_done(&self.state) {
            true => usize::MAX,
            false => 4 * self.state.layer + self.state.kernel,
        };
        for (k, arrival) in self.inputs.iter().enumerate() {
            if matches!(arrival, MachineInput::Token(t) if *t >= other.pulses.len()) {
                break;
            }
            let last = k + 1 == self.inputs.len();
            let max = if last { rounds.min(4 * other.system.layers()) } else { usize::MAX };
            other.arrive(*arrival, last && max == 0);
            let mut done = 0;
            while done < max && other.round(last && done + 1 == max) {
                done += 1;
            }
        }
        Some(other)
    }

    /// The token that comes next, unless the text is over.
    pub fn next_token(&self) -> Option<usize> {
        let next = self.inputs.iter().rev().find_map(MachineInput::token).map_or(0, |t| t + 1);
        (next < self.pulses.len()).then_some(next)
    }

    /// The token that was last read, if the last thing that came was one.
    pub fn token(&self) -> Option<usize> {
        self.inputs.last().and_then(MachineInput::token)
    }

    /// The next round; when a token is through, the next one arrives. False at the end of the text.
    pub fn step(&mut self) -> bool {
        if self.round(true) {
            return true;
        }
        let Some(next) = self.next_token() else { return false };
        self.arrive(MachineInput::Token(next), true);
        true
    }

    /// Finishes the token in progress, or runs the next one through all its rounds.
    pub fn finish_token(&mut self) -> bool {
        if self.system.is_done(&self.state) && !self.step() {
            return false;
        }
        while self.round(self.at_last_round()) {}
        true
    }

    pub fn poke(&mut self, neuron: usize) {
        while self.round(false) {}
        self.arrive(MachineInput::Poke(neuron), true);
    }

    /// Reads from the beginning up to and including token `t`.
    pub fn read_to(&mut self, t: usize) {
        if self.token().is_none_or(|now| now > t) || self.inputs.iter().any(|a| matches!(a, MachineInput::Poke(_))) {
            self.restart();
        }
        while self.token().is_none_or(|now| now < t || !self.system.is_done(&self.state)) {
            if !self.round(self.at_last_round()) {
                let Some(next) = self.next_token() else { break };
                self.arrive(MachineInput::Token(next), false);
            }
        }
    }

    /// True where the next round is the last one of its token.
    fn at_last_round(&self) -> bool {
        self.state.layer + 1 == self.system.layers() && self.state.kernel == 3
    }

    pub fn restart(&mut self) {
        self.state = self.system.initial_state();
        self.inputs.clear();
        (self.last, self.flows, self.carrying_edges) = (None, vec![], 0);
        self.max = [0.0; 3];
        self.memory.take();
    }

    /// `seen`: true if its contents will be displayed.
    fn arrive(&mut self, arrival: MachineInput, seen: bool) {
        let pulse = match arrival {
            MachineInput::Token(t) => self.pulses.get(t).cloned().unwrap_or_default(),
            MachineInput::Poke(neuron) => {
                // A poke is as strong as the strongest pulse of the text.
                let strength = self.pulses.iter().flatten().copied().fold(0.0, f64::max);
                let mut pulse = vec![0.0; self.system.n()];
                if let Some(p) = pulse.get_mut(neuron) {
                    *p = if strength > 0.0 { strength } else { 1.0 };
                }
                pulse
            }
        };
        if seen {
            self.carry_pulse(Some(&pulse));
        }
        self.last = Some(self.system.receive_token(&mut self.state, &pulse));
        self.inputs.push(arrival);
        self.measure();
    }

    fn round(&mut self, seen: bool) -> bool {
        if self.system.is_done(&self.state) {
            return false;
        }
        if seen {
            self.carry_pulse(None);
        }
        self.last = self.system.round(&mut self.state);
        self.measure();
        self.last.is_some()
    }

    fn carry_pulse(&mut self, pulse: Option<&[f64]>) {
        let mut flows = self.system.flows(&self.state, pulse);
        self.carrying_edges = flows.len();
        flows.sort_by(|a, b| b.amount.abs().total_cmp(&a.amount.abs()));
        flows.truncate(MAX_SHOWN);
        let max = flows.first().map_or(0.0, |f| f.amount.abs());
        flows.retain(|f| f.amount.abs() > MIN_DRAWN_FLOW * max);
        self.flows = flows;
    }

    fn measure(&mut self) {
        let largest = |v: &[f64]| v.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        for (max, v) in self.max.iter_mut().zip([&self.state.x, &self.state.y, &self.state.a]) {
            *max = max.max(largest(v));
        }
        self.memory.take();
    }

    pub fn memory(&self) -> &[(usize, usize, f64)] {
        self.memory.get_or_init(|| self.strongest_synapses(MAX_SHOWN_SYNAPSES))
    }

    /// The strongest synapses of the layer of the last round: (y side, x side, sigma).
    pub fn strongest_synapses(&self, count: usize) -> Vec<(usize, usize, f64)> {
        let layer = self.last.as_ref().and_then(|r| r.layer).unwrap_or(0);
        let Some(sigma) = self.state.sigma.get(self.system.state_of(layer)) else { return vec![] };
        let synapses = self.system.synapses().iter().zip(sigma).filter(|(_, s)| **s != 0.0);
        let mut all: Vec<(usize, usize, f64)> = synapses.map(|(at, s)| (at.y, at.x, *s)).collect();
        let by_size = |a: &(usize, usize, f64), b: &(usize, usize, f64)| b.2.abs().total_cmp(&a.2.abs());
        if all.len() > count && count > 0 {
            all.select_nth_unstable_by(count - 1, by_size);
            all.truncate(count);
        }
        all.sort_by(by_size);
        all
    }
}
