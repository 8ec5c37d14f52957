//! The planar fields of a flow, by name.

use serde::{Deserialize, Serialize};

use crate::config::choices;

/// The planar field that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanarField {
    /// A saddle: (x, -y) / 3.
    Linear,
    /// Inwards and round: eigenvalues -0.25 ± 1.5 i.
    Spiral,
    /// x' = y, y' = 1.5 (1 - x²) y - x: every path but one ends on the same loop.
    VanDerPol,
    /// The network's own.
    Mlp,
}

choices! {
    for PlanarField { VanDerPol = "van_der_pol", Spiral = "spiral", Linear = "linear", Mlp = "mlp" }
}
