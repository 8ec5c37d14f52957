//! The layout over time: where nodes begin, when steps are due, when it is at rest, and which nodes are held. The steps
//! run on the GPU or, without one, here with the same forces.

use std::{collections::HashSet, sync::Mutex};

use super::network::Network;
use crate::{
    analysis::layout::{self, ForceParams, Repulsion, Schedule},
    gpu::{
        graph::NodePositions,
        graph_layout::{self, StepParams},
    },
    ui::views::prelude::*,
};

/// Steps a frame on an adapter that computes, or here without one. Those on a software adapter cost training its time.
fn steps_per_frame(adapter: Option<gpu::Target>, nodes: usize) -> u64 {
    match adapter {
        Some(adapter) if !adapter.software || nodes <= 600 => 3,
        Some(_) if nodes <= 1200 => 2,
        _ => 1,
    }
}

/// The maximum number of node pairs that layout steps on the processor may evaluate in one frame, when reduced motion
/// asks for all steps at once.
const MAX_PAIRS_PER_FRAME: u64 = 300_000_000;

const LAYOUT_SEED: u64 = 1;

#[derive(Default)]
pub struct Motion {
    pub paused: bool,
    schedule: Schedule,
    /// The step that is to be shown.
    pub step: u64,
    /// The positions of nodes at step 0 of `start_revision`.
    pub start: Arc<Vec<[f32; 2]>>,
    pub start_revision: u64,
    /// The newest positions that have been copied back from the layout.
    pub places: Vec<[f32; 2]>,
    /// The step and the start revision that `places` belongs to.
    known: (u64, u64),
    pub node_positions: Arc<Mutex<NodePositions>>,
    /// The last position of every neuron ever shown, by name.
    last_positions: HashMap<u32, [f32; 2]>,
    /// Pinned neurons, by name.
    pub pinned: HashSet<u32>,
    /// The dragged node, and its position.
    pub dragged: Option<(u32, [f32; 2])>,
    pub held_revision: u64,
}

impl Motion {
    /// Starts the layout of another graph: nodes that were shown keep their positions, others begin beside neighbours.
    pub fn take(&mut self, old: Option<&Network>, network: &Network) {
        if let Some(old) = old {
            self.last_positions.extend(old.names.iter().copied().zip(self.places.iter().copied()));
        }
        self.dragged = None;
        let n = network.len();
        let known = network.names.iter().filter(|name| self.last_positions.contains_key(name)).count();
        if let Some(places) = &network.places {
            self.begin(places.clone(), Schedule::cooled(n, 0));
        } else if 2 * known >= n {
            self.begin(self.beside_neighbours(network), Schedule::changed(n, 0));
        } else {
            self.restart(network);
        }
    }

    /// Starts again with the same seed, which leads to the same picture.
    pub fn restart(&mut self, network: &Network) {
        self.begin(layout::start(network.names.iter().copied(), LAYOUT_SEED), Schedule::from_start(network.len()));
    }

    fn begin(&mut self, places: Vec<[f32; 2]>, schedule: Schedule) {
        (self.places, self.schedule, self.step, self.paused) = (places, schedule, 0, false);
        self.upload_places();
    }

    fn beside_neighbours(&self, network: &Network) -> Vec<[f32; 2]> {
        let begun = layout::start(network.names.iter().copied(), LAYOUT_SEED);
        let kept = |i: usize| network.names.get(i).and_then(|name| self.last_positions.get(name));
        let place = |i: usize| {
            if let Some(place) = kept(i) {
                return *place;
            }
            let near = network.springs.neighbours(i).iter().filter_map(|(to, _)| kept(*to as usize));
            let near: Vec<&[f32; 2]> = near.collect();
            if near.is_empty() {
                return begun[i];
            }
            let k = 1.0 / near.len() as f32;
            // A share of the random start keeps new nodes from coinciding.
            [0, 1].map(|axis| near.iter().map(|p| p[axis] * k).sum::<f32>() + 0.05 * begun[i][axis])
        };
        (0..network.len()).map(place).collect()
    }

    pub fn is_resting(&self) -> bool {
        self.step >= self.schedule.last_step()
    }

    /// The number of steps taken, and of all steps until the layout rests.
    pub fn progress(&self) -> (u64, u64) {
        let (all, left) = (self.schedule.steps(), self.schedule.last_step().saturating_sub(self.step));
        (all.saturating_sub(left), all)
    }

