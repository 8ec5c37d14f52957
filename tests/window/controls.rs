//! Tests the control panel: it shows the essential settings and unfolds the others, lists changes, and respects what a
//! link locks and hides. Needs no graphics adapter.

use std::collections::BTreeSet;

use eframe::egui::{
    self, Key, Modifiers, OutputCommand,
    accesskit::{Role, Toggled},
};
use egui_kittest::{
    Node,
    kittest::{NodeT, Queryable},
};
use orrery::{
    config::{Applies, Value},
    experiments::permalink::{Link, Permalink},
    labs::{LABS, Lab, lesson::LessonLink, restrictions::Restrictions},
    telemetry::Command,
    ui::{
        app::Opening,
        panels::{CONTROLS_WIDTH, TOP_BAR_HEIGHT, TRANSPORT_HEIGHT},
        view::LOCKED,
        views::{VIEWS, ViewEntry},
    },
};

use crate::ui::{CONTROLS as ROLES, Desktop, Worker, open_labs};

const SIZE: [f32; 2] = [1280.0, 800.0];

fn open(opening: Opening, views: &'static [ViewEntry]) -> Desktop {
    let mut d = open_labs(opening, Worker::Steps, views, SIZE);
    d.steps(6);
    d
}

fn lab_page(lab: &str) -> Desktop {
    open(Opening::Lab(lab.to_owned()), &[])
}

/// The rectangles of the nodes with this label in the panel.
fn in_panel(d: &Desktop, label: &str) -> Vec<egui::Rect> {
    let all = d.harness.query_all_by_label(label).map(|node| node.rect());
    all.filter(|rect| rect.right() < CONTROLS_WIDTH + 4.0).collect()
}

fn label_of(lab: &Lab, key: &str) -> &'static str {
    (lab.knobs)().iter().find(|knob| knob.key == key).expect("a setting").label
}

fn set(d: &mut Desktop, label: &str, value: f64) {
    d.harness.get_by_role_and_label(Role::SpinButton, label).set_value_accesskit(value);
    d.steps(4);
}

fn number(d: &Desktop, key: &str) -> f64 {
    d.page().config.get(key).and_then(Value::as_f64).expect("a number")
}

fn paste(d: &mut Desktop, text: &str) {
    d.harness.event(egui::Event::Paste(text.to_owned()));
    d.steps(12);
}

#[test]
fn a_lab_opens_with_its_essential_settings_in_sight() {
    for lab in LABS {
        let d = lab_page(lab.id);
        let foot = SIZE[1] - TRANSPORT_HEIGHT;
        let all = d.harness.get_by_label_contains("All settings").rect();
        assert!(all.bottom() < foot, "{}: {all}", lab.id);
        let knobs = (lab.knobs)();
        for knob in &knobs {
            let places = in_panel(&d, knob.label);
            if lab.essentials.contains(&knob.key) {
                let is_in_sight = places.iter().any(|place| place.bottom() < all.top() && place.top() > 40.0);
                assert!(is_in_sight, "{}: {} at {places:?}", lab.id, knob.key);
            }
        }
        assert!(in_panel(&d, "Warm-up").is_empty(), "{}: other settings are folded", lab.id);
        let heads = [("Acts now", false), ("At the next run", true)];
        for (head, waits) in heads {
            let wanted = |key: &&str| knobs.iter().any(|k| k.key == *key && (k.applies == Applies::AtReset) == waits);
            let is_wanted = lab.essentials.iter().any(wanted);
            assert_eq!(in_panel(&d, head).len(), usize::from(is_wanted), "{}: {head}", lab.id);
        }
    }
}

/// Role, name, value and toggle state of a control.
type Shown = (Role, String, Option<f64>, Option<Toggled>);

fn described(node: &Node<'_>) -> Shown {
    let node = node.accesskit_node();
    (node.role(), node.label().unwrap_or_default(), node.numeric_value(), node.toggled())
}

/// The control that has keyboard focus.
fn focused(d: &Desktop) -> Option<Shown> {
    d.harness.query_all_by(|node| node.is_focused() && ROLES.contains(&node.role())).next().map(|node| described(&node))
}

