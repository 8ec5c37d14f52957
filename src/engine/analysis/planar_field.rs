//! The planar fields of a flow, by name.

use serde::{Deserialize, Serialize};

use crate::config::choices;

choices! {
    /// The planar field that is shown.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum PlanarField {
        /// x' = y, y' = 1.5 (1 - x²) y - x: every path but one ends on the same loop.
        VanDerPol = "van_der_pol",
        /// A spiral inwards, with eigenvalues -0.25 ± 1.5 i.
        Spiral = "spiral",
        /// A saddle: (x, -y) / 3.
        Linear = "linear",
        /// The network's own.
        Mlp = "mlp",
    }
}