    /// Raises the temperature a little after nodes were moved.
    pub fn nudge(&mut self) {
        let nudged = Schedule::nudged(self.places.len(), self.step);
        if nudged.last_step() > self.schedule.last_step() {
            self.schedule = nudged;
        }
    }

    /// Pins a neuron, or releases it to the layout.
    pub fn toggle_pin(&mut self, name: u32) {
        if self.pinned.remove(&name) {
            self.nudge();
        } else {
            self.pinned.insert(name);
        }
        self.held_revision += 1;
    }

    /// Advances the layout by a frame, on an `adapter` that computes if there is one; true if another frame is needed soon.
    /// `at_once` skips to the final step.
    pub fn advance(&mut self, network: &Network, adapter: Option<gpu::Target>, at_once: bool) -> bool {
        if adapter.is_some() {
            self.listen();
        }
        let rest = self.schedule.last_step();
        if !self.paused && self.step < rest {
            let steps = steps_per_frame(adapter, network.len());
            let wanted = if at_once { rest } else { (self.step + steps).min(rest) };
            match adapter {
                Some(_) => self.step = wanted,
                None => self.step_on_cpu(network, wanted),
            }
        } else if adapter.is_none() && rest > 0 {
            self.place_dragged();
        }
        let behind = adapter.is_some() && self.known != (self.start_revision, self.step);
        behind || !self.paused && self.step < rest
    }

    /// Takes the places that came back from the card.
    fn listen(&mut self) {
        let Ok(read) = self.node_positions.lock() else { return };
        let news = (read.start_revision, read.step);
        if news.0 == self.start_revision && read.places.len() == self.places.len() && news != self.known {
            self.places.clone_from(&read.places);
            self.known = news;
        }
    }

    fn place_dragged(&mut self) {
        if let Some((node, place)) = self.dragged
            && let Some(slot) = self.places.get_mut(node as usize)
            && *slot != place
        {
            *slot = place;
            self.upload_places();
        }
    }

    /// Makes the current positions the new start of the layout, so that they are uploaded.
    fn upload_places(&mut self) {
        self.start = Arc::new(self.places.clone());
        self.start_revision = unique();
        self.known = (self.start_revision, self.step);
    }

    fn step_on_cpu(&mut self, network: &Network, wanted: u64) {
        self.place_dragged();
        let held: Vec<bool> = (0..network.len() as u32).map(|i| self.is_held(network, i)).collect();
        let repulsion = Repulsion::for_nodes(network.len());
        let each = match repulsion {
            Repulsion::Exact => (network.len() * network.len()) as u64,
            Repulsion::Grid { levels } => network.len() as u64 * 27 * u64::from(levels),
        };
        let max = (MAX_PAIRS_PER_FRAME / each.max(1)).max(1);
        for _ in 0..max.min(wanted.saturating_sub(self.step)) {
            let turn = self.schedule.step_params(self.step + 1);
            self.places = layout::step(&network.springs, &ForceParams::default(), repulsion, turn, &held, &self.places);
            self.step += 1;
        }
        self.upload_places();
    }

    /// True for a node that does not move: it is pinned or dragged.
    pub fn is_held(&self, network: &Network, node: u32) -> bool {
        self.dragged.is_some_and(|(d, _)| d == node)
            || network.neuron_of(node).is_some_and(|name| self.pinned.contains(&name))
    }

    pub fn step_params(&self) -> Arc<dyn Fn(u64) -> StepParams + Send + Sync> {
        let schedule = self.schedule;
        Arc::new(move |step| {
            let turn = schedule.step_params(step);
            StepParams { temperature: turn.temperature, loose: turn.loose }
        })
    }
}

/// The forces in the form that the GPU takes.
pub fn forces(network: &Network) -> graph_layout::ForceUniform {
    let ForceParams { repulsion, gravity, reach, softening, damping } = ForceParams::default();
    let levels = match Repulsion::for_nodes(network.len()) {
        Repulsion::Exact => 0,
        Repulsion::Grid { levels } => levels,
    };
    graph_layout::ForceUniform {
        count: network.len() as u32,
        levels,
        parts: layout::grid_parts(&network.springs.masses),
        quantum: layout::MASS_QUANTUM,
        repulsion,
        gravity,
        reach,
        softening,
        damping,
        padding: [0.0; 7],
    }
}
