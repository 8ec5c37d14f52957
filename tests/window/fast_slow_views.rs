//! Tests two views of the fast-slow lab that draw curves over training: the memory of a decaying slow path, and the
//! equilibrium solves.

use egui_kittest::Harness;
use orrery::{
    labs,
    telemetry::{Event, RunState},
    ui::mirror::Mirror,
};

use crate::{
    recorded,
    tiles::{Tile, painted, sized},
};

fn csv(view: &str, mirror: Mirror) -> String {
    Tile::new(view, mirror).shown(sized(640.0, 480.0)).state().csv.clone().unwrap_or_default()
}

#[test]
fn slow_memory_tables_its_median_and_deciles() {
    let csv = csv("slow_memory", recorded::twins());
    let head = csv.lines().next().unwrap_or_default();
    for column in
        ["coupled", "decile of slow memory coupled, first decile", "decile of slow memory coupled, last decile"]
    {
        assert!(head.contains(column), "{column}: {head}");
    }
    assert!(!head.contains("frozen"), "it has attention: {head}");
}

#[test]
fn slow_memory_says_what_a_slow_token_is_and_what_is_missing() {
    let lab = labs::find("fast_slow").unwrap();
    let tile = Tile { config: lab.config(None).unwrap(), ..Tile::new("slow_memory", recorded::twins()) };
    let harness = tile.shown(sized(640.0, 480.0));
    assert!(harness.state().subtitle.contains("a slow token is 4 tokens"), "{}", harness.state().subtitle);
    let empty = Tile::new("slow_memory", Mirror::default()).shown(sized(640.0, 480.0));
    assert!(painted(&empty).join(" ").contains("No memory yet"));
}

#[test]
fn solves_that_stop_short_are_tabled_forward_and_backward() {
    let csv = csv("equilibrium_solves", recorded::twins());
    let head = csv.lines().next().unwrap_or_default();
    for column in ["stopped short coupled", "stopped short coupled, backward"] {
        assert!(head.contains(column), "{column}: {head}");
    }
}

#[test]
fn the_answer_about_a_changed_token_names_its_variant() {
    let harness = Tile::new("causality", recorded::twins()).shown(sized(640.0, 480.0));
    let subtitle = &harness.state().subtitle;
    let [edit, gate] = ["token 30: d \u{2192} x", "s tanh(\u{3b3}) = "];
    assert!(subtitle.contains(&format!(" \u{b7} coupled \u{b7} {edit} \u{b7} {gate}")), "{subtitle}");
    assert!(subtitle.ends_with(" \u{b7} the sentence as typed"), "what was changed is said once: {subtitle}");
}

#[test]
fn the_replacement_shown_is_the_one_that_was_measured() {
    let mut tile = Tile::new("causality", recorded::twins());
    tile.mirror.apply(Event::State(RunState::Stopped));
    let mut harness = tile.shown(sized(640.0, 480.0));
    let shows = |harness: &Harness<'_, Tile>, words: &str| painted(harness).iter().any(|painted| painted == words);
    assert!(shows(&harness, "\u{201c}d\u{201d} becomes") && shows(&harness, "x"), "{:?}", painted(&harness));
    let csv = harness.state().csv.clone().unwrap();
    assert!(csv.starts_with("position (tokens),token,becomes,") && csv.contains("\n30,d,x,"), "{csv}");
    // of another token it is not known what would be put there
    harness.state_mut().selection.token = Some(0);
    harness.run_steps(2);
    assert!(shows(&harness, "\u{201c}T\u{201d} becomes") && !shows(&harness, "x"), "{:?}", painted(&harness));
}
