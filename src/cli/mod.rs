//! The commands; the only module that wires everything: labs to trainer, trainer to store and
//! window, run folders to pictures.

mod activations;
pub mod bench;
mod checkpoint_series;
mod compare;
mod concepts;
mod contexts;
mod continuation;
mod display;
mod eval;
mod export;
mod failure;
mod figures;
mod find_concept;
mod generate;
mod graph_events;
mod graph_export;
mod graph_file;
mod headless;
pub mod headlines;
pub mod host;
mod interrupt;
mod intervene;
mod json_kind;
mod lab_config;
mod list;
mod merge;
mod moved_inputs;
mod null_models;
mod output;
mod progress;
mod report;
mod roles;
pub mod run_rows;
mod run_table;
pub mod runs;
mod schema;
mod settings;
mod summary;
mod sweep;
mod sweep_names;
mod terminal;
mod trained;
mod trained_run;
mod window;

use std::{
    panic,
    path::PathBuf,
    process::{self, ExitCode},
    time::Instant,
};

use clap::{Args, Parser, Subcommand};
use terminal::tell;

use crate::nn::kernels::arch;

const AFTER: &str =
    "Exit codes: 0 done and recorded whole, 1 the run or the window failed, 2 wrong arguments, settings or files,
130 stopped by Ctrl-C or the system, with a checkpoint.
Without a command Orrery opens its window; on a machine without a display it says so and runs the
default lab into a folder instead.
The variable ORRERY_SIMD=scalar|avx2|avx512 forces the code path of the CPU kernels, so that one machine
can give the numbers of another.";

/// The exit code that a shell reports for a command ended by a broken pipe (128 + SIGPIPE).
const ENDED_WITH_THE_READER: i32 = 141;

/// The folder in which run folders are made by default.
const RUNS: &str = "runs";

/// A desktop laboratory for the dynamics of small sequence models.
#[derive(Parser)]
#[command(name = "orrery", version, after_help = AFTER, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    open: Open,
}

/// What the window opens with.
#[derive(Args)]
struct Open {
    /// A lab, a preset, a link (orrery:LAB?..), a config file, a text file to train on, a trained BDH, a folder of
    /// checkpoints, each of a step, a run folder, or the folder of a sweep
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
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=crate::config::MOST_SEED))]
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

#[derive(Subcommand)]
enum Command {
    /// List labs, presets, views, settings or past runs
    List(list::ListArgs),
    /// List past runs with their results: filtered, sorted, as CSV or JSON; name, note, pin, archive, delete them
    Runs(run_table::RunsArgs),
    /// Set runs beside each other: curves overlaid, settings that differ, headline numbers
    Compare(compare::CompareArgs),
    /// Open a link that the window copied (orrery:LAB?..), or anything that `orrery` alone opens; without a display run
    /// it to the link's step
    Open(Open),
    /// Run a lab without a window, into a run folder with figures
    Run(headless::RunArgs),
    /// Go on with a run that was stopped or killed, exactly where its last checkpoint stands
    Resume(headless::ResumeArgs),
    /// Draw views of a run folder as PNG
    Render(figures::RenderArgs),
    /// Open a run folder in the window and scrub through it
    Replay {
        /// A run folder
        run: PathBuf,
    },
    /// Open a graph file (.gexf, .graphml, .gml, .json, .csv) in the window, or draw, lay out or convert it without one
    ViewGraph(graph_file::ViewGraphArgs),
    /// Time training steps, alone or against PyTorch
    Bench(bench::BenchArgs),
    /// Train several seeds and look for a synapse that stands for a concept, beside random weights
    Concepts(concepts::ConceptArgs),
    /// Look in a trained BDH for a synapse that tells one label of your own sentences from the others, beside random weights
    FindConcept(find_concept::FindConceptArgs),
    /// Run one preset over values of some settings and over seeds: here, under Slurm, or by printed commands
    Sweep(sweep::SweepArgs),
    /// Write a run as one HTML file that opens without a network and without Orrery
    Report(report::ReportArgs),
    /// Train the networks of the lab Grammar roles over several seeds and print which roles each names
    Roles(roles::RoleArgs),
    /// Write a run's scalars as one CSV or as TensorBoard event files, its weights as safetensors, or a BDH's graph
    Export(export::ExportArgs),
    /// Read a text with a trained BDH: its loss, in nats a token and bits a byte, and token by token
    Eval(eval::EvalArgs),
    /// Write what a trained BDH's neurons do while it reads a text, as safetensors or npz
    Activations(activations::ActivationArgs),
    /// Find the passages of a text that drive a neuron or a synapse of a trained BDH most
    Contexts(contexts::ContextArgs),
    /// Read a text while neurons or synapses of a trained BDH are silenced, scaled or held, beside random ones
    Intervene(intervene::InterveneArgs),
    /// Let a trained BDH go on after a prompt
    Generate(generate::GenerateArgs),
    /// Print the JSON schema of measurements, for programs that read or write run folders
    Schema(schema::SchemaArgs),
    /// Put two trained BDHs side by side into one with the neurons of both
    Merge(merge::MergeArgs),
    /// The whole story of merging: a base, two children tuned on texts of their own, and what merging them keeps
    MergeStory(merge::StoryArgs),
}

