//! A host for tests of pages without a window: it starts runs through a given function and ignores all other requests.

use std::path::PathBuf;

use crossbeam::channel::bounded;
use orrery::{
    config::Config,
    telemetry::RunHandle,
    ui::host::{Delivery, Host},
};

/// Starts runs by calling the function.
pub struct StubHost<F>(pub F);

impl<F: FnMut(&Config) -> Result<RunHandle, String>> Host for StubHost<F> {
    fn launch(&mut self, config: &Config, _insist_memory: bool) -> Result<RunHandle, String> {
        (self.0)(config)
    }

    fn open_run(&mut self, _folder: PathBuf) -> RunHandle {
        RunHandle { commands: bounded(1).0, inbox: Default::default() }
    }

    fn export_folder(&self) -> PathBuf {
        PathBuf::new()
    }

    fn deliveries(&mut self) -> Vec<Delivery> {
        vec![]
    }
}
