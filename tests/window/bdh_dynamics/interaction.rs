//! Tests the views of BDH dynamics through user input, with made-up telemetry.

use std::sync::Arc;

use eframe::egui::{Ui, Vec2, accesskit::Role, pos2, vec2};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    config::{Config, Knob, Value},
    labs,
    telemetry::{
        Command, Event, Measurement, Payload, Question, RunInfo, RunState, Sample, VariantInfo,
        measurements::{BdhTheory, TheoryCurve},
    },
    ui::{mirror::Mirror, plot},
};

use crate::{
    recorded::{bare_sample, bdh_dynamics as recorded, characters, twins_info, variant},
    tiles::{Tile, click, questions, rect_of, sized},
};

fn knobs() -> Vec<Knob> {
    (labs::find("bdh_physics").unwrap().knobs)()
}

fn run(sampled: bool) -> Mirror {
    let mut mirror = Mirror::default();
    mirror.apply(Event::Started(Arc::new(RunInfo {
        lab: "bdh_physics".into(),
        config: Config::defaults("bdh_physics", &knobs()),
        variants: vec![VariantInfo { label: "BDH".into(), params: 9000, ..variant("bdh") }],
        total_steps: 100,
        corpus: "harbour (generated), characters".into(),
        vocab: 40,
        tokens_per_step: 512,
        ..twins_info()
    })));
    mirror.apply(Event::State(RunState::Paused));
    if sampled {
        emit(&mut mirror, 0, None, false);
    }
    mirror
}

fn emit(mirror: &mut Mirror, step: u64, request: Option<u64>, turns: bool) {
    for payload in [recorded::weights(step, 24, turns).into_payload(), recorded::checks(24, turns).into_payload()] {
        mirror.apply(Event::Sample(Sample { step, request, ..of_text(payload) }));
    }
}

fn of_text(payload: Payload) -> Sample {
    Sample { about: "typed text".into(), tokens: characters(recorded::TEXT), ..bare_sample(payload) }
}

fn tile(view: &str, mirror: Mirror) -> Harness<'static, Tile> {
    let config = Config::defaults("bdh_physics", &knobs());
    Tile { config, knobs: knobs(), ..Tile::new(view, mirror) }.shown(sized(420.0, 640.0))
}

/// Draws this many frames, and exports the table of the last alone.
fn wait(harness: &mut Harness<'_, Tile>, frames: usize) {
    harness.state_mut().writes = false;
    harness.run_steps(frames - 1);
    harness.state_mut().writes = true;
    harness.step();
}

fn press(harness: &mut Harness<'_, Tile>, label: &str) {
    harness.get_by_role_and_label(Role::Button, label).click();
    harness.step();
    harness.step();
}

/// The token and the round of the exported table of neurons, and the numbers of neurons with positive x and with
/// positive y.
fn table_state(harness: &Harness<'_, Tile>) -> (String, String, usize, usize) {
    let csv = harness.state().csv.clone().unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|l| l.split(',').collect()).collect();
    let count = |k: usize| rows.iter().filter(|r| r[k].parse::<f64>().unwrap() > 0.0).count();
    assert_eq!(rows.len(), 48);
    (rows[0][4].to_owned(), rows[0][5].to_owned(), count(1), count(2))
}

