//! Tests that a slider can be dragged from end to end, even if its changes make other things appear. Needs no graphics
//! adapter.

use eframe::egui::{self, Key, PointerButton, Pos2, accesskit::Role, pos2};
use egui_kittest::kittest::{NodeT, Queryable};
use orrery::{
    config::Applies,
    labs::LABS,
    ui::{
        app::Opening,
        panels::CONTROLS_WIDTH,
        views::{VIEWS, ViewEntry},
    },
};

use crate::ui::{Desktop, Worker, open_labs};

/// A window taller than any lab's controls, so that every slider is visible.
const SIZE: [f32; 2] = [1280.0, 6000.0];
const MOVES: usize = 2;

/// The page of a lab after its first frames.
fn open_desktop(lab: &str, worker: Worker, views: &'static [ViewEntry]) -> Desktop {
    let mut d = open_labs(Opening::Lab(lab.to_owned()), worker, views, SIZE);
    d.steps(3);
    d
}

/// The page of a lab without views and with all settings unfolded. Its run has made a step, so most changes wait for a
/// reset.
fn desk(lab: &str) -> Desktop {
    let mut d = open_desktop(lab, Worker::Steps, &[]);
    d.unfold_settings();
    d.press(Key::ArrowRight);
    d.until("a step", |d| d.page().newest() > 0);
    d
}

/// Moves the pointer there, and presses the button for `Some(true)`; releases the button for `Some(false)`.
fn pointer(d: &mut Desktop, at: Pos2, pressed: Option<bool>) {
    if pressed != Some(false) {
        d.harness.event(egui::Event::PointerMoved(at));
    }
    if let Some(pressed) = pressed {
        let (button, modifiers) = (PointerButton::Primary, egui::Modifiers::NONE);
        d.harness.event(egui::Event::PointerButton { pos: at, button, pressed, modifiers });
    }
    d.harness.step();
}

/// A slider of the control panel.
struct PanelSlider {
    rect: egui::Rect,
    value: f64,
    min: f64,
    max: f64,
    /// The label of its control, and how many sliders with that label stand above it.
    key: (String, usize),
}

/// The control panel's sliders, from the top.
fn sliders(d: &Desktop) -> Vec<PanelSlider> {
    let all = d.harness.query_all_by_role(Role::Slider).map(|node| {
        let of = node.accesskit_node();
        let number = |n: Option<f64>| n.unwrap_or(f64::NAN);
        PanelSlider {
            rect: node.rect(),
            value: number(of.numeric_value()),
            min: number(of.min_numeric_value()),
            max: number(of.max_numeric_value()),
            key: (of.label().unwrap_or_default(), 0),
        }
    });
    let mut all: Vec<_> = all.filter(|slider| slider.rect.right() < CONTROLS_WIDTH + 4.0).collect();
    all.sort_by(|a, b| a.rect.top().total_cmp(&b.rect.top()));
    for i in 0..all.len() {
        all[i].key.1 = all[..i].iter().filter(|above| above.key.0 == all[i].key.0).count();
    }
    all
}

/// A slider that several labs share is dragged only in the first of them, to save time.
#[test]
fn every_slider_is_dragged_from_end_to_end() {
    let mut dragged = vec![];
    for lab in LABS {
        let mut d = desk(lab.id);
        let all = sliders(&d);
        assert!(all.len() > 3, "{}: {} sliders", lab.id, all.len());
        let unseen = all.into_iter().filter(|s| !dragged.contains(&(s.key.0.clone(), s.min, s.max)));
        let keys: Vec<_> = unseen.map(|slider| slider.key).collect();
        let find = |d: &Desktop, key: &(String, usize)| sliders(d).into_iter().find(|slider| slider.key == *key);
        let mut gone = 0;
        for key in keys {
            // the panel hides a control that has no effect with the current values of the others
            let Some(PanelSlider { rect, value, min: least, max: most, .. }) = find(&d, &key) else {
                gone += 1;
                continue;
            };
            dragged.push((key.0.clone(), least, most));
            // drags the handle towards the end that is farther away
            let up = (value - least) < (most - value);
            let (from, to) = if up { (rect.left(), rect.right()) } else { (rect.right(), rect.left()) };
            let at = |k: usize| pos2(from + (to - from) * k as f32 / MOVES as f32, rect.center().y);
            pointer(&mut d, at(0), Some(true));
            for k in 1..=MOVES {
                pointer(&mut d, at(k), None);
            }
            pointer(&mut d, at(MOVES), Some(false));
            d.steps(2);
            let there = || sliders(&d).into_iter().map(|slider| slider.key).collect::<Vec<_>>();
            let reached =
                find(&d, &key).unwrap_or_else(|| panic!("{}: {key:?} went away: {:?}", lab.id, there())).value;
            let wanted = if up { most } else { least };
            let near = (reached - wanted).abs() <= 1e-6 * wanted.abs().max(1e-9);
            // a slider stops at the last value that is valid together with the other settings
            let page = d.page();
            let is_legal = (page.lab.plan)(&page.config).is_ok();
            let ends_illegally = |key: &str| {
                let (mut at_end, end) = (page.config.clone(), orrery::config::Value::Int(wanted as i64));
                at_end.set(&page.knobs, key, end).is_ok() && (page.lab.plan)(&at_end).is_err()
            };
            let stops = is_legal
                && page.knobs.iter().any(|knob| {
                    let value = page.config.get(knob.key).and_then(|v| v.as_f64());
                    value == Some(reached) && ends_illegally(knob.key)
                });
            assert!(near || stops, "{}: slider {key:?} went from {value} to {reached}, not to {wanted}", lab.id);
        }
        assert!(gone <= 2, "{}: {gone} sliders went away", lab.id);
        let (page, shows) = (d.page(), d.shows("at reset"));
        let mut waiting = page.knobs.iter().filter(|knob| knob.applies == Applies::AtReset);
        let waits = waiting.any(|knob| page.controls.changed.contains(&knob.key));
        assert!(shows || !waits, "{}: changes wait for a reset", lab.id);
    }
}

