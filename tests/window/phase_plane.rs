//! Tests the phase plane through user input: sliders that act in the next frame without a question, toy systems that
//! need no run, a click on a token's path, and the sentences for models without evolution and for overflow.

use std::sync::Arc;

use crate::{
    recorded::{
        self, bare_sample, characters,
        query_keys::{Steps, TEXT, as_projected, paths},
    },
    tessellation::unseen,
    tiles::{Tile, click, painted, press, questions, rect_of, sized},
};
use eframe::egui::{Event, accesskit::Role, vec2};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    config::Value,
    telemetry::{
        self, Measurement, RunState, Sample,
        measurements::{IntegrationScheme, QueryKeyPaths},
    },
    ui::mirror::Mirror,
};

/// A paused run of three variants.
fn paused() -> Mirror {
    let mut mirror = Mirror::default();
    mirror.apply(telemetry::Event::Started(Arc::new(recorded::twins_info())));
    mirror.apply(telemetry::Event::State(RunState::Paused));
    mirror
}

fn answer(mirror: &mut Mirror, variant: usize, request: u64, measured: QueryKeyPaths) {
    let (about, tokens, request) = ("held-out passage 0, 35 tokens".into(), characters(TEXT), Some(request));
    let sample = Sample { variant, about, tokens, request, ..bare_sample(measured.into_payload()) };
    mirror.apply(telemetry::Event::Sample(sample));
}

fn shown(mirror: Mirror) -> Harness<'static, Tile> {
    Tile::new("phase_plane", mirror).shown(unseen(sized(760.0, 620.0)))
}

fn answered_tile(by: Steps) -> Harness<'static, Tile> {
    let mut mirror = paused();
    answer(&mut mirror, 0, 1, paths(0, by));
    let mut harness = shown(mirror);
    harness.step();
    harness
}

/// Returns all painted texts of the last frame, one per line.
fn words(harness: &Harness<'_, Tile>) -> String {
    painted(harness).join("\n")
}

/// Unfolds the section with all numbers.
fn unfold(harness: &mut Harness<'_, Tile>) {
    harness.get_by_label("Details").click();
    harness.step();
    harness.step();
}

fn table(harness: &Harness<'_, Tile>) -> String {
    harness.state().csv.clone().unwrap_or_default()
}

/// The last point of a path in the exported table.
fn end_of(harness: &Harness<'_, Tile>, path: &str) -> [f64; 2] {
    let table = table(harness);
    let line = table.lines().rfind(|l| l.starts_with(path)).unwrap_or_else(|| panic!("no {path} in {table}"));
    let fields: Vec<f64> = line.split(',').skip(3).map(|v| v.parse().unwrap()).collect();
    [fields[0], fields[1]]
}

fn far([a, b]: [f64; 2], [c, d]: [f64; 2]) -> f64 {
    (a - c).hypot(b - d)
}

fn slide(harness: &mut Harness<'_, Tile>, slider: &str, value: f64) {
    harness.get_by_role_and_label(Role::Slider, slider).set_value_accesskit(value);
    harness.step();
}

#[test]
fn a_toy_needs_no_run_and_asks_nothing() {
    let mut harness = shown(Mirror::default());
    assert!(harness.state().subtitle.contains("computed, no model"), "{}", harness.state().subtitle);
    // for a harmonic oscillator, leapfrog stays near the unit circle and Euler leaves it
    assert!((far(end_of(&harness, "leapfrog"), [0.0, 0.0]) - 1.0).abs() < 0.01);
    assert!(far(end_of(&harness, "Euler"), [0.0, 0.0]) > 2.0);
    // leapfrog preserves phase-space volume; Euler increases it
    assert!(harness.query_by_label("volume, \u{d7}: 1.000, kept, leapfrog").is_some());
    assert!(harness.query_all_by_label_contains("grows, Euler").next().is_some());
    assert!(!words(&harness).contains("energy drift"), "it is folded at first");
    unfold(&mut harness);
    for part in ["area of the blob", "energy drift", "there and back"] {
        assert!(words(&harness).contains(part), "{part}");
    }
    harness.get_by_label("double well").click();
    harness.step();
    harness.step();
    assert!(harness.state().subtitle.contains("double well"));
    assert!(questions(&harness).is_empty() && harness.state().commands.is_empty());
}

#[test]
fn dragging_moves_the_start_of_a_toy_system() {
    let mut harness = shown(Mirror::default());
    let rect = rect_of(&harness, "phase plane");
    press(&mut harness, rect.center(), true);
    harness.event(Event::PointerMoved(rect.center() + vec2(40.0, -30.0)));
    harness.step();
    press(&mut harness, rect.center() + vec2(40.0, -30.0), false);
    harness.step();
    let first: Vec<String> = table(&harness).lines().nth(1).unwrap().split(',').map(str::to_owned).collect();
    let start: Vec<f64> = first[3..].iter().map(|v| v.parse().unwrap()).collect();
    assert!(start[0] > 0.05 && start[1] > 0.05, "right of the middle and above: {start:?}");
}

#[test]
fn at_the_models_own_steps_the_ends_coincide() {
    for (scheme, path) in [(IntegrationScheme::Leapfrog, "leapfrog"), (IntegrationScheme::Euler, "Euler")] {
        let mut harness = answered_tile(Steps { scheme, ..Steps::default() });
        assert!(words(&harness).contains("no potential"));
        unfold(&mut harness);
        assert!(far(end_of(&harness, path), end_of(&harness, "model's end")) < 1e-5, "{path}");
        let other = if path == "Euler" { "leapfrog" } else { "Euler" };
        assert!(far(end_of(&harness, other), end_of(&harness, "model's end")) > 1e-2, "{other} goes elsewhere");
        assert!(words(&harness).contains("off the model\u{2019}s end"));
    }
}