#[test]
fn rounds_and_tokens_are_stepped_and_named() {
    let mut harness = tile("bdh_rules", run(true));
    press(&mut harness, "restart");
    assert_eq!(table_state(&harness).1, "", "nothing was read");
    press(&mut harness, "step round");
    let (token, round, x, y) = table_state(&harness);
    assert_eq!((token.as_str(), round.as_str()), ("t", "arrival"));
    assert!(x > 0 && y > 0, "a pulse Y, and X over the wires");
    for (k, name) in ["Inference from state", "Reweighting of synapse state", "Neuron dynamics", "Inference from"]
        .into_iter()
        .enumerate()
    {
        press(&mut harness, "step round");
        assert_eq!(table_state(&harness).1, k.to_string());
        harness.get_by_label_contains(&format!("rounds, executed: {name}"));
        // by the number that the table and the lesson have
        harness.get_by_label_contains(&format!("Layer 1, round {}. ", ["4l", "4l+1", "4l+2", "4l+3"][k]));
        if k == 1 {
            assert_eq!(table_state(&harness).3, 0, "Y is used up");
        }
    }
    press(&mut harness, "step token");
    assert_eq!(table_state(&harness).1, "7", "two layers of four rounds");
    press(&mut harness, "step token");
    assert_eq!((table_state(&harness).0.as_str(), table_state(&harness).1.as_str()), ("h", "7"));
    harness.get_by_label_contains("next, by the rules: o 0.01");
    // a click on a token of the strip
    let strip = harness.get_by_label_contains("tokens: ").rect();
    click(&mut harness, strip.left_top() + vec2(8.0 * 7.8 + 3.0, 8.0));
    assert_eq!(harness.state().selection.token, Some(8));
    assert_eq!((table_state(&harness).0.as_str(), table_state(&harness).1.as_str()), ("y", "7"));
}

#[test]
fn play_goes_through_the_rounds_and_pause_stops_it() {
    let mut harness = tile("bdh_rules", run(true));
    press(&mut harness, "restart");
    press(&mut harness, "play");
    wait(&mut harness, 120);
    let played = table_state(&harness).1;
    assert!(!played.is_empty(), "two seconds play some rounds");
    press(&mut harness, "pause");
    let stood = harness.state().csv.clone();
    wait(&mut harness, 120);
    assert_eq!(harness.state().csv, stood);
}

#[test]
fn a_clicked_neuron_is_poked() {
    let mut harness = tile("bdh_rules", run(true));
    press(&mut harness, "restart");
    let ring = rect_of(&harness, "neurons on a circle");
    let radius = 0.5 * ring.width().min(ring.height()) - 8.0;
    click(&mut harness, ring.center() + vec2(0.9 * radius, 0.0));
    let csv = harness.state().csv.clone().unwrap();
    let fired: Vec<&str> = csv.lines().skip(1).filter(|l| l.split(',').nth(2) != Some("0")).collect();
    assert_eq!(fired.len(), 1, "{fired:?}");
    assert!(fired[0].starts_with("12,"), "a quarter round: {}", fired[0]);
    harness.get_by_label_contains("Neuron 12 was poked");
}

/// The circle of neurons must not move between rounds, whose sentences have different numbers of lines, or while the
/// tile grows.
#[test]
fn the_circle_keeps_its_place() {
    let in_a_tile = |ui: &mut Ui, tile: &mut Tile| {
        plot::begin_tile(ui.ctx(), 1);
        tile.ui(ui);
        plot::end_tile(ui.ctx(), Vec2::ZERO, Vec2::ZERO);
    };
    let config = Config::defaults("bdh_physics", &knobs());
    let tile = Tile { config, knobs: knobs(), ..Tile::new("bdh_rules", run(true)) };
    let mut harness = sized(420.0, 640.0).build_ui_state(in_a_tile, tile);
    harness.run_steps(2);
    let circle = rect_of(&harness, "neurons on a circle");
    for round in 0..12 {
        press(&mut harness, "step round");
        assert_eq!(rect_of(&harness, "neurons on a circle"), circle, "round {round}");
    }
    for high in [460.0, 520.0, 580.0, 640.0, 760.0] {
        harness.set_size(vec2(420.0, high));
        harness.run_steps(2);
        let grown = rect_of(&harness, "neurons on a circle");
        assert_eq!(grown.center_top(), circle.center_top(), "{high} points high");
    }
}