/// The list of changes appears only when the slider is released, and it moves no control. Otherwise the slider would
/// move away from under the pointer.
#[test]
fn no_control_moves_while_a_slider_is_dragged() {
    let mut d = desk("fast_slow");
    let places = |d: &Desktop| sliders(d).iter().map(|slider| slider.rect).collect::<Vec<_>>();
    let before = places(&d);
    for nth in [0, before.len() - 1] {
        let slider = before[nth];
        let listed = d.page().controls.changed.clone();
        pointer(&mut d, slider.left_center(), Some(true));
        for share in [0.3, 0.6, 0.9] {
            pointer(&mut d, pos2(slider.left() + share * slider.width(), slider.center().y), None);
            d.steps(2);
            assert_eq!(d.page().controls.changed, listed, "the list waits");
            assert_eq!(places(&d), before, "at {share} of slider {nth}");
        }
        pointer(&mut d, pos2(slider.left() + 0.9 * slider.width(), slider.center().y), Some(false));
        d.steps(3);
        assert_eq!(d.page().controls.changed.len(), listed.len() + 1);
        assert!(d.shows("Changed from preset"));
        assert_eq!(places(&d), before, "nor afterwards");
    }
}

/// A late frame receives all input since the previous frame at once, and the drag must end as with one event per frame.
#[test]
fn a_drag_within_one_late_frame_ends_where_it_was_let_go() {
    let (button, modifiers) = (PointerButton::Primary, egui::Modifiers::NONE);
    let dragged = |is_late: bool| {
        let mut d = desk("fast_slow");
        let before = sliders(&d);
        let PanelSlider { rect, key, .. } = before.into_iter().next().unwrap();
        let at = |share: f32| pos2(rect.left() + share * rect.width(), rect.center().y);
        let press = |pos, pressed| egui::Event::PointerButton { pos, button, pressed, modifiers };
        let mut events = vec![egui::Event::PointerMoved(at(0.1)), press(at(0.1), true)];
        events.extend([0.3, 0.5, 0.7].map(|share| egui::Event::PointerMoved(at(share))));
        // after the release, the pointer moves back over the slider and on to another control
        events.extend([press(at(0.7), false), egui::Event::PointerMoved(at(0.2))]);
        events.push(egui::Event::PointerMoved(at(0.2) + egui::vec2(0.0, 60.0)));
        if is_late {
            d.harness.input_mut().events.extend(events);
            d.harness.step();
        } else {
            events.into_iter().for_each(|event| d.harness.event(event));
        }
        d.steps(6);
        sliders(&d).into_iter().map(|slider| (slider.key == key, slider.value)).collect::<Vec<_>>()
    };
    let untouched: Vec<_> = sliders(&desk("fast_slow")).iter().map(|slider| slider.value).collect();
    let (apart, late) = (dragged(false), dragged(true));
    assert_eq!(late, apart);
    let moved: Vec<_> = late.iter().zip(&untouched).filter(|((_, now), before)| now != *before).collect();
    assert!(moved.len() == 1 && moved[0].0.0, "the dragged one and no other: {moved:?}");
}

/// egui ties a drag to the widget's id. If the mark of an open question in the tile's header changed the id, it would
/// end the drag.
#[test]
fn a_dragged_slider_keeps_its_id_while_its_question_is_open() {
    let mut d = open_desktop("equilibrium", Worker::Stalled, VIEWS);
    let name = |d: &Desktop| d.harness.get_by_role_and_label(Role::Slider, "\u{394}t, of bound").accesskit_node().id();
    let before = name(&d);
    assert!(!d.shows("Cancel"));
    d.until("the mark of an open question", |d| d.shows("Cancel"));
    d.steps(2);
    assert_eq!(before, name(&d));
}
