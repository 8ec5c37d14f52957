//! Checks docs/coverage.md: it lists every row of the audit once with a state that it explains, and everything that it
//! names exists.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use orrery::{
    config::{Knob, Range},
    labs::LABS,
    probe::PROBES,
    ui::views::VIEWS,
};

const STATES: [&str; 3] = ["works", "GPU", "theory"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    fs::read_to_string(root().join("docs/coverage.md")).unwrap()
}

/// The cells of each row of the table.
fn cells(page: &str) -> Vec<Vec<&str>> {
    let (_, table) = page.split_once("| row | what | now | where |\n").expect("the table");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// Returns the rows of the audit that a text names by a letter with a number, or as a range with "to".
fn rows(text: &str) -> Vec<(char, u32)> {
    let mut all: Vec<(char, u32)> = vec![];
    let mut is_range = false;
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let mut rest = word.chars();
        let letter = rest.next().filter(|c| ('A'..='E').contains(c));
        if let Some((letter, number)) = letter.zip(rest.as_str().parse::<u32>().ok()) {
            let first = all.last().filter(|_| is_range).map_or(number, |(_, last)| last + 1);
            all.extend((first..=number).map(|n| (letter, n)));
        }
        is_range = word == "to";
    }
    all
}

#[test]
fn every_row_of_the_audit_stands_once() {
    let page = page();
    let (_, text) = page.split_once("Of the rows ").unwrap();
    let (claimed, text) = text.split_once(", these worked").unwrap();
    let (_, text) = text.split_once(": ").unwrap();
    let (worked, _) = text.split_once(" All others:").unwrap();
    let mut found = rows(worked);
    for row in cells(&page) {
        let [ids, _, state, place] = row[..] else { panic!("not four cells: {row:?}") };
        let ids = rows(ids);
        assert!(!ids.is_empty(), "no row of the audit: {row:?}");
        assert!(state.split(", ").all(|state| STATES.contains(&state)), "{ids:?} is {state}");
        assert!(state == "theory" || !place.is_empty(), "{ids:?} says neither where nor why");
        found.extend(ids);
    }
    found.sort_unstable();
    let mut claimed = rows(claimed);
    claimed.sort_unstable();
    assert!(claimed.len() > 150, "{} rows", claimed.len());
    assert_eq!(found, claimed);
}

#[test]
fn rows_are_parsed_singly_and_as_ranges() {
    assert_eq!(rows("A9, B2 to B4 and E50"), [('A', 9), ('B', 2), ('B', 3), ('B', 4), ('E', 50)]);
    assert_eq!(rows("A9 to no row, F1, Bach"), [('A', 9)]);
}

/// The names of settings and arguments that a page may use, and the values of choices.
fn names_of(knobs: &[Knob]) -> Vec<&'static str> {
    let words = |knob: &Knob| if let Range::Choice(words) = &knob.range { words.clone() } else { vec![] };
    knobs.iter().flat_map(|knob| [vec![knob.key], words(knob)].concat()).collect()
}

#[test]
fn presets_views_and_probes_named_on_the_page_exist() {
    let page = page();
    let presets: BTreeSet<&str> = LABS.iter().flat_map(|lab| lab.presets).map(|preset| preset.id).collect();
    let views: BTreeSet<&str> = VIEWS.iter().map(|view| view.id).collect();
    let probes: BTreeSet<&str> = PROBES.iter().map(|probe| probe.id).collect();
    for (kind, ids) in [("preset", &presets), ("presets", &presets), ("view", &views), ("probe", &probes)] {
        let named: Vec<&str> = page.split(&format!("{kind} `")).skip(1).filter_map(|t| t.split('`').next()).collect();
        assert!(!named.is_empty(), "no {kind} is named");
        named.iter().for_each(|name| assert!(ids.contains(name), "there is no {kind} `{name}`"));
    }
    let mut known: BTreeSet<&str> = [presets, views, probes].into_iter().flatten().collect();
    known.extend(LABS.iter().flat_map(|lab| lab.headlines).map(|headline| headline.id));
    known.extend(LABS.iter().flat_map(|lab| names_of(&(lab.knobs)())).chain(LABS.iter().map(|lab| lab.id)));
    known.extend(PROBES.iter().flat_map(|probe| names_of(&(probe.knobs)())));
    let is_known = |word: &str| known.contains(word) || word.parse::<f64>().is_ok();
    let is_file = |word: &str| word.contains('/') && root().join(word).exists();
    for word in page.lines().flat_map(|line| line.split('`').skip(1).step_by(2)) {
        let is_there = word.starts_with("orrery") || is_file(word) || word.split('=').all(is_known);
        assert!(is_there, "there is nothing called `{word}`");
    }
}
