//! The settings of the Equilibrium lab.

use super::slow_manifold::SlowManifoldSettings;
use crate::{
    analysis::generator::{MatrixKind, Topology},
    config::MatrixFile,
    labs::prelude::*,
};

settings! {
    pub struct EquilibriumSettings {
        task: TaskSettings,
        control: ControlSettings,
        generator: GeneratorSettings,
        flow: RelaxationSettings,
        map: MapSettings,
        slow_manifold: SlowManifoldSettings,
        corpus: CorpusSettings,
        train: TrainSettings { steps: 3000, lr: 5e-3, batch: 128, window: 4, weight_decay: 0.0, floor: 0.02 },
        probe: ProbeSettings,
        run: RunSettings { checkpoint_every: 1000 },
    }

    pub struct TaskSettings in "task" {
        /// Map: a network learns the stationary distribution of a generator; no text is read. Block: a fast-slow model learns a text, to see how far its trained block is from a generator.
        kind: Task = Task::Map => "Task";
        /// For the task block: the model's own slow state at this token of a passage is the control y of a random generator of 12 states, by its first two principal components. The controls below do nothing then.
        token: usize = 48 => "Own control at token", range(0..=95), in_views, symbol("t"), unit("tokens");
    }

    /// The slow control that a person holds.
    pub struct ControlSettings in "control" {
        /// The slow context. It tilts every log rate, each by its own random amount; the stationary distribution follows. Beyond the range under Learned map the network was never trained.
        y0: f64 = 0.0 => "Control y₀", range(-4.0..=4.0), in_views;
        /// Like the first. There are as many as Controls says; the others do nothing.
        y1: f64 = 0.0 => "Control y₁", range(-4.0..=4.0), in_views, needs(GeneratorSettings::controls, 2);
        /// Like the first. There are as many as Controls says; the others do nothing.
        y2: f64 = 0.0 => "Control y₂", range(-4.0..=4.0), in_views, needs(GeneratorSettings::controls, 3);
        /// Like the first. There are as many as Controls says; the others do nothing.
        y3: f64 = 0.0 => "Control y₃", range(-4.0..=4.0), in_views, needs(GeneratorSettings::controls, 4);
    }

    /// The rates between states.
    pub struct GeneratorSettings in "generator" {
        /// Which states are joined. Ring: each with the next, in a circle. Birth-death: in a line. Two clusters: two halves and one weak bridge.
        topology: Topology = Topology::Random => "Topology";
        /// Number of states. The paper's check has 12.
        states: usize = 12 => "States", range(2..=64), symbol("n"), unit("states");
        /// Share of the pairs without a rate, for the topology Random. When so many are missing that some states cannot be reached, the lab says so.
        sparsity: f64 = 0.0 => "Sparsity", range(0.0..=0.98);
        /// A square matrix of your own, one row per line, with commas, tabs or blanks between the numbers. It takes the place of Topology, States and Sparsity.
        file: MatrixFile = MatrixFile::default() => "Matrix file";
        /// Rates: row i, column j is the rate from state j to state i. Transitions: row i, column j is the probability of a step from state i to state j, as attention has it; each row sums to 1.
        file_holds: MatrixKind = MatrixKind::Rates => "The file holds";
        /// How many numbers the slow control has. Each tilts all rates.
        controls: usize = 2 => "Controls", range(1..=4), symbol("c");
        /// How far a control of 1 tilts a log rate at most. At 0 the control does nothing.
        strength: f64 = 1.0 => "Tilt", range(0.0..=4.0);
        /// Rates that you changed, as 3>5=0.4 for a rate of 0.4 from state 3 to state 5. Drag a cell of the matrix to change one.
        edits: String = String::new() => "Changed rates", in_views;
        /// Removes every rate between the first half of the states and the second. Then there are two stationary distributions or more, and where the flow ends depends on its start.
        cut: bool = false => "Cut in two", in_views;
    }

    /// The steps by which a distribution is followed.
    pub struct RelaxationSettings in "flow" {
        /// Step of forward Euler as a share of the theorem's bound 1 / max|Aⱼⱼ|. Below 1 it converges for certain; push it over and see how far that lasts.
        dt: f64 = 0.5 => "Euler step", range(0.02..=4.0), in_views, symbol("Δt"), unit("of bound");
        /// State that all the mass starts in, counted from 1. 0 gives every state the same.
        start: usize = 1 => "Start", range(0..=64), in_views;
        /// How many steps are followed.
        steps: usize = 100 => "Followed steps", range(10..=1000), in_views, unit("steps");
    }

    /// The network that learns the stationary distribution from the control.
    pub struct MapSettings in "map" {
        /// Width of each of the network's two layers.
        hidden: usize = 64 => "Hidden units", range(2..=512), unit("units");
        /// The network sees controls from minus this to this. The map of its errors reaches twice as far.
        range: f64 = 1.0 => "Range", range(0.1..=3.0);
    }
}

choices! {
    /// The model that a run trains.
    pub enum Task {
        /// The network that learns a generator's stationary distribution.
        Map = "map",
        /// A fast-slow model on text, whose block is not a generator.
        Block = "block",
    }
}

schedules! {
    pub struct ProbeSettings {
        /// Steps between two measurements of the learned map's error. 0 measures when a view asks.
        map: "Map error every" = 100,
        /// Steps between two measurements of a fast-slow model: its residual and its attention. 0 measures only when a view asks.
        block: "Block every" = 50,
    }
}

impl EquilibriumSettings {
    /// The values of the control; those that the generator does not read are 0.
    fn control_values(&self) -> [f64; 4] {
        let ControlSettings { y0, y1, y2, y3 } = self.control;
        let mut control = [y0, y1, y2, y3];
        control.iter_mut().skip(self.generator.controls).for_each(|y| *y = 0.0);
        control
    }

    /// The arguments of questions about the generator.
    pub fn args(&self) -> GeneratorArgs {
        let [y0, y1, y2, y3] = self.control_values();
        let GeneratorSettings { edits, cut, .. } = &self.generator;
        GeneratorArgs { y0, y1, y2, y3, passage: 0, token: self.task.token, edits: edits.clone(), cut: *cut }
    }

    /// The arguments of questions about its flow.
    pub fn flow_args(&self) -> GeneratorFlowArgs {
        let RelaxationSettings { dt, start, steps } = self.flow;
        GeneratorFlowArgs { generator: self.args(), dt, start, steps }
    }

    /// The arguments of the map of the network's errors: the controls that stay constant over the map.
    pub fn map_args(&self) -> StationaryMapArgs {
        let [_, _, y2, y3] = self.control_values();
        StationaryMapArgs { y2, y3, ..StationaryMapArgs::default() }
    }

    /// Reads the settings from a config; the defaults if it is another lab's.
    pub fn read_or_default(config: &Config) -> Self {
        Self::read(config).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Value;

    #[test]
    fn only_the_controls_that_there_are_act() {
        let lab = &crate::labs::equilibrium::LAB;
        let config = lab.config(None).unwrap();
        let acting = (lab.knobs)().iter().filter(|k| k.group() == "control" && k.has_effect(&config)).count();
        assert_eq!(config.get(GeneratorSettings::controls.name), Some(&Value::Int(acting as i64)));
        assert!((lab.knobs)().iter().find(|k| k.key == "train.steps").unwrap().has_effect(&config));
    }
}
