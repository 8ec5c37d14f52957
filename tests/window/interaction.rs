//! What hands do to the views: zoom, division of axes, picking a token or a head, asking the model.
//! Needs no graphics adapter.

use crate::{
    recorded,
    tiles::{Tile, click, press, questions, rect_of, sized},
};
use eframe::egui::{self, accesskit::Role, pos2, vec2};
use egui_kittest::{Harness, HarnessBuilder, kittest::Queryable};
use orrery::{
    config::Value,
    telemetry::{Event, RunState},
    ui::mirror::Mirror,
};

fn tile(view: &str, mirror: Mirror) -> Harness<'static, Tile> {
    tile_in(sized(640.0, 400.0), view, mirror)
}

fn tile_in(builder: HarnessBuilder<Tile>, view: &str, mirror: Mirror) -> Harness<'static, Tile> {
    let (config, knobs) = (recorded::config(), recorded::knobs());
    Tile { config, knobs, ..Tile::new(view, mirror) }.shown(builder)
}

/// Steps of the first and last row of the table of what is shown.
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
    // The slider: the model is asked at the scale it was turned to.
    harness.get_by_role_and_label(Role::Slider, "s").set_value_accesskit(10.0);
    harness.step();
    harness.step();
    let asked = questions(&harness);
    let last = asked.last().unwrap();
    assert_eq!((asked.len(), last.probe.as_str()), (2, "causality"));
    assert_eq!(last.args.get("coupling_scale"), Some(&Value::Float(10.0)));
    // A token of the strip.
    let strip = harness.get_by_label_contains("tokens: ").rect();
    click(&mut harness, strip.left_top() + vec2(4.0, 8.0));
    let asked = questions(&harness);
    assert_eq!(asked.last().unwrap().args.get("position"), Some(&Value::Int(0)));
    assert_eq!(harness.state().selection.token, Some(0));
    // A sentence of one's own: the clicked place belonged to the other one.
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

/// The values of all lines under the pointer, in one box: looked at in the target folder.
#[test]
fn hovering_a_chart_draws_every_value_in_a_box() {
    if !crate::adapter::exists() {
        return;
    }
    for view in ["losses", "gate", "staircase", "attention"] {
        let mut harness = tile_in(sized(640.0, 400.0).wgpu(), view, recorded::twins());
        let plain = harness.render().unwrap();
        let name = if view == "attention" { "attention map" } else { view };
        let rect = rect_of(&harness, name);
        harness.hover_at(rect.left_top() + rect.size() * vec2(0.4, 0.6));
        for _ in 0..40 {
            harness.step();
        }
        let hovered = harness.render().unwrap();
        assert!(plain != hovered, "{view}: the pointer shows nothing");
        let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("views");
        std::fs::create_dir_all(&folder).unwrap();
        hovered.save(folder.join(format!("{view}-hovered.png"))).unwrap();
    }
}
