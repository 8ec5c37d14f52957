//! The commands; the only module that wires labs to trainer, trainer to store and window, run folders to pictures.

mod activations;
mod ask;
mod asked_run;
mod checkpoint_names;
mod checkpoint_series;
mod choice;
mod claims;
mod commands;
mod compare;
mod concepts;
mod contexts;
mod continuation;
mod damage;
mod display;
mod eval;
mod export;
mod failure;
mod figures;
mod file_check;
mod find_concept;
mod follow;
mod generate;
mod graph_events;
mod graph_export;
mod graph_file;
mod headless;
pub mod host;
mod interrupt;
mod intervene;
mod json_kind;
mod lab_config;
mod list;
mod merge;
mod model_info;
mod moved_inputs;
mod null_models;
mod other_logs;
mod output;
mod prelude;
mod process;
mod progress;
pub mod reference;
mod remote;
mod renamed;
mod report;
mod roles;
mod run_table;
pub mod runs;
mod schema;
mod settings;
mod shell;
mod stream;
mod summary;
mod sweep;
mod sweep_names;
mod system_fonts;
mod terminal;
mod trained;
mod trained_run;
mod window;

use std::{
    env,
    error::Error as _,
    ffi::OsString,
    num::{IntErrorKind, ParseFloatError, ParseIntError},
    path::PathBuf,
    process::ExitCode,
    time::Instant,
};

use clap::{Args, Parser};
use commands::Command;
use terminal::notice;

use crate::nn::kernels::arch;

pub use failure::Failure;
pub use process::{exit_code, prepare_process};

const EXIT_CODES: [(u8, &str); 5] = [
    (0, "finished, with a complete record"),
    (1, "the run, the window or a connection failed, or a result could not be written completely"),
    (2, "wrong arguments, settings or files"),
    (130, "stopped by Ctrl-C or the system, with a checkpoint"),
    (141, "the program that read the output closed it"),
];

/// Notes at the end of the help, one paragraph each; they wrap at the terminal's width.
const REMARKS: [&str; 2] = [
    "Without a command Orrery opens its window; on a machine without a display it says so and runs the default lab into \
     a folder instead.",
    "The variable ORRERY_SIMD=scalar|avx2|avx512 forces the code path of the CPU kernels, so that one machine can \
     reproduce the numbers of another.",
];

fn after_help() -> String {
    let codes = EXIT_CODES.map(|(code, meaning)| format!("  {code:<3}  {meaning}")).join("\n");
    format!("Exit codes:\n{codes}\n\n{}", REMARKS.join("\n\n"))
}

/// The folder in which run folders are made by default.
const RUNS: &str = "runs";

/// A desktop laboratory for the dynamics of small sequence models.
#[derive(Parser)]
#[command(name = "orrery", version, after_help = after_help(), args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    open: OpenArgs,
}

/// The argument that the window opens with.
#[derive(Args)]
struct OpenArgs {
    /// A lab, a preset, a link (orrery:LAB?..), a config file, a text file to train on, a treebank (.conllu), a
    /// trained BDH, a folder of checkpoints, each of a step, a run folder, the folder of a sweep, or a log of TensorBoard,
    /// W&B, Lightning or Trackio
    what: Option<String>,
    /// Print when the first frame and the first training step came, and frame times at the end
    #[arg(long)]
    timings: bool,
    #[command(flatten)]
    set: Settings,
}

/// Settings over a preset's.
#[derive(Args, Clone, Default)]
struct Settings {
    /// A setting, e.g. --set model.d_model=64; `orrery list --knobs LAB` names them all
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Seed of weights and batches
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=crate::config::MAX_SEED))]
    seed: Option<u64>,
    /// Number of updates
    #[arg(long)]
    steps: Option<u64>,
    /// Device: auto, cpu, cuda:0, metal
    #[arg(long)]
    device: Option<String>,
    /// A text file to train on
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// Where run folders are made
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    out: PathBuf,
    /// Let a link read the files of this machine that it names; the window asks
    #[arg(long)]
    allow_files: bool,
}

impl Settings {
    /// Nothing was asked for.
    fn is_empty(&self) -> bool {
        self.set.is_empty()
            && self.seed.is_none()
            && self.steps.is_none()
            && self.device.is_none()
            && self.text.is_none()
    }
}

/// Runs the command line; returns the process's exit code.
pub fn main() -> ExitCode {
    let began = Instant::now();
    if let Err(sentence) = arch::check() {
        return exit_code(Err(Failure::usage(sentence)));
    }
    let args: Vec<OsString> = env::args_os().skip(1).collect();
    if let Some(sentence) = renamed::refusal(&args) {
        return exit_code(Err(Failure::usage(sentence)));
    }
    exit_code(Cli::try_parse().map_or_else(
        |e| print_refusal(&e),
        |cli| match cli.command {
            None => window::open(&cli.open, began),
            Some(command) => command.run(began),
        },
    ))
}

/// The message for a text that is no number, in place of the standard library's.
fn expected_number(why: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    match (why.downcast_ref::<ParseIntError>(), why.is::<ParseFloatError>()) {
        (Some(e), _) if *e.kind() == IntErrorKind::PosOverflow => Some("the number is too large"),
        (Some(_), _) => Some("a whole number is expected"),
        (None, true) => Some("a number is expected"),
        (None, false) => None,
    }
}

/// Prints the help that was asked for, or why the arguments are wrong.
fn print_refusal(e: &clap::Error) -> Result<(), Failure> {
    // clap repeats arguments as they are, among them the names of files that a shell put in
    let has_control = std::env::args_os().any(|word| word.to_string_lossy().contains(char::is_control));
    let printed = match e.source().and_then(|why| Some((why.to_string(), expected_number(why)?))) {
        Some((why, expected)) => {
            notice!("{}", e.to_string().replace(&why, expected).trim_end());
            Ok(())
        }
        None if has_control && e.use_stderr() => {
            notice!("{}", e.to_string().trim_end());
            Ok(())
        }
        None => e.print(),
    };
    match e.exit_code() {
        0 => printed.map_err(|e| output::unprinted(&e)),
        code => Err(Failure::reported(u8::try_from(code).unwrap_or(2))),
    }
}
