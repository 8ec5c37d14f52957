//! The planar fields of a flow, by name.

use serde::{Deserialize, Serialize};

use crate::config::{Choice, choices};

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

impl PlanarField {
    /// Every field, in the order of the menus.
    pub const ALL: [PlanarField; 4] =
        [PlanarField::Linear, PlanarField::Spiral, PlanarField::VanDerPol, PlanarField::Mlp];

    /// Returns the id that settings and files use.
    pub fn id(self) -> &'static str {
        Choice::id(self)
    }
}
