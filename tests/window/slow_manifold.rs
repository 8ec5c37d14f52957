//! Tests the slow manifold through user input: a start point that follows the pointer, settings that act in the next
//! frame, the switch between meanings, formulas that cannot be drawn. Without input, no frame may be requested.

use eframe::egui::{Modifiers, PointerButton, Pos2, accesskit::Role, vec2};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    config::{Config, Group, Value},
    labs::equilibrium::slow_manifold::SlowManifoldSettings,
    ui::mirror::Mirror,
};

use crate::{
    tessellation::unseen,
    tiles::{Tile, click, in_a_tile, painted, press, rect_of, sized},
};

const PLANE: &str = "slow manifold plane";

fn tile() -> Tile {
    let knobs = SlowManifoldSettings::default().knobs();
    Tile { config: Config::defaults("", &knobs), knobs, ..Tile::new("slow_manifold", Mirror::default()) }
}

fn shown() -> Harness<'static, Tile> {
    tile().shown(unseen(sized(900.0, 520.0)))
}

fn set(harness: &mut Harness<'_, Tile>, key: &str, value: Value) {
    let tile = harness.state_mut();
    tile.config.set(&tile.knobs.clone(), &format!("slow_manifold.{key}"), value).unwrap();
    harness.step();
}

fn rows(harness: &Harness<'_, Tile>, line: &str) -> Vec<[f64; 2]> {
    let table = harness.state().csv.clone().unwrap_or_default();
    let of_line = table.lines().filter(|l| l.split(',').next() == Some(line));
    let number = |l: &str, k: usize| l.split(',').nth(k).and_then(|v| v.parse().ok()).unwrap_or(f64::NAN);
    of_line.map(|l| [number(l, 2), number(l, 3)]).collect()
}

/// Returns all painted texts of the last frame, one per line.
fn words(harness: &Harness<'_, Tile>) -> String {
    painted(harness).join("\n")
}

#[test]
fn both_branches_and_their_folds_are_there_without_a_run() {
    let harness = shown();
    assert!(harness.state().subtitle.contains("van der Pol, \u{3b5} = 0.05 (P = 20)"), "{}", harness.state().subtitle);
    assert_eq!(rows(&harness, "fold").len(), 2);
    let [attracting, repelling] = ["attracting", "repelling"].map(|branch| rows(&harness, branch));
    assert!(!attracting.is_empty() && attracting.iter().all(|[x, _]| x.abs() > 0.999));
    assert!(!repelling.is_empty() && repelling.iter().all(|[x, _]| x.abs() < 1.001));
    for part in ["attracting", "repelling", "fold", "a cycle", "slope 1", "(1.00, 0.67)"] {
        assert!(words(&harness).contains(part), "{part} in {}", words(&harness));
    }
    assert!(harness.state().commands.is_empty(), "nothing is asked of a model");
}

#[test]
fn a_changed_setting_is_drawn_in_the_next_frame() {
    let mut harness = shown();
    let before = rows(&harness, "first order");
    set(&mut harness, "epsilon", Value::Float(0.01));
    let after = rows(&harness, "first order");
    assert!(before != after && harness.state().subtitle.contains("P = 100"));
    set(&mut harness, "system", Value::Text("cubic_fold".into()));
    set(&mut harness, "a", Value::Float(1.44));
    let mut folds = rows(&harness, "fold");
    folds.sort_by(|a, b| a[0].total_cmp(&b[0]));
    assert!((folds[0][0] + 1.2).abs() < 1e-6 && (folds[1][0] - 1.2).abs() < 1e-6, "{folds:?}");
    set(&mut harness, "a", Value::Float(-1.0));
    assert!(rows(&harness, "fold").is_empty(), "beyond the cusp there is no fold");
}

