//! Tests the controls of settings in tiles: a setting that the page's link hides or locks cannot be changed there
//! either, and a setting with a control in a tile has no second one in the panel. The tests operate every widget of
//! every tile.

use std::collections::BTreeSet;

use eframe::egui::{
    Context, Event as Input, Key, Modifiers,
    accesskit::{Action, ActionData, Node, NodeId, Role},
};
use orrery::{
    labs::{self, LABS, Lab, restrictions::Restrictions},
    telemetry::{
        Event, Measurement, RunState, Sample,
        measurements::{FlowOutcome, PlanarOutcome},
    },
    ui::mirror::Mirror,
};

use crate::{
    recorded::{self, flow},
    stage::{Stage, request},
};

/// Settings that a click on a picture changes without being their control: a mark for each pair of heads cuts the
/// graph, and the neuron selected in the graph is silenced.
const SET_BY_PICTURES: [&str; 3] = ["graph.from_head", "graph.to_head", "change.neurons"];
/// The maximum number of entries that are chosen in an open list.
const MAX_ENTRIES: usize = 6;

/// A tile whose questions are not answered yet.
fn begun(lab: &'static Lab, view: &str, fonts: &Context) -> Stage {
    let mut stage = Stage::with_fonts(lab, view, fonts);
    stage.begin(30, RunState::Paused);
    let _ = stage.words();
    stage
}

/// A tile whose questions are answered from this recorded run.
fn ready(lab: &'static Lab, view: &str, fonts: &Context, recorded: &Mirror) -> Stage {
    let mut stage = begun(lab, view, fonts);
    stage.settle(recorded, true);
    stage
}

fn key(key: Key) -> Input {
    Input::Key { key, physical_key: None, pressed: true, repeat: false, modifiers: Modifiers::NONE }
}

/// Operates one widget; returns the settings that this changes.
fn settings_changed_by(stage: &mut Stage, (id, node): &(NodeId, Node)) -> Vec<String> {
    let frames = match node.role() {
        Role::Slider | Role::SpinButton => {
            let other = 0.5 * node.numeric_value().unwrap_or(0.0) + 0.375;
            vec![vec![request(*id, Action::SetValue, Some(ActionData::NumericValue(other)))]]
        }
        Role::TextInput | Role::MultilineTextInput => {
            let typed = vec![Input::Text("1".into()), key(Key::Enter)];
            vec![vec![request(*id, Action::Focus, None)], typed]
        }
        Role::Button | Role::ComboBox | Role::CheckBox | Role::RadioButton => {
            vec![vec![request(*id, Action::Click, None)]]
        }
        _ => return vec![],
    };
    let mut changes = vec![];
    // a text field reports a change one frame late
    for events in frames.into_iter().chain([vec![]]) {
        changes.extend(stage.frame(events).changes);
    }
    changes
}

/// The role and label of each widget of the tile that a user can operate.
fn usable(stage: &mut Stage) -> Vec<(Role, Option<String>)> {
    let is_usable = |role: Role| {
        let typed = matches!(role, Role::Slider | Role::SpinButton | Role::TextInput | Role::MultilineTextInput);
        typed || matches!(role, Role::Button | Role::ComboBox | Role::CheckBox | Role::RadioButton)
    };
    let all = stage.widgets().into_iter().map(|(_, node)| (node.role(), node.label().map(str::to_owned)));
    all.filter(|(role, _)| is_usable(*role)).collect()
}

/// The settings that the widgets of the tile change.
fn changed_settings(stage: &mut Stage) -> BTreeSet<String> {
    let all = stage.widgets();
    let mut moved = BTreeSet::new();
    for widget in &all {
        moved.extend(settings_changed_by(stage, widget));
        // operates the entries of a list or menu that the widget has opened
        let is_entry =
            |(id, node): &(NodeId, Node)| node.role() == Role::Button && all.iter().all(|(known, _)| known != id);
        let entries: Vec<_> = stage.widgets().into_iter().filter(is_entry).take(MAX_ENTRIES).collect();
        for entry in &entries {
            moved.extend(settings_changed_by(stage, entry));
        }
        stage.frame(vec![key(Key::Escape)]);
        let _ = stage.questions();
    }
    moved
}

/// The settings that the tile declares to control.
fn claimed(stage: &Stage) -> BTreeSet<String> {
    stage.page.tiling.controls().into_keys().map(str::to_owned).collect()
}

