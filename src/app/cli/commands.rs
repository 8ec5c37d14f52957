//! The commands in their groups, and who answers each.

use clap::Subcommand;

use super::{
    OpenArgs, RUNS, Settings, activations, ask, claims, compare, concepts, contexts, eval, export, figures,
    find_concept, follow, generate, graph_file, headless, intervene, list, merge, model_info, other_logs, report,
    roles, run_table, schema, stream, sweep, window,
};
use crate::cli::prelude::*;

#[derive(Subcommand)]
pub enum Command {
    /// Run a lab without a window, into a run folder with figures
    Run(headless::RunArgs),
    /// Continue a run that was stopped or killed from its last checkpoint, or from step 0 if it has none
    Resume(headless::ResumeArgs),
    /// Open a run folder in the window and scrub through it, also one of another program (docs/protocol.md)
    Replay {
        /// A run folder, or a log of TensorBoard, W&B, Lightning or Trackio
        run: PathBuf,
    },
    /// Follow a run folder while it is written, by this program or any other: the window shows within a second what is
    /// appended; without a display new numbers are printed as lines
    Follow(follow::FollowArgs),
    /// Write a run folder, and what is appended to it, to standard output: the other end of `orrery follow ssh://host/path`
    Stream(stream::StreamArgs),
    /// Open a link that the window copied (orrery:LAB?..), or anything that `orrery` alone opens; without a display run
    /// it to the link's step
    Open(OpenArgs),
    /// List labs, presets, views, settings or past runs
    List(list::ListArgs),
    /// List past runs with their results: filtered, sorted, as CSV or JSON; name, note, pin, archive, delete them
    Runs(run_table::RunsArgs),
    /// Compare runs: curves overlaid, settings that differ, headline numbers
    Compare(compare::CompareArgs),
    /// Run one preset over values of some settings and over seeds: here, under Slurm, or by printed commands
    Sweep(sweep::SweepArgs),
    /// The published claims: each with its quote, the rule that decides it, and what runs here have found
    Claims(Box<claims::ClaimsArgs>),
    /// Write a run or a sweep as one HTML file that opens without a network and without Orrery
    Report(report::ReportArgs),
    /// Write a run's scalars as one CSV or as TensorBoard event files, its weights as safetensors, or a BDH's graph
    Export(export::ExportArgs),
    /// Draw one view of a run as PNG or SVG
    Render(figures::RenderArgs),
    /// Run a probe on a finished run or a checkpoint: the answer is JSON, CSV or a picture
    Ask(ask::AskArgs),
    /// Work with one trained model: read, write, look into or change a BDH of a file
    #[command(subcommand)]
    Model(ModelCommand),
    /// Open a graph file (.gexf, .graphml, .gml, .json, .csv) in the window, or draw, lay out or convert it without one
    Graph(graph_file::GraphArgs),
    /// Train several models and say, with statistics, what they have in common
    #[command(subcommand)]
    Study(StudyCommand),
    /// Print the JSON schema of measurements, for programs that read or write run folders
    Schema(schema::SchemaArgs),
}

#[derive(Subcommand)]
pub enum ModelCommand {
    /// Print what a trained BDH's file says of the model: its sizes, layers, residuals and position
    Info(model_info::InfoArgs),
    /// Read a text with a trained BDH: its loss, in nats per token and bits per byte, and token by token
    Eval(eval::EvalArgs),
    /// Let a trained BDH continue a prompt
    Generate(generate::GenerateArgs),
    /// Write what a trained BDH's neurons do while it reads a text, as safetensors or npz
    Activations(activations::ActivationArgs),
    /// Find the passages of a text that drive a neuron or a synapse of a trained BDH most
    Contexts(contexts::ContextArgs),
    /// Read a text while neurons or synapses of a trained BDH are silenced, scaled or held, beside random ones
    Intervene(intervene::InterveneArgs),
    /// Look in a trained BDH for a synapse that tells one label of your own sentences from the others, beside random weights
    FindConcept(find_concept::FindConceptArgs),
    /// Put two trained BDHs side by side into one with the neurons of both
    Merge(merge::MergeArgs),
}

#[derive(Subcommand)]
pub enum StudyCommand {
    /// Train the networks of the lab Grammar roles over several seeds and print which roles each names
    Roles(roles::RoleArgs),
    /// Train several seeds and look for a synapse that stands for a concept, beside random weights
    Concepts(Box<concepts::ConceptArgs>),
    /// The whole story of merging: a base, two children tuned on texts of their own, and what merging them keeps
    MergeStory(merge::StoryArgs),
}

impl Command {
    /// The named runs that the command only reads, so that they may be logs of other tools too.
    fn named_runs(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::Replay { run } => vec![run],
            Self::Compare(args) => args.runs.iter_mut().collect(),
            Self::Report(args) if args.others.is_empty() => vec![&mut args.run],
            Self::Export(args) => vec![&mut args.run],
            Self::Render(args) => vec![&mut args.run],
            _ => vec![],
        }
    }

    /// Does what was asked; `began` is when the process did.
    pub fn run(self, began: Instant) -> Result<(), Failure> {
        let mut command = self;
        for run in command.named_runs() {
            *run = other_logs::run_folder(run, Path::new(RUNS))?;
        }
        match command {
            Self::Run(args) => headless::run(&args),
            Self::Resume(args) => headless::resume(&args),
            Self::Replay { run } => {
                store::check_folder(&run).map_err(Failure::wrong)?;
                let what = Some(run.to_string_lossy().into_owned());
                let set = Settings { out: PathBuf::from(RUNS), ..Settings::default() };
                window::open(&OpenArgs { what, timings: false, set }, began)
            }
            Self::Follow(args) => follow::run(&args, began),
            Self::Stream(args) => stream::run(&args),
            Self::Open(args) => window::open(&args, began),
            Self::List(args) => list::run(&args),
            Self::Runs(args) => run_table::run(&args),
            Self::Compare(args) => compare::run(&args),
            Self::Sweep(args) => sweep::run(&args),
            Self::Claims(args) => claims::run(&args),
            Self::Report(args) => report::run(&args),
            Self::Export(args) => export::run(&args),
            Self::Render(args) => figures::run(&args),
            Self::Ask(args) => ask::run(&args),
            Self::Model(ModelCommand::Info(args)) => model_info::run(&args),
            Self::Model(ModelCommand::Eval(args)) => eval::run(&args),
            Self::Model(ModelCommand::Generate(args)) => generate::run(&args),
            Self::Model(ModelCommand::Activations(args)) => activations::run(&args),
            Self::Model(ModelCommand::Contexts(args)) => contexts::run(&args),
            Self::Model(ModelCommand::Intervene(args)) => intervene::run(&args),
            Self::Model(ModelCommand::FindConcept(args)) => find_concept::run(&args),
            Self::Model(ModelCommand::Merge(args)) => merge::run(&args),
            Self::Graph(args) => graph_file::run(&args, began),
            Self::Study(StudyCommand::Roles(args)) => roles::run(&args),
            Self::Study(StudyCommand::Concepts(args)) => concepts::run(&args),
            Self::Study(StudyCommand::MergeStory(args)) => merge::story(&args),
            Self::Schema(args) => schema::run(&args),
        }
    }
}