/// Who reads our output may leave before its end (`orrery list | head`), or its disk may be full. The standard
/// library makes that a panic; here the process ends in silence, as other commands do, or says why.
fn end_with_the_reader() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| match info.payload_as_str() {
        Some(words) if words.starts_with("failed printing to stdout") => {
            if words.contains("Broken pipe") {
                process::exit(ENDED_WITH_THE_READER);
            }
            tell!("orrery: {words}");
            process::exit(1);
        }
        _ => before(info),
    }));
}

/// Runs the command line; returns the process's exit code.
pub fn main() -> ExitCode {
    let began = Instant::now();
    end_with_the_reader();
    let cli = Cli::parse();
    if let Err(words) = arch::check() {
        tell!("orrery: {words}");
        return ExitCode::from(2);
    }
    let result = match cli.command {
        None => window::open(&cli.open, began),
        Some(Command::Runs(args)) => run_table::run(&args),
        Some(Command::Compare(args)) => compare::run(&args),
        Some(Command::List(args)) => list::run(&args),
        Some(Command::Open(args)) => window::open(&args, began),
        Some(Command::Run(args)) => headless::run(&args),
        Some(Command::Resume(args)) => headless::resume(&args),
        Some(Command::Render(args)) => figures::run(&args),
        Some(Command::Replay { run }) => {
            let what = Some(run.to_string_lossy().into_owned());
            let set = Settings { out: PathBuf::from(RUNS), ..Settings::default() };
            window::open(&Open { what, timings: false, set }, began)
        }
        Some(Command::ViewGraph(args)) => graph_file::run(&args, began),
        Some(Command::Bench(args)) => bench::run(&args),
        Some(Command::Concepts(args)) => concepts::run(&args),
        Some(Command::FindConcept(args)) => find_concept::run(&args),
        Some(Command::Sweep(args)) => sweep::run(&args),
        Some(Command::Report(args)) => report::run(&args),
        Some(Command::Roles(args)) => roles::run(&args),
        Some(Command::Export(args)) => export::run(&args),
        Some(Command::Eval(args)) => eval::run(&args),
        Some(Command::Activations(args)) => activations::run(&args),
        Some(Command::Contexts(args)) => contexts::run(&args),
        Some(Command::Intervene(args)) => intervene::run(&args),
        Some(Command::Generate(args)) => generate::run(&args),
        Some(Command::Schema(args)) => schema::run(&args),
        Some(Command::Merge(args)) => merge::run(&args),
        Some(Command::MergeStory(args)) => merge::story(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tell!("orrery: {}", failure.words);
            ExitCode::from(failure.code)
        }
    }
}
