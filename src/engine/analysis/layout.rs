//! Force-directed layout of a weighted graph in the plane, step by step: repulsion between all nodes, springs by
//! weight, gravity, a cap on each step that cools until nothing moves any more. The same forces run on the graphics
//! card (`shaders/graph_layout.wgsl`); this is what checks them, and what serves where no card computes.
//!
//! The forces are ForceAtlas2's (Jacomy et al. 2014): each node has the mass m = 1 + degree (mean 1),
//! and on node i act
//!
//! - repulsion by every j: r m_i m_j (x_i - x_j) / (d^2 + s),
//! - a spring to each neighbour j: w_ij (x_j - x_i) / (1 + l d / reach); with the looseness l at 0
//!   a plain spring, at 1 one that hardly pulls harder from afar (Noack's LinLog, 2007), which
//!   lets communities part,
//! - gravity: -g m_i x_i.
//!
//! A step is the force divided by the springs' stiffness, damped, and no longer than the temperature.
//! Springs begin plain, which untangles, and loosen half-way, which parts.

mod grid;

use grid::Pyramid;
pub use grid::parts as grid_parts;

use crate::random::scramble;

/// Nodes up to which repulsion is summed over all pairs; above, over a pyramid of cells.
pub const MAX_EXACT_NODES: usize = 1024;
/// Masses are multiples of this, so that cells can be summed in whole numbers, in any order.
pub const MASS_QUANTUM: f32 = 1.0 / 64.0;
/// Steps until the layout of a graph that is not large comes to rest.
pub const STEPS: u32 = 300;
/// Nodes times steps of a layout, at most, so that a large graph comes to rest in bounded time, by a coarser cooling.
const MAX_NODE_STEPS: usize = 15_000_000;
/// Fewer steps untangle nothing.
const MIN_STEPS: usize = 40;
/// The number of nodes from which several threads make a step.
const PARALLEL_FROM: usize = 20_000;

/// The number of steps from the start to rest for this many nodes: [`STEPS`], or fewer for a large graph.
pub fn steps_for(nodes: usize) -> u32 {
    (MAX_NODE_STEPS / nodes.max(1)).clamp(MIN_STEPS, STEPS as usize) as u32
}

/// Strengths of the forces. Lengths are in units in which a node has about a unit of area.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForceParams {
    /// The strength r of the repulsion between nodes.
    pub repulsion: f32,
    /// The strength g of the pull towards the origin.
    pub gravity: f32,
    /// Length from which a loosened spring hardly pulls harder.
    pub reach: f32,
    /// Added to squared distances, so that two nodes in one place do not fly apart.
    pub softening: f32,
    /// The share of the distance to equilibrium that a step covers.
    pub damping: f32,
}

impl Default for ForceParams {
    fn default() -> Self {
        Self { repulsion: 1.0, gravity: 0.4, reach: 8.0, softening: 0.01, damping: 0.6 }
    }
}

/// The springs of a graph: symmetric, as lists of neighbours.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Springs {
    /// Mass of each node, mean about 1.
    pub masses: Vec<f32>,
    /// `first[i]..first[i + 1]` are the springs of node i; one longer than there are nodes.
    pub first: Vec<u32>,
    /// (neighbour, strength).
    pub ends: Vec<(u32, f32)>,
}

/// The largest strength of a spring in multiples of the mean.
const MAX_SPRING_STRENGTH: f32 = 4.0;

