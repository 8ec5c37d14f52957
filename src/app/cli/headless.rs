//! `orrery run` and `orrery resume`: a lab without a window, into a run folder with figures.

use super::{
    Settings,
    asked_run::{ALLOWED, AskedRun},
    checkpoint_series,
    continuation::{self, Continuation},
    damage, figures, interrupt, null_models,
    progress::RunProgress,
    settings::{self, ResolvedName},
    summary,
};
use crate::{
    cli::prelude::*,
    files::memory::size,
    telemetry::Command,
    trainer::{DriveOptions, Outcome, Plan},
};
use crossbeam::channel::{Sender, bounded};

/// Commands that may wait: a request to end finds a place beside those of others.
const QUEUE_CAPACITY: usize = 16;

#[derive(Args)]
pub struct RunArgs {
    /// A lab, a preset, a config file, a text file, a treebank (.conllu), a trained BDH (.safetensors, .pt, .pth), or a
    /// folder of checkpoints whose names have their steps, which is recorded as a run
    what: String,
    #[command(flatten)]
    set: Settings,
    #[command(flatten)]
    wanted: RunOptions,
}

/// Wishes for a run besides its settings.
#[derive(Args, Debug, Clone, Default)]
pub struct RunOptions {
    /// Do not draw figures at the end
    #[arg(long)]
    pub no_figures: bool,
    /// Start even if the estimated memory exceeds what is available
    #[arg(long)]
    pub insist_memory: bool,
    /// Let `orrery ask` do this to the run while it trains, over the files of its folder; pause allows resume too
    #[arg(long, value_parser = one_by_name(&ALLOWED), value_delimiter = ',', value_name = "WHAT")]
    pub allow: Vec<&'static str>,
    /// End at this step, as a link wants it, and not at the last one of the settings.
    #[arg(skip)]
    pub until: Option<u64>,
}

impl RunOptions {
    /// Nothing but the run itself.
    pub fn without_figures() -> Self {
        Self { no_figures: true, ..Self::default() }
    }
}

#[derive(Args)]
pub struct ResumeArgs {
    /// A run folder
    run: PathBuf,
    /// Train up to this step instead of the recorded one; the schedule stretches with it
    #[arg(long)]
    steps: Option<u64>,
    #[command(flatten)]
    wanted: RunOptions,
}

impl ResumeArgs {
    /// Arguments that resume a run to its planned last step, without figures.
    pub fn without_figures(run: PathBuf) -> Self {
        Self { run, steps: None, wanted: RunOptions::without_figures() }
    }
}

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let mut until = None;
    let (lab, mut config) = match settings::resolve(&args.what)? {
        ResolvedName::Config(lab, config) => (lab, config),
        ResolvedName::Page(lab, link) => {
            settings::check_linked_files(lab, &link, args.set.allow_files)?;
            until = link.step;
            (lab, link.config)
        }
        ResolvedName::Text(path) => settings::with_text(path)?,
        ResolvedName::Lesson(link) => {
            return Err(usage!("`{link}` is a step of a lesson; `orrery '{link}'` opens it in the window"));
        }
        ResolvedName::Series(folder) => {
            let run = record_series(&folder, &args.set)?;
            present(&run, !args.wanted.no_figures)?;
            return print_line!("{}", path_label(&run));
        }
        ResolvedName::Sweep(folder) => {
            let (shown, word) = (folder.display(), quoted(&folder));
            return Err(usage!("{shown} is a sweep; `orrery sweep {word} --missing` goes on with it"));
        }
        ResolvedName::Run(folder) => {
            let (shown, word) = (folder.display(), quoted(&folder));
            return Err(match store::run_info(&folder).map_err(Failure::wrong)?.0.lab == FOREIGN {
                true => usage!("{shown} is a run of another program; `orrery follow {word}` shows it"),
                false => usage!("{shown} is a run; `orrery resume {word}` goes on with it"),
            });
        }
    };
    settings::apply(&args.set, lab, &mut config)?;
    train(lab, &config, &args.set.out, RunOptions { until, ..args.wanted.clone() }).map(|_| ())
}

/// Records a folder of checkpoints as a run; returns its folder.
pub fn record_series(folder: &Path, set: &Settings) -> Result<PathBuf, Failure> {
    let (lab, mut config) = checkpoint_series::lab_and_config(folder)?;
    settings::apply(set, lab, &mut config)?;
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(checkpoint_series::StepReport)];
    checkpoint_series::record(folder, lab, &config, &set.out, sinks, &|| true)
}

/// Ends a run at a step, as Ctrl-C would.
struct StopAtStep {
    step: u64,
    commands: Sender<Command>,
}

impl Sink for StopAtStep {
    fn event(&mut self, event: &Event) -> Result<(), String> {
        if matches!(event, Event::Step(stats) if stats.step >= self.step) {
            // the worker reads the command before its next step; if the queue is full, the next event sends it again
            let _ = self.commands.try_send(Command::Stop);
        }
        Ok(())
    }
}

