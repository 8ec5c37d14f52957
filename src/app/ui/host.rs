//! The interface between the window and the operating system: files, dialogs and runs. Every call returns at
//! once, and its result arrives later as a [`Delivery`], so that the interface thread never waits.

use std::{path::PathBuf, sync::Arc};

use super::{comparison::ComparedRuns, dialog::DialogKind, multiples::ReplayedRuns};
use crate::{
    config::{Config, FileKind},
    experiments::{
        claims::entry::{ClaimRuns, PaperEntry},
        permalink::Permalink,
        run_table::RunRow,
        sweep::{SweepFile, results::SweepResults},
    },
    telemetry::{RunHandle, RunNote},
};

/// An answer of the host to an earlier request.
#[derive(Debug, Clone)]
pub enum Delivery {
    /// A dialog ended (`None`: cancelled or no dialog available on this system).
    Picked { dialog: DialogKind, path: Option<PathBuf> },
    /// A small text file's content (a config).
    Text { path: PathBuf, content: String },
    /// The content that a path leads to.
    Identified { path: PathBuf, content: FileContent },
    /// A file was read to find out whether it holds what a setting takes it for; or why it does not.
    Checked { file: ChosenFile, read: Result<CheckedFile, String> },
    /// A file was written.
    Saved { path: PathBuf },
    /// Past runs found on disk, newest first.
    Runs(Vec<PastRun>),
    /// The table of runs; where it is not whole, more of it is being read.
    RunTable { rows: Vec<RunRow>, is_complete: bool },
    /// A run was moved to this place in the trash.
    Discarded { run: PathBuf, place: PathBuf },
    /// The comparison of several runs, or the reason why they cannot be compared.
    Compared(Result<Box<ComparedRuns>, String>),
    /// The complete records of compared runs, for views to show, or the reason why they cannot be read.
    Replayed(Result<Arc<ReplayedRuns>, String>),
    /// The sweeps beside the runs.
    Sweeps(Vec<FoundSweep>),
    /// The series that the runs of a sweep have recorded so far, or why it cannot be read.
    Sweep { folder: PathBuf, read: Result<Arc<SweepResults>, String> },
    /// The folder of a sweep that was made, or why it was not.
    SweepMade(Result<PathBuf, String>),
    /// The papers' claims, or why they cannot be read.
    Claims(Result<Vec<PaperEntry>, String>),
    /// The runs of a claim's rule (`None`: none are here), or why they cannot be made or read.
    ClaimRuns { claim: String, read: Result<Option<Box<ClaimRuns>>, String> },
    /// A folder that was to be opened as a run holds a sweep.
    SweepFolder(PathBuf),
    /// A run was taken back out of the trash.
    Restored,
    /// The files of the system's fonts for Chinese, Japanese and Korean, as far as it has some.
    Fonts(Vec<Vec<u8>>),
    /// A run of exactly a link's settings that has its step, if there is one.
    Found { link: Box<Permalink>, run: Option<PathBuf> },
    /// The action that the host could not perform, with the reason.
    Failed { what: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileContent {
    Folder,
    /// A file whose kind follows from its name.
    Named,
    Graph,
    /// A log of another tool, which opens as a run.
    Log,
    /// A Hugging Face `tokenizer.json`.
    Tokenizer,
    Characters,
}

/// A file that a setting is to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenFile {
    pub path: PathBuf,
    pub kind: FileKind,
    /// The lab whose setting it is, and the setting's key.
    pub lab: &'static str,
    pub key: &'static str,
    /// Opened in the lab, so that its tokens and its run follow; otherwise its control alone takes the path.
    pub is_opened: bool,
}

/// The facts known of a file that was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckedFile {
    /// The number of rows of a matrix.
    pub states: Option<usize>,
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
    /// Set for the newest run of its lab that ended without recording why.
    pub interruption: Option<Interruption>,
}

/// An interruption of a run that its record does not mention: the process was killed, or the machine stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interruption {
    /// The local time of the last line: "yesterday 14:03".
    pub when: String,
    /// The step of the newest checkpoint; `None` where there is none.
    pub checkpoint: Option<u64>,
}

/// A sweep found on disk, as the lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSweep {
    pub folder: PathBuf,
    pub name: String,
    /// Runs that have begun.
    pub runs: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryNeed {
    /// The size as text, such as "310 MB".
    pub size: String,
    /// The reason why it is not begun without asking: the memory estimate, the free memory, and which settings to
    /// lower.
    pub refusal: Option<String>,
}

