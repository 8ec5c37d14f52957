//! The desktop as the window's host: runs, folders, files and dialogs on threads, so that the interface never waits.

use super::{
    checkpoint_names::CHECKPOINT_EXTENSIONS,
    claims::window::WindowClaims,
    compare, file_check,
    graph_events::{self, GraphReading},
    json_kind, other_logs,
    process::spawn,
    remote::FollowedRun,
    runs::Runs,
    settings,
    sweep::{
        self,
        background::{self, Background},
        folder::was_run_with,
    },
    system_fonts,
};
use crate::{
    analysis::graph_file::Format,
    cli::prelude::*,
    experiments::{
        permalink::Permalink,
        sweep::{SweepFile, series::SeriesCache},
    },
    files::{memory::size, read_text},
    nn::device,
    store::RunSummary,
    telemetry::{Inbox, RunHandle, RunNote},
    trainer::DriveOptions,
    ui::{
        dialog::DialogKind,
        host::{ChosenFile, Delivery, FileContent, Host, Interruption, MemoryNeed, PastRun, Wake},
    },
};
use crossbeam::channel::{Receiver, Sender, bounded, unbounded};
use replay::{ReplayOrigin, replay};

mod example;
pub mod follow;
mod replay;

const EXPORTS_FOLDER: &str = "exports";

pub struct DesktopHost {
    out: PathBuf,
    sender: Sender<Delivery>,
    arrived: Receiver<Delivery>,
    wake: Wake,
    runs: Arc<Runs>,
    sweeps: Arc<Background>,
    /// The series already read of the runs of sweeps.
    series: Arc<SeriesCache>,
    claims: Arc<WindowClaims>,
    /// Labs open on their recorded examples.
    has_examples: bool,
    /// A graph file of the command line, and how it is taken.
    pub(super) graph: Option<(PathBuf, GraphReading)>,
    /// A run folder of the command line that is followed though no process of this machine holds it.
    pub(super) followed: Option<FollowedRun>,
}

impl DesktopHost {
    /// Run folders are made in `out`, exports in `out/exports`. Every run joins `runs`.
    pub fn new(out: PathBuf, runs: Arc<Runs>) -> Self {
        let (sender, arrived) = unbounded();
        Self {
            out,
            sender,
            arrived,
            wake: Arc::new(|| {}),
            runs,
            sweeps: Arc::default(),
            series: Arc::default(),
            claims: Arc::default(),
            has_examples: false,
            graph: None,
            followed: None,
        }
    }

    pub fn with_examples(self) -> Self {
        Self { has_examples: true, ..self }
    }

    /// Makes sweeps with this program in place of the current executable.
    pub fn with_program(self, program: PathBuf) -> Self {
        Self { sweeps: Arc::new(Background::with_program(program)), ..self }
    }

    /// Reads the claims of this folder, where others are meant than those of `orrery claims`.
    pub fn with_claims(self, folder: PathBuf) -> Self {
        Self { claims: Arc::new(WindowClaims::from_folder(folder)), ..self }
    }

    /// Opens a folder or file as a run; a folder of checkpoints is recorded with `settings`, or with those of its lab.
    fn open(&self, folder: PathBuf, settings: Option<Config>) -> RunHandle {
        let (commands, receiver) = bounded(1024);
        let inbox = Arc::new(Inbox::default());
        let sink = Arc::clone(&inbox);
        let (process, out) = (self.runs.process(), self.out.clone());
        let (sender, wake) = (self.sender.clone(), Arc::clone(&self.wake));
        let reading = self.graph.as_ref().filter(|(file, _)| *file == folder).map(|graph| graph.1);
        let followed = self.followed.clone().filter(|followed| followed.folder == folder);
        let spawned = std::thread::Builder::new().name("replay".to_owned()).stack_size(64 << 20).spawn(move || {
            if is_sweep(&folder) {
                let _ = sender.send(Delivery::SweepFolder(folder));
                return wake();
            }
            let is_graph = || graph_events::is_graph(&folder) && folder.is_file() && !other_logs::is_log_file(&folder);
            let told = match reading.is_some() || is_graph() {
                true => {
                    let graph = reading.unwrap_or_default().read(&folder);
                    graph.map(|graph| sink.deliver_recorded(graph_events::events_of(&graph, &folder)))
                }
                false => {
                    let (followed, settings) = (followed.as_ref(), settings.as_ref());
                    let origin = ReplayOrigin { folder: &folder, followed, settings };
                    replay(&origin, &out, &sink, &receiver, process)
                }
            };
            if let Err(text) = told {
                sink.deliver(Event::Notice { level: Level::Error, text: text.clone() });
                sink.deliver(Event::State(RunState::Failed { message: text }));
            }
        });
        if let Err(e) = spawned {
            inbox.deliver(Event::State(RunState::Failed { message: format!("no thread could be started: {e}") }));
        }
        RunHandle { commands, inbox }
    }

