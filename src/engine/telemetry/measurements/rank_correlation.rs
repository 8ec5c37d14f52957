//! A rank correlation beside those of a null model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{analysis::rank_correlation::ShiftTest, telemetry::number::Float};

/// Spearman's rank correlation of two quantities by token, with a null model in which one is rotated against the other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankCorrelation {
    /// Spearman's coefficient, -1 to 1. NaN where either quantity does not vary.
    #[serde(with = "Float")]
    pub rho: f64,
    /// Mean of the coefficient when the one quantity is rotated against the other by a random number of tokens.
    #[serde(with = "Float")]
    pub null_mean: f64,
    /// Its standard deviation.
    #[serde(with = "Float")]
    pub null_sd: f64,
    /// Two-sided share of the rotations that are as far from their mean.
    #[serde(with = "Float")]
    pub p: f64,
}

impl From<ShiftTest> for RankCorrelation {
    fn from(ShiftTest { rho, null: (null_mean, null_sd), p }: ShiftTest) -> Self {
        Self { rho, null_mean, null_sd, p }
    }
}