/// Tab reaches every control of a page. An arrow key moves a slider, typed text goes into a field, and Space toggles a
/// switch.
#[test]
fn every_control_is_reached_and_changed_by_the_keyboard() {
    let mut d = open(Opening::Lab("fast_slow".into()), VIEWS);
    d.until("ready", |d| d.state() == "ready");
    d.unfold_settings();
    let controls = d.harness.query_all_by(|node| ROLES.contains(&node.role()) && !node.is_disabled());
    let named = |(role, name, ..): &Shown| format!("{role:?} {name}");
    let mut missed: BTreeSet<String> = controls.map(|node| named(&described(&node))).collect();
    assert!(missed.len() > 60, "{missed:?}");
    let mut changed = [0; 3];
    for _ in 0..500 {
        d.press(Key::Tab);
        let Some(before) = focused(&d) else { continue };
        if !missed.remove(&named(&before)) {
            continue;
        }
        match before.0 {
            Role::Slider => {
                let is_moved =
                    [[Key::ArrowRight, Key::ArrowLeft], [Key::ArrowLeft, Key::ArrowRight]].iter().any(|keys| {
                        d.press(keys[0]);
                        let is_moved = focused(&d).is_some_and(|now| now.1 == before.1 && now.2 != before.2);
                        if is_moved {
                            d.press(keys[1]);
                        }
                        is_moved
                    });
                assert!(is_moved, "no arrow moves {before:?}");
                changed[0] += 1;
            }
            Role::Switch => {
                for is_turned in [true, false] {
                    d.press(Key::Space);
                    assert_eq!(focused(&d).is_some_and(|now| now.3 != before.3), is_turned, "{before:?}");
                }
                changed[1] += 1;
            }
            Role::TextInput => {
                let text = |d: &Desktop| {
                    let field = d.harness.query_all_by(|node| node.is_focused()).next();
                    field.and_then(|node| node.accesskit_node().value()).unwrap_or_default()
                };
                let as_before = text(&d);
                d.harness.event(egui::Event::Text("q".into()));
                d.steps(2);
                assert_ne!(text(&d), as_before, "{before:?}");
                d.press(Key::Backspace);
                changed[2] += 1;
            }
            _ => {}
        }
        if missed.is_empty() {
            break;
        }
    }
    assert!(missed.is_empty(), "Tab does not lead to {missed:?}");
    assert!(changed.iter().all(|number| *number > 0), "{changed:?}");
}

/// Tab leads through more settings than the panel has room for: it scrolls.
#[test]
fn what_tab_leads_to_is_in_sight() {
    let mut d = open(Opening::Lab("fast_slow".into()), VIEWS);
    d.until("ready", |d| d.state() == "ready");
    d.unfold_settings();
    let mut in_controls = 0;
    for _ in 0..150 {
        d.press(Key::Tab);
        d.steps(3);
        let Some([sight, place]) = d.focused() else { continue };
        // of what is higher than its room a part is in sight
        let is_in_sight = sight.height() >= place.height().min(100.0) - 1.0;
        assert!(is_in_sight, "{:?} at {place:?}, of which {sight:?} is in sight", focused(&d));
        in_controls += usize::from(place.right() < CONTROLS_WIDTH);
    }
    assert!(in_controls > 60, "{in_controls} controls were passed");
}

/// The control would otherwise show a neuron that no view is about.
#[test]
fn the_neuron_to_follow_is_the_one_that_is_selected() {
    let mut d = open(Opening::Lab("trained_bdh".into()), VIEWS);
    let field = |d: &Desktop| {
        let node = d.harness.get_by_role_and_label(Role::TextInput, "Neuron to follow");
        node.accesskit_node().value().unwrap_or_default()
    };
    assert_eq!(field(&d), "0:0");
    paste(&mut d, "orrery:trained_bdh#neuron=7");
    assert_eq!((d.page().selection.neuron, field(&d)), (Some(7), "7".to_owned()));
    d.harness.get_by_role_and_label(Role::TextInput, "Neuron to follow").click();
    d.steps(2);
    d.harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    d.harness.event(egui::Event::Text("0:3".into()));
    d.press(Key::Enter);
    d.steps(3);
    assert_eq!((d.page().selection.neuron, field(&d)), (None, "0:3".to_owned()), "what is typed counts");
}

#[test]
fn a_number_field_is_typed_by_keyboard_and_tab_does_not_round_it() {
    let mut d = lab_page("fast_slow");
    // it has more digits than the field shows: leaving the field must not round the setting
    let rate = 0.001_234_56;
    set(&mut d, "Learning rate", rate);
    let reach = |d: &mut Desktop| {
        let is_there = |control: Shown| control.0 == Role::SpinButton && control.1 == "Learning rate";
        let found = (0..200).any(|_| {
            d.press(Key::Tab);
            focused(d).is_some_and(is_there)
        });
        assert!(found, "Tab leads to the field");
    };
    reach(&mut d);
    d.press(Key::Tab);
    assert_eq!(number(&d, "train.lr"), rate);
    reach(&mut d);
    d.harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    d.harness.event(egui::Event::Text("0.002".into()));
    d.press(Key::Tab);
    assert_eq!(number(&d, "train.lr"), 0.002);
}

