//! The numbers of a claim's runs: `claims/results/ID.json`, small enough to be kept beside the rule.

use serde::{Deserialize, Serialize};

use super::{claim::ClaimError, criterion::Verdict};
use crate::telemetry::number;

/// The numbers of a claim's runs, and what was made of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimResult {
    pub claim: String,
    /// The hash of the rule as it was when the runs were made.
    pub rule: String,
    pub verdict: Verdict,
    /// Absent where too few seeds have a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// Corrected by Holm's method for all rules of the paper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    pub seeds: Vec<SeedNumbers>,
    /// Seeds whose runs failed, or have no such number: they say nothing for or against the claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<u64>,
    /// The values of the seeds over the steps of their runs, where the rule has such.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<StepValues>,
    pub made: Made,
}

/// The values of all seeds at one step, each on the scale of the effect, in the order of the seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepValues {
    pub step: u64,
    pub values: Vec<f64>,
}

/// The numbers of one seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedNumbers {
    pub seed: u64,
    /// A single point, or a point at each value of the setting that varies.
    pub points: Vec<PointNumbers>,
}

/// The numbers of one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointNumbers {
    /// The setting that varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    #[serde(with = "number::Float")]
    pub number: f64,
    /// The number that it is held against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<f64>,
}

/// The version and machine that made a result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    /// Version of Orrery.
    pub version: String,
    /// The commit of the working folder, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The processors of the machines that trained.
    pub cpu: String,
    /// Hardware threads of one machine, the most that one had.
    pub cores: usize,
    /// The devices that held the models, where they were not processors: "cuda:0".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Minutes of training, all runs together.
    pub minutes: f64,
}

/// Digits of a commit or a hash that tell it from others.
const DIGITS: usize = 8;

/// The first digits of a hash or a commit.
pub(super) fn first_digits(hash: &str) -> &str {
    hash.get(..DIGITS).unwrap_or(hash)
}

impl Made {
    /// "Orrery 0.3.0 at 01234567, 2 cores of AMD EPYC".
    pub fn label(&self) -> String {
        let commit = self.commit.as_deref().map_or(String::new(), |commit| format!(" at {}", first_digits(commit)));
        format!("Orrery {}{commit}, {}", self.version, self.machine())
    }

    /// "2 cores of AMD EPYC", "cuda:0 beside 16 cores of Intel Xeon".
    pub fn machine(&self) -> String {
        let beside = self.device.as_ref().map_or(String::new(), |device| format!("{device} beside "));
        format!("{beside}{} cores of {}", self.cores, self.cpu)
    }
}

impl ClaimResult {
    /// # Errors
    /// If the text is no JSON, or holds what no result has.
    pub fn parse(claim: &str, text: &str) -> Result<Self, ClaimError> {
        serde_json::from_str(text).map_err(|source| ClaimError::Result { claim: claim.to_owned(), source })
    }

    /// The text of its file.
    ///
    /// # Errors
    /// If a number cannot stand in JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }
}
