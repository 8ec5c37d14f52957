//! Tests the lab Equilibrium with the real application, host and probes: after a change by the user, the views show the
//! answer of the run's own generator.

use std::sync::Arc;

use eframe::egui::{PointerButton, Pos2, Rect, accesskit::Role, vec2};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    labs,
    telemetry::{
        Event, Measurement, Sample,
        measurements::{GeneratorFlow, GeneratorState},
    },
    ui::app::{App, Opening},
};

use crate::{
    real_host::window_on,
    recorded,
    tiles::{Tile, painted, sized},
    waiting::until,
};

fn answer<M: Measurement>(app: &App) -> Option<&M> {
    app.page()?.run.as_ref()?.mirror.answer(0, M::CHANNEL)?.measurement()
}

fn state(app: &App) -> Option<&GeneratorState> {
    answer(app)
}

fn rate(app: &App, from: usize, to: usize) -> Option<f32> {
    let state = state(app)?;
    Some(state.matrix.data()[to * state.states() + from])
}

/// The application with the lab open, and the temporary folder of its runs.
fn open_app() -> (tempfile::TempDir, Harness<'static, App>) {
    let config = labs::find("equilibrium").unwrap().config(None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let builder = Harness::builder().with_size([1440.0, 900.0]);
    let mut harness = window_on(builder, folder.path(), Some(Opening::Config(config)));
    until(&mut harness, "a first answer", |app| state(app).map(drop));
    (folder, harness)
}

/// The centre of a cell of the matrix. The canvas has margins of 30 points on the left, 20 above and below and 6 on the
/// right, and a wide canvas 56 more for a colour bar.
fn cell(canvas: Rect, from: usize, to: usize) -> Pos2 {
    let right = if canvas.width() >= 220.0 { 62.0 } else { 6.0 };
    let room = Rect::from_min_max(canvas.min + vec2(30.0, 20.0), canvas.max - vec2(right, 20.0));
    let side = room.width().min(room.height());
    let left = room.left() + (room.width() - side) / 2.0;
    let at = |k: usize| side * (k as f32 + 0.5) / 12.0;
    Pos2::new(left + at(from), room.top() + at(to))
}

#[test]
fn a_control_that_is_moved_moves_the_distribution() {
    let (_folder, mut harness) = open_app();
    let before = state(harness.state()).unwrap().classes[0].stationary.clone();
    harness.get_by_role_and_label(Role::Slider, "y\u{2080}").set_value_accesskit(1.0);
    let after = until(&mut harness, "the generator at y0 = 1", |app| {
        state(app).filter(|s| s.control[0] == 1.0).map(|s| s.classes[0].stationary.clone())
    });
    assert!(before.iter().zip(&after).any(|(a, b)| (a - b).abs() > 0.01), "{before:?} {after:?}");
}

#[test]
fn a_cell_that_is_dragged_up_is_a_larger_rate_and_undone_is_as_it_was() {
    let (_folder, mut harness) = open_app();
    let before = rate(harness.state(), 2, 5).unwrap();
    let canvas = harness.get_by_label_contains("rates between 12 states").rect();
    let from = cell(canvas, 2, 5);
    let event = |harness: &mut Harness<'_, App>, event| {
        harness.event(event);
        harness.step();
    };
    use eframe::egui::Event;
    let button = |pos, pressed| Event::PointerButton {
        pos,
        button: PointerButton::Primary,
        pressed,
        modifiers: Default::default(),
    };
    event(&mut harness, Event::PointerMoved(from));
    event(&mut harness, button(from, true));
    for k in 1..=5 {
        event(&mut harness, Event::PointerMoved(from - vec2(0.0, 10.0 * k as f32)));
    }
    // a drag of 50 points multiplies a rate by e
    let wanted = f64::from(before) * std::f64::consts::E;
    let is_near = |v: f32| (f64::from(v) / wanted - 1.0).abs() < 0.02;
    until(&mut harness, "the rate, e times as large", |app| rate(app, 2, 5).filter(|v| is_near(*v)));
    event(&mut harness, button(from - vec2(0.0, 50.0), false));
    let state = state(harness.state()).unwrap();
    assert!(state.is_edited && state.predicted.is_empty(), "the network has not learned this generator");
    harness.get_by_label("Undo changes").click();
    until(&mut harness, "the rate as it was", |app| rate(app, 2, 5).filter(|v| *v == before));
}

#[test]
fn cutting_the_chain_in_two_reports_no_single_stationary_distribution() {
    let (_folder, mut harness) = open_app();
    harness.get_by_label("Cut").click();
    until(&mut harness, "a kernel of two dimensions", |app| state(app).filter(|s| s.kernel() == 2).map(drop));
    harness.step();
    assert!(harness.query_all_by_label_contains("there is no one stationary distribution").count() > 0);
}

#[test]
fn steps_beyond_the_bound_let_the_error_grow() {
    let (_folder, mut harness) = open_app();
    harness.get_by_role_and_label(Role::Slider, "\u{394}t, of bound").set_value_accesskit(4.0);
    let flow = until(&mut harness, "four times the bound", |app| {
        answer::<GeneratorFlow>(app).filter(|f| f.dt > 3.9 * f.step_bound).cloned()
    });
    assert!(flow.euler_slope > 0.0 && flow.euler.error[60] > flow.euler.error[10], "{:?}", flow.euler.error);
    assert!(flow.exact.error[60] < flow.exact.error[10] && flow.exact_slope < 0.0);
    until(&mut harness, "words", |_| Some(()));
    assert!(harness.query_all_by_label_contains("the theorem promises nothing here").count() > 0);
}

#[test]
fn a_start_at_the_limit_is_reported() {
    let mut mirror = recorded::twins();
    let measured = mirror.sample_at(0, GeneratorFlow::CHANNEL, recorded::STEPS).unwrap().clone();
    let mut flow = measured.measurement::<GeneratorFlow>().unwrap().clone();
    for of in [&mut flow.euler, &mut flow.exact] {
        for curve in [&mut of.error, &mut of.residual, &mut of.entropy] {
            *curve = vec![0.0; curve.len()].into();
        }
    }
    mirror.apply(Event::Sample(Sample { payload: Arc::new(flow.into_payload()), ..measured }));
    let said = painted(&Tile::new("generator_flow", mirror).shown(sized(640.0, 420.0))).join(" ");
    assert!(said.contains("The start is already the stationary distribution"), "{said}");
}