#[test]
fn settings_stand_under_the_time_at_which_they_act() {
    let d = lab_page("fast_slow");
    let top = |label: &str| in_panel(&d, label)[0].top();
    let (now, next) = (top("Acts now"), top("At the next run"));
    assert!(now < top("Coupling scale") && top("Coupling scale") < next && top("Learning rate") < next);
    assert!(top("Fast window") > next && top("Corpus") > next);
}

#[test]
fn settings_of_a_run_that_has_ended_stand_under_the_next_run() {
    let mut d = open_labs(Opening::Lab("fast_slow".to_owned()), Worker::Fails, &[], SIZE);
    d.steps(6);
    d.press(Key::Space);
    d.until("the end", |d| d.state() == "failed");
    d.steps(3);
    let top = |d: &Desktop, label: &str| in_panel(d, label)[0].top();
    let next = top(&d, "At the next run");
    assert!(top(&d, "Coupling scale") > next && top(&d, "Learning rate") > next);
    set(&mut d, "Learning rate", 0.02);
    assert!(d.shows("1 change applies at reset"));
    assert!(!d.sent(|command| matches!(command, Command::Set { .. })));
    d.command(Key::Z);
    assert!(!d.shows("applies at reset"));
}

#[test]
fn changes_that_wait_have_room_only_while_there_are_some() {
    let mut d = lab_page("fast_slow");
    d.until("ready", |d| d.state() == "ready");
    d.press(Key::ArrowRight);
    d.until("a step", |d| d.page().newest() > 0);
    assert!(!d.page().controls.has_pending, "a run has begun");
    let button = egui::PointerButton::Primary;
    let event = |pressed| egui::Event::PointerButton {
        pos: egui::pos2(1000.0, 20.0),
        button,
        pressed,
        modifiers: Modifiers::NONE,
    };
    d.harness.event(event(true));
    set(&mut d, "Fast window", 16.0);
    assert!(!d.page().controls.has_pending && !d.shows("applies at reset"), "nothing moves while a button is held");
    d.harness.event(event(false));
    d.steps(4);
    assert!(d.page().controls.has_pending && d.shows("1 change applies at reset"));
    d.command(Key::Z);
    d.steps(4);
    assert!(!d.page().controls.has_pending && !d.shows("applies at reset"));
}

/// A window of 1280 points at 100%, at 200%, at 250%, and at 250% in presenter mode.
#[test]
fn controls_of_the_bars_stand_apart_at_any_width() {
    for width in [1280.0, 640.0, 512.0, 341.0] {
        // so high that no panel scrolls
        let mut d = open_labs(Opening::Lab("fast_slow".to_owned()), Worker::Steps, &[], [width, 3000.0]);
        d.until("ready", |d| d.state() == "ready");
        d.press(Key::ArrowRight);
        d.until("a step", |d| d.page().newest() > 0);
        let sheet = d.harness.ctx.content_rect();
        let bars = [TOP_BAR_HEIGHT, sheet.bottom() - TRANSPORT_HEIGHT];
        let is_in_bar = |rect: &egui::Rect| rect.bottom() <= bars[0] || rect.top() >= bars[1];
        let nodes = d
            .harness
            .query_all_by(|node| ROLES.contains(&node.role()) || [Role::Label, Role::Status].contains(&node.role()));
        let named = |node: Node<'_>| (node.accesskit_node().label().unwrap_or_default(), node.rect());
        let all: Vec<(String, egui::Rect)> = nodes.map(named).filter(|(_, rect)| is_in_bar(rect)).collect();
        assert!(all.iter().any(|(name, _)| name == "Reset"), "{width}: {all:?}");
        for (i, (name, rect)) in all.iter().enumerate() {
            assert!(sheet.expand(1.0).contains_rect(*rect), "{width}: {name} at {rect:?}");
            for (other, place) in &all[..i] {
                assert!(!rect.shrink(1.0).intersects(*place), "{width}: {name} at {rect:?}, {other} at {place:?}");
            }
        }
    }
}