#[test]
fn new_weights_keep_the_place_and_changed_settings_are_asked_for_once() {
    let mut harness = tile("bdh_rules", run(true));
    assert!(harness.state().commands.is_empty(), "what the schedule brought is enough");
    assert!(harness.state().subtitle.contains("nothing learned"), "{}", harness.state().subtitle);
    let before = (table_state(&harness), harness.state().csv.clone());
    emit(&mut harness.state_mut().mirror, 50, None, false);
    harness.state_mut().mirror.step = 50;
    harness.step();
    let after = table_state(&harness);
    assert_eq!((&after.0, &after.1), (&before.0.0, &before.0.1), "the same token and round");
    assert_ne!(harness.state().csv, before.1, "of other weights");
    assert!(harness.state().subtitle.contains("step 50"));
    harness.state_mut().config.set_text(&knobs(), "physics.drift", "rotation").unwrap();
    (0..3).for_each(|_| harness.step());
    let asked: Vec<Question> = harness
        .state()
        .commands
        .iter()
        .filter_map(|c| if let Command::Measure(q) = c { Some(q.clone()) } else { None })
        .collect();
    assert_eq!(asked.len(), 1, "once");
    assert_eq!(
        (asked[0].probe.as_str(), asked[0].args.get("drift")),
        ("bdh_dynamics", Some(&Value::Text("rotation".into())))
    );
    let unanswered = harness.state().csv.clone();
    emit(&mut harness.state_mut().mirror, 50, Some(asked[0].request), true);
    harness.step();
    assert_ne!(harness.state().csv, unanswered, "the answer is shown");
}

#[test]
fn a_run_that_told_nothing_is_asked_by_itself() {
    let harness = tile("bdh_checks", run(false));
    let asked = harness.state().commands.iter().filter(|c| matches!(c, Command::Measure(_))).count();
    assert_eq!(asked, 1);
    assert_eq!(harness.state().csv, None);
}

#[test]
fn the_checks_hold_and_can_fail() {
    let mut harness = tile("bdh_checks", run(true));
    harness.get_by_label_contains("local rules = equations (6): holds up to rounding, 0.025 of its bound");
    assert!(harness.state().subtitle.starts_with("all 5 hold up to rounding"), "{}", harness.state().subtitle);
    assert!(harness.query_by_label_contains("fails").is_none());
    emit(&mut harness.state_mut().mirror, 9, None, true);
    harness.state_mut().mirror.step = 9;
    harness.step();
    harness.step();
    harness.get_by_label_contains("= DE: fails by more than rounding");
    assert!(harness.state().subtitle.starts_with("4 of 5 hold"), "{}", harness.state().subtitle);
}

/// If two variants have weights, the menu chooses whose dynamics run, and the subtitle names what is specific to the
/// trained graph.
#[test]
fn a_trained_graph_is_chosen_and_runs_by_its_own_synapses() {
    let mut mirror = run(true);
    let mut info = (**mirror.info.as_ref().unwrap()).clone();
    let graph = VariantInfo {
        id: "graph".into(),
        label: "graph BDH".into(),
        group: "graph".into(),
        ..info.variants[0].clone()
    };
    info.variants.push(graph);
    mirror.apply(Event::Started(Arc::new(info)));
    mirror.apply(Event::State(RunState::Paused));
    emit(&mut mirror, 0, None, false);
    mirror.apply(Event::Sample(Sample { variant: 1, ..of_text(recorded::graph_weights(0, 24).into_payload()) }));
    let mut harness = tile("bdh_rules", mirror);
    let product = harness.state().csv.clone();
    assert!(harness.state().subtitle.starts_with("BDH"), "{}", harness.state().subtitle);
    press(&mut harness, "BDH");
    harness.get_by_label("graph BDH").click();
    (0..3).for_each(|_| harness.step());
    assert_eq!(harness.state().selection.variant, 1);
    assert_ne!(harness.state().csv, product, "other weights");
    let subtitle = &harness.state().subtitle;
    assert!(subtitle.starts_with("graph BDH") && subtitle.contains("the trained edges"), "{subtitle}");
    // after a whole token, every state is divided by its root mean square, so none can diverge
    press(&mut harness, "step token");
    let squares: Vec<f64> = harness
        .state()
        .csv
        .as_ref()
        .unwrap()
        .lines()
        .skip(1)
        .map(|l| l.split(',').nth(2).unwrap().parse::<f64>().unwrap().powi(2))
        .collect();
    let mean = squares.iter().sum::<f64>() / 48.0;
    assert!(mean > 0.9 && mean < 1.0 + 1e-9, "{mean}");
    // three rounds later, the next token has arrived, the memory was read, and the graph's synapses were updated
    (0..3).for_each(|_| press(&mut harness, "step round"));
    harness.get_by_label_contains("of 144 synapses");
}