#[test]
fn sliders_act_in_the_next_frame_and_ask_nothing() {
    let mut harness = answered_tile(Steps::default());
    let asked = harness.state().commands.len();
    let before = end_of(&harness, "leapfrog");
    slide(&mut harness, "\u{394}t", 0.62);
    assert!(far(end_of(&harness, "leapfrog"), before) > 1e-2, "the path is another in this frame");
    let before = end_of(&harness, "leapfrog");
    slide(&mut harness, "n", 2.0);
    assert!(far(end_of(&harness, "leapfrog"), before) > 1e-2);
    assert_eq!(table(&harness).lines().filter(|l| l.starts_with("leapfrog")).count(), 3, "a start and two steps");
    assert_eq!(harness.state().commands.len(), asked, "no question to the model");
    harness.get_by_label("model\u{2019}s").click();
    harness.step();
    harness.step();
    assert!(far(end_of(&harness, "leapfrog"), end_of(&harness, "model's end")) < 1e-5, "the model's own again");
}

#[test]
fn the_selection_is_what_is_asked_and_shown() {
    let mut harness = answered_tile(Steps::default());
    let first = table(&harness);
    harness.state_mut().selection.token = Some(3);
    harness.step();
    assert_ne!(table(&harness), first);
    assert!(table(&harness).lines().nth(1).unwrap().starts_with("Euler,3,0,"));
    harness.state_mut().commands.clear();
    harness.state_mut().selection.layer = Some("layers.2".to_owned());
    harness.state_mut().selection.head = Some(1);
    harness.step();
    let asked = questions(&harness);
    assert_eq!((asked.len(), asked[0].probe.as_str()), (1, "query_key_paths"));
    let arg = |name: &str| asked[0].args.get(name).cloned();
    assert_eq!((arg("layer"), arg("head")), (Some(Value::Int(2)), Some(Value::Int(1))));
}

#[test]
fn a_click_on_a_path_takes_its_token() {
    let mut harness = answered_tile(Steps::default());
    harness.state_mut().selection.token = Some(3);
    harness.step();
    // clicks around the middle until a click hits another token's path
    let rect = rect_of(&harness, "phase plane");
    for i in 0..40 {
        click(&mut harness, rect.center() + vec2(4.0 * (i % 8) as f32 - 14.0, 6.0 * (i / 8) as f32 - 14.0));
        if harness.state().selection.token != Some(3) {
            return;
        }
    }
    panic!("no token was taken");
}

#[test]
fn a_variant_that_evolves_nothing_names_those_that_do() {
    let mut mirror = paused();
    answer(&mut mirror, 0, 1, as_projected());
    let mut harness = shown(mirror);
    assert!(questions(&harness).iter().any(|q| q.variant.is_none()), "the others are asked");
    assert!(harness.state().csv.is_none());
    answer(&mut harness.state_mut().mirror, 0, 2, as_projected());
    answer(&mut harness.state_mut().mirror, 2, 2, paths(0, Steps::default()));
    harness.step();
    let all = words(&harness);
    assert!(all.contains("\u{201c}coupled\u{201d} scores queries and keys as they are projected"), "{all}");
    assert!(harness.state().subtitle.contains("dense D=128"), "{}", harness.state().subtitle);
    harness.get_by_role_and_label(Role::Button, "dense D=128").click();
    harness.step();
    assert_eq!(harness.state().selection.variant, 2);
}

#[test]
fn a_layer_that_evolves_nothing_leads_to_one_that_does() {
    let mut mirror = paused();
    answer(&mut mirror, 0, 1, QueryKeyPaths { evolves: vec![false, false, true, true], ..as_projected() });
    let mut harness = shown(mirror);
    assert!(words(&harness).contains("In layer 0 queries and keys are scored as projected"), "{}", words(&harness));
    harness.get_by_label("layer 3").click();
    harness.step();
    assert_eq!(harness.state().selection.layer.as_deref(), Some("layers.3"));
}

#[test]
fn an_overflow_is_a_sentence() {
    let mut harness = answered_tile(Steps::default());
    slide(&mut harness, "n", 16.0);
    slide(&mut harness, "\u{394}t", 10.0);
    // the recorded force grows only linearly with the query, so a toy system is needed to reach an overflow
    harness.get_by_label("double well").click();
    harness.step();
    harness.step();
    slide(&mut harness, "\u{394}t", 3.0);
    let all = words(&harness);
    assert!(all.contains("the numbers outgrow 32 bits") && all.contains("smaller"), "{all}");
    assert!(!all.contains("NaN") && !table(&harness).contains("NaN") && !table(&harness).contains("inf"));
}

#[test]
fn a_model_whose_evolution_overflows_is_reported() {
    let mut harness = answered_tile(Steps { dt: 1e20, ..Steps::default() });
    harness.step();
    let all = words(&harness);
    assert!(all.contains("it overflows 32 bits") && all.contains("outgrow 32 bits"), "{all}");
}

#[test]
fn no_repaint_is_requested_at_rest() {
    for mut harness in [shown(Mirror::default()), answered_tile(Steps::default())] {
        for _ in 0..8 {
            harness.step();
        }
        assert!(!harness.ctx.has_requested_repaint());
    }
}

#[test]
fn the_picture_is_written_as_a_drawing() {
    let harness = answered_tile(Steps::default());
    let svg = harness.state().svg.clone().unwrap();
    assert!(svg.contains("<title>phase plane</title>") && svg.contains("of the variance"), "{svg}");
}
