//! Sweeps of a flow: one quantity varied over a range, measured point by point while a run continues.

use super::{FlowArgs, StepPolicy};
use crate::telemetry::measurements::{RankCorrelation, prelude::*};

choices! {
    /// The quantity that is varied, and the one that is measured of it. Each has a measurement of its own.
    pub enum FlowSweepKind {
        /// Evaluations against the control ([`FlowSweepNfe`]).
        Nfe = "nfe",
        /// Evaluations against the tolerance ([`FlowSweepTolerance`]).
        Tolerance = "tolerance",
        /// Divergence of Euler's method against its steps ([`FlowSweepInvariance`]).
        Invariance = "invariance",
        /// Probabilities of classes of words against the control ([`FlowSweepClass`]).
        Class = "class",
        /// The control compared with activation steering ([`FlowSweepActivation`]).
        Activation = "activation",
        /// Steps of the solver against the surprise of what is read ([`FlowSweepDifficulty`]).
        Difficulty = "difficulty",
        /// Accuracy of a linear probe against depth ([`FlowSweepLayers`]).
        Layers = "layers",
        /// Time of a forward pass ([`FlowSweepLatency`]).
        Latency = "latency",
        /// Errors of gradients against the steps of the solve ([`FlowSweepGradientError`]).
        GradientError = "gradient_error",
        /// Memory of gradients against the steps of the solve ([`FlowSweepGradientMemory`]).
        GradientMemory = "gradient_memory",
    }

    /// How gradients get from the end of a solve to the weights of its field.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum GradientMethod {
        /// Through every operation of every step.
        Backprop = "backprop",
        /// The same, each step computed again.
        Checkpointed = "checkpointed",
        /// The adjoint equation, solved backwards.
        Adjoint = "adjoint",
    }
}

arguments! {
    /// One quantity of a flow over a range.
    pub struct FlowSweepArgs asks "flow_sweep" with flow: FlowArgs {
        /// The quantities that are varied and measured.
        kind: FlowSweepKind = FlowSweepKind::Nfe;
        /// Points that are wanted, from the first; otherwise all of them.
        upto: Option<usize> = None;
        /// True takes the model as it is now; otherwise a sweep that was begun goes on with the model of then.
        begin: Option<bool> = None;
    }
}