/// A page of 1280x780 at 250% scrolls its tiles, which end where the bar at the foot begins.
#[test]
fn tiles_of_a_low_page_do_not_cover_the_bar_at_the_foot() {
    let mut d = open_labs(Opening::Lab("traces".to_owned()), Worker::Steps, VIEWS, [512.0, 312.0]);
    d.steps(6);
    let bar = d.harness.ctx.content_rect().bottom() - TRANSPORT_HEIGHT;
    let drawn = d.harness.output().shapes.iter().map(|s| s.shape.visual_bounding_rect().intersect(s.clip_rect));
    let over: Vec<egui::Rect> =
        drawn.filter(|r| r.is_positive() && r.top() < bar - 8.0 && r.bottom() > bar + 8.0).collect();
    assert!(over.is_empty(), "{over:?} over {bar}");
}

#[test]
fn all_settings_unfold_and_stay_so_in_other_labs() {
    let mut d = lab_page("fast_slow");
    assert!(in_panel(&d, "Warm-up").is_empty());
    d.unfold_settings();
    assert!(!in_panel(&d, "Warm-up").is_empty());
    assert_eq!(d.harness.query_all_by_role_and_label(Role::Slider, "Learning rate").count(), 1, "none stands twice");
    paste(&mut d, "orrery:traces");
    assert_eq!(d.page().lab.id, "traces");
    d.steps(20);
    assert!(!in_panel(&d, "Warm-up").is_empty(), "the window remembers it");
    d.unfold_settings();
    assert!(in_panel(&d, "Warm-up").is_empty(), "the same click folds them");
}

#[test]
fn changes_are_listed_and_go_back_to_the_preset() {
    let mut d = lab_page("fast_slow");
    assert!(!d.shows("Changed from preset"));
    let before = d.page().config.clone();
    set(&mut d, "Coupling scale", 2.0);
    assert!(d.shows("Changed from preset"));
    d.click("Coupling scale back to the preset");
    assert_eq!(d.page().config, before);
    assert!(!d.shows("Changed from preset"));
    set(&mut d, "Coupling scale", 2.0);
    set(&mut d, "Fast window", 16.0);
    let changed = d.page().config.clone();
    d.click("Back to preset");
    assert_eq!(d.page().config, before);
    assert!(!d.shows("Changed from preset"));
    d.command(Key::Z);
    assert_eq!(d.page().config, changed, "one step takes it back");
    assert!(d.shows("Undid: back to the preset"));
    assert!(d.shows("Fast window back to the preset") && d.shows("Coupling scale back to the preset"));
}

#[test]
fn a_search_finds_a_folded_setting() {
    let mut d = lab_page("fast_slow");
    d.harness.get_by_role_and_label(Role::TextInput, "Find a control").focus();
    d.steps(2);
    d.harness.get_by_role_and_label(Role::TextInput, "Find a control").type_text("warm");
    d.steps(20);
    assert!(!in_panel(&d, "Warm-up").is_empty() && in_panel(&d, "Coupling scale").is_empty());
}

/// A text field has its own undo. A text that was undone in the field must not leave a step in the page's undo history.
#[test]
fn a_text_that_was_undone_where_it_was_typed_leaves_no_step() {
    let mut d = open(Opening::Lab("traces".into()), VIEWS);
    d.until("the field", |d| d.harness.query_by_role_and_label(Role::TextInput, "sentence").is_some());
    let before = d.page().config.clone();
    let next_undo = |d: &Desktop| d.page().history.next_undo().map(str::to_owned);
    let last_step = next_undo(&d);
    let field = d.harness.get_by_role_and_label(Role::TextInput, "sentence");
    field.focus();
    d.steps(4);
    for word in [" and", " then"] {
        d.harness.get_by_role_and_label(Role::TextInput, "sentence").type_text(word);
        d.steps(90);
    }
    assert_ne!(d.page().config, before);
    for _ in 0..8 {
        d.command(Key::Z);
    }
    assert_eq!(d.page().config, before, "the field took it back");
    d.press(Key::Escape);
    assert_eq!(next_undo(&d), last_step);
}

#[test]
fn a_setting_found_in_the_palette_is_unfolded() {
    let mut d = lab_page("fast_slow");
    d.run_command("warm-up control");
    d.steps(60);
    let place = in_panel(&d, "Warm-up");
    assert!(place.iter().any(|place| place.top() > 40.0 && place.bottom() < SIZE[1] - TRANSPORT_HEIGHT), "{place:?}");
}

#[test]
fn a_lesson_shows_its_controls_whether_essential_or_not() {
    // the lesson's step needs the number of tokens to read, which is not among the essential settings
    let needs = ["contexts.of", "contexts.tokens"];
    let lab = orrery::labs::find("trained_bdh").unwrap();
    assert!(!lab.essentials.contains(&needs[1]));
    let d = open(Opening::Lesson(LessonLink::new(lab.id, 3)), VIEWS);
    assert!(d.page().lesson.is_focused);
    for key in needs {
        assert!(!in_panel(&d, label_of(lab, key)).is_empty(), "{key}");
    }
    assert!(!d.shows("All settings"));
}

