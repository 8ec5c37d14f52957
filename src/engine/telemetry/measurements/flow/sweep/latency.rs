//! The time that a flow costs.

use super::{FlowSweepArgs, SweepProgress};
use crate::telemetry::measurements::prelude::*;

measurement! {
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
}
