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

use clap::{
    Arg, Args, CommandFactory, FromArgMatches, Parser,
    error::{ContextKind, ContextValue},
};
use commands::Command;
use terminal::notice;

use crate::{config::nearest, nn::kernels::arch};

pub use failure::Failure;
pub use process::{exit_code, prepare_process};

const EXIT_CODES: [(u8, &str); 5] = [
    (0, "finished, with a complete record"),
    (1, "a run, the window or a connection failed, no answer came in time, or a result could not be written whole"),
    (2, "wrong arguments, settings or files"),
    (130, "stopped by Ctrl-C or the system, with a checkpoint"),
    (141, "the program that read the output closed it"),
];

/// Notes at the end of the help, one paragraph each; they wrap at the terminal's width.
const HELP_NOTES: [&str; 2] = [
    "Without a command Orrery opens its window; on a machine without a display it says so and runs the default lab into \
     a folder instead.",
    "The variable ORRERY_SIMD=scalar|avx2|avx512|neon forces the code path of the CPU kernels, so that one machine can \
     reproduce the numbers of another.",
];

fn after_help() -> String {
    let codes = EXIT_CODES.map(|(code, meaning)| format!("  {code:<3}  {meaning}")).join("\n");
    format!("Exit codes:\n{codes}\n\n{}", HELP_NOTES.join("\n\n"))
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
    exit_code(parse(env::args_os()).map_or_else(print_refusal, |cli| match cli.command {
        None => window::open(&cli.open, began),
        Some(command) => command.run(began),
    }))
}

/// Reads the words of a command line, the program's name first.
fn parse(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Cli, clap::Error> {
    let command = || with_negative_numbers(Cli::command());
    let mut matches = command().try_get_matches_from(words)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|e| e.format(&mut command()))
}

/// The command, where the value of every option may be a negative number: which numbers it takes the option itself says,
/// while clap would take `-3` for another option.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let takes_value = |arg: &Arg| !arg.is_positional() && arg.get_action().takes_values();
    let with_value = |arg: Arg| if takes_value(&arg) { arg.allow_negative_numbers(true) } else { arg };
    command.mut_args(with_value).mut_subcommands(with_negative_numbers)
}

/// The message for a text that is not a number, in place of the standard library's.
fn expected_number(why: &(dyn std::error::Error + 'static), text: Option<&str>) -> Option<&'static str> {
    let is_negative = text.is_some_and(|text| text.starts_with('-') && text.parse::<i128>().is_ok());
    match (why.downcast_ref::<ParseIntError>(), why.is::<ParseFloatError>()) {
        (Some(e), _) if *e.kind() == IntErrorKind::PosOverflow => Some("the number is too large"),
        (Some(_), _) if is_negative => Some("a whole number from 0 is expected"),
        (Some(_), _) => Some("a whole number is expected"),
        (None, true) => Some("a number is expected"),
        (None, false) => None,
    }
}

/// Bytes of an argument that clap may repeat whole.
const MAX_PLAIN: usize = 200;

/// The text of a part of clap's message.
fn context_text(e: &clap::Error, kind: ContextKind) -> Option<&str> {
    match e.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    }
}

/// Takes back the suggestion of an option that was hardly meant: clap's measure of likeness finds `--allow-files`, which
/// switches a guard off, for `--no-figures`.
fn without_far_suggestion(mut e: clap::Error) -> clap::Error {
    let [typed, suggested] = [ContextKind::InvalidArg, ContextKind::SuggestedArg].map(|kind| context_text(&e, kind));
    let is_far = typed.zip(suggested).is_some_and(|(typed, suggested)| {
        !suggested.starts_with(typed) && nearest(typed, std::iter::once(suggested)).is_none()
    });
    if is_far {
        e.remove(ContextKind::SuggestedArg);
        e.remove(ContextKind::Usage);
    }
    e
}

/// Prints the help that was asked for, or why the arguments are wrong.
fn print_refusal(e: clap::Error) -> Result<(), Failure> {
    let e = without_far_suggestion(e);
    // clap repeats arguments as they are, among them the names of files that a shell put in
    let is_plain = |word: OsString| word.len() <= MAX_PLAIN && !word.to_string_lossy().contains(char::is_control);
    let is_plain = env::args_os().all(is_plain);
    let text = context_text(&e, ContextKind::InvalidValue);
    let printed = match e.source().and_then(|why| Some((why.to_string(), expected_number(why, text)?))) {
        Some((why, expected)) => {
            notice!("{}", e.to_string().replace(&why, expected).trim_end());
            Ok(())
        }
        None if !is_plain && e.use_stderr() => {
            notice!("{}", e.to_string().trim_end());
            Ok(())
        }
        None => e.print(),
    };
    match e.exit_code() {
        0 => printed.map_err(|e| output::print_failure(&e)),
        code => Err(Failure::reported(u8::try_from(code).unwrap_or(2))),
    }
}