    /// Works like [`Self::spawn_work`], for work that may fail or have nothing to deliver.
    fn try_spawn<D: Into<Option<Delivery>>, E: Display>(&self, work: impl FnOnce() -> Result<D, E> + Send + 'static) {
        self.spawn_work(move || -> Option<Delivery> {
            work().map_or_else(|e| Some(Delivery::Failed { what: e.to_string() }), Into::into)
        });
    }

    /// Delivers the runs of a claim, which are begun first if `begins`.
    fn deliver_claim(&self, claim: String, begins: bool) {
        let (claims, sweeps, out) = (Arc::clone(&self.claims), Arc::clone(&self.sweeps), self.out.clone());
        self.spawn_work(move || {
            let begun = if begins { claims.begin(&claim, &out, &sweeps) } else { Ok(()) };
            let read = begun.and_then(|()| claims.runs(&claim, &out, &sweeps));
            Delivery::ClaimRuns { claim, read: read.map(|runs| runs.map(Box::new)).map_err(|e| e.message) }
        });
    }

    /// Does `work` on another thread and delivers its result, if it has one.
    fn spawn_work<D: Into<Option<Delivery>>>(&self, work: impl FnOnce() -> D + Send + 'static) {
        let (sender, wake) = (self.sender.clone(), Arc::clone(&self.wake));
        let spawned = spawn("host", move || {
            if let Some(delivery) = Into::<Option<Delivery>>::into(work()) {
                // the window may have closed meanwhile; then the answer is not needed
                let _ = sender.send(delivery);
                wake();
            }
        });
        if let Err(what) = spawned {
            let _ = self.sender.send(Delivery::Failed { what });
        }
    }
}

impl Host for DesktopHost {
    fn set_wake(&mut self, wake: Wake) {
        self.wake = wake;
    }

    fn memory(&self, config: &Config) -> Option<MemoryNeed> {
        let plan = (labs::find(&config.lab)?.plan)(config).ok()?;
        Some(match trainer::check_plan_memory(&plan, false) {
            Ok(estimate) => MemoryNeed { size: size(estimate.bytes()), refusal: None },
            Err(e) => MemoryNeed { size: size(e.needed), refusal: Some(e.to_string()) },
        })
    }

    fn launch(&mut self, config: &Config, insist_memory: bool) -> Result<RunHandle, String> {
        let lab = labs::find(&config.lab).ok_or_else(|| format!("there is no lab `{}`", config.lab))?;
        let config = settings::with_absolute_paths(lab, config, None).map_err(|e| e.to_string())?;
        let plan = (lab.plan)(&config).map_err(|e| e.to_string())?;
        let writer = Writer::new(&self.out);
        let process = self.runs.process();
        let options =
            DriveOptions { stay: true, writer: Some(writer), process, insist_memory, ..DriveOptions::default() };
        trainer::spawn(plan, options, vec![]).map_err(|e| e.to_string())
    }

    fn open_run(&mut self, folder: PathBuf) -> RunHandle {
        self.open(folder, None)
    }

    fn record_checkpoints(&mut self, folder: PathBuf, settings: &Config) -> RunHandle {
        self.open(folder, Some(settings.clone()))
    }

    fn example(&mut self, lab: &str) -> Option<RunHandle> {
        let packed = labs::examples::find(lab).filter(|_| self.has_examples)?.packed;
        let (commands, receiver) = bounded(1024);
        let inbox = Arc::new(Inbox::default());
        let sink = Arc::clone(&inbox);
        // a worker's answers have as large a stack
        let thread = std::thread::Builder::new().name("example".to_owned()).stack_size(64 << 20);
        thread.spawn(move || example::show(packed, &sink, &receiver)).ok().map(|_| RunHandle { commands, inbox })
    }

