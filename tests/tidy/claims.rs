//! Checks that the pages of claims and their results agree with the ledger. After an intended change of a result or a
//! rule, renew them with `UPDATE_SNAPSHOTS=1 cargo test --test tidy claims`.

use std::{
    collections::BTreeSet,
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

/// The program must be built with every result file in the repository.
#[test]
fn every_result_in_the_repository_is_built_in() {
    let ledger = Ledger::built_in().unwrap();
    for (folder, built_in) in [("results", &ledger.results), ("replications", &ledger.replications)] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../claims").join(folder);
        let stored: Vec<PathBuf> = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
        assert!(!stored.is_empty());
        let results = stored.iter().filter(|path| path.extension().is_some_and(|e| e == "json")).count();
        assert_eq!(built_in.len(), results);
    }
}

/// The sources of the views, each with its path from their folder.
fn views() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui/views");
    let (mut folders, mut texts) = (vec![root.clone()], vec![]);
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
            texts.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    texts
}

/// The ids of claims in a text: string literals of a capital and a number, such as "C15".
fn claim_ids(text: &str) -> Vec<&str> {
    let is_id = |id: &&str| {
        let digits = id.trim_start_matches(|c: char| c.is_ascii_uppercase());
        id.len() - digits.len() == 1 && !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
    };
    text.split('"').filter(is_id).collect()
}

/// Every claim that a view names must be in the ledger.
#[test]
fn every_claim_that_a_view_names_is_there() {
    let ledger = Ledger::built_in().unwrap();
    let views = views();
    let named: BTreeSet<&str> = views.iter().flat_map(|(_, text)| claim_ids(text)).collect();
    for id in ["A1", "A6", "A10", "A15", "A16", "B21", "C15", "C16", "C17", "D3", "D4", "D5", "D6", "D11"] {
        assert!(named.contains(id), "no view names {id}: {named:?}");
    }
    for id in named {
        assert!(
            ledger.claims().any(|(_, claim)| claim.id == id),
            "a view names the claim {id}, which is not in the ledger"
        );
    }
}

/// Labels of published numbers that need no link to a claim, each with the reason.
const UNLINKED: [(&str, &str); 2] = [
    // the function `line` in the same file names the claims of these lines
    ("attention/paper.rs", "paper, "),
    // this is the heading of a column whose numbers are links, each to its own claim
    ("flow/claims.rs", "the source"),
];

/// A label that begins with "paper" or "the source" names a published number, so its statement must contain the claim
/// that the label opens.
#[test]
fn every_published_number_in_a_view_leads_to_its_claim() {
    const BEGINNINGS: [&str; 5] = ["paper: ", "paper, ", "paper\\u{2019}s ", "by the paper", "the source"];
    let mut found = 0;
    for (name, text) in views() {
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for label in BEGINNINGS {
            let is_unlinked = UNLINKED.contains(&(name.as_str(), label));
            for (at, _) in text.match_indices(&format!("\"{label}")) {
                // a label may be bound first, so that the next statement is looked through too
                let statements = text[at..].split(';').take(2).collect::<Vec<_>>().join(";");
                let has_claim = !claim_ids(&statements).is_empty();
                found += usize::from(has_claim);
                assert!(
                    has_claim || is_unlinked,
                    "{name}: the label {label:?} of a published number leads to no claim"
                );
            }
        }
    }
    assert!(found >= 8, "{found}: are the labels still found?");
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