#[test]
fn a_control_that_a_tile_has_is_not_shown_twice() {
    let mut d = open(Opening::Lab("ode_flow".into()), VIEWS);
    paste(&mut d, "orrery:ode_flow#view=steer");
    d.until("the dials", |d| d.shows("Control u₀ is in the tile Steering"));
    assert!(d.harness.query_by_role_and_label(Role::Slider, "Control u₀").is_none());
    assert!(d.harness.query_by_role_and_label(Role::Slider, "u\u{2080}").is_some());
    paste(&mut d, "orrery:ode_flow#view=losses");
    d.until("the control", |d| d.harness.query_by_role_and_label(Role::Slider, "Control u₀").is_some());
    assert!(!d.shows("is in the tile Steering"));
}

#[test]
fn a_tile_that_has_a_control_shows_it_before_anything_is_measured() {
    for (link, claimed, shown) in [
        ("orrery:neuron_graph#view=graph_threshold", "Sign is in the tile Threshold", "inhibitory"),
        ("orrery:trained_bdh#view=top_contexts", "Activity to follow is in the tile Top contexts", "synapse"),
    ] {
        let mut d = open(Opening::Lab("fast_slow".into()), VIEWS);
        paste(&mut d, link);
        d.until("the name of the control", |d| d.shows(claimed));
        assert_eq!(d.harness.query_all_by_role_and_label(Role::Button, shown).count(), 1, "{link}");
    }
}

#[test]
fn a_view_claims_settings_that_a_lab_has() {
    let keys: Vec<&str> = LABS.iter().flat_map(|lab| (lab.knobs)()).map(|knob| knob.key).collect();
    let mut claims = 0;
    for view in VIEWS {
        for key in (view.make)().controls() {
            assert!(keys.contains(key), "{}: {key}", view.id);
            claims += 1;
        }
    }
    assert!(claims > 10, "{claims}");
}

#[test]
fn a_way_leads_to_the_tile_that_has_a_control() {
    let mut d = open(Opening::Lab("traces".into()), VIEWS);
    d.until("the tile", |d| d.shows("Sentence is in the tile"));
    assert!(d.harness.query_by_role_and_label(Role::TextInput, "Sentence").is_none());
    d.harness.get_by_label_contains("Sentence is in the tile").click();
    d.steps(3);
    let page = d.page();
    let selected = page.tiling.selected.expect("a tile is selected");
    let (_, view) = page.tiling.in_order().into_iter().find(|(id, _)| *id == selected).unwrap();
    assert_eq!(page.controls.in_tiles.get("traces.sentence"), Some(&view));
}

const RESTRICTED: &str = "orrery:fast_slow?lock=train,model.coupling_scale&hide=variants&answers=hidden";

fn rate_is_locked(d: &Desktop) -> bool {
    d.harness.get_by_role_and_label(Role::Slider, "Learning rate").accesskit_node().is_disabled()
}

#[test]
fn a_link_locks_and_hides_controls_until_they_are_unlocked() {
    let mut d = lab_page("fast_slow");
    set(&mut d, "Coupling scale", 2.0);
    paste(&mut d, RESTRICTED);
    assert!(d.shows("The link locks") && d.shows("and hides"));
    assert!(rate_is_locked(&d) && in_panel(&d, "Seeds").is_empty());
    let config = d.page().config.clone();
    d.harness.get_by_role_and_label(Role::SpinButton, "Learning rate").set_value_accesskit(0.5);
    d.harness.get_by_role_and_label(Role::SpinButton, "Coupling scale").set_value_accesskit(5.0);
    d.steps(4);
    assert_eq!(d.page().config, config);
    d.command(Key::Z);
    assert_eq!(number(&d, "model.coupling_scale"), number_of(&config, "model.coupling_scale"), "undo neither");
    set(&mut d, "Fast window", 16.0);
    assert_eq!(number(&d, "model.fast_window"), 16.0, "what is not locked can be moved");
    d.harness.hover_at(in_panel(&d, "Learning rate")[0].center());
    d.steps(90);
    assert!(d.shows(LOCKED));
    d.click("Unlock");
    d.steps(4);
    assert!(!rate_is_locked(&d) && !in_panel(&d, "Seeds").is_empty() && !d.shows("The link locks"));
    set(&mut d, "Coupling scale", 3.0);
    assert_eq!(number(&d, "model.coupling_scale"), 3.0);
}

