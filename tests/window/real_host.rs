//! The window with the real host, for tests that write run folders themselves.

use std::{path::Path, sync::Arc, time::Duration};

use egui_kittest::{Harness, HarnessBuilder, kittest::Queryable};
use orrery::{
    cli::{host::DesktopHost, runs::Runs},
    ui::{
        app::{App, Opening, Start},
        page::Page,
    },
};

use crate::{ui::Dropped, waiting::step_until};

/// A window whose host uses this folder of runs.
pub fn window_on(builder: HarnessBuilder<App>, runs: &Path, opening: Option<Opening>) -> Harness<'static, App> {
    let host = Box::new(DesktopHost::new(runs.to_owned(), Runs::new()));
    let start = Start { opening, ..Start::default() };
    builder.build_eframe(move |cc| App::new(cc, host, start))
}

pub struct TestWindow {
    pub harness: Harness<'static, App>,
}

impl TestWindow {
    /// Opens a window whose host uses this folder of runs.
    pub fn new(runs: &Path) -> Self {
        let mut harness = window_on(Harness::builder().with_size([1280.0, 800.0]), runs, None);
        (0..3).for_each(|_| harness.step());
        Self { harness }
    }

    pub fn drop_folder(&mut self, folder: &Path) {
        self.harness.input_mut().dropped_files.push(Arc::new(Dropped(folder.to_owned())));
        self.harness.step();
    }

    /// Draws frames until `holds` is true.
    ///
    /// # Panics
    /// After a minute.
    pub fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        step_until(Duration::from_secs(60), self, |d| d.harness.step(), what, holds);
    }

    pub fn page(&self) -> Option<&Page> {
        self.harness.state().page()
    }

    pub fn newest(&self) -> u64 {
        self.page().map_or(0, Page::newest)
    }

    pub fn shows(&self, words: &str) -> bool {
        self.harness.query_all_by_label_contains(words).next().is_some()
    }
}
