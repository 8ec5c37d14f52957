//! `orrery follow`: a run folder that is being written, by this program or any other, in the window or as lines of numbers.

use super::{
    OpenArgs, RUNS, Settings, display, interrupt, other_logs,
    progress::notice_line,
    remote::{self, Address, FollowedRun},
    stream::POLL,
    window,
};
use crate::{cli::prelude::*, store::FolderStatus, telemetry::StepStats};

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
        let folder = remote::copy_folder(address, &args.out, ", or give another place by --out")?;
        remote::begin(address, folder, None)
    };
    let remote = address.as_ref().map(begin).transpose()?;
    let folder = match &remote {
        Some(run) => run.folder.clone(),
        None => other_logs::run_folder(Path::new(&args.run), &args.out)?,
    };
    if args.headless {
        return print_numbers(&folder);
    }
    if let Err(why) = display::check() {
        notice!("orrery: {why}. The numbers of the run are printed as they come.");
        return print_numbers(&folder);
    }
    Reader::open(&folder).map_err(Failure::wrong)?;
    let set = Settings { out: args.out.clone(), ..Settings::default() };
    let source = remote.as_ref().map(|run| run.source.clone());
    window::follow(FollowedRun { folder, remote: source }, &OpenArgs { what: None, timings: false, set }, began)
}

/// Prints the newest step of every variant and then each new one, until the run ends or the command is interrupted.
fn print_numbers(folder: &Path) -> Result<(), Failure> {
    let is_asked = interrupt::cancel_flag();
    let mut follower = Follower { reader: Reader::follow(folder).map_err(Failure::wrong)?, info: Arc::default() };
    let mut trouble = String::new();
    let mut end = follower.print_new(true)?;
    loop {
        match end {
            Some(RunState::Failed { message }) => return Err(Failure::run(format!("the run failed: {message}"))),
            Some(_) => return Ok(()),
            None => {}
        }
        std::thread::sleep(POLL);
        if is_asked.load(Ordering::SeqCst) {
            return Err(Failure::interrupted("the run goes on without a follower"));
        }
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
        if words != trouble && !words.is_empty() {
            notice!("orrery: {words}");
        }
        trouble = words;
        end = follower.print_new(false)?;
    }
}

struct Follower {
    reader: Reader,
    info: Arc<RunInfo>,
}

impl Follower {
    /// Prints what can be read now, or of each variant the newest alone; the state in which the run ended.
    fn print_new(&mut self, is_past: bool) -> Result<Option<RunState>, Failure> {
        let (mut newest, mut end) = (BTreeMap::new(), None);
        while let Some(event) = self.reader.next() {
            match event {
                Event::Started(info) | Event::Described(info) => self.info = info,
                Event::Step(stats) if is_past => {
                    newest.insert(stats.variant, stats);
                }
                Event::Step(stats) => self.print(&stats)?,
                Event::State(RunState::Running | RunState::Paused) => end = None,
                Event::State(state) => end = Some(state),
                Event::Notice { level, text } => notice!("{}", notice_line(level, &text)),
                Event::Sample(_)
                | Event::Partial(_)
                | Event::Checkpoint { .. }
                | Event::Question { .. }
                | Event::Snapshots(_)
                | Event::Folder(_)
                | Event::Changed { .. } => {}
            }
        }
        newest.values().try_for_each(|stats| self.print(stats))?;
        Ok(end)
    }

    /// `step 100  model  loss/train 2.31  gate/tanh 0.02`
    fn print(&self, stats: &StepStats) -> Result<(), Failure> {
        let variant = self.info.variants.get(stats.variant).map_or("", |v| v.id.as_str());
        let numbers: Vec<String> = stats.scalars.iter().map(|(name, value)| format!("{name} {value}")).collect();
        // names are the other program's, and a line is one step of one variant
        print_line!("step {}  {}  {}", stats.step, one_line(variant), one_line(&numbers.join("  ")))
    }
}
