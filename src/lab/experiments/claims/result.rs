//! The numbers of a claim's runs: `claims/results/ID.json`, small enough to be kept beside the rule.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    claim::{Claim, ClaimError, SETTINGS, UNTESTED},
    criterion::Verdict,
};
use crate::{files::sha256, telemetry::number};

/// The numbers of a claim's runs, and what was made of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimResult {
    pub claim: String,
    /// The hash that the rule had when the runs were made.
    pub rule: String,
    /// [`Claim::term_hashes`] when the result was made; empty in results of versions that did not record them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub terms: BTreeMap<String, String>,
    /// The names of those terms that were recorded after the runs, so that they may not be those by which these were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late_terms: Vec<String>,
    pub verdict: Verdict,
    /// Absent where too few seeds have a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// Corrected by Holm's method for all rules of the paper; absent where the values of the seeds do not differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// [`ClaimResult::numbers_digest`] when the result was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    pub seeds: Vec<SeedNumbers>,
    /// Seeds whose runs failed, or have no such number: they say nothing for or against the claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<u64>,
    /// The values of the seeds over the steps of their runs, where the rule has such.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<StepValues>,
    pub made: ResultProvenance,
}

/// The values of all seeds at one step, each on the scale of the effect, in the order of the seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepValues {
    pub step: u64,
    pub values: Vec<f64>,
    /// The numbers that `values` are compared with. It is empty unless the effect is a ratio of spreads, which a single
    /// seed does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedNumbers {
    pub seed: u64,
    /// A single point, or a point at each value of the setting that varies.
    pub points: Vec<PointNumbers>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointNumbers {
    /// The setting that varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    #[serde(with = "number::Float")]
    pub number: f64,
    /// The number that `number` is compared with, if the rule has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<f64>,
}

/// The version and machine that made a result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultProvenance {
    pub version: String,
    /// The commit of the repository that holds the rules, where git reports it.
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
const SHORT_HASH_LEN: usize = 8;

pub(super) fn short_hash(hash: &str) -> &str {
    hash.get(..SHORT_HASH_LEN).unwrap_or(hash)
}

impl ResultProvenance {
    /// "Orrery 0.3.0 at 01234567, 2 cores of AMD EPYC", "Orrery 0.3.0 (commit not recorded), 2 cores of AMD EPYC".
    pub fn label(&self) -> String {
        let commit = self.commit.as_deref().map(|commit| format!("at {}", short_hash(commit)));
        let commit = commit.unwrap_or_else(|| "(commit not recorded)".to_owned());
        format!("Orrery {} {commit}, {}", self.version, self.machine())
    }

    /// For example "2 cores of AMD EPYC", "cuda:0 beside 16 cores of Intel Xeon".
    pub fn machine(&self) -> String {
        let beside = self.device.as_ref().map_or(String::new(), |device| format!("{device} beside "));
        format!("{beside}{} cores of {}", self.cores, self.cpu)
    }
}

impl ClaimResult {
    pub fn parse(claim: &str, text: &str) -> Result<Self, ClaimError> {
        Self::parse_from("results", claim, text)
    }

    /// [`Self::parse`] for a file of another folder of claims.
    pub(super) fn parse_from(folder: &'static str, claim: &str, text: &str) -> Result<Self, ClaimError> {
        serde_json::from_str(text).map_err(|source| ClaimError::Result { folder, claim: claim.to_owned(), source })
    }

    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// SHA-256 of its file without what is made of the numbers: without the lines from the verdict up to the seeds.
    pub fn numbers_digest(&self) -> String {
        let text = self.to_json().unwrap_or_default();
        let (head, rest) = text.split_once("\n  \"verdict\": ").unwrap_or_default();
        let (_, seeds) = rest.split_once("\n  \"seeds\": ").unwrap_or_default();
        sha256(&format!("{head}\n  \"seeds\": {seeds}"))
    }

    /// Adds the digest of the numbers, computed when the result is made, so that later edits can be noticed.
    pub fn with_digest(self) -> Self {
        Self { digest: Some(self.numbers_digest()), ..self }
    }

