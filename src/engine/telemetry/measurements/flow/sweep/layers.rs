//! The depth from which a state shows in which direction it was steered.

use super::{FlowSweepArgs, SweepProgress};
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Accuracy of a linear probe that tells u0 = +1 from -1 by the last token's state, against depth.
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
}
