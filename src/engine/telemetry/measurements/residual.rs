//! How far a fast-slow model's state is from the equilibrium of its post block.

use std::fmt;

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// How far the state is from what a method solves, as a share of the state, against applications of Post, by method and
    /// round: |x - Post(x)| / |x| of a fixed point.
    pub struct Residual in "fast_slow.residual" answers ResidualArgs {
        /// One entry a method and round.
        pub curves: Vec<ResidualCurve>,
    }

    /// One way towards the equilibrium in one round.
    pub struct ResidualCurve {
        /// The method that approaches the equilibrium.
        pub method: ResidualMethod,
        /// Which repetition of pooling, slow path and injection, from 0.
        pub round: usize,
        /// The relative residual after 0, 1, 2, ... passes, without unit.
        pub residual: Numbers,
    }
}

/// A method that approaches the equilibrium of Post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResidualMethod {
    /// Post applied again and again.
    Passes,
    /// Anderson acceleration of depth 1.
    Anderson,
    /// A learned projector in place of any pass.
    LearnedProjector,
    /// The backward Euler step from the injected state x0: |x - x0 - R(x)| / |x|. Records before version 0.4 call it `deq`.
    BackwardEuler,
    /// The balance of the post block's update and the injection u: |R(x) + u| / |x|.
    Deq,
}

impl fmt::Display for ResidualMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passes => "passes",
            Self::Anderson => "Anderson(1)",
            Self::LearnedProjector => "learned projector",
            Self::BackwardEuler => "backward Euler",
            Self::Deq => "DEQ",
        })
    }
}

arguments! {
    /// Measure how far the fast state is from equilibrium, pass by pass.
    pub struct ResidualArgs asks "residual" {
        /// Held-out windows that are read.
        #[range(1..=4096)]
        windows: usize = 4,
        /// Tokens of a held-out window.
        #[range(1..=4096)]
        window: usize = 128,
    }
}
