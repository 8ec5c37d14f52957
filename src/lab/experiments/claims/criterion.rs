//! The wording of a rule's decision: the statistic, where its effect must lie, and the verdict.

use serde::{Deserialize, Serialize};

/// The way from numbers to an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The mean over seeds of one number less the other.
    PairedDifference,
    /// The mean over seeds of the area between two curves, which is the mean over the recorded steps of the first
    /// number minus the second.
    Area,
    /// One number over the other: the geometric mean over seeds, with an interval on the scale of logarithms.
    Ratio,
    /// The standard deviation over seeds of one number over that of the other, both of the same seeds (Pitman and Morgan).
    SpreadRatio,
    /// The mean over seeds.
    Mean,
    /// The mean over seeds of the least-squares slope along a setting.
    Slope,
    /// The mean over seeds of the least-squares slope of the logarithm along a setting: the rate of an exponential. A seed with a
    /// number that is not above 0 has none.
    LogSlope,
    /// The mean over seeds of Spearman's correlation with a setting.
    RankCorrelation,
    /// The share of seeds whose number, or difference, lies where it counts, with Clopper and Pearson's interval.
    Count,
}

impl Statistic {
    /// True if it runs along a setting, or a field of an answer.
    pub fn is_along_axis(self) -> bool {
        matches!(self, Self::Slope | Self::LogSlope | Self::RankCorrelation)
    }

    pub fn label(self) -> &'static str {
        match self {
            Self::PairedDifference => "paired difference",
            Self::Area => "mean difference over steps",
            Self::Ratio => "ratio",
            Self::SpreadRatio => "ratio of spreads",
            Self::Mean => "mean",
            Self::Slope => "slope",
            Self::LogSlope => "slope of the logarithm",
            Self::RankCorrelation => "rank correlation",
            Self::Count => "share of seeds",
        }
    }
}

/// An open interval, bounded at one end or both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<f64>,
}

impl Region {
    pub fn contains(&self, value: f64) -> bool {
        self.above.is_none_or(|above| value > above) && self.below.is_none_or(|below| value < below)
    }

    /// For example "above 0.1", "between -0.01 and 0.01".
    pub fn label(&self) -> String {
        match (self.above, self.below) {
            (Some(above), Some(below)) => format!("between {above} and {below}"),
            (Some(above), None) => format!("above {above}"),
            (None, Some(below)) => format!("below {below}"),
            (None, None) => "anywhere".to_owned(),
        }
    }

    /// Refuses a region without an end, or without a number in it.
    pub fn check(&self, name: &str) -> Result<(), String> {
        match (self.above, self.below) {
            (None, None) => Err(format!("has no bound in `{name}`: give `above`, `below` or both")),
            (Some(a), Some(b)) if a >= b => Err(format!("has an empty `{name}`: {a} is not below {b}")),
            (a, b) if a.is_some_and(|v| !v.is_finite()) || b.is_some_and(|v| !v.is_finite()) => {
                Err(format!("has a bound in `{name}` that is not a number"))
            }
            _ => Ok(()),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Stands,
    DoesNotStand,
    #[default]
    CannotBeTold,
}

impl Verdict {
    pub fn label(self) -> &'static str {
        match self {
            Self::Stands => "stands",
            Self::DoesNotStand => "does not stand",
            Self::CannotBeTold => "cannot be told",
        }
    }
}