impl Springs {
    /// Builds the springs from directed edges (from, to, weight); the sign of a weight and its direction do not matter.
    /// Loops, ends that are not nodes and weights that are NaN or 0 are left out.
    pub fn new(nodes: usize, edges: &[(u32, u32, f32)]) -> Self {
        let counts =
            |e: &&(u32, u32, f32)| e.0 != e.1 && (e.0.max(e.1) as usize) < nodes && e.2.is_finite() && e.2 != 0.0;
        let mut first = vec![0u32; nodes + 1];
        let (mut total, mut sum) = (0usize, 0f64);
        for (a, b, w) in edges.iter().filter(counts) {
            first[*a as usize + 1] += 1;
            first[*b as usize + 1] += 1;
            (total, sum) = (total + 1, sum + f64::from(w.abs()));
        }
        (0..nodes).for_each(|i| first[i + 1] += first[i]);
        let mean_weight = (sum / total.max(1) as f64).max(f64::from(f32::MIN_POSITIVE)) as f32;
        let mean_degree = 2.0 * total as f32 / nodes.max(1) as f32;
        let mut next = first.clone();
        let mut ends = vec![(0u32, 0f32); 2 * total];
        for (a, b, w) in edges.iter().filter(counts) {
            let strength = (w.abs() / mean_weight).min(MAX_SPRING_STRENGTH) / mean_degree;
            for (from, to) in [(*a, *b), (*b, *a)] {
                let slot = &mut next[from as usize];
                ends[*slot as usize] = (to, strength);
                *slot += 1;
            }
        }
        let masses = first.windows(2).map(|f| mass(f[1] - f[0], mean_degree)).collect();
        Self { masses, first, ends }
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.masses.len()
    }

    /// The springs of a node.
    pub fn neighbours(&self, node: usize) -> &[(u32, f32)] {
        let range = self.first.get(node).zip(self.first.get(node + 1));
        range.and_then(|(a, b)| self.ends.get(*a as usize..*b as usize)).unwrap_or_default()
    }
}

fn mass(degree: u32, mean_degree: f32) -> f32 {
    let m = (1.0 + degree as f32) / (1.0 + mean_degree);
    (m / MASS_QUANTUM).round().max(1.0) * MASS_QUANTUM
}

/// The parameters that change from step to step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepParams {
    /// The largest distance that a node may move in this step.
    pub temperature: f32,
    /// 0 for plain springs to 1 for loosened ones.
    pub loose: f32,
}

/// The cooling schedule of the layout, given by the step at which it was last heated and the amount of heating.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Schedule {
    /// The step at which the schedule began.
    start_step: u64,
    /// Steps of the whole cooling that are left out.
    skipped: u32,
    /// Steps of the whole cooling.
    steps: u32,
    /// True if springs are loosened from the first step, instead of between the shares [`LOOSENING_PHASE`].
    starts_loose: bool,
    nodes: usize,
}

/// The largest first step as a share of the picture's radius, and the last step as a share of the first.
const FIRST_STEP_SHARE: f32 = 0.2;
const LAST_STEP_SHARE: f32 = 1e-3;
/// Springs loosen between these shares of the cooling.
const LOOSENING_PHASE: (f32, f32) = (0.4, 0.6);
/// The shares of the cooling that are skipped after the user moved a node and after the graph changed.
const SKIPPED_AFTER_MOVE: f32 = 0.6;
const SKIPPED_AFTER_CHANGE: f32 = 0.4;

impl Schedule {
    /// The schedule from the start, for nodes anywhere.
    pub fn from_start(nodes: usize) -> Self {
        Self { start_step: 0, skipped: 0, steps: steps_for(nodes), starts_loose: false, nodes }
    }

    /// A schedule that is warmed a little at `step`, for a node that the user moved.
    pub fn nudged(nodes: usize, step: u64) -> Self {
        Self::reheated(nodes, step, SKIPPED_AFTER_MOVE)
    }

    /// Warmed at `step`: nodes or springs came and went, most stayed.
    pub fn changed(nodes: usize, step: u64) -> Self {
        Self::reheated(nodes, step, SKIPPED_AFTER_CHANGE)
    }

    /// The schedule of a cold layout: nodes that stand stay.
    pub fn cooled(nodes: usize, step: u64) -> Self {
        Self::reheated(nodes, step, 1.0)
    }

    /// The schedule without this share of the cooling.
    fn reheated(nodes: usize, step: u64, skipped: f32) -> Self {
        let steps = steps_for(nodes);
        Self { start_step: step, skipped: (steps as f32 * skipped) as u32, steps, starts_loose: true, nodes }
    }

    /// The steps of the whole cooling.
    pub fn steps(&self) -> u64 {
        u64::from(self.steps)
    }

    /// The step after which nothing moves any more.
    pub fn last_step(&self) -> u64 {
        self.start_step + u64::from(self.steps - self.skipped)
    }

