//! `orrery sweep`: one preset over values of some settings and over seeds. The folders are the truth: what has run is read
//! from them, no process must stay alive, and `--missing` runs what has no end and resumes what was cut off.

pub mod background;
pub mod folder;
pub mod lock;
mod pictures;
pub mod pool;
pub mod results;
mod slurm;
pub mod table;
mod task;

use self::{
    folder::{SweepFolder, SweepRuns, TaskState},
    lock::SweepLock,
    pictures::PictureArgs,
    table::SweepTable,
};
use super::{damage, process::cores};
use crate::cli::prelude::*;

/// The folder in which sweeps are made by default.
const SWEEPS_FOLDER: &str = "sweeps";

#[derive(Args)]
pub struct SweepArgs {
    /// A specification (.toml), or the folder of a sweep that was begun
    what: PathBuf,
    #[command(flatten)]
    make: MakeArgs,
    /// Continue a sweep: make the runs that are missing and resume those that were interrupted
    #[arg(long)]
    missing: bool,
    /// Make only these runs, given by number, one after another in this process
    #[arg(long, value_delimiter = ',')]
    task: Vec<usize>,
    /// Print the table of what has run so far, without running anything
    #[arg(long)]
    table: bool,
    /// Where the folder of the sweep is made
    #[arg(long, value_name = "DIR", default_value = SWEEPS_FOLDER)]
    out: PathBuf,
    /// Write the pictures of what has run so far into this folder (SVG, and PNG where there is a graphics adapter),
    /// without running anything
    #[arg(long, value_name = "DIR", conflicts_with_all = pictures::OTHERS)]
    pictures: Option<PathBuf>,
    #[command(flatten)]
    picture: PictureArgs,
}

/// Where runs are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RunPlace {
    /// By processes of this machine
    Here,
    /// An array job of Slurm
    Slurm,
    /// By a program that is given the printed commands: GNU parallel, Snakemake, ...
    Print,
}

/// The options of making the runs of a sweep.
#[derive(Args)]
pub struct MakeArgs {
    /// Where to make the runs; the command waits only for those made here
    #[arg(long, value_enum, default_value_t = RunPlace::Here)]
    on: RunPlace,
    /// Minutes that one run takes, used to pack short runs into one Slurm task; without it, a run is timed here
    #[arg(long)]
    minutes: Option<f64>,
    /// Processes at once, with --on here; as many as there are cores by default
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
}

impl MakeArgs {
    /// Takes the lock of a sweep, unless runs are only printed: who makes or submits runs decides which are missing.
    pub fn lock(&self, sweep: &SweepFolder) -> Result<Option<SweepLock>, Failure> {
        match self.on {
            RunPlace::Print => Ok(None),
            RunPlace::Here | RunPlace::Slurm => lock::lock_sweep(&sweep.path).map(Some),
        }
    }

    /// Makes these runs of a sweep. Returns how many have failed, or `None` if they are made elsewhere.
    pub fn make(&self, sweep: &SweepFolder, runs: &[usize]) -> Result<Option<usize>, Failure> {
        SweepRuns::find(&sweep.path)?.check_names()?;
        match self.on {
            RunPlace::Here => return pool::run(sweep, runs, self.jobs.map_or_else(cores, usize::from)).map(Some),
            RunPlace::Slurm => slurm::submit(sweep, runs, self.minutes)?,
            RunPlace::Print => {
                for number in runs {
                    print_line!("{}", task::command_line(sweep, *number)?)?;
                }
            }
        }
        Ok(None)
    }
}

pub fn run(args: &SweepArgs) -> Result<(), Failure> {
    let sweep = open(args)?;
    let found = SweepRuns::find(&sweep.path)?;
    match args.task.is_empty() {
        true => found.report_left_out(),
        // of many runs that are made one by one, each would have to read all others
        false => found.report_linked(),
    }
    if args.table {
        // the user asked for the printed table, and a folder of somebody else may be read-only
        match print_table(&sweep)?.write(&sweep) {
            Ok(path) => notice!("{}", path.display()),
            Err(e) => notice!("{e}"),
        }
        return Ok(());
    }
    if let Some(out) = &args.pictures {
        return pictures::write(&sweep, out, &args.picture);
    }
    if !args.task.is_empty() {
        return args.task.iter().try_for_each(|number| task::run(&sweep, *number));
    }
    let lock = args.make.lock(&sweep)?;
    let states = sweep.states()?;
    let waiting: Vec<usize> = (0..states.len()).filter(|i| states[*i].is_pending()).collect();
    let begun = states.iter().filter(|state| state.row.is_some()).count();
    let shown = sweep.path.display();
    if waiting.is_empty() {
        notice!("every run of {shown} has ended or is being made");
        // the reader of printed commands would take the table for some
        return if args.make.on == RunPlace::Print { Ok(()) } else { present(&sweep) };
    }
    ensure!(
        begun == 0 || args.missing,
        "{shown} holds runs already: --missing makes the {} that are not finished, --table shows the results so far",
        waiting.len()
    );
    notice!("{shown}: {} runs, {} to make", states.len(), waiting.len());
    let Some(failed) = args.make.make(&sweep, &waiting)? else { return Ok(()) };
    drop(lock);
    present(&sweep)?;
    match failed {
        0 => Ok(()),
        n => Err(Failure::run(format!(
            "{n} of {} runs failed; the output of each is in {}",
            waiting.len(),
            sweep.path.join(folder::LOGS).display()
        ))),
    }
}

/// The folder that is named, or the one that the specification makes.
fn open(args: &SweepArgs) -> Result<SweepFolder, Failure> {
    if args.what.is_dir() {
        return SweepFolder::open(&args.what);
    }
    let (is_spec, shown) = (args.what.extension().is_some_and(|e| e == "toml"), args.what.display());
    match args.what.exists() {
        true if is_spec => SweepFolder::make(&args.what, &args.out),
        true => Err(usage!("`{shown}` is neither a specification (.toml) nor the folder of a sweep")),
        false => Err(usage!("there is no `{shown}`: give a specification (.toml) or the folder of a sweep")),
    }
}

/// Prints the table and writes it into the folder of the sweep.
fn present(sweep: &SweepFolder) -> Result<(), Failure> {
    let path = print_table(sweep)?.write(sweep)?;
    notice!("{}", path.display());
    Ok(())
}

fn print_table(sweep: &SweepFolder) -> Result<SweepTable, Failure> {
    let states = sweep.states()?;
    damage::report_rows(states.iter().filter_map(TaskState::finished));
    let table = SweepTable::new(sweep, &states);
    print_line!("{}", table.to_text())?;
    Ok(table)
}