#[test]
fn clicks_and_drags_set_the_trajectory_start() {
    let mut harness = shown();
    let first = rows(&harness, "trajectory")[0];
    let rect = rect_of(&harness, PLANE);
    click(&mut harness, rect.center());
    let [x, y] = rows(&harness, "trajectory")[0];
    assert!(x.abs() < 0.02 && y.abs() < 0.02 && [x, y] != first, "{x} {y}");
    let press = |harness: &mut Harness<'_, Tile>, at: Pos2, pressed: bool| {
        harness.event(eframe::egui::Event::PointerMoved(at));
        let (button, modifiers) = (PointerButton::Primary, Modifiers::NONE);
        harness.event(eframe::egui::Event::PointerButton { pos: at, button, pressed, modifiers });
        harness.step();
    };
    press(&mut harness, rect.center(), true);
    let right = rect.center() + vec2(rect.width() / 4.0, 0.0);
    for share in [0.5, 1.0] {
        harness.event(eframe::egui::Event::PointerMoved(rect.center() + vec2(rect.width() / 4.0 * share, 0.0)));
        harness.step();
    }
    let [x, _] = rows(&harness, "trajectory")[0];
    assert!((x - 1.25).abs() < 0.05, "{x}");
    press(&mut harness, right, false);
    harness.key_press(eframe::egui::Key::ArrowLeft);
    harness.step();
    assert!(rows(&harness, "trajectory")[0][0] < x, "an arrow key moves it too");
}

#[test]
fn each_meaning_of_the_manifold_has_its_own_picture() {
    let mut harness = shown();
    harness.get_by_label("M1 operator").click();
    harness.step();
    harness.step();
    assert!(harness.state().subtitle.contains("doubly stochastic"), "{}", harness.state().subtitle);
    assert!(words(&harness).contains("constrains an operator"));
    harness.get_by_label("M2 sphere").click();
    harness.step();
    harness.step();
    let ends: Vec<[f64; 2]> = rows(&harness, "projection").chunks(2).map(|pair| pair[1]).collect();
    assert!(!ends.is_empty() && ends.iter().all(|[x, y]| (x.hypot(*y) - 1.0).abs() < 1e-9));
    harness.get_by_label("M3 dynamical").click();
    harness.step();
    harness.step();
    assert_eq!(rows(&harness, "fold").len(), 2);
}

#[test]
fn a_formula_that_cannot_be_drawn_is_reported_and_the_picture_stays() {
    let mut harness = shown();
    set(&mut harness, "system", Value::Text("formulas".into()));
    set(&mut harness, "f", Value::Text("y - x^2".into()));
    let good = rows(&harness, "attracting");
    assert!(!good.is_empty());
    for (f, said) in [
        ("y - (x", "cannot be read"),
        ("y - b*x", "`b`"),
        ("y - 1/x", "not finite"),
        ("y", "does not depend on x"),
        ("", "is empty"),
    ] {
        set(&mut harness, "f", Value::Text(f.into()));
        assert!(words(&harness).contains(said), "{f}: {}", words(&harness));
        assert!(words(&harness).contains("The last picture stays"), "{f}");
        harness.get_by_role_and_label(Role::Canvas, PLANE);
    }
    set(&mut harness, "f", Value::Text("y - x^2".into()));
    assert!(rows(&harness, "attracting") == good && !words(&harness).contains("stays"));
}

#[test]
fn the_canard_button_sets_a_canard_parameter() {
    let mut harness = shown();
    harness.get_by_label("to the canard").click();
    harness.step();
    harness.step();
    let a = harness.state().config.get("slow_manifold.a").and_then(|v| v.as_f64()).unwrap();
    assert!((a - 0.993_516).abs() < 1e-6, "{a}");
    assert!(words(&harness).contains("A canard: "), "{}", words(&harness));
}