/// The controls that have a padlock, by name.
fn padlocks(d: &Desktop) -> BTreeSet<String> {
    let labels = d.harness.query_all_by_role(Role::Image).filter_map(|node| node.accesskit_node().label());
    labels.filter_map(|label| Some(label.strip_suffix(": locked")?.to_owned())).collect()
}

#[test]
fn a_locked_control_has_a_padlock_and_a_free_one_none() {
    let mut d = lab_page("fast_slow");
    assert_eq!(padlocks(&d), BTreeSet::new());
    paste(&mut d, "orrery:fast_slow?lock=train.lr,seed");
    assert_eq!(padlocks(&d), BTreeSet::from(["Learning rate".to_owned(), "Seed".to_owned()]));
    let (padlock, name) = (d.harness.get_by_label("Learning rate: locked").rect(), in_panel(&d, "Learning rate")[0]);
    assert!(padlock.left() >= 0.0 && padlock.right() <= name.left(), "{padlock} {name}");
    assert!(padlock.y_range().contains(name.center().y), "{padlock} {name}");
    d.harness.hover_at(padlock.center());
    d.until("why, under the pointer", |d| d.shows(LOCKED));
    d.click("Unlock");
    d.steps(4);
    assert_eq!(padlocks(&d), BTreeSet::new());
}

#[test]
fn nothing_goes_back_to_the_preset_while_all_that_was_changed_is_locked() {
    let mut d = open(Opening::Lab("fast_slow".into()), VIEWS);
    let is_disabled = |d: &Desktop| d.harness.get_by_label("Back to preset").accesskit_node().is_disabled();
    paste(&mut d, "orrery:fast_slow?train.lr=0.25&lock=train#view=gate");
    assert!(d.shows("Changed from preset"));
    assert!(is_disabled(&d));
    set(&mut d, "Coupling scale", 2.0);
    assert!(!is_disabled(&d));
    d.command(Key::Z);
    d.command(Key::Z);
    assert!(d.shows("Undid: opened page"), "nothing was pasted");
}

#[test]
fn a_link_locks_or_hides_the_seed() {
    let mut d = lab_page("fast_slow");
    let seed = d.page().config.seed;
    let field = |d: &Desktop| {
        let mut fields = d.harness.query_all_by_role_and_label(Role::SpinButton, "seed");
        fields.next().map(|node| node.accesskit_node().is_disabled())
    };
    assert_eq!(field(&d), Some(false));
    paste(&mut d, "orrery:fast_slow?lock=seed");
    assert!(d.shows("The link locks 1 control.") && field(&d) == Some(true));
    d.harness.get_by_role_and_label(Role::SpinButton, "seed").set_value_accesskit(99.0);
    d.steps(4);
    assert_eq!(d.page().config.seed, seed);
    d.click("Unlock");
    d.steps(4);
    assert_eq!(field(&d), Some(false));
    paste(&mut d, "orrery:fast_slow?hide=seed");
    assert_eq!(field(&d), None);
}

/// Device and threads are in the top bar and not in the control panel, so they need their own check.
#[test]
fn a_link_locks_or_hides_device_and_threads() {
    let mut d = lab_page("fast_slow");
    let fields = |d: &Desktop| {
        [(Role::ComboBox, "on"), (Role::SpinButton, "Threads")].map(|(role, label)| {
            let mut all = d.harness.query_all_by_role_and_label(role, label);
            all.next().map(|node| node.accesskit_node().is_disabled())
        })
    };
    assert_eq!(fields(&d), [Some(false); 2]);
    paste(&mut d, "orrery:fast_slow?lock=run");
    assert_eq!(fields(&d), [Some(true); 2]);
    paste(&mut d, "orrery:fast_slow?lock=run.threads");
    assert_eq!(fields(&d), [Some(false), Some(true)]);
    paste(&mut d, "orrery:fast_slow?hide=run");
    assert_eq!(fields(&d), [None; 2]);
}

