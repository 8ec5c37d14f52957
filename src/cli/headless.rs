//! `orrery run` and `orrery resume`: a lab without a window, into a run folder with figures.

use std::path::{Path, PathBuf};

use clap::Args;
use crossbeam::channel::bounded;

use super::{
    Settings,
    failure::Failure,
    figures,
    lab_config::{recorded, with_text},
    null_models,
    progress::Progress,
    settings::{self, Named},
    summary,
};
use crate::{
    config::Config,
    labs::{Lab, TrainSettings},
    store::{Writer, checkpoint},
    telemetry::{RunState, Sink},
    trainer::{self, Options, Outcome, Plan},
};

#[derive(Args)]
pub struct RunArgs {
    /// A lab, a preset, a config file, a text file, or a trained BDH (.safetensors, .pt, .pth)
    what: String,
    #[command(flatten)]
    set: Settings,
    /// Do not draw figures at the end
    #[arg(long)]
    no_figures: bool,
}

#[derive(Args)]
pub struct ResumeArgs {
    /// A run folder
    run: PathBuf,
    /// Train up to this step instead of the recorded one; the schedule stretches with it
    #[arg(long)]
    steps: Option<u64>,
    /// Do not draw figures at the end
    #[arg(long)]
    no_figures: bool,
}

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let (lab, mut config) = match settings::resolve(&args.what)? {
        Named::Config(lab, config) => (lab, config),
        Named::Text(path) => with_text(path)?,
        Named::Run(folder) => {
            let shown = folder.display();
            return Err(Failure::usage(format!("{shown} is a run; `orrery resume {shown}` goes on with it")));
        }
    };
    settings::apply(&args.set, lab, &mut config)?;
    train(lab, &config, &args.set.out, !args.no_figures).map(|_| ())
}

/// Runs a config from the start into a new folder under `out`; returns the folder.
pub fn train(lab: &Lab, config: &Config, out: &Path, with_figures: bool) -> Result<PathBuf, Failure> {
    let plan = (lab.plan)(config)?;
    plan.texts().try_for_each(|t| t.check_file()).map_err(Failure::wrong)?;
    for variant in &plan.variants {
        variant.model.check_files().map_err(Failure::wrong)?;
    }
    let writer = Writer::at_once(out);
    let options = Options { start: true, writer: Some(writer.clone()), ..Options::default() };
    let outcome = drive(plan, options);
    finish(outcome, writer.folder(), with_figures)
}

pub fn resume(args: &ResumeArgs) -> Result<(), Failure> {
    let (lab, mut config) = recorded(&args.run)?;
    if let Some(steps) = args.steps {
        config.set_text(&(lab.knobs)(), TrainSettings::steps.name, &steps.to_string())?;
    }
    let plan = (lab.plan)(&config)?;
    let loaded = checkpoint::load(&args.run, &crate::nn::Device::Cpu).map_err(Failure::wrong)?;
    let from = loaded.map(|l| {
        l.notices.iter().for_each(|n| eprintln!("warning: {n}"));
        l.checkpoint
    });
    match &from {
        Some(c) => eprintln!("going on from step {} of {}", c.step, plan.steps),
        None => eprintln!("no checkpoint yet: beginning again from step 0"),
    }
    let writer = Writer::resume(&args.run, from.as_ref()).map_err(Failure::wrong)?;
    let options = Options { start: true, writer: Some(writer), from, ..Options::default() };
    let outcome = drive(plan, options);
    finish(outcome, Some(args.run.clone()), !args.no_figures).map(|_| ())
}

fn drive(plan: Plan, options: Options) -> Outcome {
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(Progress::new())];
    let (keep, commands) = bounded(1);
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(move || {
        let outcome = trainer::drive(plan, options, &commands, sinks);
        drop(keep);
        outcome
    });
    let failed = |message: String| Outcome { state: RunState::Failed { message }, step: 0 };
    match thread {
        Ok(handle) => handle.join().unwrap_or_else(|_| failed("the run's thread ended unexpectedly".to_owned())),
        Err(e) => failed(format!("no thread for the run: {e}")),
    }
}

fn finish(outcome: Outcome, folder: Option<PathBuf>, with_figures: bool) -> Result<PathBuf, Failure> {
    let folder = folder.ok_or_else(|| Failure::run(ended(&outcome)))?;
    if let RunState::Failed { .. } = outcome.state {
        return Err(Failure::run(format!("{}\nwhat was recorded is in {}", ended(&outcome), folder.display())));
    }
    if with_figures {
        match figures::draw_all(&folder) {
            Ok(n) => eprintln!("{n} figures in {}", folder.join("figures").display()),
            Err(why) => eprintln!("no figures were drawn: {why}"),
        }
    }
    for table in [summary::table(&folder), null_models::table(&folder)] {
        match table {
            Ok(table) if table.is_empty() => {}
            Ok(table) => eprintln!("\n{table}\n"),
            Err(why) => eprintln!("no summary: {why}"),
        }
    }
    println!("{}", folder.display());
    Ok(folder)
}

fn ended(outcome: &Outcome) -> String {
    match &outcome.state {
        RunState::Failed { message } => message.clone(),
        state => format!("the run ended as {state:?} at step {}", outcome.step),
    }
}
