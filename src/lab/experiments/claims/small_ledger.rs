//! A ledger of three claims for tests: X1 and X2 have rules, X2's runs take five hours, and X12 needs a GPU.

use super::{
    ledger::Ledger,
    result::{ClaimResult, PointNumbers, ResultProvenance, SeedNumbers},
    rule::{Rule, VariedSetting},
};
use crate::config::Value;

pub const PAPER: &str = r#"
title = "A paper"
source = "arXiv 0"

[[claim]]
id = "X1"
starred = true
title = "the gate stays shut"
quote = "Gate stays closed"
place = "Table 2"
number = ".01"
tier = "scaled"
counter = "it had no time to open"
turns = "an open gate"
[claim.rule]
base = "fast_slow_needed"
steps = 40
seeds = 3
read = "gate of coupled"
statistic = "mean"
stands = { below = 0.01 }

[[claim]]
id = "X2"
title = "it is cheaper"
quote = "cheaper"
place = "3"
number = ""
tier = "proxy"
counter = "c"
turns = "t"
hours = 5.0
[claim.rule]
base = "fast_slow"
seeds = 3
read = "held_out_loss of coupled"
beside = "held_out_loss of frozen"
statistic = "paired_difference"
stands = { below = 0.0 }

[[claim]]
id = "X12"
title = "at scale"
quote = "at scale"
place = "8"
number = ""
tier = "scaled"
needs = "a GPU"
"#;

/// A rule of three runs of `fast_slow` whose gates are above 0.1, with these lines of TOML besides.
pub fn rule(lines: &str) -> Rule {
    let head = "base = \"fast_slow\"\nseeds = 3\nread = \"gate of coupled\"\nstands = { above = 0.1 }\n";
    toml::from_str(&format!("{head}{lines}")).unwrap()
}

/// A setting that varies over these numbers.
pub fn varied(key: &str, values: &[i64]) -> VariedSetting {
    VariedSetting { key: key.to_owned(), values: values.iter().map(|v| Value::Int(*v)).collect() }
}

/// The claims without a result.
pub fn ledger() -> Ledger {
    Ledger::new(&[("paper".to_owned(), PAPER.to_owned())], &[]).unwrap()
}

/// A result of X1 with these numbers, one per seed from the first of its rule on, which is yet to be judged. It has no terms, as
/// results of earlier versions have none.
pub fn result(numbers: &[f64]) -> ClaimResult {
    let ledger = ledger();
    let (_, claim) = ledger.claims().next().unwrap();
    let rule = claim.rule.as_ref().unwrap();
    let first = rule.first_run().unwrap().seed;
    let seed = |(seed, number): (u64, &f64)| SeedNumbers {
        seed,
        points: vec![PointNumbers { at: None, number: *number, beside: None }],
    };
    ClaimResult {
        claim: claim.id.clone(),
        rule: rule.hash(),
        seeds: (first..).zip(numbers).map(seed).collect(),
        made: ResultProvenance {
            version: "0".to_owned(),
            cpu: "c".to_owned(),
            cores: 2,
            minutes: 3.5,
            ..ResultProvenance::default()
        },
        ..ClaimResult::default()
    }
    .with_digest()
}

/// The claims with this result, judged.
pub fn ledger_with(result: &ClaimResult) -> Ledger {
    let mut ledger = ledger();
    let judged = ledger.judged(result);
    ledger.results.insert(result.claim.clone(), judged);
    ledger
}
