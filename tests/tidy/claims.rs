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

/// `chart.level(..).claim = Some("D3")`: the claims that views name are in the ledger.
#[test]
fn every_claim_that_a_view_names_is_there() {
    let ledger = Ledger::built_in().unwrap();
    let mut named = vec![];
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("ui/views")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            let ids = text.split(".claim = Some(\"").skip(1).filter_map(|rest| rest.split('"').next());
            named.extend(ids.map(str::to_owned));
        }
    }
    assert!(named.len() >= 5, "{named:?}");
    for id in named {
        assert!(
            ledger.claims().any(|(_, claim)| claim.id == id),
            "a view names the claim {id}, which is not in the ledger"
        );
    }
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
