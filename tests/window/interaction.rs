//! Tests user input in views: zoom, logarithmic axes, the choice of a token or a head, questions to the model. Needs no
//! graphics adapter.

use crate::{
    recorded,
    tiles::{Tile, click, painted, press, questions, rect_of, sized},
};
use eframe::egui::{self, accesskit::Role, pos2, vec2};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    config::Value,
    telemetry::{Event, RunState},
    ui::{mirror::Mirror, plot::value_label},
};

fn tile(view: &str, mirror: Mirror) -> Harness<'static, Tile> {
    let (config, knobs) = (recorded::config(), recorded::knobs());
    Tile { config, knobs, ..Tile::new(view, mirror) }.shown(sized(640.0, 400.0))
}

/// The steps of the first and the last row of the exported table, which covers the zoomed range.
fn shown_steps(harness: &Harness<'_, Tile>) -> (u64, u64) {
    let csv = harness.state().csv.as_deref().unwrap();
    let step = |line: &str| line.split(',').next().unwrap().parse().unwrap();
    (step(csv.lines().nth(1).unwrap()), step(csv.lines().last().unwrap()))
}

#[test]
fn a_drag_zooms_and_a_double_click_shows_all_again() {
    let mut harness = tile("losses", recorded::twins());
    assert_eq!(shown_steps(&harness), (1, recorded::STEPS));
    let rect = rect_of(&harness, "losses");
    let at = |share: f32| pos2(rect.left() + rect.width() * share, rect.center().y);
    press(&mut harness, at(0.25), true);
    harness.event(egui::Event::PointerMoved(at(0.4)));
    harness.step();
    press(&mut harness, at(0.5), false);
    harness.step();
    let (from, to) = shown_steps(&harness);
    assert!(from.abs_diff(163) < 6 && to.abs_diff(325) < 6, "{from}..{to}");
    for _ in 0..2 {
        press(&mut harness, at(0.3), true);
        press(&mut harness, at(0.3), false);
    }
    harness.step();
    assert_eq!(shown_steps(&harness), (1, recorded::STEPS));
}

#[test]
fn a_click_on_an_axis_changes_its_division() {
    let mut harness = tile("losses", recorded::twins());
    harness.get_by_label("y axis of losses: make logarithmic").click();
    harness.step();
    harness.step();
    harness.get_by_label("y axis of losses: make linear").click();
    harness.step();
    harness.step();
    harness.get_by_label("y axis of losses: make logarithmic");
}

#[test]
fn a_token_clicked_on_the_staircase_is_selected_for_all_views() {
    let mut harness = tile("staircase", recorded::twins());
    let rect = rect_of(&harness, "staircase");
    click(&mut harness, pos2(rect.left() + rect.width() * 0.5, rect.center().y));
    let token = harness.state().selection.token.expect("a token");
    assert!((35..41).contains(&token), "{token}");
}

#[test]
fn a_head_clicked_in_the_grid_is_selected() {
    let mut harness = tile("attention", recorded::twins());
    harness.get_by_label("post.0.r1 head 2").click();
    harness.step();
    harness.step();
    let selection = &harness.state().selection;
    assert_eq!((selection.layer.as_deref(), selection.head), (Some("post.0.r1"), Some(2)));
    assert!(harness.state().csv.as_deref().unwrap().starts_with("post.0.r1.h2"));
}

#[test]
fn the_causality_view_asks_once_by_itself_and_again_at_each_change() {
    let mut harness = tile("causality", recorded::twins());
    harness.step();
    assert_eq!(questions(&harness).len(), 1, "once, not each frame");
    // a moved slider asks the model at the new scale
    harness.get_by_role_and_label(Role::Slider, "s").set_value_accesskit(10.0);
    harness.step();
    harness.step();
    let asked = questions(&harness);
    let last = asked.last().unwrap();
    assert_eq!((asked.len(), last.probe.as_str()), (2, "causality"));
    assert_eq!(last.args.get("coupling_scale"), Some(&Value::Float(10.0)));
    // a click on a token of the strip asks about its position
    let strip = harness.get_by_label_contains("tokens: ").rect();
    click(&mut harness, strip.left_top() + vec2(4.0, 8.0));
    let asked = questions(&harness);
    assert_eq!(asked.last().unwrap().args.get("position"), Some(&Value::Int(0)));
    assert_eq!(harness.state().selection.token, Some(0));
    // with another sentence the clicked position no longer applies
    let field = harness.get_by_label("sentence to read");
    field.focus();
    field.type_text("the key is under the stairs");
    harness.step();
    harness.step();
    let asked = questions(&harness);
    let args = &asked.last().unwrap().args;
    assert_eq!(args.get("text"), Some(&Value::Text("the key is under the stairs".into())));
    assert_eq!(args.get("position"), None);
}

