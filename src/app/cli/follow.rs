//! `orrery follow`: a run folder that is being written, by this program or any other, in the window or as lines of numbers.

use super::{
    OpenArgs, RUNS, Settings, display, interrupt, other_logs,
    progress::notice_line,
    remote::{self, Address, FollowedRun},
    stream::POLL_INTERVAL,
    window,
};
use crate::{
    cli::prelude::*,
    store::{Environment, FolderStatus},
    telemetry::StepStats,
};

#[derive(Args)]
pub struct FollowArgs {
    /// A run folder that this program or another one writes (docs/protocol.md says how), or ssh://host/path of one on
    /// another machine
    run: String,
    /// Where the copy of a remote run is kept; a later call continues that copy
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    out: PathBuf,
    /// Print new numbers as lines, one for each step and variant, until the run ends; the default without a display
    #[arg(long)]
    headless: bool,
}

pub fn run(args: &FollowArgs, began: Instant) -> Result<(), Failure> {
    let address = Address::parse(&args.run).transpose().map_err(Failure::usage)?;
    // the copy is written as long as this lives
    let begin = |address: &Address| {
        let folder = remote::copy_folder(address, &args.out, ", or give another folder with --out")?;
        remote::begin(address, folder, None)
    };
    let remote = address.as_ref().map(begin).transpose()?;
    let folder = match &remote {
        Some(run) => run.folder.clone(),
        None => other_logs::run_folder(Path::new(&args.run), &args.out)?,
    };
    if args.headless {
        return print_numbers(&folder, remote.is_some());
    }
    if let Err(why) = display::check() {
        notice!("orrery: {why}. The numbers of the run are printed as they come.");
        return print_numbers(&folder, remote.is_some());
    }
    Reader::open(&folder).map_err(Failure::wrong)?;
    let set = Settings { out: args.out.clone(), ..Settings::default() };
    let source = remote.as_ref().map(|run| run.source.clone());
    window::follow(FollowedRun { folder, remote: source }, &OpenArgs { what: None, timings: false, set }, began)
}

/// A run of Orrery's own whose lock is free and whose logs have not changed for so long has no writer. A copy that is kept up
/// to date from another machine has a free lock too.
const QUIET_TIME: Duration = Duration::from_secs(120);

/// Prints the newest step of every variant and then each new one, until the run ends or the command is interrupted.
fn print_numbers(folder: &Path, is_copy: bool) -> Result<(), Failure> {
    let is_asked = interrupt::cancel_flag();
    let reader = Reader::follow(folder).map_err(Failure::wrong)?;
    let mut follower = Follower { reader, is_copy, info: Arc::default(), step: 0 };
    let mut problem = String::new();
    let mut end = follower.print_new(true)?;
    loop {
        match end {
            Some(RunState::Failed { message }) => return Err(Failure::run(format!("the run failed: {message}"))),
            Some(_) => return Ok(()),
            None => {}
        }
        std::thread::sleep(POLL_INTERVAL);
        if is_asked.load(Ordering::SeqCst) {
            return Err(Failure::interrupted("no longer followed; the run itself was not stopped"));
        }
        // asked before the logs are read, so that the last lines of a writer that is gone are read too
        let has_no_writer = follower.has_no_writer(folder);
        let words = match follower.reader.poll() {
            Ok(FolderStatus::Same) => String::new(),
            Ok(FolderStatus::Missing { why }) => {
                format!("{} is incomplete at the moment ({why}); it will be checked again", folder.display())
            }
            Ok(FolderStatus::Replaced) => match Reader::follow(folder) {
                Ok(reader) => {
                    notice!("{} was rewritten", folder.display());
                    follower.reader = reader;
                    end = follower.print_new(true)?;
                    continue;
                }
                Err(e) => e.to_string(),
            },
            Err(e) => e.to_string(),
        };
        if words != problem && !words.is_empty() {
            notice!("orrery: {words}");
        }
        problem = words;
        end = follower.print_new(false)?;
        if end.is_none() && has_no_writer && problem.is_empty() {
            return Err(follower.killed(folder));
        }
    }
}

struct Follower {
    reader: Reader,
    /// The folder is the copy of a run on another machine.
    is_copy: bool,
    info: Arc<RunInfo>,
    step: u64,
}

impl Follower {
    /// Prints what can be read now, or of each variant the newest alone; the state in which the run ended.
    fn print_new(&mut self, is_past: bool) -> Result<Option<RunState>, Failure> {
        let (mut newest, mut end) = (BTreeMap::new(), None);
        while let Some(event) = self.reader.next() {
            match event {
                Event::Started(info) | Event::Described(info) => self.info = info,
                Event::Step(stats) => {
                    self.step = self.step.max(stats.step);
                    if is_past { _ = newest.insert(stats.variant, stats) } else { self.print(&stats)? }
                }
                Event::State(RunState::Running | RunState::Paused) => end = None,
                Event::State(state) => end = Some(state),
                Event::Notice { level, text } => notice!("{}", notice_line(level, &text)),
                _ => {}
            }
        }
        newest.values().try_for_each(|stats| self.print(stats))?;
        Ok(end)
    }

    /// True if the process that wrote the run is gone. This cannot be known for a copy; when a folder first turns out
    /// to be one, a notice says so.
    fn has_no_writer(&mut self, folder: &Path) -> bool {
        let is_quiet = || store::last_change(folder).and_then(|t| t.elapsed().ok()).is_some_and(|age| age > QUIET_TIME);
        let is_left = || self.info.lab != FOREIGN && store::is_unlocked(folder) && is_quiet();
        let was_abandoned = !self.is_copy && store::was_abandoned_here(folder);
        if self.is_copy || was_abandoned || !is_left() {
            return was_abandoned;
        }
        if let Some(machine) = other_machine(folder) {
            self.is_copy = true;
            notice!("this run is from another machine ({}): it is followed until its record ends", one_line(&machine));
        }
        !self.is_copy
    }

    fn killed(&self, folder: &Path) -> Failure {
        let go_on = match self.info.lab == FOREIGN {
            true => String::new(),
            false => format!("; `orrery resume {}` goes on with it", quoted(folder)),
        };
        let words = "unless this is a copy of one that goes on elsewhere, its process was killed";
        Failure::run(format!("the run has no end and no writer: {words} at step {}{go_on}", self.step))
    }

    /// `step 100  model  loss/train 2.31  gate/tanh 0.02`
    fn print(&self, stats: &StepStats) -> Result<(), Failure> {
        let variant = self.info.variants.get(stats.variant).map_or("", |v| v.id.as_str());
        let numbers: Vec<String> = stats.scalars.iter().map(|(name, value)| format!("{name} {value}")).collect();
        // names are the other program's, and a line is one step of one variant
        print_line!("step {}  {}  {}", stats.step, one_line(variant), one_line(&numbers.join("  ")))
    }
}

/// The machine that made the last part of a run, if its record shows that it is not this one. A record does not
/// identify a machine, so two with the same system and processor cannot be told apart.
fn other_machine(folder: &Path) -> Option<String> {
    let label = |machine: &Environment| format!("{}, {}", machine.os, machine.cpu);
    let made_on = store::machines(folder).pop().filter(|machine| !machine.os.is_empty())?;
    Some(label(&made_on)).filter(|made_on| *made_on != label(&Environment::current()))
}
