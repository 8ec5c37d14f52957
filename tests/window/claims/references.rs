//! The labels of the papers' numbers in views lead to the claims of the ledger that they are the numbers of.

use eframe::egui::accesskit::Role;
use egui_kittest::kittest::Queryable;
use orrery::labs;

use crate::{
    recorded,
    tiles::{Tile, sized},
};

/// The filters of the page of claims after a click on the label of this name.
fn asked(tile: Tile, name: &str) -> Vec<String> {
    let mut harness = tile.shown(sized(640.0, 480.0));
    harness.get_by_role_and_label(Role::Link, name).click();
    harness.run_steps(3);
    harness.state().claims.clone()
}

#[test]
fn the_papers_cost_and_memory_open_their_claims() {
    let lab = labs::find("fast_slow").unwrap();
    let tile = |view: &str| Tile { config: lab.config(None).unwrap(), ..Tile::new(view, recorded::twins()) };
    assert_eq!(asked(tile("cost"), "claim A6: by the paper, c = 1/P\u{b2}"), ["id:A6"], "once");
    assert_eq!(asked(tile("slow_memory"), "claim A10: paper: collapses to about 2 tokens"), ["id:A10"], "once");
}

#[test]
fn the_papers_decay_opens_its_claim() {
    let tile = Tile::new("trace_decay", recorded::twins());
    assert_eq!(asked(tile, "claim B21: paper: 0.36"), ["id:B21"], "once");
}
