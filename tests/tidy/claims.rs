//! The pages of claims and of their results are what the ledger says. After a change that is meant, a result or a rule:
//! `UPDATE_SNAPSHOTS=1 cargo test --test tidy claims`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use orrery::experiments::claims::ledger::Ledger;

use super::commands::assert_page;

#[test]
fn the_pages_of_claims_are_as_the_ledger_has_them() {
    for (name, now) in Ledger::built_in().unwrap().pages() {
        assert_page(name, &now);
    }
}

/// The files beside the program are those that it was built with, so that no result is forgotten.
#[test]
fn every_result_in_the_repository_is_built_in() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../claims/results");
    let ledger = Ledger::built_in().unwrap();
    let stored: Vec<PathBuf> =
        fs::read_dir(folder).map(|entries| entries.flatten().map(|e| e.path()).collect()).unwrap_or_default();
    let results = stored.iter().filter(|path| path.extension().is_some_and(|e| e == "json")).count();
    assert_eq!(ledger.results.len(), results);
}

#[test]
fn every_test_that_holds_a_claim_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ledger = Ledger::built_in().unwrap();
    let held: Vec<_> = ledger.claims().filter_map(|(_, claim)| Some((&claim.id, claim.held.as_ref()?))).collect();
    assert!(!held.is_empty());
    for (id, held) in held {
        let text = fs::read_to_string(root.join(&held.file)).unwrap_or_default();
        assert!(text.contains(&format!("fn {}(", held.test)), "{id}: {} has no test `{}`", held.file, held.test);
    }
}
