//! What the interface asks of the world outside it. Every call returns at once; results come back
//! through [`Delivery`]s, so that the interface thread never waits.

use std::path::PathBuf;

use crate::{config::Config, telemetry::RunHandle};

/// What a file dialog is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogKind {
    OpenText,
    OpenConfig,
    OpenRun,
    /// A graph's file.
    OpenGraph,
    OpenTokenizer,
    OpenCheckpoint,
    SaveAs {
        suggested: String,
    },
}

/// A file that was asked for.
#[derive(Debug, Clone)]
pub enum Delivery {
    /// A dialog ended (`None`: cancelled or no dialog available on this system).
    Picked {
        dialog: DialogKind,
        path: Option<PathBuf>,
    },
    /// A small text file's content (a config).
    Text {
        path: PathBuf,
        content: String,
    },
    /// Something was written.
    Saved {
        path: PathBuf,
    },
    /// Past runs found on disk, newest first: (folder, lab, summary).
    Runs(Vec<PastRun>),
    Failed {
        what: String,
    },
}

/// A run folder in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct PastRun {
    pub folder: PathBuf,
    pub lab: String,
    pub preset: String,
    pub steps: u64,
    /// When it began, as local text.
    pub when: String,
}

/// Asks the window for a frame; may be called from any thread.
pub type Wake = std::sync::Arc<dyn Fn() + Send + Sync>;

/// Provided by `cli`; tests provide their own.
pub trait Host {
    /// Told once, before anything else: `wake` is to be called after each delivery that arrives
    /// from another thread, since an idle window draws no frames in which it would look.
    fn set_wake(&mut self, _wake: Wake) {}

    /// Begins a run on its own thread, paused. The run folder is made when training starts.
    fn launch(&mut self, config: &Config) -> Result<RunHandle, String>;
    /// Opens a run folder, or a graph's file as a run that has ended: its events are delivered into the handle's inbox, and it stays as finished (its models are rebuilt from the last checkpoint to answer questions, if they can be).
    fn open_run(&mut self, folder: PathBuf) -> RunHandle;
    /// Shows a dialog on another thread.
    fn pick(&mut self, dialog: DialogKind);
    fn read_text(&mut self, path: PathBuf);
    fn write(&mut self, path: PathBuf, bytes: Vec<u8>);
    /// Where exports go when no dialog is available.
    fn export_folder(&self) -> PathBuf;
    fn list_runs(&mut self);
    /// What has arrived since the last call; never waits.
    fn deliveries(&mut self) -> Vec<Delivery>;
    /// Devices for the device menu: (name for the config, words, available).
    fn devices(&self) -> Vec<(String, String, bool)>;
}