#[test]
fn a_run_that_ended_in_an_error_is_not_asked() {
    let mut mirror = recorded::twins();
    mirror.apply(Event::State(RunState::Failed { message: "loss is not a number".into() }));
    let mut harness = tile("causality", mirror);
    harness.step();
    assert!(questions(&harness).is_empty());
}

#[test]
fn seeds_of_one_variant_become_a_mean_and_a_band() {
    let harness = tile("accuracy", recorded::seeds());
    let csv = harness.state().csv.as_deref().unwrap();
    let head = csv.lines().next().unwrap();
    assert!(head.contains("coupled") && head.contains("(low)") && head.contains("frozen"), "{head}");
}

/// The position of the pointer along the axis with this name, and the rows of the readout there.
fn readout(harness: &Harness<'_, Tile>, axis: &str) -> (f64, Vec<[String; 2]>) {
    let all = painted(harness);
    let place = |words: &String| words.strip_prefix(axis)?.trim().parse::<f64>().ok();
    let head = all.iter().rposition(|words| place(words).is_some()).unwrap_or_else(|| panic!("no box in {all:?}"));
    let rows = all[head + 1..].as_chunks().0.to_vec();
    (place(&all[head]).unwrap_or(f64::NAN), rows)
}

/// The header and the rows of the exported table.
fn table(harness: &Harness<'_, Tile>) -> (Vec<String>, Vec<Vec<String>>) {
    let mut reader = csv::Reader::from_reader(harness.state().csv.as_deref().unwrap().as_bytes());
    let fields = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
    let header = fields(reader.headers().unwrap());
    (header, reader.records().map(|record| fields(&record.unwrap())).collect())
}

fn hover(harness: &mut Harness<'_, Tile>, canvas: &str) {
    let rect = rect_of(harness, canvas);
    harness.hover_at(rect.left_top() + rect.size() * vec2(0.4, 0.6));
    (0..40).for_each(|_| harness.step());
}

/// The readout lists each line's name and its newest value at or before the pointer. If that value's step differs from
/// the readout's step, the step is added.
#[test]
fn hovering_a_chart_shows_the_value_of_every_line() {
    for view in ["losses", "gate", "staircase"] {
        let mut harness = tile(view, recorded::twins());
        hover(&mut harness, view);
        let (header, records) = table(&harness);
        let (x, mut rows) = readout(&harness, &header[0]);
        // excludes the unsmoothed lines, and the other charts of the gate's view
        let is_line = |name: &String| {
            !["dLoss", "entropy"].iter().any(|other| name.starts_with(other)) && !name.ends_with(" (raw)")
        };
        let row = |column: usize| {
            let so_far = records.iter().map(|row| (row[0].parse::<f64>().unwrap(), &row[column]));
            let known = so_far.take_while(|(at, _)| *at <= x).filter_map(|(at, value)| Some((at, value.parse().ok()?)));
            let (at, value) = known.last().unwrap();
            let name = &header[column];
            let step = if at == x { String::new() } else { format!(", {} {at}", header[0]) };
            [format!("{name}{step}"), value_label(value)]
        };
        let columns = (1..header.len()).filter(|column| is_line(&header[*column]));
        let wanted: Vec<[String; 2]> = columns.map(row).collect();
        let is_smoothed = wanted.iter().any(|[name, _]| name.contains(", smoothed"));
        assert_eq!(is_smoothed, view == "losses", "{wanted:?}");
        assert!(wanted.len() > 1, "{view}: {header:?}");
        rows.truncate(wanted.len());
        assert_eq!(rows, wanted, "{view} at {x}");
    }
}

#[test]
fn hovering_a_map_shows_the_weight_of_the_cell() {
    let mut harness = tile("attention", recorded::twins());
    hover(&mut harness, "attention map");
    let said = painted(&harness).into_iter().find(|words| words.contains(" attends to ")).expect("a box");
    let (cell, weight) = said.split_once('\n').unwrap();
    let (row, col) = cell.split_once(" attends to ").unwrap();
    let position = |words: &str| words.split(' ').next().unwrap().parse::<usize>().unwrap();
    let written: f32 = table(&harness).1[position(row)][position(col) + 1].parse().unwrap();
    assert_eq!(weight, value_label(f64::from(written)), "{cell}");
}