/// Asks the window for a frame; may be called from any thread.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// Provided by `cli`; tests provide their own.
pub trait Host {
    /// Called once, before anything else: the host calls `wake` after each delivery that arrives from another thread,
    /// since an idle window draws no frames in which it would look.
    fn set_wake(&mut self, _wake: Wake) {}

    /// The memory that a run of these settings would take; `None` where there is no estimate.
    fn memory(&self, _config: &Config) -> Option<MemoryNeed> {
        None
    }

    /// Begins a paused run on its own thread; training makes its folder. `insist_memory`: despite [`Host::memory`].
    fn launch(&mut self, config: &Config, insist_memory: bool) -> Result<RunHandle, String>;
    /// Opens a run folder, the log of another tool, or a graph's file as a run that has ended: its events are delivered
    /// into the handle's inbox, and it stays finished. Its models are rebuilt from the last checkpoint to answer
    /// questions, if that is possible.
    fn open_run(&mut self, folder: PathBuf) -> RunHandle;
    /// Records the checkpoints of a folder as a run of these settings, and opens it like [`Host::open_run`].
    fn record_checkpoints(&mut self, folder: PathBuf, _settings: &Config) -> RunHandle {
        self.open_run(folder)
    }
    /// Reads the recorded example of a lab, an ended run without models, like [`Host::open_run`]; `None` without one.
    fn example(&mut self, _lab: &str) -> Option<RunHandle> {
        None
    }
    /// Shows a dialog on another thread.
    fn pick(&mut self, _dialog: DialogKind) {}
    fn read_text(&mut self, _path: PathBuf) {}
    /// Reads the system's fonts for Chinese, Japanese and Korean; answers by [`Delivery::Fonts`].
    fn read_fonts(&mut self) {}
    /// Finds out what kind of thing a path leads to, where its name does not tell: folders may have names like files,
    /// and JSON may hold several things. The answer is [`Delivery::Identified`].
    fn identify(&mut self, _path: PathBuf) {}
    /// Reads a file to find out whether it holds what a setting takes it for beside the others, and answers by
    /// [`Delivery::Checked`]; false for a host that cannot read files.
    fn check_file(&mut self, _file: &ChosenFile, _settings: &Config) -> bool {
        false
    }
    fn write(&mut self, _path: PathBuf, _bytes: Vec<u8>) {}
    /// The folder of exports that no dialog asks about.
    fn export_folder(&self) -> PathBuf;
    fn list_runs(&mut self) {}
    /// Asks for the table of runs: first the rows that are known already, then all of them.
    fn list_run_table(&mut self) {}
    fn compare_runs(&mut self, _runs: Vec<PathBuf>) {}
    /// Reads compared runs whole, with all that they measured.
    fn replay_runs(&mut self, _runs: Vec<PathBuf>) {}
    /// Looks among the runs for one of exactly these settings that has the step; false for a host that cannot look.
    fn find_run(&mut self, _link: &Permalink) -> bool {
        false
    }
    fn list_sweeps(&mut self) {}
    /// Reads what the runs of a sweep have recorded so far.
    fn read_sweep(&mut self, _folder: PathBuf) {}
    /// Writes the folder of a sweep after checking that every point can be planned; starts its runs if `is_begun`.
    fn make_sweep(&mut self, _file: SweepFile, _is_begun: bool) {}
    /// Makes the runs of a sweep that have not finished, in the background, and reads the sweep.
    fn complete_sweep(&mut self, _folder: PathBuf) {}
    /// Stops a sweep that runs in the background; its runs write a checkpoint first.
    fn stop_sweep(&mut self, _folder: PathBuf) {}
    fn list_claims(&mut self) {}
    /// Reads what the runs of a claim's rule have recorded so far.
    fn read_claim(&mut self, _claim: String) {}
    /// Begins the runs that a claim's rule lacks, in the background, and reads them.
    fn run_claim(&mut self, _claim: String) {}
    fn write_note(&mut self, _run: PathBuf, _note: RunNote) {}
    fn discard_run(&mut self, _run: PathBuf) {}
    fn restore_run(&mut self, _place: PathBuf) {}
    /// The deliveries that have arrived since the last call. It never waits.
    fn deliveries(&mut self) -> Vec<Delivery>;
    /// Devices for the device menu: (name in the config, label, whether it is available).
    fn devices(&self) -> Vec<(String, String, bool)> {
        vec![]
    }
}