#[test]
fn averaging_and_splitting_are_a_chart_beside_the_plane() {
    let mut harness = shown();
    assert!(rows(&harness, "error of averaging (y) by eps (x)").is_empty(), "nobody asked");
    harness.get_by_label("averaging").click();
    harness.step();
    harness.step();
    assert!(words(&harness).contains("averaged: slope") && !words(&harness).contains("to f = 0: slope"));
    let averaged = rows(&harness, "error of averaging (y) by eps (x)");
    let split = rows(&harness, "error of splitting (y) by eps (x)");
    assert_eq!((averaged.len(), split.len()), (16, 32));
    // a ten times larger eps makes the error of averaging ten times larger, and hardly changes that of splitting
    let ratio = |line: &[[f64; 2]]| line[5][1] / line[0][1];
    assert!((ratio(&averaged) / 10.0 - 1.0).abs() < 0.1 && ratio(&split) < 1.5, "{averaged:?} {split:?}");
    set(&mut harness, "f", Value::Text("x - y".into()));
    set(&mut harness, "system", Value::Text("formulas".into()));
    assert!(words(&harness).contains("no attracting branch"), "{}", words(&harness));
    harness.get_by_label("distance").click();
    harness.step();
    harness.step();
    assert!(rows(&harness, "error of averaging (y) by eps (x)").is_empty());
}

#[test]
fn no_repaint_is_requested_at_rest() {
    let mut harness = shown();
    for _ in 0..4 {
        harness.step();
    }
    let delay = harness.output().viewport_output.values().map(|v| v.repaint_delay).min().unwrap();
    assert!(delay > std::time::Duration::from_secs(1), "{delay:?}");
}

#[test]
fn scrolling_zooms_about_the_pointer_and_a_double_click_shows_all() {
    let mut harness = shown();
    let rect = rect_of(&harness, PLANE);
    let at = rect.center() + vec2(rect.width() / 4.0, -rect.height() / 8.0);
    let start_at = |harness: &mut Harness<'_, Tile>, at: Pos2| {
        click(harness, at);
        rows(harness, "trajectory")[0]
    };
    let (there, right) = (start_at(&mut harness, at), start_at(&mut harness, at + vec2(20.0, 0.0)));
    let zoom = |harness: &mut Harness<'_, Tile>| {
        harness.hover_at(at);
        harness.step();
        for _ in 0..8 {
            harness.event(eframe::egui::Event::MouseWheel {
                unit: eframe::egui::MouseWheelUnit::Point,
                delta: vec2(0.0, 60.0),
                phase: eframe::egui::TouchPhase::Move,
                modifiers: Modifiers::NONE,
                source: eframe::egui::MouseWheelSource::Unknown,
            });
            harness.run_steps(4);
        }
    };
    zoom(&mut harness);
    let (zoomed, beside) = (start_at(&mut harness, at), start_at(&mut harness, at + vec2(20.0, 0.0)));
    assert!((zoomed[0] - there[0]).abs() < 1e-3 && (zoomed[1] - there[1]).abs() < 1e-3, "{there:?} became {zoomed:?}");
    assert!((beside[0] - zoomed[0]) < 0.5 * (right[0] - there[0]), "as far on the screen is less in the plane");
    harness.key_press(eframe::egui::Key::Num0);
    harness.step();
    assert_eq!(start_at(&mut harness, at + vec2(20.0, 0.0)), right, "0 shows the whole plane");
    zoom(&mut harness);
    assert_ne!(start_at(&mut harness, at + vec2(20.0, 0.0)), right);
    harness.run_steps(30); // lets enough time pass that the next click does not count as the third of a triple click
    for _ in 0..2 {
        press(&mut harness, at, true);
        press(&mut harness, at, false);
    }
    harness.step();
    assert_eq!(start_at(&mut harness, at + vec2(20.0, 0.0)), right, "and so does a double-click");
}

/// A chart without room for names says how many lines it has, and lists all that the box under the pointer has.
#[test]
fn lines_without_names_are_counted_and_listed() {
    let size = vec2(352.0, 600.0);
    let mut harness = unseen(Harness::builder().with_size(size)).build_ui_state(in_a_tile(size), tile());
    harness.run_steps(3);
    assert!(words(&harness).lines().any(|words| words == "4 lines"), "{}", words(&harness));
    harness.get_by_role_and_label(Role::Button, "Every line of distance to the slow manifold").click();
    harness.run_steps(3);
    for wanted in ["to f = 0: slope 1 is the theorem", "to h\u{2080} + \u{3b5}h\u{2081}: slope 2 is the theorem"] {
        assert!(words(&harness).lines().any(|words| words == wanted), "{wanted} in {}", words(&harness));
    }
}