    /// The temperature of the step that leads to `step`.
    pub fn step_params(&self, step: u64) -> StepParams {
        let age = step.saturating_sub(self.start_step + 1) as f32 + self.skipped as f32;
        let share = (age / self.steps as f32).min(1.0);
        let hot = FIRST_STEP_SHARE * (self.nodes.max(1) as f32).sqrt();
        let loose = ((share - LOOSENING_PHASE.0) / (LOOSENING_PHASE.1 - LOOSENING_PHASE.0)).clamp(0.0, 1.0);
        let loose = if self.starts_loose { 1.0 } else { loose };
        StepParams { temperature: hot * LAST_STEP_SHARE.powf(share), loose }
    }
}

/// The initial positions of nodes: random in a disc, by seed and name alone, so that a node that comes back begins at
/// the same position.
pub fn start(names: impl ExactSizeIterator<Item = u32>, seed: u64) -> Vec<[f32; 2]> {
    let radius = 0.5 * (names.len().max(1) as f32).sqrt();
    names
        .map(|name| {
            let a = scramble(u64::from(name).wrapping_add(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            let unit = |v: u64| (v >> 40) as f32 / (1u64 << 24) as f32;
            let (far, angle) = (unit(a).sqrt() * radius, unit(scramble(a)) * std::f32::consts::TAU);
            [far * angle.cos(), far * angle.sin()]
        })
        .collect()
}

/// Left, top, right and bottom of all places: (min x, min y, max x, max y); a point where there is none.
pub fn bounds(places: &[[f32; 2]]) -> [f32; 4] {
    let mut b = [f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];
    for [x, y] in places.iter().filter(|p| p[0].is_finite() && p[1].is_finite()) {
        b = [b[0].min(*x), b[1].min(*y), b[2].max(*x), b[3].max(*y)];
    }
    if b[0] <= b[2] { b } else { [0.0; 4] }
}

/// The method by which repulsion is summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repulsion {
    /// Repulsion is summed over all pairs of nodes.
    Exact,
    /// Repulsion is summed over a pyramid of grids with this many levels: the finest has 2 to this power cells on a side.
    #[allow(missing_docs, reason = "the doc of the variant names it")]
    Grid { levels: u32 },
}

impl Repulsion {
    /// The repulsion that serves for this many nodes.
    pub fn for_nodes(nodes: usize) -> Self {
        if nodes <= MAX_EXACT_NODES {
            return Self::Exact;
        }
        let side = (2.0 * (nodes as f32).sqrt()) as u32;
        Self::Grid { levels: side.next_power_of_two().ilog2().clamp(4, 9) }
    }
}

/// The positions of the nodes one step later. Nodes that are `held` stay.
///
/// # Panics
/// If `places` or `held` are not as many as the nodes.
pub fn step(
    springs: &Springs,
    forces: &ForceParams,
    repulsion: Repulsion,
    turn: StepParams,
    held: &[bool],
    places: &[[f32; 2]],
) -> Vec<[f32; 2]> {
    assert!(places.len() == springs.nodes() && held.len() == springs.nodes(), "one place a node");
    let pyramid = match repulsion {
        Repulsion::Exact => None,
        Repulsion::Grid { levels } => Some(Pyramid::new(levels, places, &springs.masses)),
    };
    let away = |i: usize| match &pyramid {
        Some(pyramid) => pyramid.push(i, places, &springs.masses, forces.softening),
        None => total_repulsion(i, places, &springs.masses, forces.softening),
    };
    let place = |i: usize| if held[i] { places[i] } else { moved(springs, forces, turn, i, places, away(i)) };
    if places.len() < PARALLEL_FROM {
        return (0..places.len()).map(place).collect();
    }
    // each node's new position depends only on the positions before the step, so that the result does not depend on the
    // number of threads
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (mut after, share) = (vec![[0f32; 2]; places.len()], places.len().div_ceil(threads));
    std::thread::scope(|scope| {
        for (part, slots) in after.chunks_mut(share).enumerate() {
            let place = &place;
            scope.spawn(move || {
                slots.iter_mut().enumerate().for_each(|(i, slot)| *slot = place(part * share + i));
            });
        }
    });
    after
}

/// Sum over all others of m_j (x_i - x_j) / (d^2 + s).
fn total_repulsion(i: usize, places: &[[f32; 2]], masses: &[f32], softening: f32) -> [f32; 2] {
    let [x, y] = places[i];
    let mut sum = [0f32; 2];
    for ([px, py], m) in places.iter().zip(masses) {
        let (dx, dy) = (x - px, y - py);
        let strength = m / (dx * dx + dy * dy + softening);
        sum = [sum[0] + dx * strength, sum[1] + dy * strength];
    }
    sum
}

fn moved(
    springs: &Springs,
    forces: &ForceParams,
    turn: StepParams,
    i: usize,
    places: &[[f32; 2]],
    push: [f32; 2],
) -> [f32; 2] {
    let ([x, y], m) = (places[i], springs.masses[i]);
    let pull = forces.gravity * m;
    let mut force = [forces.repulsion * m * push[0] - pull * x, forces.repulsion * m * push[1] - pull * y];
    let mut stiffness = pull;
    for (to, strength) in springs.neighbours(i) {
        let [px, py] = places[*to as usize];
        let (dx, dy) = (px - x, py - y);
        let k = strength / (1.0 + turn.loose * (dx * dx + dy * dy).sqrt() / forces.reach);
        force = [force[0] + k * dx, force[1] + k * dy];
        stiffness += k;
    }
    let by = [forces.damping * force[0] / stiffness, forces.damping * force[1] / stiffness];
    let far = (by[0] * by[0] + by[1] * by[1]).sqrt();
    let share = (turn.temperature / far.max(1e-12)).min(1.0);
    let after = [x + by[0] * share, y + by[1] * share];
    if after[0].is_finite() && after[1].is_finite() { after } else { [x, y] }
}

/// The first steps of the way from a start to rest, which is [`steps_for`] the nodes long. `on_step` learns the number of each
/// step that is done.
pub fn run_steps(
    steps: u64,
    springs: &Springs,
    forces: &ForceParams,
    mut places: Vec<[f32; 2]>,
    mut on_step: impl FnMut(u64),
) -> Vec<[f32; 2]> {
    let (held, schedule) = (vec![false; places.len()], Schedule::from_start(places.len()));
    let repulsion = Repulsion::for_nodes(places.len());
    for s in 1..=steps {
        places = step(springs, forces, repulsion, schedule.step_params(s), &held, &places);
        on_step(s);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_graph_cools_in_fewer_steps() {
        assert_eq!([1, 1000, 50_000].map(steps_for), [STEPS; 3]);
        for nodes in [100_000, 300_000, 350_000] {
            assert!(nodes * steps_for(nodes) as usize <= MAX_NODE_STEPS, "{nodes} nodes");
            let schedule = Schedule::from_start(nodes);
            assert_eq!(schedule.last_step(), schedule.steps());
            let end = schedule.step_params(schedule.last_step() + 1);
            let coldest = FIRST_STEP_SHARE * (nodes as f32).sqrt() * LAST_STEP_SHARE;
            assert!((end.temperature / coldest - 1.0).abs() < 1e-3 && end.loose == 1.0, "{nodes} nodes: {end:?}");
        }
        assert_eq!(steps_for(usize::MAX) as usize, MIN_STEPS);
        assert_eq!(Schedule::cooled(300_000, 7).last_step(), 7);
    }

    #[test]
    fn threads_change_no_place() {
        let nodes = PARALLEL_FROM + 7;
        let edges: Vec<_> = (0..nodes as u32).map(|i| (i, i * 7 % nodes as u32, 1.0)).collect();
        let (springs, forces) = (Springs::new(nodes, &edges), ForceParams::default());
        let (places, turn) = (start(0..nodes as u32, 3), Schedule::from_start(nodes).step_params(1));
        let held: Vec<bool> = (0..nodes).map(|i| i % 100 == 0).collect();
        let repulsion = Repulsion::for_nodes(nodes);
        let after = step(&springs, &forces, repulsion, turn, &held, &places);
        let Repulsion::Grid { levels } = repulsion else { panic!("{repulsion:?}") };
        let pyramid = Pyramid::new(levels, &places, &springs.masses);
        for i in (0..nodes).step_by(97).chain([nodes - 1]) {
            let push = pyramid.push(i, &places, &springs.masses, forces.softening);
            let alone = if held[i] { places[i] } else { moved(&springs, &forces, turn, i, &places, push) };
            assert_eq!(after[i], alone, "node {i}");
        }
    }
}