#[test]
fn a_locked_setting_is_not_changed_in_a_tile() {
    let mut d = open(Opening::Lab("ode_flow".into()), VIEWS);
    paste(&mut d, "orrery:ode_flow?lock=control#view=steer");
    d.until("the dials", |d| dial(d).is_some());
    let before = number(&d, "control.u0");
    let value = |d: &Desktop| {
        let dial = d.harness.get_by_role_and_label(Role::Slider, "u\u{2080}");
        dial.accesskit_node().numeric_value()
    };
    let shown = value(&d);
    d.harness.get_by_role_and_label(Role::Slider, "u\u{2080}").set_value_accesskit(1.0);
    d.steps(4);
    assert_eq!((number(&d, "control.u0"), value(&d)), (before, shown));
    assert_eq!(dial(&d), Some(true), "it is disabled");
    let is_in_tile = |node: Node<'_>| node.rect().left() > CONTROLS_WIDTH;
    assert!(d.harness.query_all_by_label("Control u\u{2080}: locked").any(is_in_tile), "no padlock in the tile");
    d.harness.get_by_role_and_label(Role::Slider, "u\u{2080}").hover();
    d.until("why, under the pointer", |d| d.shows(LOCKED));
}

/// True if the first slider of *Steering* is disabled; `None` if it is not shown.
fn dial(d: &Desktop) -> Option<bool> {
    let mut all = d.harness.query_all_by_role_and_label(Role::Slider, "u\u{2080}");
    all.next().map(|node| node.accesskit_node().is_disabled())
}

#[test]
fn a_link_locks_or_hides_the_controls_in_views() {
    let mut d = open(Opening::Lab("ode_flow".into()), VIEWS);
    paste(&mut d, "orrery:ode_flow#view=steer");
    d.until("the dials", |d| dial(d) == Some(false));
    paste(&mut d, "orrery:ode_flow?lock=view_controls#view=steer");
    d.until("locked dials", |d| dial(d) == Some(true));
    assert!(padlocks(&d).contains("Controls of the view"));
    assert!(d.shows("The link locks the controls in the views.") && d.shows("Control u₀ is in the tile Steering"));
    paste(&mut d, "orrery:ode_flow?hide=view_controls#view=steer");
    d.until("the setting in the panel", |d| d.harness.query_by_role_and_label(Role::Slider, "Control u₀").is_some());
    assert!(d.shows("The link hides the controls in the views.") && dial(&d).is_none());
    d.click("Unlock");
    d.until("the dials again", |d| dial(d) == Some(false));
    assert!(!d.shows("the controls in the views"));
}

fn number_of(config: &orrery::config::Config, key: &str) -> f64 {
    config.get(key).and_then(Value::as_f64).expect("a number")
}

#[test]
fn a_preset_keeps_what_is_locked_and_another_link_ends_it() {
    let mut d = lab_page("fast_slow");
    paste(&mut d, RESTRICTED);
    let rate = number(&d, "train.lr");
    d.run_command("needed preset");
    assert_eq!((d.page().config.preset.as_str(), number(&d, "train.lr")), ("fast_slow_needed", rate));
    assert!(rate_is_locked(&d), "the page is still that of the link");
    paste(&mut d, "orrery:fast_slow?train.lr=0.25");
    assert_eq!((number(&d, "train.lr"), rate_is_locked(&d)), (0.25, false));
    assert_eq!(d.page().restrictions, Restrictions::default());
}

/// Presses Enter; returns the restrictions of the link to a page that this copies.
fn copied_restrictions(d: &mut Desktop) -> Restrictions {
    let modifiers = Modifiers::NONE;
    d.harness.event(egui::Event::Key { key: Key::Enter, physical_key: None, pressed: true, repeat: false, modifiers });
    d.harness.step();
    let commands = &d.harness.output().platform_output.commands;
    let copied = commands.iter().find_map(|c| if let OutputCommand::CopyText(t) = c { Some(t.clone()) } else { None });
    let Some(Ok(Link::Page(link))) = Link::parse(&copied.expect("a link"), LABS) else { panic!("no page") };
    let Permalink { restrictions, .. } = *link;
    restrictions
}

/// Gives a widget the focus and presses Space.
fn press(d: &mut Desktop, role: Role, name: &str) {
    d.harness.get_by_role_and_label(role, name).focus();
    d.steps(2);
    d.press(Key::Space);
}

