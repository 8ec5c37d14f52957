//! Tests the ODE flow lab with the real application, host and probes: a moved slider leads to a flow that is solved at
//! its value, and a recording is stored as pictures and numbers.

use std::{
    f64::consts::TAU,
    path::Path,
    time::{Duration, Instant},
};

use eframe::egui::{Rect, accesskit::Role};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    labs,
    telemetry::{
        Measurement, Sample,
        measurements::{FlowAnswer, FlowField},
    },
    ui::{
        app::{App, Opening},
        theme::Theme,
    },
};

use crate::{config_with::config_with, real_host::window_on, waiting::until};

fn answer<M: Measurement>(app: &App) -> Option<&Sample> {
    app.page()?.run.as_ref()?.mirror.answer(0, M::CHANNEL)
}

fn solved(app: &App) -> Option<&FlowAnswer> {
    answer::<FlowAnswer>(app)?.measurement()
}

/// The control u0 with which the newest answer was solved.
fn solved_at(app: &App) -> Option<f64> {
    solved(app).map(|a| a.control.u[0])
}

#[test]
fn a_slider_that_is_turned_is_solved_anew_with_its_field() {
    let config = labs::find("ode_flow").unwrap().config(Some("ode_flow_field")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let builder = Harness::builder().with_size([1440.0, 900.0]);
    let mut harness = window_on(builder, folder.path(), Some(Opening::Config(config)));
    until(&mut harness, "a first answer", |app| (solved_at(app) == Some(0.0)).then_some(()));
    let field = until(&mut harness, "the field behind the paths", |app| {
        answer::<FlowField>(app).and_then(|s| s.request).filter(|r| *r > 0)
    });
    harness.get_by_role_and_label(Role::Slider, "u\u{2080}").set_value_accesskit(1.0);
    until(&mut harness, "the flow at u0 = 1", |app| (solved_at(app) == Some(1.0)).then_some(()));
    until(&mut harness, "its field", |app| answer::<FlowField>(app)?.request.filter(|r| *r > field));
    let app = harness.state();
    assert!(solved(app).is_some_and(|a| a.paths.places.rows() > 3), "a ring of starts");
}

/// Both controls' values, read from the position of the handle's ring in the picture; `pad` is from end to end of the
/// controls, and the ring is whole within a margin around it.
fn handle(picture: &image::RgbaImage, pad: Rect) -> (f64, f64) {
    let accent = Theme::dark().accent;
    let of = |v: f32| v as u32;
    let (mut sum, mut n) = ([0.0; 2], 0.0);
    let whole = pad.expand(6.0);
    for y in of(whole.top())..of(whole.bottom()) {
        for x in of(whole.left())..of(whole.right()) {
            let [r, g, b, _] = picture.get_pixel(x, y).0;
            let apart = |a: u8, b: u8| a.abs_diff(b) < 12;
            if apart(r, accent.r()) && apart(g, accent.g()) && apart(b, accent.b()) {
                sum = [sum[0] + f64::from(x) + 0.5, sum[1] + f64::from(y) + 0.5];
                n += 1.0;
            }
        }
    }
    assert!(n > 3.0, "no handle on the pad");
    let share = |v: f64, from: f32, size: f32| (v / n - f64::from(from)) / f64::from(size) * 4.0 - 2.0;
    (share(sum[0], pad.left(), pad.width()), -share(sum[1], pad.top(), pad.height()))
}

/// The fields of a CSV line.
fn fields(line: &str) -> Vec<&str> {
    line.split(',').map(|f| f.trim_matches('"')).collect()
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut all: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    all.sort();
    all
}

/// Records a series, then decodes the stored pictures and compares them with the stored table.
#[test]
fn a_recording_is_on_the_disk_as_pictures_that_show_what_its_table_says() {
    if !crate::adapter::exists() {
        return;
    }
    let settings = [("model.d_model", "16"), ("model.heads", "2"), ("steer.token", "0")];
    let config = config_with("ode_flow", Some("ode_flow"), &settings);
    let folder = tempfile::tempdir().unwrap();
    let size = [1024.0, 700.0];
    let builder = Harness::builder().with_size(size).with_step_dt(1.0 / 600.0).wgpu();
    let mut harness = window_on(builder, folder.path(), Some(Opening::Config(config)));
    until(&mut harness, "a first answer", |app| (solved_at(app) == Some(0.0)).then_some(()));
    harness.get_by_label("record").click();
    harness.step();
    let exports = folder.path().join("exports");
    let begun = Instant::now();
    let recording = loop {
        harness.step();
        let found = files(&exports).into_iter().find(|f| files(f).len() == 61);
        if let Some(found) = found {
            break found;
        }
        let said = || harness.query_all_by_label_contains("frame").map(|n| format!("{n:?}")).collect::<Vec<_>>();
        assert!(begun.elapsed() < Duration::from_secs(900), "{:?}: {:?}", files(&exports), said());
    };
    until(&mut harness, "the last file", |_| {
        std::fs::metadata(recording.join("values.csv")).ok().filter(|m| m.len() > 0)
    });
    harness.get_by_label("60 frames recorded");
    // the ends of the controls are within a margin for the handle
    let pad = harness.get_by_role_and_label(Role::Canvas, "pad of u\u{2080} and u\u{2081}").rect().shrink(7.0);

    let table = std::fs::read_to_string(recording.join("values.csv")).unwrap();
    let (head, rows) = table.split_once('\n').unwrap();
    assert_eq!(head, "frame,u0,u1,u2,u3,p_plus,p_minus,top_word,p_top_word,nfe,h_init");
    let rows: Vec<Vec<&str>> = rows.lines().map(fields).collect();
    assert_eq!(rows.len(), 60);
    for (i, row) in rows.iter().enumerate() {
        assert_eq!((row.len(), row[0]), (11, (i + 1).to_string().as_str()), "{row:?}");
        let number = |at: usize| -> f64 { row[at].parse().unwrap_or_else(|_| panic!("{row:?}")) };
        let u = 2.0 * (TAU * i as f64 / 60.0).sin();
        assert!((number(1) - u).abs() < 1e-3 && (2..5).all(|k| number(k) == 0.0), "{row:?}");
        let masses = number(5) + number(6);
        assert!(masses > 0.0 && masses <= 1.0 && number(8) > 0.0 && !row[7].is_empty(), "{row:?}");
        assert!(number(9) >= 8.0 && number(10) > 0.0, "{row:?}");

        let picture = image::open(recording.join(format!("frame-{:04}.png", i + 1))).unwrap().to_rgba8();
        assert_eq!(picture.dimensions(), (size[0] as u32, size[1] as u32));
        let (x, y) = handle(&picture, pad);
        let is_near = (x - u).abs() < 0.08 && y.abs() < 0.08;
        assert!(is_near, "frame {}: the pad shows {x:.2}, {y:.2}, not {u:.2}", i + 1);
    }
}
