//! The ODE flow lab's playground as it ships: the real application, its host, its probes. A slider
//! that is turned comes back as a flow solved at its value.

use std::time::{Duration, Instant};

use eframe::egui::accesskit::Role;
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    cli::host::Desk,
    labs,
    telemetry::{Payload, Sample},
    ui::app::{App, Opening, Start},
};

fn until<R>(harness: &mut Harness<'_, App>, what: &str, found: impl Fn(&App) -> Option<R>) -> R {
    let begun = Instant::now();
    loop {
        harness.step();
        if let Some(r) = found(harness.state()) {
            return r;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn answer<'a>(app: &'a App, channel: &str) -> Option<&'a Sample> {
    app.page()?.run.as_ref()?.mirror.answer(0, channel)
}

/// u0 that the newest answer was solved at.
fn solved_at(app: &App) -> Option<f64> {
    let used = answer(app, "flow.answer")?.payload.part("used")?.as_series()?;
    used.lines.iter().find(|l| l.name == "u0")?.y.first().copied()
}

#[test]
fn a_slider_that_is_turned_is_solved_anew_with_its_field() {
    let config = labs::find("ode_flow").unwrap().config(Some("ode_flow_field")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let host = Box::new(Desk::new(folder.path().to_owned()));
    let start = Start { opening: Some(Opening::Config(config)), ..Start::default() };
    let mut harness = Harness::builder().with_size([1440.0, 900.0]).build_eframe(move |cc| App::new(cc, host, start));
    until(&mut harness, "a first answer", |app| (solved_at(app) == Some(0.0)).then_some(()));
    let field = until(&mut harness, "the field behind the paths", |app| {
        answer(app, "flow.field").and_then(|s| s.request).filter(|r| *r > 0)
    });
    harness.get_by_role_and_label(Role::Slider, "u\u{2080}").set_value_accesskit(1.0);
    until(&mut harness, "the flow at u0 = 1", |app| (solved_at(app) == Some(1.0)).then_some(()));
    until(&mut harness, "its field", |app| answer(app, "flow.field")?.request.filter(|r| *r > field));
    let app = harness.state();
    let paths = answer(app, "flow.answer").and_then(|s| s.payload.part("paths"));
    assert!(matches!(paths, Some(Payload::Bundle(all)) if all.len() > 3), "a ring of starts");
}