#[test]
fn a_link_for_a_class_is_made_in_the_window_by_keys() {
    let mut d = lab_page("fast_slow");
    d.command(Key::P);
    d.harness.event(egui::Event::Text("Copy a link for a class".into()));
    d.steps(3);
    d.press(Key::Enter);
    assert!(d.shows("answers=hidden") && !d.shows("lock="), "the sheet opens with what its name says");
    press(&mut d, Role::CheckBox, "Hide the answers of the lesson");
    assert!(!d.shows("answers=hidden"));
    press(&mut d, Role::CheckBox, "Hide the answers of the lesson");
    assert!(d.shows("answers=hidden") && !d.shows("lock="));
    press(&mut d, Role::Button, "all locked");
    assert!(d.shows("&lock=model,variants,"));
    press(&mut d, Role::CheckBox, "Learning rate");
    d.harness.get_by_role_and_label(Role::Button, "Copy this link").focus();
    d.steps(2);
    let restrictions = copied_restrictions(&mut d);
    assert!(restrictions.hides_answers && restrictions.hidden.is_empty());
    assert!(["train.batch", "model.pool", "seed", "view_controls"].iter().all(|key| restrictions.locks(key)));
    assert!(!restrictions.locks("train.lr"), "it was ticked");
    d.steps(3);
    assert!(d.shows("Copied.") && !d.shows("Link for a class"));
    assert_eq!(d.page().restrictions, Restrictions::default(), "the page that it is copied from stays free");
}

/// A window of presenter mode has few points, in which everything is large.
#[test]
fn the_sheet_for_a_class_stays_in_the_window_and_in_place() {
    for size in [[1024.0, 700.0], [1278.0, 728.0], [1920.0, 1200.0]] {
        let lesson = Opening::Lesson(LessonLink::new("fast_slow", 5));
        let mut d = open_labs(lesson, Worker::Steps, VIEWS, size.map(|points| points / 1.5));
        d.steps(6);
        d.command(Key::P);
        d.harness.event(egui::Event::Text("Copy a link for a class".into()));
        d.steps(3);
        d.press(Key::Enter);
        d.steps(6);
        press(&mut d, Role::CheckBox, "Open step 5 of the lesson with its own settings");
        press(&mut d, Role::Button, "all locked");
        d.steps(6);
        let copy = |d: &Desktop| d.harness.get_by_role_and_label(Role::Button, "Copy this link").rect();
        let window = d.harness.ctx.content_rect();
        let before = copy(&d);
        let places = [before, d.harness.get_by_role_and_label(Role::Button, "Cancel").rect()];
        assert!(places.iter().all(|place| window.contains_rect(*place)), "{size:?}: {places:?} in {window}");
        press(&mut d, Role::CheckBox, "Learning rate");
        d.steps(6);
        assert_eq!(copy(&d), before, "{size:?}: the link is longer, and nothing moves");
    }
}

/// Both names are locked: the setting's own and that of the controls in the views.
#[test]
fn locked_controls_within_locked_controls_have_one_padlock() {
    let mut d = open(Opening::Lab("traces".into()), VIEWS);
    paste(&mut d, "orrery:traces?lock=traces,view_controls#view=trace_strips");
    d.until("the padlock", |d| padlocks(d).contains("Controls of the view"));
    let is_in_tile = |node: Node<'_>| node.rect().left() > CONTROLS_WIDTH;
    assert!(!d.harness.query_all_by_label("Sentence: locked").any(is_in_tile));
}

#[test]
fn a_copied_link_has_the_restrictions_of_the_page() {
    let mut d = lab_page("fast_slow");
    paste(&mut d, RESTRICTED);
    d.command(Key::P);
    d.harness.event(egui::Event::Text("Copy link".into()));
    d.steps(3);
    let restrictions = copied_restrictions(&mut d);
    assert_eq!(restrictions, d.page().restrictions);
    assert!(restrictions.hides_answers && restrictions.locks("train.lr") && restrictions.hides("variants.seeds"));
}

#[test]
fn an_unknown_name_in_a_link_is_refused_with_the_nearest() {
    let mut d = lab_page("fast_slow");
    paste(&mut d, "orrery:fast_slow?lock=trian");
    assert!(d.shows("did you mean `train`"));
    assert_eq!(d.page().restrictions, Restrictions::default());
}

#[test]
fn a_link_keeps_the_answers_of_a_lesson_back() {
    const ANSWER: &str = "the trace holds both together";
    let mut d = open(Opening::Lab("traces".into()), VIEWS);
    paste(&mut d, "orrery:traces?lesson=2&lock=recoverability&answers=hidden");
    assert_eq!(d.page().lesson.current, Some(1));
    assert!(d.shows("First guess: ") && !d.shows("Show the answer"));
    d.harness.get_by_role_and_label(Role::TextInput, "your guess").focus();
    d.steps(2);
    d.harness.get_by_role_and_label(Role::TextInput, "your guess").type_text("they are");
    d.steps(2);
    d.press(Key::Enter);
    d.steps(3);
    assert!(d.shows("hides the answer") && !d.shows(ANSWER));
    paste(&mut d, "orrery:traces?lesson=2");
    assert!(d.shows(ANSWER), "opened without it, the guess is answered");
}
