//! A trained control beside activation steering.

use super::{FlowSweepArgs, SweepProgress};
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Steering by the control, which acts all along the flow, beside activation steering: without control, one vector added
    /// once, to every state at the end of the flow. The vector is the difference of the mean states before words of class plus
    /// and of class minus.
    pub struct FlowSweepActivation in "flow.sweep.activation" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// u0 of the control. The vector at 1 is as long as half the mean distance between a state at u0 = 1 and at u0
        /// = -1; one per point of the lists below.
        pub strength: Numbers,
        /// By the control.
        pub control: SteeringCurves,
        /// By the vector.
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
