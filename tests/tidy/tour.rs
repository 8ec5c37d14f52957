//! Checks that the tour gives the place of each view correctly.

use std::{fs, path::Path};

use orrery::{
    labs::{LABS, Lab, Place},
    ui::views,
};

/// Parts of other pages that are about a lab: the page, the heading, and the lab's id.
const OTHER: [(&str, &str, &str); 1] = [("README.md", "One lab in five lines", "fast_slow")];

/// The parts of a text under its headings of the second level, each with its heading, white space as single blanks.
fn parts(page: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page)).unwrap();
    let parts = text.split("\n## ").skip(1);
    parts
        .map(|part| {
            let (heading, rest) = part.split_once('\n').unwrap();
            (heading.to_owned(), rest.split_whitespace().collect::<Vec<_>>().join(" "))
        })
        .collect()
}

/// The words after the first mention of a lab's nth view: its place, where it does not stand in front.
fn place_of(lab: &Lab, nth: usize) -> String {
    let title = |view: &str| views::find(view).unwrap().title;
    match lab.panes[nth].place {
        Place::Tall | Place::Tile { .. } => String::new(),
        Place::More => " (in *More views*)".to_owned(),
        Place::Tab => {
            let front = lab.panes[..nth].iter().rev().find(|pane| pane.place.is_front()).unwrap();
            format!(" (a tab of *{}*)", title(front.view))
        }
    }
}

/// The faults of a section about a lab: views with a wrong place.
fn faults(lab: &Lab, text: &str) -> Vec<String> {
    let mut faults = vec![];
    for (nth, pane) in lab.panes.iter().enumerate() {
        let named = format!("*{}*", views::find(pane.view).unwrap().title);
        // a preset may have the name of its view, and a place that of another
        let mut mentions = text.match_indices(&named).filter(|(at, _)| {
            let before = &text[..*at];
            !before.ends_with("preset ") && !before.ends_with("(a tab of ")
        });
        let Some((at, _)) = mentions.next() else { continue };
        let (after, expected) = (&text[at + named.len()..], place_of(lab, nth));
        let says_place = after.starts_with(" (a tab of ") || after.starts_with(" (in *More views*)");
        if !after.starts_with(&expected) || says_place == expected.is_empty() {
            let said: String = after.chars().take(40).collect();
            faults.push(format!("{}: {named}{said} is {named}{expected}", lab.id));
        }
    }
    faults
}

#[test]
fn every_view_stands_where_the_tour_says() {
    let mut faults = vec![];
    let tour = parts("docs/tour.md");
    for lab in LABS {
        let part = tour.iter().find(|(heading, _)| heading == lab.title);
        let (_, text) = part.unwrap_or_else(|| panic!("the tour has no part on {}", lab.title));
        faults.extend(self::faults(lab, text));
    }
    for (page, heading, id) in OTHER {
        let lab = LABS.iter().find(|lab| lab.id == id).unwrap();
        let (_, text) = parts(page).into_iter().find(|(found, _)| found == heading).unwrap();
        faults.extend(self::faults(lab, &text));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_wrong_place_is_found() {
    let lab = LABS.iter().find(|lab| lab.id == "fast_slow").unwrap();
    let count = |text: &str| faults(lab, text).len();
    assert_eq!(count("*Accuracy* (a tab of *Loss*) and *Gate*, *Cost* (in *More views*)"), 0);
    assert_eq!(count("*Accuracy* (a tab of *Gate*), *Cost*, *Gate* (in *More views*)"), 3);
    assert_eq!(count("the preset *Gate* (in *More views*)"), 0);
}

/// A page opens with at most three tiles; the one with the lab's effect has its own row or column. Every lab
/// lists the other views.
#[test]
fn a_page_opens_with_its_effect_and_little_else() {
    for lab in LABS {
        let fronts: Vec<Place> = lab.panes.iter().map(|pane| pane.place).filter(|place| place.is_front()).collect();
        assert!((1..=3).contains(&fronts.len()), "{}: {} tiles", lab.id, fronts.len());
        let rows = |of: &[usize]| of.iter().map(|row| Place::Tile { row: *row }).collect::<Vec<_>>();
        let others = &fronts[1..];
        let is_alone = match lab.panes[0].place {
            Place::Tall => others == &rows(&[0, 1])[..others.len()],
            place => place == Place::Tile { row: 0 } && others == &rows(&[1, 1])[..others.len()],
        };
        assert!(is_alone, "{}: the effect stands first and alone, not as in {fronts:?}", lab.id);
        let first_more = lab.panes.iter().position(|pane| pane.place == Place::More).unwrap_or(lab.panes.len());
        assert!(lab.panes[first_more..].iter().all(|pane| pane.place == Place::More), "{}: a tab of no tile", lab.id);
        for tabs in lab.panes.split(|pane| pane.place.is_front()) {
            let behind = tabs.iter().filter(|pane| pane.place == Place::Tab).count();
            assert!(behind <= 3, "{}: {behind} tabs behind one view", lab.id);
        }
    }
}