    fn pick(&mut self, dialog: DialogKind) {
        self.spawn_work(move || {
            let chooser = |title: &str| rfd::FileDialog::new().set_title(title);
            let pick =
                |title: &str, kind: &str, extensions: &[&str]| chooser(title).add_filter(kind, extensions).pick_file();
            let path = match &dialog {
                DialogKind::Open(FileKind::Text) => chooser("Open a text to train on").pick_file(),
                DialogKind::Open(FileKind::TextFolder) => chooser("Open a folder of texts").pick_folder(),
                DialogKind::OpenConfig => pick("Open a config", "TOML", &["toml"]),
                DialogKind::OpenGraph => pick("Open a graph", "Graphs", &Format::ALL.map(Format::extension)),
                DialogKind::Open(FileKind::Matrix) => pick("Open a matrix", "Numbers", &["csv", "tsv", "txt"]),
                DialogKind::OpenRun => chooser("Open a run folder").pick_folder(),
                DialogKind::Open(FileKind::Tokenizer) => pick("Open a tokenizer.json", "JSON", &["json"]),
                DialogKind::Open(FileKind::Vocabulary) => chooser("Open a list of characters, or a text").pick_file(),
                DialogKind::Open(FileKind::Sentences) => pick("Open labelled sentences", "Text", &["tsv", "txt"]),
                DialogKind::Open(FileKind::Treebank) => {
                    pick("Open a treebank", "CoNLL-U", &[FileKind::TREEBANK_EXTENSION])
                }
                DialogKind::Open(FileKind::Checkpoint) => pick("Open a trained BDH", "Weights", &CHECKPOINT_EXTENSIONS),
                DialogKind::SaveAs { suggested } => chooser("Save as").set_file_name(suggested).save_file(),
            };
            Delivery::Picked { dialog, path }
        });
    }

    fn read_text(&mut self, path: PathBuf) {
        self.try_spawn(move || -> Result<_, Failure> {
            let content = read_text(&path, store::MAX_CONFIG).map_err(|e| Failure::unreadable(&path, &e))?;
            // what is not a lab's settings is refused by the window, in words
            let found = settings::config_of(&path, Ok(content.clone()))
                .and_then(|(lab, config)| settings::with_absolute_paths(lab, &config, path.parent()));
            let content = found.map_or(content, |config| config.to_toml());
            Ok(Delivery::Text { path, content })
        });
    }

    fn read_fonts(&mut self) {
        self.spawn_work(|| Delivery::Fonts(system_fonts::read()));
    }

    fn identify(&mut self, path: PathBuf) {
        self.try_spawn(move || -> Result<_, String> {
            let is_json = output::has_extension(&path, "json");
            let content = match path.is_dir() {
                true => FileContent::Folder,
                false if other_logs::is_log_file(&path) => FileContent::Log,
                false if is_json => json_kind::kind_of(&path)?,
                false => FileContent::Named,
            };
            Ok(Delivery::Identified { path, content })
        });
    }

    fn check_file(&mut self, file: &ChosenFile, settings: &Config) -> bool {
        let (file, settings) = (file.clone(), settings.clone());
        self.spawn_work(move || Delivery::Checked { read: file_check::check(&file, &settings), file });
        true
    }

    fn write(&mut self, path: PathBuf, bytes: Vec<u8>) {
        let out = self.out.clone();
        self.try_spawn(move || -> Result<_, Failure> {
            make_parent(&path, &out)?;
            output::write(&path, &bytes, &[])?;
            Ok(Delivery::Saved { path })
        });
    }

    fn export_folder(&self) -> PathBuf {
        self.out.join(EXPORTS_FOLDER)
    }

    fn list_runs(&mut self) {
        let out = self.out.clone();
        self.try_spawn(move || store::list(&out).map(|found| Delivery::Runs(past_runs(found))));
    }

    fn list_run_table(&mut self) {
        let (out, sender, wake) = (self.out.clone(), self.sender.clone(), Arc::clone(&self.wake));
        self.try_spawn(move || {
            let early = |rows: &[RunRow]| {
                let _ = sender.send(Delivery::RunTable { rows: rows.to_vec(), is_complete: false });
                wake();
            };
            let rows = sweep::results::rows_with_sweeps(&out, run_rows::list(&out, early)?.rows);
            Ok::<_, StoreError>(Delivery::RunTable { rows, is_complete: true })
        });
    }

    fn compare_runs(&mut self, runs: Vec<PathBuf>) {
        self.spawn_work(move || Delivery::Compared(compare::compare_runs(&runs).map(Box::new)));
    }

    fn replay_runs(&mut self, runs: Vec<PathBuf>) {
        self.spawn_work(move || Delivery::Replayed(compare::replayed(&runs).map(Arc::new).map_err(|e| e.message)));
    }

    fn find_run(&mut self, link: &Permalink) -> bool {
        let (out, link) = (self.out.clone(), Box::new(link.clone()));
        self.try_spawn(move || {
            run_rows::list(&out, |_| {}).map(|listing| Delivery::Found { run: run_of(&link, &listing.rows), link })
        });
        true
    }

    fn list_sweeps(&mut self) {
        let out = self.out.clone();
        self.spawn_work(move || Delivery::Sweeps(sweep::results::sweeps_beside(&out)));
    }

    fn read_sweep(&mut self, folder: PathBuf) {
        let (sweeps, series) = (Arc::clone(&self.sweeps), Arc::clone(&self.series));
        self.spawn_work(move || read_sweep(folder, &sweeps, &series));
    }