    /// The way in which its numbers are not those that were made, in words; `None` if they are.
    pub fn digest_problem(&self) -> Option<&'static str> {
        match &self.digest {
            None => Some("the result has no digest, so that edits of its numbers would not be seen"),
            Some(digest) if *digest == self.numbers_digest() => None,
            Some(_) => Some("the numbers, or what made them, were edited after the run"),
        }
    }

    /// The recorded terms that the claim no longer has, by name.
    pub fn edited_terms(&self, claim: &Claim) -> Vec<&str> {
        let now = claim.term_hashes();
        let edited = self.terms.iter().filter(|(name, digest)| now.get(*name) != Some(*digest));
        edited.map(|(name, _)| name.as_str()).collect()
    }

    /// Adds the current terms of the claim if the result has none; if `renews_texts`, also replaces texts of the claim
    /// that were edited since. The names of these later terms are recorded. The settings of runs are never renewed, and
    /// a result of another rule is returned unchanged.
    pub fn with_late_terms(mut self, claim: &Claim, renews_texts: bool) -> Self {
        let is_late = |name: &String, now: &String| match self.terms.get(name) {
            Some(then) => renews_texts && name != SETTINGS && then != now,
            None => self.terms.is_empty(),
        };
        let is_of_rule = claim.rule.as_ref().is_some_and(|rule| rule.hash() == self.rule);
        let late: BTreeMap<String, String> =
            claim.term_hashes().into_iter().filter(|(name, now)| is_of_rule && is_late(name, now)).collect();
        if late.is_empty() {
            return self;
        }
        let names: BTreeSet<String> = self.late_terms.iter().chain(late.keys()).cloned().collect();
        self.late_terms = names.into_iter().collect();
        self.terms.extend(late);
        self.with_digest()
    }

    /// True unless the reason why its runs do not test the claim, if there is one, was recorded with them.
    pub fn is_reason_late(&self, claim: &Claim) -> bool {
        let now = claim.untested.as_deref().map(sha256);
        let is_late = self.late_terms.iter().any(|name| name == UNTESTED);
        now.is_some_and(|now| is_late || self.terms.get(UNTESTED) != Some(&now))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::small_ledger::result, *};

    /// A verdict moves with the other claims of its paper; numbers, machine and rule do not.
    #[test]
    fn a_digest_covers_all_but_the_verdict() {
        let made = result(&[0.1, 0.2]);
        assert_eq!(made.digest_problem(), None);
        let judged = ClaimResult { verdict: Verdict::Stands, effect: Some(0.1), p: Some(0.5), ..made.clone() };
        assert_eq!(judged.digest_problem(), None);
        let edits: [&dyn Fn(&mut ClaimResult); 8] = [
            &|r| r.seeds[0].points[0].number = 0.3,
            &|r| r.missing.push(9),
            &|r| r.curve.push(StepValues { step: 0, values: vec![], beside: vec![] }),
            &|r| r.made.cores = 64,
            &|r| r.rule = "another".to_owned(),
            &|r| drop(r.terms.insert("tier".to_owned(), "another".to_owned())),
            &|r| r.late_terms.push("tier".to_owned()),
            &|r| r.claim = "X2".to_owned(),
        ];
        for (i, edit) in edits.iter().enumerate() {
            let mut edited = made.clone();
            edit(&mut edited);
            assert!(edited.digest_problem().is_some_and(|words| words.contains("edited")), "edit {i}");
        }
        assert!(ClaimResult { digest: None, ..made }.digest_problem().is_some_and(|words| words.contains("no digest")));
    }

    /// A result that was made outside of a repository names no commit, and says so.
    #[test]
    fn a_commit_that_is_not_recorded_is_reported() {
        let made = result(&[0.1]).made;
        assert_eq!(made.label(), "Orrery 0 (commit not recorded), 2 cores of c");
        let known = ResultProvenance { commit: Some("0123456789abcdef".to_owned()), ..made };
        assert_eq!(known.label(), "Orrery 0 at 01234567, 2 cores of c");
    }

    /// The digest is that of the file's text, which any program can take.
    #[test]
    fn a_digest_is_that_of_the_text_of_the_file() {
        let made = result(&[0.1]);
        let lines = made.to_json().unwrap();
        let is_kept = |line: &&str| !line.starts_with("  \"verdict\"") && !line.starts_with("  \"digest\"");
        let kept: String = lines.lines().filter(is_kept).map(|line| format!("{line}\n")).collect();
        assert_eq!(made.digest.as_deref(), Some(sha256(&kept).as_str()));
    }
}
