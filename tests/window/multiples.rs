//! Tests the comparison of runs view by view, with two real runs in folders that the real host reads.

use std::{path::Path, time::Duration};

use crossbeam::channel::bounded;
use eframe::egui::{Event, Modifiers, MouseWheelSource, MouseWheelUnit, TouchPhase, accesskit::Role, vec2};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    config::Config,
    labs,
    store::Writer,
    trainer::{self, DriveOptions},
    ui::app::App,
};

use crate::{config_with::config_with, real_host::window_on, waiting::step_until};

const SMALL: &[(&str, &str)] = &[
    ("model.d_model", "16"),
    ("model.heads", "2"),
    ("model.kv_heads", "1"),
    ("train.window", "24"),
    ("train.batch", "2"),
    ("train.steps", "9"),
    ("run.eval_every", "4"),
    ("run.eval_windows", "2"),
    ("run.threads", "1"),
    ("run.device", "cpu"),
    ("probe.attention_maps_every", "3"),
    ("probe.next_tokens_every", "3"),
    // these take most of the time of such a small run
    ("probe.residual_every", "0"),
    ("probe.generator_distance_every", "0"),
];

/// Returns the settings of a run that takes only a moment.
pub fn small(lr: &str) -> Config {
    config_with("fast_slow", None, &[SMALL, &[("train.lr", lr)]].concat())
}

/// Trains a run to its end and stores it in a folder of `runs`.
pub fn record(runs: &Path, config: &Config) {
    let lab = labs::find(&config.lab).unwrap();
    let (_keep, commands) = bounded(1);
    let options = DriveOptions { start: true, writer: Some(Writer::at_once(runs)), ..DriveOptions::default() };
    trainer::drive((lab.plan)(config).unwrap(), options, &commands, vec![]);
}

struct TestWindow {
    harness: Harness<'static, App>,
    _folder: tempfile::TempDir,
}

impl TestWindow {
    /// Opens the page that compares runs with these learning rates.
    fn comparing(rates: &[&str], with_pictures: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        rates.iter().for_each(|lr| record(folder.path(), &small(lr)));
        let builder = Harness::builder().with_size([1280.0, 800.0]).with_step_dt(1.0 / 60.0);
        let builder = if with_pictures { builder.wgpu() } else { builder };
        let mut desk = Self { harness: window_on(builder, folder.path(), None), _folder: folder };
        desk.click("Runs");
        let count = rates.len();
        desk.until(&format!("{count} of {count} runs"));
        let ticks: Vec<String> = desk
            .harness
            .query_all_by_label_contains("Compare 20")
            .filter_map(|node| egui_kittest::kittest::NodeT::accesskit_node(&node).label())
            .collect();
        ticks.iter().for_each(|label| desk.click(label));
        desk.click(&format!("Compare {count}"));
        desk.until("the settings that differ");
        desk
    }

    fn click(&mut self, label: &str) {
        self.harness.get_by_label(label).click();
        self.harness.run_steps(3);
    }

    fn shows(&self, words: &str) -> bool {
        self.harness.query_all_by_label_contains(words).next().is_some()
    }

    fn until(&mut self, words: &str) {
        step_until(Duration::from_secs(60), self, |d| d.harness.step(), words, |d| d.shows(words));
    }

    fn choose(&mut self, menu: &str, entry: &str) {
        self.harness.get_by_role_and_label(Role::ComboBox, menu).click();
        self.harness.run_steps(3);
        self.harness.get_by_role_and_label(Role::Button, entry).click();
        self.harness.run_steps(3);
    }

    fn count(&self, label: &str) -> usize {
        self.harness.query_all_by_label(label).count()
    }
}

#[test]
fn a_view_of_every_run_stands_under_one_scrubber() {
    let mut desk = TestWindow::comparing(&["0.001", "0.03"], false);
    desk.choose("show", "Attention");
    desk.until("difference of attention");
    assert_eq!(desk.count("pre.0 head 0"), 2, "small maps of each run");
    desk.choose("show", "Next tokens");
    desk.until("difference of next words");
    assert_eq!(desk.harness.query_all_by_label_contains("next tokens of coupled").count(), 2, "one a run");
    desk.click("difference");
    assert!(!desk.shows("difference of next words"), "it can be put away");
    desk.choose("show", "Curves");
    assert!(desk.shows("the settings that differ"), "back at the curves");
    assert_eq!(desk.count("difference"), 0);
}

#[test]
fn a_cell_scrolls_to_rows_that_do_not_fit() {
    let mut desk = TestWindow::comparing(&["0.001", "0.03"], false);
    desk.harness.set_size(vec2(900.0, 600.0));
    desk.choose("show", "Next tokens");
    desk.until("difference of next words");
    let bars = |desk: &TestWindow| -> Vec<_> {
        desk.harness.query_all_by_label_contains("next tokens of coupled").map(|node| node.rect()).collect()
    };
    let before = bars(&desk);
    desk.harness.hover_at(before[0].left_top() + vec2(20.0, 10.0));
    desk.harness.step();
    desk.harness.event(Event::MouseWheel {
        unit: MouseWheelUnit::Point,
        source: MouseWheelSource::Unknown,
        delta: vec2(0.0, -20.0),
        phase: TouchPhase::Move,
        modifiers: Modifiers::NONE,
    });
    desk.harness.run_steps(20);
    let after = bars(&desk);
    assert!(after[0].top() < before[0].top() - 5.0, "{before:?} became {after:?}");
    assert!((after[1].top() - before[1].top()).abs() < 0.5, "the other cell stays");
}

#[test]
fn the_two_subtracted_runs_are_chosen_among_three() {
    let mut desk = TestWindow::comparing(&["0.001", "0.01", "0.03"], false);
    desk.choose("show", "Attention");
    desk.until("difference of attention");
    desk.choose("minus", "lr 0.01");
    desk.choose("of", "lr 0.01");
    assert!(!desk.shows("difference of attention"), "a run minus itself is nothing");
    desk.choose("of", "lr 0.03");
    desk.until("difference of attention");
}