/// The time in seconds and the energy in the last row of the exported table.
fn energy(harness: &Harness<'_, Tile>) -> Option<(f64, f64)> {
    let csv = harness.state().csv.as_deref()?;
    let row: Vec<f64> = csv.lines().last()?.split(',').filter_map(|v| v.parse().ok()).collect();
    Some((*row.first()?, *row.last()?))
}

#[test]
fn poked_oscillators_swing_and_come_to_rest() {
    let mut harness = tile("oscillators", Mirror::default());
    let begun = energy(&harness).unwrap();
    wait(&mut harness, 30);
    assert_eq!(energy(&harness), Some(begun), "it stands until somebody acts");
    press(&mut harness, "rest");
    assert_eq!(harness.state().csv, None, "at rest, nothing to tell");
    let ring = rect_of(&harness, "particles on a circle");
    let radius = 0.5 * ring.width().min(ring.height()) - 4.0;
    click(&mut harness, ring.center() - vec2(0.0, 0.74 * radius));
    wait(&mut harness, 60);
    let (seconds, poked) = energy(&harness).unwrap();
    assert!((0.5..1.5).contains(&seconds) && poked > 0.05, "a second later: {seconds} {poked}");
    // without damping the oscillation continues, and pausing stops the time
    for (key, value) in [("toy.damping", "0"), ("toy.swing", "5"), ("toy.prods", "0")] {
        harness.state_mut().config.set_text(&knobs(), key, value).unwrap();
    }
    wait(&mut harness, 600);
    let (earlier, kept) = energy(&harness).unwrap();
    assert!(earlier > seconds + 5.0);
    wait(&mut harness, 300);
    let (later, still) = energy(&harness).unwrap();
    assert!(later > earlier + 3.0 && (still / kept - 1.0).abs() < 1e-6, "{kept} {still}");
    press(&mut harness, "pause");
    let stood = energy(&harness);
    wait(&mut harness, 60);
    assert_eq!(energy(&harness), stood);
    // with damping the system comes to rest and then requests no more frames
    harness.state_mut().config.set_text(&knobs(), "toy.damping", "5").unwrap();
    press(&mut harness, "play");
    wait(&mut harness, 300);
    harness.get_by_role_and_label(Role::Button, "play");
    assert!(!harness.ctx.has_requested_repaint());
}

/// The view shows the claim that the last answer belongs to, not the chosen one whose answer is still missing.
#[test]
fn a_claim_is_asked_for_and_shown_when_it_is_answered() {
    let mut harness = tile("bdh_theory", run(false));
    assert_eq!(questions(&harness).len(), 1);
    harness.get_by_role_and_label(Role::Button, "Facts held").click();
    harness.step();
    harness.step();
    let asked = questions(&harness).pop().unwrap();
    assert_eq!(asked.args.get("claim"), Some(&Value::Text("capacity".into())));
    assert!(harness.state().csv.as_ref().is_none_or(|csv| !csv.contains("64,16")));
    let curve = TheoryCurve { name: "independent keys".into(), y: vec![16.0, 70.0].into() };
    let theory = BdhTheory { claim: "capacity".into(), x: vec![64.0, 256.0].into(), curves: vec![curve] };
    let (about, request) = ("n = 128, seed 1".into(), Some(asked.request));
    let sample = Sample { about, request, ..bare_sample(theory.into_payload()) };
    harness.state_mut().mirror.apply(Event::Sample(sample));
    harness.step();
    harness.step();
    let csv = harness.state().csv.clone().unwrap_or_default();
    assert!(csv.contains("independent keys") && csv.contains("64,16"), "{csv}");
    assert!(harness.state().subtitle.contains("no model"));
}

/// Clicks into a tile that is too small for its picture must not cause a panic.
#[test]
fn a_tile_too_small_for_all_draws_what_it_can() {
    for view in ["bdh_rules", "bdh_checks", "oscillators"] {
        let mut harness = tile(view, run(true));
        harness.set_size(vec2(160.0, 120.0));
        (0..3).for_each(|_| harness.step());
        click(&mut harness, pos2(80.0, 100.0));
    }
}
