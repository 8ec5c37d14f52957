//! Tests the lab with the real application and a model that trains.

use eframe::egui::Key;
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    telemetry::{Measurement, measurements::BdhDynamicsWeights},
    ui::app::{App, Opening},
};

use crate::{config_with::config_with, real_host::window_on, waiting::until};

fn weights_step(app: &App) -> Option<u64> {
    let mirror = &app.page()?.run.as_ref()?.mirror;
    let newest =
        mirror.sample_at(0, BdhDynamicsWeights::CHANNEL, u64::MAX).or(mirror.answer(0, BdhDynamicsWeights::CHANNEL));
    newest.map(|s| s.step)
}

#[test]
fn the_lab_opens_on_first_weights_and_learns_under_the_rules() {
    let steps = std::env::var("BDH_DYNAMICS_STEPS").unwrap_or("12".into());
    let settings = [("train.steps", steps.as_str()), ("probe.bdh_dynamics_every", "6"), ("run.eval_windows", "1")];
    let config = config_with("bdh_physics", None, &settings);
    let folder = tempfile::tempdir().unwrap();
    let builder = Harness::builder().with_size([1280.0, 800.0]);
    let mut harness = window_on(builder, folder.path(), Some(Opening::Config(config)));
    assert_eq!(until(&mut harness, "first weights", weights_step), 0);
    harness.get_by_label_contains("rounds, executed");
    harness.key_press(Key::Space);
    let last: u64 = steps.parse().unwrap();
    until(&mut harness, "weights of the end", |app| weights_step(app).filter(|s| *s >= last - last % 6));
    harness.get_by_label_contains("= DE: holds up to rounding");
}
