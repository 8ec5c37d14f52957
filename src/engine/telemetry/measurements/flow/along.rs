//! How fast a flow goes, how much it bends and how much it stretches, along its depth.

use super::FlowArgs;
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// The motion along a solved path with the stretch of its field.
    pub struct FlowAlong in "flow.along" answers FlowAlongArgs {
        /// Speed and curvature of the path by depth.
        pub motion: FlowMotion,
        /// Largest singular value of the Jacobian dF/dH at each depth of `motion`.
        pub sigma: Numbers,
    }

    /// Speed and curvature along a solved path.
    pub struct FlowMotion {
        /// tau: depths, 0 to 1; one per point of the lists below.
        pub taus: Numbers,
        /// rms |dH/dtau| over all values of the state, units of the state.
        pub velocity: Numbers,
        /// |d²H/dtau²| / |dH/dtau|² of the whole state, one over units of the state; NaN where nothing moves.
        pub curvature: Numbers,
    }
}

arguments! {
    /// Speed, curvature and stretch along the depth.
    pub struct FlowAlongArgs asks "flow_along" with flow: FlowArgs {}
}