/// Checks that a tile moves no setting whose control stands in the panel, which shows it unless a tile claims it.
fn check_none_twice(moved: &BTreeSet<String>, claimed: &BTreeSet<String>, place: &str) {
    let twice: Vec<_> =
        moved.iter().filter(|key| !claimed.contains(*key) && !SET_BY_PICTURES.contains(&key.as_str())).collect();
    assert!(twice.is_empty(), "{place} moves {twice:?} and claims {claimed:?}");
}

/// What the widgets of a tile move without a link is also compared with what a tile in front claims.
#[test]
fn what_the_link_hides_or_locks_is_not_moved_in_a_tile() {
    let (mut tiles, fonts, twins) = (0, Context::default(), recorded::twins());
    for (lab, pane) in LABS.iter().flat_map(|lab| lab.panes.iter().map(move |pane| (*lab, pane))) {
        let (view, place) = (pane.view, format!("{}, {}", lab.id, pane.view));
        let mut stage = begun(lab, view, &fonts);
        if claimed(&stage).is_empty() {
            continue;
        }
        tiles += 1;
        stage.settle(&twins, true);
        let keys = claimed(&stage);
        let widgets = usable(&mut stage).len();
        let free = changed_settings(&mut stage);
        assert!(!free.is_disjoint(&keys), "{place}: nothing in it moves any of {keys:?}");
        if pane.place.is_front() {
            check_none_twice(&free, &keys, &place);
        }
        let all = || keys.iter().cloned().collect::<Vec<_>>();
        for (hidden, locked) in [(all(), vec![]), (vec![], all())] {
            let mut stage = ready(lab, view, &fonts, &twins);
            stage.page.restrictions = Restrictions { hidden, locked, ..Restrictions::default() };
            let _ = stage.words();
            let left = usable(&mut stage);
            assert!(left.len() < widgets, "{place}, {:?}: as many widgets, {left:?}", stage.page.restrictions);
            let moved: Vec<_> = changed_settings(&mut stage).intersection(&keys).cloned().collect();
            assert!(moved.is_empty(), "{place}, {:?}: {moved:?}", stage.page.restrictions);
        }
    }
    assert!(tiles > 10, "only {tiles} tiles have controls");
}

#[test]
fn a_group_that_the_link_hides_has_no_dial() {
    let (fonts, twins) = (Context::default(), recorded::twins());
    let dials = |hidden: &[&str]| {
        let mut stage = ready(labs::find("ode_flow").unwrap(), "steer", &fonts, &twins);
        stage.page.restrictions.hidden = hidden.iter().map(|name| (*name).to_owned()).collect();
        let names = stage.widgets().into_iter().filter_map(|(_, node)| node.label().map(str::to_owned));
        names.filter(|name| name.starts_with("pad of") || name == "solver").collect::<BTreeSet<_>>()
    };
    assert_eq!(dials(&[]).len(), 2);
    assert_eq!(dials(&["control"]), BTreeSet::from(["solver".to_owned()]));
    assert_eq!(dials(&["control", "solver"]), BTreeSet::new());
}

/// The tiles in front that claim no setting, and one whose claims depend on what is answered. The others are operated
/// in [`what_the_link_hides_or_locks_is_not_moved_in_a_tile`].
#[test]
fn no_setting_has_a_control_in_a_tile_and_in_the_panel() {
    let check = |mut stage: Stage, place: String| {
        let moved = changed_settings(&mut stage);
        check_none_twice(&moved, &claimed(&stage), &place);
        moved
    };
    let (fonts, twins) = (Context::default(), recorded::twins());
    for lab in LABS {
        for pane in lab.panes.iter().filter(|pane| pane.place.is_front()) {
            let mut stage = begun(lab, pane.view, &fonts);
            if claimed(&stage).is_empty() {
                stage.settle(&twins, true);
                check(stage, format!("{}, {}", lab.id, pane.view));
            }
        }
    }
    let mut plane = Stage::new(labs::find("ode_flow").unwrap(), "steer");
    plane.begin(30, RunState::Paused);
    let mut answer = flow::answer(&flow::Asked::default());
    answer.outcome = FlowOutcome::Plane(PlanarOutcome { field: "spiral".into() });
    let answer = recorded::bare_sample(answer.into_payload());
    plane.emit([Event::Sample(Sample { step: 10, about: "five starts".into(), ..answer })]);
    plane.settle(&twins, false);
    let moved = check(plane, "the plane".to_owned());
    assert!(moved.contains("field.kind"), "{moved:?}");
}
