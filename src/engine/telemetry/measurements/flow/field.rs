//! The field of a flow in the plane that its paths are drawn in.

use super::FlowArgs;
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Velocities of the followed token on a grid of places, all other tokens where they are at that depth.
    pub struct FlowField in "flow.field" answers FlowFieldArgs {
        /// tau: the depth, 0 to 1.
        pub tau: f64,
        /// Where the followed token is at that depth, in the two components.
        #[serde(with = "number::array")]
        #[schemars(with = "[Number<f64>; 2]")]
        pub at: [f64; 2],
        /// The part of the plane that the grid covers.
        pub extent: FieldExtent,
        /// `(rows, cols)`: first component of the velocity; a row has one second coordinate, lowest first.
        pub dx: Array,
        /// `(rows, cols)`: second component of the velocity.
        pub dy: Array,
    }

    /// Ends of the grid, in units of the two components. Outermost rows and columns lie on them.
    #[derive(Copy)]
    pub struct FieldExtent {
        /// Lowest first coordinate.
        pub x0: f64,
        /// Highest first coordinate.
        pub x1: f64,
        /// Lowest second coordinate.
        pub y0: f64,
        /// Highest second coordinate.
        pub y1: f64,
    }
}

arguments! {
    /// The field around the followed token's state.
    pub struct FlowFieldArgs asks "flow_field" with flow: FlowArgs {
        /// The depth at which the field is evaluated.
        #[range(0.0..=1.0)]
        tau: f64 = 0.0,
        /// Cells along each side of the square.
        #[range(2..=48)]
        cells: usize = 16,
    }
}
