//! A generator at a value of its slow control: rates, stationary distributions, spectrum; how distributions relax under it;
//! and what a network has learned of it.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Rates between n states, as a person has set them, and the properties that follow from them.
    pub struct GeneratorState in "equilibrium.generator" answers GeneratorArgs {
        /// The slow control y.
        pub control: Numbers,
        /// True if rates were changed by hand, so that this is not the generator that the network learns.
        pub is_edited: bool,
        /// A, n x n: row i, column j is the rate from state j to state i.
        pub matrix: Array,
        /// 1 / max |A_jj|, the bound on the step of forward Euler.
        pub step_bound: f64,
        /// States that can all be reached from each other, by their smallest state; one class where A is irreducible.
        pub classes: Vec<StateClass>,
        /// The 2 n numbers of the eigenvalues: real part, imaginary part, ...; those of the kernel first, then by falling real
        /// part.
        pub eigenvalues: Numbers,
        /// -Re of the slowest eigenvalue outside of the kernel; NaN where there is none.
        pub gap: f64,
        /// The answer of the network at this control, n; empty where rates were changed by hand, and where no network learns it.
        pub predicted: Numbers,
        /// The network was trained on controls from minus this to this; NaN where there is none.
        pub range: f64,
    }

    /// A communicating class.
    pub struct StateClass {
        /// States, counted from 0.
        pub states: Vec<usize>,
        /// The stationary distribution over all n states; empty where the class can be left.
        pub stationary: Numbers,
    }

    /// The relaxation of a distribution by forward Euler, by the exact flow, and by single particles.
    pub struct GeneratorFlow in "equilibrium.flow" answers GeneratorFlowArgs {
        /// Step of forward Euler, in units of time.
        pub dt: f64,
        /// 1 / max |A_jj|.
        pub step_bound: f64,
        /// The state that all mass starts in, counted from 0; `None`: every state has the same.
        pub start: Option<usize>,
        /// Dimension of the kernel; where it is not 1, the limit is that of this start.
        pub kernel: usize,
        /// The limit of the exact flow, n.
        pub limit: Numbers,
        /// log of the largest |1 + dt lambda| outside of the kernel: the slope of Euler's log error a step.
        pub euler_slope: f64,
        /// -gap dt: the slope of the exact flow's log error per step.
        pub exact_slope: f64,
        /// The relaxation by forward Euler steps.
        pub euler: RelaxationCurves,
        /// The relaxation by the exact flow.
        pub exact: RelaxationCurves,
        /// The exact flow's distributions, (steps + 1) x n.
        pub distributions: Array,
        /// Particles that were followed (Gillespie's algorithm).
        pub particles: usize,
        /// max |share of the particles - exact distribution| by step: sampling noise.
        pub sampling_error: Numbers,
        /// The states of a few of the particles by step, counted from 0.
        pub paths: Vec<Vec<usize>>,
    }

    /// One value for each step, the start first.
    pub struct RelaxationCurves {
        /// max |x - limit|.
        pub error: Numbers,
        /// max |A x|.
        pub residual: Numbers,
        /// Relative entropy to the limit, nats; NaN where an entry is negative.
        pub entropy: Numbers,
        /// Sum of the entries less 1.
        pub excess_mass: Numbers,
    }

    /// The error of a network's answer over two numbers of the control.
    pub struct StationaryMapError in "equilibrium.stationary_map" answers StationaryMapArgs {
        /// Half the width of the trained range of controls.
        pub range: f64,
        /// The map reaches from minus this to this in the first two numbers of y; the others are held.
        pub reach: f64,
        /// sum_i |phi_i(y) - p_i(y)|, rows x columns: the second number of y, from -reach, by the first. One row for a control of
        /// one number.
        pub error: Array,
        /// Mean of that error over controls inside the range that no update drew.
        pub held_out: f64,
        /// Like `held_out`, the mean of max_i |phi_i(y) - p_i(y)|.
        pub held_out_largest: f64,
        /// Like `held_out`, over controls between the range and the reach: extrapolation.
        pub outside: f64,
        /// Like `held_out`, with the stationary distribution at y = 0 in the network's place: it ignores y.
        pub ignoring: f64,
    }

    /// The spectral gap of each topology by the number of states.
    pub struct GapBySize in "equilibrium.gap_by_size" answers GapBySizeArgs {
        /// Numbers of states.
        pub sizes: Vec<usize>,
        /// One entry a topology.
        pub topologies: Vec<TopologyGaps>,
    }

    /// The results for one topology.
    pub struct TopologyGaps {
        /// The name of the topology.
        pub name: String,
        /// By the number of states, the mean over draws; NaN where a draw is reducible.
        pub gaps: Numbers,
    }
}

impl StateClass {
    /// True if it cannot be left.
    pub fn is_closed(&self) -> bool {
        !self.stationary.is_empty()
    }
}

impl GeneratorState {
    /// Number of states.
    pub fn states(&self) -> usize {
        self.matrix.shape().first().copied().unwrap_or(0)
    }

    /// The dimension of the kernel: the number of closed classes.
    pub fn kernel(&self) -> usize {
        self.classes.iter().filter(|class| class.is_closed()).count()
    }
}

arguments! {
    /// A generator at a control.
    pub struct GeneratorArgs asks "generator" {
        /// The first number of the control.
        y0: f64 = 0.0;
        /// The second number of the control, if it has one.
        y1: f64 = 0.0;
        /// The third number of the control, if it has one.
        y2: f64 = 0.0;
        /// The fourth number of the control, if it has one.
        y3: f64 = 0.0;
        /// The held-out passage whose slow state is the control, of a model with a slow path; the numbers above do nothing then.
        passage: u64 = 0;
        /// The token of the passage at which that slow state is taken, at most its last.
        token: usize = 0;
        /// Changed rates, as 3>5=0.4 for a rate of 0.4 from state 3 to state 5; they stand whatever the control.
        edits: String = String::new();
        /// Takes away the rates between the two halves of the states.
        cut: bool = false;
    }

    /// How a distribution relaxes under a generator.
    pub struct GeneratorFlowArgs asks "generator_flow" with generator: GeneratorArgs {
        /// Step of forward Euler as a share of the bound.
        dt: f64 = 0.5 => range(1e-3..=100.0);
        /// The state that all mass starts in, counted from 1; 0 gives every state the same.
        start: usize = 1;
        /// How many steps are followed.
        steps: usize = 100 => range(1..=2000);
    }

    /// Where a learned map to stationary distributions is wrong.
    pub struct StationaryMapArgs asks "stationary_map" {
        /// Cells along each side of the map.
        cells: usize = 33 => range(3..=129);
        /// The third number of the control, which the whole map holds.
        y2: f64 = 0.0;
        /// The fourth number of the control, which the whole map holds.
        y3: f64 = 0.0;
    }

    /// The spectral gap of each topology by the number of states.
    pub struct GapBySizeArgs asks "gap_by_size" {}
}