    fn make_sweep(&mut self, file: SweepFile, is_begun: bool) {
        let (sweeps, out) = (Arc::clone(&self.sweeps), self.out.clone());
        self.spawn_work(move || Delivery::SweepMade(background::make(&file, &out, is_begun.then_some(&*sweeps))));
    }

    fn complete_sweep(&mut self, folder: PathBuf) {
        let (sweeps, series) = (Arc::clone(&self.sweeps), Arc::clone(&self.series));
        self.try_spawn(move || -> Result<_, Failure> {
            sweeps.begin(&std::path::absolute(&folder).map_err(Failure::failed)?)?;
            Ok(read_sweep(folder, &sweeps, &series))
        });
    }

    fn stop_sweep(&mut self, folder: PathBuf) {
        // at once, so that whatever is read of the sweep from now on says that it stops
        if let Ok(path) = std::path::absolute(&folder) {
            self.sweeps.stop(&path);
        }
    }

    fn list_claims(&mut self) {
        let claims = Arc::clone(&self.claims);
        self.spawn_work(move || Delivery::Claims(claims.list().map_err(|e| e.message)));
    }

    fn read_claim(&mut self, claim: String) {
        self.deliver_claim(claim, false);
    }

    fn run_claim(&mut self, claim: String) {
        self.deliver_claim(claim, true);
    }

    fn write_note(&mut self, run: PathBuf, note: RunNote) {
        self.try_spawn(move || store::note::write(&run, &note).map(|()| None::<Delivery>));
    }

    fn discard_run(&mut self, run: PathBuf) {
        self.try_spawn(move || store::trash::discard(&run).map(|place| Delivery::Discarded { run, place }));
    }

    fn restore_run(&mut self, place: PathBuf) {
        self.try_spawn(move || store::trash::restore(&place).map(|_| Delivery::Restored));
    }

    fn deliveries(&mut self) -> Vec<Delivery> {
        self.arrived.try_iter().collect()
    }

    fn devices(&self) -> Vec<(String, String, bool)> {
        device::choices()
    }
}

/// Makes the folder of a file, with those above it. An export stays among the exports, over no link: the folder of runs
/// may be somebody else's, and so may a part of the name.
fn make_parent(path: &Path, out: &Path) -> Result<(), Failure> {
    let Some(folder) = path.parent() else { return Ok(()) };
    if !path.starts_with(out.join(EXPORTS_FOLDER)) {
        return output::make_folder(folder);
    }
    output::make_folder(out)?;
    let mut made = PathBuf::new();
    for part in folder.strip_prefix(out).unwrap_or(folder).components() {
        made.push(part);
        files::make_folder_inside(out, &made).map_err(|e| output::create_failure(folder, &e))?;
    }
    Ok(())
}

/// The runs for the window, newest first; the newest interrupted run of each lab is marked.
fn past_runs(found: Vec<RunSummary>) -> Vec<PastRun> {
    let mut interrupted_labs = BTreeSet::new();
    let past_run = |run: RunSummary| {
        let is_sought = run.steps > 0 && run.lab != FOREIGN && !interrupted_labs.contains(&run.lab);
        let interruption = is_sought.then(|| store::interruption(&run.folder)).flatten();
        if interruption.is_some() {
            interrupted_labs.insert(run.lab.clone());
        }
        PastRun {
            folder: run.folder,
            lab: run.lab,
            preset: run.preset,
            steps: run.steps,
            when: run.when,
            interruption: interruption.map(|i| Interruption { when: i.when, checkpoint: i.checkpoint }),
        }
    };
    found.into_iter().map(past_run).collect()
}

/// The longest run whose settings are exactly the link's and that reached the link's step.
fn run_of(link: &Permalink, rows: &[RunRow]) -> Option<PathBuf> {
    let lab = labs::find(&link.config.lab)?;
    let config = settings::with_absolute_paths(lab, &link.config, None).ok()?;
    let is_like = |row: &&RunRow| row.settings.len() == config.iter().count() && was_run_with(row, &config);
    let has_step = |row: &&RunRow| link.step.is_none_or(|step| row.steps >= step);
    rows.iter().filter(is_like).filter(has_step).max_by_key(|row| row.steps).map(|row| row.path.clone())
}

/// A sweep as it stands, and whether this window makes it.
fn read_sweep(folder: PathBuf, sweeps: &Background, series: &SeriesCache) -> Delivery {
    let read = sweep::results::read(&folder, series).map(|mut results| {
        results.process = sweeps.process(&results.folder);
        Arc::new(results)
    });
    Delivery::Sweep { folder, read: read.map_err(|e| e.message) }
}
