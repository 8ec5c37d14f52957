//! A rank correlation beside those of a null model.

use crate::{analysis::rank_correlation::ShiftTest, telemetry::measurements::prelude::*};

measurement! {
    /// Spearman's rank correlation of two quantities by token, with a null model in which one is rotated against the other.
    #[derive(Copy)]
    pub struct RankCorrelation {
        /// Spearman's coefficient, -1 to 1. NaN where either quantity does not vary.
        pub rho: f64,
        /// Mean of the coefficient when the one quantity is rotated against the other by a random number of tokens.
        pub null_mean: f64,
        /// Its standard deviation.
        pub null_sd: f64,
        /// Two-sided share of the rotations that are as far from their mean.
        pub p: f64,
    }
}

impl From<ShiftTest> for RankCorrelation {
    fn from(ShiftTest { rho, null: (null_mean, null_sd), p }: ShiftTest) -> Self {
        Self { rho, null_mean, null_sd, p }
    }
}