/// Runs a config from the start into a new folder under `out`; returns the folder.
pub fn train(lab: &Lab, config: &Config, out: &Path, wanted: RunOptions) -> Result<PathBuf, Failure> {
    let config = &settings::with_absolute_paths(lab, config, None)?;
    let plan = (lab.plan)(config)?;
    let (until, steps) = (wanted.until.unwrap_or(0), plan.steps);
    ensure!(until <= steps, "the link is to step {until}, and its settings have {steps} steps");
    plan.texts().try_for_each(|t| t.check_file()).map_err(Failure::wrong)?;
    plan.variants.iter().try_for_each(|v| v.model.check_files()).map_err(Failure::wrong)?;
    check_memory_need(&plan, wanted.insist_memory)?;
    store::check_writable(out).map_err(Failure::failed)?;
    let writer = Writer::at_once(out);
    let options = DriveOptions {
        start: true,
        writer: Some(writer.clone()),
        insist_memory: wanted.insist_memory,
        ..DriveOptions::default()
    };
    let until = wanted.until.filter(|step| *step < steps);
    let mut outcome = drive(plan, options, until, &wanted.allow);
    if until.is_some_and(|step| step == outcome.step) && outcome.state == RunState::Stopped {
        notice!("stopped at step {}, the step of the link; `orrery resume` continues", outcome.step);
        outcome.state = RunState::Finished;
    }
    finish(outcome, writer.folder(), !wanted.no_figures)
}

/// Prints how much memory the plan will hold.
fn check_memory_need(plan: &Plan, insists: bool) -> Result<(), Failure> {
    let estimate = trainer::check_plan_memory(plan, insists)
        .map_err(|e| Failure::run(format!("{e}. --insist-memory starts it anyway; the system may end it")))?;
    notice!("it will hold about {} of memory", size(estimate.bytes()));
    Ok(())
}

pub fn resume(args: &ResumeArgs) -> Result<(), Failure> {
    store::check_folder(&args.run).map_err(Failure::wrong)?;
    figures::check_folder(&args.run)?;
    let Continuation { plan, from, notices, lost } = continuation::decide(&args.run, args.steps)?;
    damage::report(&args.run, &lost);
    let done = from.as_ref().map_or(0, |c| c.step);
    if done >= plan.steps && store::has_finished(&args.run) {
        notice!(
            "the run is finished, at step {done} of {}: nothing was changed. --steps N trains it further",
            plan.steps
        );
        return print_line!("{}", path_label(&args.run));
    }
    check_memory_need(&plan, args.wanted.insist_memory)?;
    notices.iter().for_each(|n| notice!("warning: {n}"));
    match &from {
        Some(c) => notice!("going on from step {} of {}", c.step, plan.steps),
        None => notice!("no checkpoint yet: beginning again from step 0"),
    }
    let writer = Writer::resume(&args.run, from.as_ref())?;
    writer.lock_warning().into_iter().chain(writer.set_aside()).for_each(|words| notice!("{words}"));
    let options = DriveOptions {
        start: true,
        writer: Some(writer),
        from,
        insist_memory: args.wanted.insist_memory,
        ..DriveOptions::default()
    };
    let outcome = drive(plan, options, None, &args.wanted.allow);
    finish(outcome, Some(args.run.clone()), !args.wanted.no_figures).map(|_| ())
}

/// `until`: the step to end at, if it is not the last one; `allow`: what others may do to the run meanwhile.
fn drive(plan: Plan, mut options: DriveOptions, until: Option<u64>, allow: &[&str]) -> Outcome {
    let mut sinks: Vec<Box<dyn Sink>> = vec![Box::new(RunProgress::new())];
    let (keep, commands) = bounded(QUEUE_CAPACITY);
    let asked = AskedRun::begin(&plan, &options, &keep, allow).unwrap_or_else(|why| {
        notice!("warning: the run cannot be asked: {why}");
        None
    });
    if let Some(asked) = &asked {
        sinks.push(asked.sink());
        options.asks = allow.iter().map(|ask| (*ask).to_owned()).collect();
    }
    if let Some(step) = until {
        sinks.push(Box::new(StopAtStep { step, commands: keep.clone() }));
    }
    interrupt::on_interrupt(move || {
        // A run that has ended needs no command.
        let _ = keep.try_send(Command::Stop);
    });
    let run = move || trainer::drive(plan, options, &commands, sinks);
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(run);
    let failed = |message: String| Outcome { state: RunState::Failed { message }, step: 0, is_refused: false };
    let outcome = match thread {
        Ok(handle) => handle.join().unwrap_or_else(|_| failed("the run's thread ended unexpectedly".to_owned())),
        Err(e) => failed(format!("no thread for the run: {e}")),
    };
    // it holds the folder of the run, which is read next
    if let Some(asked) = asked {
        asked.end();
    }
    outcome
}

fn finish(outcome: Outcome, folder: Option<PathBuf>, with_figures: bool) -> Result<PathBuf, Failure> {
    let words = match &outcome.state {
        RunState::Failed { message } => message.clone(),
        state => format!("the run ended as {state:?} at step {}", outcome.step),
    };
    ensure!(!outcome.is_refused, "{words}");
    let folder = folder.ok_or_else(|| Failure::run(words.clone()))?;
    let shown = path_label(&folder);
    match outcome.state {
        RunState::Failed { .. } => Err(Failure::run(format!("{words}\nwhat was recorded is in {shown}"))),
        RunState::Finished => {
            present(&folder, with_figures)?;
            print_line!("{shown}")?;
            Ok(folder)
        }
        _ => Err(Failure::interrupted(format!(
            "stopped at step {}, with a checkpoint; `orrery resume {}` goes on",
            outcome.step,
            quoted(&folder)
        ))),
    }
}

/// Draws the figures and prints the tables of a finished run.
fn present(folder: &Path, with_figures: bool) -> Result<(), Failure> {
    if with_figures {
        figures::draw_all(folder)?;
    }
    for table in [summary::table(folder), null_models::table(folder)] {
        let table = table.map_err(Failure::failed)?;
        if !table.is_empty() {
            // line by line, because the further lines of one message are indented
            notice!("");
            table.lines().for_each(|line| notice!("{line}"));
            notice!("");
        }
    }
    Ok(())
}
