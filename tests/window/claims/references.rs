//! Views draw numbers that papers claim. Each label of such a number must be a link to its claim in the ledger.

use std::sync::Arc;

use eframe::egui::{Key, accesskit::Role};
use egui_kittest::kittest::Queryable;
use orrery::{
    experiments::claims::ledger::Ledger,
    labs,
    telemetry::RunInfo,
    ui::{app::Opening, mirror::Mirror},
};

use super::desk_of;
use crate::{
    recorded,
    tiles::{Tile, painted, sized},
};

/// A view that draws numbers from a paper.
struct Reference {
    lab: &'static str,
    view: &'static str,
    /// The controls to click, in order, until the view draws the numbers.
    choices: &'static [&'static str],
    /// The accessible names of the links.
    links: &'static [&'static str],
}

const REFERENCES: [Reference; 10] = [
    Reference { lab: "fast_slow", view: "gate", choices: &[], links: &["claim A1: paper: stays closed, \u{b1}0.01"] },
    Reference { lab: "fast_slow", view: "cost", choices: &[], links: &["claim A6: by the paper, c = 1/P\u{b2}"] },
    Reference {
        lab: "fast_slow",
        view: "slow_memory",
        choices: &[],
        links: &["claim A10: paper: collapses to about 2 tokens"],
    },
    Reference {
        lab: "fast_slow",
        view: "generator_distance",
        choices: &[],
        links: &["claim A16: paper\u{2019}s random map"],
    },
    Reference { lab: "equilibrium", view: "stationary_map", choices: &[], links: &["claim A15: paper: .031, n = 12"] },
    Reference {
        lab: "traces",
        view: "trace_decay",
        choices: &[],
        links: &["claim B21: paper: 0.36 left after 50", "claim B21: paper: 0.02 left after 200"],
    },
    // the paper's values are an option here, because the recorded model has a different number of layers
    Reference {
        lab: "coupled_qk",
        view: "attention_by_layer",
        choices: &["paper"],
        links: &["claim C15: paper, coupled", "claim C16: paper, coupled", "claim C17: paper, coupled"],
    },
    Reference { lab: "ode_flow", view: "flow_training", choices: &[], links: &["claim D3: the source ends at 0.065"] },
    Reference {
        lab: "ode_flow",
        view: "flow_claims",
        choices: &[],
        links: &["claim D5: 98%", "claim D5: 88%", "claim D6: 91%"],
    },
    Reference {
        lab: "ode_flow",
        view: "flow_sweep",
        choices: &["what to measure", "solvers agree"],
        links: &["claim D11: the source"],
    },
];

/// The recorded run with measurements of every channel, presented as a run of the lab's preset of the same name.
fn run(lab: &str) -> Mirror {
    let mut mirror = recorded::twins();
    recorded::others::emit(&mut mirror);
    let config = labs::find(lab).unwrap().config(Some(lab)).unwrap();
    mirror.info = Some(Arc::new(RunInfo { lab: lab.to_owned(), config, ..recorded::twins_info() }));
    mirror
}

/// The paper's gate is one that nothing needs: beside a gate that a task opens its number would look refuted.
#[test]
fn a_number_of_the_paper_is_not_drawn_in_another_experiment() {
    let lab = labs::find("fast_slow").unwrap();
    let drawn = |preset: &str| {
        let config = lab.config(Some(preset)).unwrap();
        let mut mirror = run(lab.id);
        mirror.info = Some(Arc::new(RunInfo { config: config.clone(), ..recorded::twins_info() }));
        let harness = Tile { config, ..Tile::new("gate", mirror) }.shown(sized(640.0, 480.0));
        let has_link = harness.query_all_by_role(Role::Link).next().is_some();
        (has_link, painted(&harness).iter().any(|words| words.starts_with("closed: within")))
    };
    assert_eq!((drawn("fast_slow"), drawn("fast_slow_needed")), ((true, false), (false, true)));
}

#[test]
fn the_papers_numbers_open_their_claims() {
    let papers = Ledger::built_in().unwrap().entries();
    let claims: Vec<&str> =
        papers.iter().flat_map(|paper| &paper.claims).map(|entry| entry.claim.id.as_str()).collect();
    for Reference { lab, view, choices, links } in &REFERENCES {
        let config = labs::find(lab).unwrap().config(None).unwrap();
        let mut harness = Tile { config, ..Tile::new(view, run(lab)) }.shown(sized(640.0, 480.0));
        for choice in *choices {
            harness.get_by_label(choice).click();
            harness.run_steps(3);
        }
        for link in *links {
            harness.get_by_role_and_label(Role::Link, link).click();
            harness.run_steps(3);
            let claim = link["claim ".len()..].split(':').next().unwrap();
            let asked = std::mem::take(&mut harness.state_mut().claims);
            assert_eq!(asked, [claim], "{view}, {link}: once");
            assert!(claims.contains(&claim), "{claim} is in the ledger");
        }
    }
}

/// An id in the text of a lesson opens its claim, unfolded; Escape leads back to the lab, and from there to the gallery.
#[test]
fn an_id_in_a_lesson_opens_its_claim_and_escape_leads_back() {
    let mut d = desk_of(Ledger::built_in().unwrap().entries(), Some(Opening::Lab("fast_slow".into())), false);
    d.harness.get_by_role_and_label(Role::Button, "After the steps").click_accesskit();
    d.steps(4);
    let links = d.harness.get_all_by_role_and_label(Role::Link, "claim A10: in the text");
    links.last().unwrap().click_accesskit();
    d.steps(4);
    assert_eq!(d.ids(), ["A10"]);
    assert!(d.shows("orrery claims run A10"), "it is unfolded");
    d.harness.key_press(Key::Escape);
    d.steps(4);
    assert_eq!(d.harness.state().page().map(|page| page.lab.id), Some("fast_slow"));
    for _ in 0..2 {
        d.harness.key_press(Key::Escape);
        d.steps(4);
    }
    assert!(d.shows("What moves inside a small model while it learns?"), "Escape leads back to the gallery");
}