measurement! {
    /// The measured part of a sweep. The lists of a sweep are as long as its range; from point `done` on they are NaN.
    #[derive(Copy, Eq)]
    pub struct SweepProgress {
        /// Points measured, from the first.
        pub done: usize,
        /// Points of the whole range.
        pub total: usize,
    }

    /// Evaluations against u0, with what explains them.
    pub struct FlowSweepNfe in "flow.sweep.nfe" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// u0: the first control; one per point of the lists below.
        pub u0: Numbers,
        /// The curves, one for each solver.
        pub solvers: Vec<NfeCurve>,
        /// Mean |d²H/dtau²| over the fine path, units of the state: what bends, whatever a solver makes of it.
        pub curvature: Numbers,
    }

    /// One solver along the sweep. NaN where its solve failed.
    pub struct NfeCurve {
        /// Id of the method: "dopri5".
        pub method: String,
        /// The method's rule for the end of the span.
        pub policy: StepPolicy,
        /// NFE: evaluations of the field.
        pub nfe: Numbers,
        /// Length of the first step, in depth.
        pub h_init: Numbers,
        /// Accepted steps whose successor was not allowed to grow as it would.
        pub capped: Numbers,
        /// Accepted steps without those.
        pub free: Numbers,
        /// True if the bound on the growth of steps alone explains the difference to the point before.
        pub explained_by_growth_bound: Vec<bool>,
    }

    /// Evaluations against the tolerance at one control.
    pub struct FlowSweepTolerance in "flow.sweep.tolerance" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// The tolerance, both relative and absolute; one per point of the lists below.
        pub tolerance: Numbers,
        /// The curves, one for each solver.
        pub solvers: Vec<ToleranceCurve>,
    }

    /// The evaluations of one method at every tolerance.
    pub struct ToleranceCurve {
        /// Id of the method: "dopri5".
        pub method: String,
        /// The method's rule for the end of the span.
        pub policy: StepPolicy,
        /// NFE: evaluations of the field; NaN where the solve failed.
        pub nfe: Numbers,
    }

    /// Divergence of Euler's method from a fine adaptive solve, against its steps.
    pub struct FlowSweepInvariance in "flow.sweep.invariance" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// m: Euler steps; one per point of the lists below.
        pub steps: Vec<usize>,
        /// One a control.
        pub controls: Vec<ControlCurve>,
        /// The value that the source reports of its own flow, percent.
        pub source_percent: f64,
    }

    /// The divergence of Euler's method at one control.
    pub struct ControlCurve {
        /// u0: the first control.
        pub u0: f64,
        /// |H_euler - H| / |H| at depth 1, percent; NaN where either solve failed.
        pub percent: Numbers,
    }

    /// Mean probability of each class as the next token, against u0.
    pub struct FlowSweepClass in "flow.sweep.class" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// u0: the first control; one per point of the lists below.
        pub u0: Numbers,
        /// After nouns that occur in no steering prompt.
        pub held_out: ClassCurves,
        /// After as many nouns that occur in steering prompts.
        pub trained: ClassCurves,
        /// Words of neither class after held-out nouns, 0 to 1.
        pub neutral: Numbers,
    }

    /// The mean probabilities of both classes at every control.
    pub struct ClassCurves {
        /// Class plus, 0 to 1.
        pub plus: Numbers,
        /// Class minus, 0 to 1.
        pub minus: Numbers,
    }

    /// Steering by the control, which acts all along the flow, compared with activation steering: without control, one
    /// vector added once, to every state at the end of the flow. The vector is the difference of the mean states before
    /// words of class plus and of class minus.
    pub struct FlowSweepActivation in "flow.sweep.activation" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// u0 of the control. The vector at 1 is as long as half the mean distance between a state at u0 = 1 and at u0
        /// = -1; one per point of the lists below.
        pub strength: Numbers,
        /// The curves for steering by the control.
        pub control: SteeringCurves,
        /// The curves for steering by the vector.
        pub vector: SteeringCurves,
    }

    /// The effect of one way of steering at every strength.
    pub struct SteeringCurves {
        /// Mean probability of class plus as the next token after held-out nouns, 0 to 1.
        pub plus: Numbers,
        /// The same of class minus.
        pub minus: Numbers,
        /// Perplexity of held-out text of the language while it is steered.
        pub perplexity: Numbers,
        /// Largest second difference of `plus` between neighbouring points: small is smooth. NaN until all points are measured.
        pub largest_bend: f64,
    }

    /// Attempted steps of dopri5, rejected ones included, on held-out text: of a token, where the error of its own state alone
    /// rules the steps, and of the prompt up to it, where that of all states does. Beside them the surprise of what is read. Does a
    /// harder input take more steps?
    pub struct FlowSweepDifficulty in "flow.sweep.difficulty" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// -ln p of the token, given those before it, nats; one per point of the lists below.
        pub surprise: Numbers,
        /// The same of the token after it.
        pub next: Numbers,
        /// The same, mean over the tokens of the prompt but the first.
        pub prompt: Numbers,
        /// Steps by the error of the token's own state.
        pub token_steps: Numbers,
        /// Steps by the error of all states of the prompt up to the token.
        pub prompt_steps: Numbers,
        /// Rank correlation of `token_steps` with `surprise`; NaN until all points are measured.
        pub token_with_surprise: RankCorrelation,
        /// Rank correlation of `token_steps` with `next`.
        pub token_with_next: RankCorrelation,
        /// Rank correlation of `prompt_steps` with `prompt`.
        pub prompt_with_surprise: RankCorrelation,
    }

    /// Accuracy of a linear probe that distinguishes u0 = +1 from -1 by the last token's state, against depth.
    pub struct FlowSweepLayers in "flow.sweep.layers" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// tau: depths, 0 to 1; one per point of the lists below.
        pub taus: Numbers,
        /// Share of right verdicts, each noun left out once, 0 to 1.
        pub accuracy: Numbers,
        /// Lower end of the 95% Wilson interval.
        pub low: Numbers,
        /// Upper end of the 95% Wilson interval.
        pub high: Numbers,
        /// Accuracy of guessing.
        pub chance: f64,
    }

    /// Time of a forward pass with the flow and with plain layers in its place, measured alternately.
    pub struct FlowSweepLatency in "flow.sweep.latency" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// Number of the turn, from 1; one per point of the lists below.
        pub turns: Vec<usize>,
        /// With the flow, milliseconds per pass: the fastest of the turn.
        pub hybrid: Numbers,
        /// With plain layers, milliseconds a pass: the fastest of the turn.
        pub baseline: Numbers,
    }

    /// |g - g_fine| / |g_fine| over all weights of the field, against the steps of the solve.
    pub struct FlowSweepGradientError in "flow.sweep.gradient_error" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// m: steps of the solve; one per point of the lists below.
        pub steps: Vec<usize>,
        /// Relative distance, without unit; one a method.
        pub methods: Vec<GradientCurve>,
    }

    /// One way of taking gradients along a sweep.
    pub struct GradientCurve {
        /// The method by which gradients are taken.
        pub method: GradientMethod,
        /// One per point of the sweep.
        pub values: Numbers,
    }

    /// Most memory held between the start of a solve and the end of its backward pass, against its steps.
    pub struct FlowSweepGradientMemory in "flow.sweep.gradient_memory" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// m: steps of the solve; one per point of the lists below.
        pub steps: Vec<usize>,
        /// MiB; NaN where memory is not counted; one a method.
        pub methods: Vec<GradientCurve>,
    }
}

impl SteeringCurves {
    /// The curves, with their largest bend.
    pub fn new(plus: Numbers, minus: Numbers, perplexity: Numbers) -> Self {
        let bends = plus.windows(3).map(|w| (w[0] - 2.0 * w[1] + w[2]).abs());
        let largest_bend = bends.fold(0.0, |most: f64, bend| if bend.is_nan() { bend } else { most.max(bend) });
        let is_whole = plus.iter().all(|share| share.is_finite());
        Self { plus, minus, perplexity, largest_bend: if is_whole { largest_bend } else { f64::NAN } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_bend_is_the_largest_second_difference() {
        let bend = |plus: &[f64]| {
            let list = || Numbers::from(plus.to_vec());
            SteeringCurves::new(list(), list(), list()).largest_bend
        };
        assert_eq!(bend(&[0.0, 0.25, 0.5, 0.75]), 0.0, "a straight line has none");
        assert_eq!(bend(&[0.0, 0.0, 1.0, 1.0, 0.75]), 1.0);
        assert!(bend(&[0.0, 0.5, f64::NAN]).is_nan());
    }
}
