//! A slider that is dragged from end to end arrives, whatever its changes make appear. Needs no graphics adapter.

use eframe::egui::{self, Key, PointerButton, Pos2, accesskit::Role, pos2};
use egui_kittest::{
    Harness,
    kittest::{NodeT, Queryable},
};
use orrery::{
    labs::LABS,
    ui::{
        App, Start,
        app::Opening,
        lists::Lists,
        panels::CONTROLS,
        views::{VIEWS, ViewEntry},
    },
};

use crate::ui::{Desktop, Pretender, Worker};

/// Taller than any lab's controls, so that every slider is in sight.
const SIZE: [f32; 2] = [1280.0, 4000.0];
const MOVES: usize = 8;

/// The lab's page as it opens.
fn opened(lab: &str, worker: Worker, views: &'static [ViewEntry]) -> Desktop {
    let (host, asked, deliver) = Pretender::with(worker);
    let start = Start { opening: Some(Opening::Lab(lab.to_owned())), ..Start::default() };
    let harness = Harness::builder()
        .with_size(SIZE)
        .with_step_dt(1.0 / 60.0)
        .build_eframe(move |cc| App::with_lists(cc, host, start, Lists { labs: LABS, views }));
    let mut d = Desktop { harness, asked, deliver };
    d.steps(3);
    d
}

/// The lab's page without views, with a run that has made a step: most changes wait for a reset.
fn desk(lab: &str) -> Desktop {
    let mut d = opened(lab, Worker::Steps, &[]);
    d.press(Key::ArrowRight);
    d.until("a step", |d| d.page().newest() > 0);
    d
}

fn pointer(d: &mut Desktop, at: Pos2, pressed: Option<bool>) {
    d.harness.event(egui::Event::PointerMoved(at));
    if let Some(pressed) = pressed {
        let (button, modifiers) = (PointerButton::Primary, egui::Modifiers::NONE);
        d.harness.event(egui::Event::PointerButton { pos: at, button, pressed, modifiers });
    }
    d.harness.step();
}

/// The control panel's sliders: place, value, least and most.
fn sliders(d: &Desktop) -> Vec<(egui::Rect, f64, f64, f64)> {
    let all = d.harness.query_all_by_role(Role::Slider).map(|node| {
        let of = node.accesskit_node();
        let number = |n: Option<f64>| n.unwrap_or(f64::NAN);
        (node.rect(), number(of.numeric_value()), number(of.min_numeric_value()), number(of.max_numeric_value()))
    });
    let mut all: Vec<_> = all.filter(|(rect, ..)| rect.right() < CONTROLS + 4.0).collect();
    all.sort_by(|a, b| a.0.top().total_cmp(&b.0.top()));
    all
}

#[test]
fn every_slider_of_every_lab_is_dragged_from_end_to_end() {
    for lab in LABS {
        let mut d = desk(lab.id);
        let count = sliders(&d).len();
        assert!(count > 3, "{}: {count} sliders", lab.id);
        for i in 0..count {
            let (rect, value, least, most) = sliders(&d)[i];
            // From where the handle is towards the farther end.
            let up = (value - least) < (most - value);
            let (from, to) = if up { (rect.left(), rect.right()) } else { (rect.right(), rect.left()) };
            let at = |k: usize| pos2(from + (to - from) * k as f32 / MOVES as f32, rect.center().y);
            pointer(&mut d, at(0), Some(true));
            for k in 1..=MOVES {
                pointer(&mut d, at(k), None);
            }
            pointer(&mut d, at(MOVES), Some(false));
            d.steps(2);
            let reached = sliders(&d)[i].1;
            let wanted = if up { most } else { least };
            let near = (reached - wanted).abs() <= 1e-6 * wanted.abs().max(1e-9);
            // A slider stops at the last value of which a run can be made beside the other settings.
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
            assert!(near || stops, "{}: slider {i} went from {value} to {reached}, not to {wanted}", lab.id);
        }
        assert!(d.shows("at reset"), "{}: changes wait for a reset", lab.id);
    }
}

/// A drag belongs to the widget of one name, which a mark in the tile's header must not change.
#[test]
fn what_is_dragged_keeps_its_name_when_its_question_has_been_open_for_long() {
    let mut d = opened("equilibrium", Worker::Stalled, VIEWS);
    let name = |d: &Desktop| d.harness.get_by_role_and_label(Role::Slider, "\u{394}t").accesskit_node().id();
    let before = name(&d);
    assert!(!d.shows("Cancel"));
    d.until("the mark of an open question", |d| d.shows("Cancel"));
    d.steps(2);
    assert_eq!(before, name(&d));
}
