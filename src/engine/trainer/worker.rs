//! The loop of one run: commands in, events out, one update after another in between.
//!
//! Paused or finished it waits for a command and uses no CPU. Between the updates of two variants
//! it hands on questions, so that the answer to a slider begins within one update.

mod questions;
mod record;

use std::{
    convert::Infallible,
    ops::ControlFlow,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use crossbeam::{
    channel::{Receiver, Sender, TryRecvError, at, bounded, never},
    select,
};

use super::{
    Plan, Run, RunError,
    answering::{Answering, SharedRun},
    listeners::Listeners,
    snapshots::Snapshots,
    thread::{STACK_BYTES, guard},
};
use crate::{
    config::Value,
    store::{Checkpoint, Writer},
    telemetry::{Command, Event, Inbox, Level, RunHandle, RunInfo, RunState, Sink},
};

/// The options of driving a run.
#[derive(Default)]
pub struct DriveOptions {
    /// True if the run begins at once, as without a window; false if it begins paused.
    pub start: bool,
    /// True to stay after the last step and answer questions; else the run returns.
    pub stay: bool,
    /// The run's folder: it records every event, and checkpoints go there.
    pub writer: Option<Writer>,
    /// The checkpoint to continue from.
    pub from: Option<Checkpoint>,
    /// The process that it runs in, if the process waits for the worker's end.
    pub process: Option<Process>,
    /// Start even if the estimated memory exceeds what is available.
    pub insist_memory: bool,
    /// The questions that the sender of commands accepts from the run's folder, for the run's description.
    pub asks: Vec<String>,
    /// The sinks already have the run's past (a replay), so it is not sent again. Its folder is reopened only if the
    /// run continues.
    pub replayed: Option<PathBuf>,
}

/// Channels by which a run and its process learn of each other's end.
pub struct Process {
    /// Dropped when the run has ended and its record is complete.
    pub alive: Sender<Infallible>,
    /// Disconnected when the process is ending: the run is stopped.
    pub shutdown: Receiver<Infallible>,
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The state in which the run ended.
    pub state: RunState,
    /// The number of finished updates.
    pub step: u64,
    /// True where its settings or texts do not fit, so that nothing was begun.
    pub is_refused: bool,
}

/// Commands that may wait; a slider sends at most one per frame.
const QUEUE: usize = 1024;

/// Drives a run on a thread of its own. Events go to the returned handle's inbox as well as to `sinks`.
pub fn spawn(plan: Plan, options: DriveOptions, mut sinks: Vec<Box<dyn Sink>>) -> Result<RunHandle, RunError> {
    let (commands, receiver) = bounded(QUEUE);
    let inbox = Arc::new(Inbox::default());
    sinks.insert(0, Box::new(Arc::clone(&inbox)));
    std::thread::Builder::new()
        .name(format!("run {}", plan.config.lab))
        .stack_size(STACK_BYTES)
        .spawn(move || {
            drive(plan, options, &receiver, sinks);
        })
        .map_err(RunError::Thread)?;
    Ok(RunHandle { commands, inbox })
}

/// Drives a run until it is done, stopped or failed. Blocks; see [`spawn`].
pub fn drive(plan: Plan, options: DriveOptions, commands: &Receiver<Command>, sinks: Vec<Box<dyn Sink>>) -> Outcome {
    let listeners = Listeners::new(sinks, options.writer.clone());
    let threads = super::threads_of(&plan);
    let opened = guard(|| {
        super::check_plan_memory(&plan, options.insist_memory)?;
        crate::nn::set_threads(threads);
        let mut run = Run::open(plan)?;
        if let Some(from) = &options.from {
            run.restore(from)?;
        }
        Ok(run)
    });
    match opened {
        Ok(run) => {
            let mut worker = Worker::new(run, options, listeners, threads);
            worker.begin();
            let result = worker.listeners.check().and_then(|()| worker.work(commands));
            worker.listeners.end_answers();
            let state = worker.end(result);
            Outcome { state, step: worker.run.step, is_refused: false }
        }
        Err(e) => {
            let state = RunState::Failed { message: e.to_string() };
            listeners.emit(Event::State(state.clone()));
            Outcome { state, step: 0, is_refused: e.is_settings_error() }
        }
    }
}

/// The time without a change after which a setting of a paused run counts as settled.
const SETTLE_TIME: Duration = Duration::from_secs(2);

struct Worker {
    run: Run,
    options: DriveOptions,
    listeners: Arc<Listeners>,
    answering: Answering,
    snapshots: Snapshots,
    running: bool,
    /// Pause at this step.
    pause_at: Option<u64>,
    /// The minimum time of a step ([`Command::Pace`]).
    min_step: Duration,
    threads: usize,
    /// Step of the newest checkpoint.
    last_checkpoint: Option<u64>,
    /// The live settings that were set since listeners were last told of changes, in the order of their last values.
    /// Record and observers are told of what a step, a checkpoint or an answer is made with, or of what a paused run is
    /// left at, so that they have not every value of a drag.
    waiting_changes: Vec<(String, Value)>,
    /// The reason why the run may be asked but not trained on: its record has ended.
    unrecorded: Option<String>,
}

impl Drop for Worker {
    /// Closes the listeners also after a panic, because a thread that still answers must not keep the folder open.
    fn drop(&mut self) {
        self.listeners.close();
    }
}

/// The outcome of a wait in which no command came.
enum WaitOutcome {
    Timeout,
    /// A checkpoint or the answer to a question has ended the record.
    RecordFailed,
    Disconnected,
    Shutdown,
}

impl Worker {
    fn new(run: Run, options: DriveOptions, listeners: Listeners, threads: usize) -> Self {
        let last_checkpoint = options.from.as_ref().map(|c| c.step);
        let listeners = Arc::new(listeners);
        let shared = SharedRun {
            plan: Arc::new(run.plan.clone()),
            texts: Arc::clone(&run.texts),
            device: run.device.clone(),
            listeners: Arc::clone(&listeners),
        };
        let bytes = run.variants.iter().map(|v| v.model.params().bytes()).sum();
        let snapshots = Snapshots::new(bytes, run.plan.steps, options.stay);
        Self {
            run,
            options,
            listeners,
            answering: Answering::new(shared),
            snapshots,
            running: false,
            pause_at: None,
            min_step: Duration::ZERO,
            threads,
            last_checkpoint,
            waiting_changes: vec![],
            unrecorded: None,
        }
    }

    fn begin(&mut self) {
        if self.options.replayed.is_none() {
            let folder = self.options.writer.as_ref().and_then(Writer::folder);
            let info = self.run.info(self.threads, folder.map(|f| f.to_string_lossy().into_owned()));
            self.listeners.emit(Event::Started(Arc::new(RunInfo { asks: self.options.asks.clone(), ..info })));
        }
        self.run.opening_notes().into_iter().for_each(|text| self.listeners.notice(Level::Info, text));
        self.find_snapshots();
        self.running = self.options.start;
        let done = self.run.step >= self.run.plan.steps;
        self.listeners.emit(Event::State(match (done, self.running) {
            (true, _) => RunState::Finished,
            (false, true) => RunState::Running,
            (false, false) => RunState::Paused,
        }));
    }

    fn work(&mut self, commands: &Receiver<Command>) -> Result<(), RunError> {
        let mut begun = self.run.step > 0;
        loop {
            if self.take_commands(commands).is_break() {
                return Ok(());
            }
            self.record_waiting_changes();
            self.check_record()?;
            if !self.running {
                continue;
            }
            if !begun {
                if let Some(writer) = &self.options.writer {
                    writer.begin()?;
                    // a window starts a run before its folder exists, so the worker learns the folder here
                    if let Some(folder) = writer.folder().filter(|_| self.options.stay) {
                        self.listeners.emit(Event::Folder(folder.to_string_lossy().into_owned()));
                    }
                    self.find_snapshots();
                }
                self.measure(true)?;
                self.keep_snapshot();
                begun = true;
            }
            if self.run.step >= self.run.plan.steps {
                if !self.finish()? {
                    return Ok(());
                }
                continue;
            }
            let started = Instant::now();
            if self.step(commands)?.is_break() || self.rest(commands, started + self.min_step).is_break() {
                return Ok(());
            }
        }
    }

    /// All waiting commands; blocks only when there is nothing else to do, and where the listeners of a paused run are
    /// still to be told of a change, until the control is at rest. Breaks if the run is to stop, as the other
    /// functions that hear commands.
    fn take_commands(&mut self, commands: &Receiver<Command>) -> ControlFlow<()> {
        loop {
            let wait = if self.running { Duration::ZERO } else { SETTLE_TIME };
            let deadline = (self.running || self.has_changes_to_record()).then(|| Instant::now() + wait);
            match self.next_command(commands, deadline) {
                Ok(c) => self.handle_command(c)?,
                Err(WaitOutcome::Timeout | WaitOutcome::RecordFailed) => return ControlFlow::Continue(()),
                // Without a window no handle sends commands: continue to the last step.
                Err(WaitOutcome::Disconnected) if !self.options.stay && self.running => {
                    return ControlFlow::Continue(());
                }
                Err(WaitOutcome::Disconnected | WaitOutcome::Shutdown) => return ControlFlow::Break(()),
            }
        }
    }

    /// Waits for a command until `deadline` if there is one; returns early if the record fails.
    fn next_command(&self, commands: &Receiver<Command>, deadline: Option<Instant>) -> Result<Command, WaitOutcome> {
        let shutdown = self.options.process.as_ref().map_or_else(never, |p| p.shutdown.clone());
        if matches!(shutdown.try_recv(), Err(TryRecvError::Disconnected)) {
            return Err(WaitOutcome::Shutdown);
        }
        // before a command that would train on: of two that are ready, `select!` takes either
        ensure!(self.listeners.failures.try_recv().is_err(), WaitOutcome::RecordFailed);
        select! {
            recv(commands) -> command => command.map_err(|_| WaitOutcome::Disconnected),
            recv(shutdown) -> _ => Err(WaitOutcome::Shutdown),
            recv(self.listeners.failures) -> _ => Err(WaitOutcome::RecordFailed),
            recv(deadline.map_or_else(never, at)) -> _ => match commands.try_recv() {
                Ok(command) => Ok(command),
                Err(TryRecvError::Empty) => Err(WaitOutcome::Timeout),
                Err(TryRecvError::Disconnected) => Err(WaitOutcome::Disconnected),
            },
        }
    }

    fn handle_command(&mut self, command: Command) -> ControlFlow<()> {
        match command {
            Command::Run if self.run.step < self.run.plan.steps => {
                if self.may_train() {
                    self.pause_at = None;
                    self.set_running(true);
                }
            }
            Command::Run => self.listeners.emit(Event::State(RunState::Finished)),
            Command::Pause => {
                self.pause_at = None;
                self.set_running(false);
            }
            Command::StepOnce => return self.handle_command(Command::RunTo(self.run.step + 1)),
            Command::RunTo(step) if self.run.step < step.min(self.run.plan.steps) => {
                if self.may_train() {
                    self.pause_at = Some(step);
                    self.set_running(true);
                }
            }
            Command::RunTo(_) => {}
            Command::Stop => return ControlFlow::Break(()),
            // no update will be made with it; the record has its last state and stays as it is
            Command::Set { .. } if self.has_finished() => {}
            Command::Set { key, value } => match self.run.set(&key, &value) {
                Ok(()) => {
                    // a checkpoint of this step holds the settings before the change
                    self.last_checkpoint = None;
                    let step = self.run.step;
                    self.listeners.show(&Event::Set { step, key: key.clone(), value: value.clone() });
                    self.waiting_changes.retain(|(waiting, _)| *waiting != key);
                    self.waiting_changes.push((key, value));
                    // without a window no slider is dragged, and a program that asks for a change reads the record next
                    if !self.options.stay {
                        self.record_waiting_changes();
                    }
                }
                Err(e) => self.listeners.notice(Level::Warning, e.to_string()),
            },
            Command::Measure(question) => {
                self.record_waiting_changes();
                self.submit(question);
            }
            Command::Cancel(request) => self.answering.cancel(request),
            Command::Checkpoint => {
                if let Err(e) = self.checkpoint() {
                    self.listeners.fail(e);
                }
            }
            Command::Pace(per_second) => {
                let slow = per_second.is_finite() && per_second > 0.0;
                self.min_step =
                    if slow { Duration::from_secs_f64((1.0 / per_second).min(60.0)) } else { Duration::ZERO };
            }
        }
        ControlFlow::Continue(())
    }

    /// True once the last update was made. A run without updates has none: its model is only opened to be asked.
    fn has_finished(&self) -> bool {
        self.run.step > 0 && self.run.step >= self.run.plan.steps
    }

    fn set_running(&mut self, running: bool) {
        if self.running != running {
            self.running = running;
            self.listeners.emit(Event::State(if running { RunState::Running } else { RunState::Paused }));
        }
    }

    /// One update of every variant, whole or not at all. Questions are handed on in between; every
    /// other command waits for the last variant, so that twins never differ by a setting and no
    /// checkpoint holds half a step.
    fn step(&mut self, commands: &Receiver<Command>) -> Result<ControlFlow<()>, RunError> {
        let mut waiting = vec![];
        for i in 0..self.run.variants.len() {
            if !self.run.plan.stage(i).trains_at(self.run.step + 1) {
                continue;
            }
            let stats = guard(|| self.run.update(i))?;
            self.listeners.emit(Event::Step(stats));
            self.listeners.check()?;
            for command in commands.try_iter() {
                match command {
                    Command::Measure(question) => self.submit(question),
                    Command::Cancel(request) => self.answering.cancel(request),
                    other => waiting.push(other),
                }
            }
        }
        guard(|| self.run.finish_step())?.into_iter().for_each(|text| self.listeners.notice(Level::Info, text));
        self.measure(self.run.plan.is_stage_boundary(self.run.step))?;
        self.keep_snapshot();
        let every = self.run.plan.checkpoint_every;
        if every > 0 && self.run.step.is_multiple_of(every) {
            self.checkpoint()?;
        }
        let is_last = self.run.step >= self.run.plan.steps;
        // the last step ends the run, also where a pause was asked for there
        if self.pause_at.take_if(|at| *at <= self.run.step).is_some() && !is_last {
            self.set_running(false);
        }
        Ok(waiting.into_iter().try_for_each(|command| self.handle_command(command)))
    }

    /// Waits out the pace, still hearing commands.
    fn rest(&mut self, commands: &Receiver<Command>, until: Instant) -> ControlFlow<()> {
        while self.running && self.min_step > Duration::ZERO && Instant::now() < until {
            match self.next_command(commands, Some(until)) {
                Ok(c) => self.handle_command(c)?,
                Err(WaitOutcome::Shutdown) => return ControlFlow::Break(()),
                Err(WaitOutcome::Timeout | WaitOutcome::RecordFailed | WaitOutcome::Disconnected) => break,
            }
        }
        ControlFlow::Continue(())
    }

    /// Held-out losses and scheduled probes that are due at this step, or `all` of them.
    fn measure(&mut self, all: bool) -> Result<(), RunError> {
        let step = self.run.step;
        let is_due = |every: u64| all || every > 0 && step.is_multiple_of(every);
        let present: Vec<usize> =
            (0..self.run.variants.len()).filter(|i| self.run.plan.stage(*i).is_active_at(step)).collect();
        if is_due(self.run.plan.eval_every) {
            for &i in &present {
                let stats = guard(|| self.run.evaluate(i))?;
                self.listeners.emit(Event::Step(stats.clone()));
                self.run.check_last_evaluation(&stats)?;
            }
        }
        let mut schedules = self.run.plan.probes.clone();
        schedules.retain(|schedule| schedule.every > 0 && is_due(schedule.every));
        for schedule in schedules {
            for &i in &present {
                let events = self.run.ask_events(i, &schedule.probe, &schedule.args);
                events.into_iter().for_each(|event| self.listeners.emit(event));
            }
        }
        self.listeners.check()
    }

    /// True if the worker stays to answer questions.
    fn finish(&mut self) -> Result<bool, RunError> {
        self.checkpoint()?;
        self.running = false;
        self.listeners.emit(Event::State(RunState::Finished));
        self.listeners.sync()?;
        Ok(self.options.stay)
    }

    /// Ends the record: it is complete, or the run has failed.
    fn end(&mut self, result: Result<(), RunError>) -> RunState {
        self.record_waiting_changes();
        let result = result.and_then(|()| self.listeners.check()).and_then(|()| guard(|| self.checkpoint()));
        let state = match &result {
            Err(e) => RunState::Failed { message: e.to_string() },
            Ok(()) if self.run.step >= self.run.plan.steps => RunState::Finished,
            Ok(()) => RunState::Stopped,
        };
        if !matches!(state, RunState::Finished) {
            self.listeners.emit(Event::State(state.clone()));
        }
        match (result, self.listeners.sync()) {
            (Ok(()), Err(e)) => {
                let failed = RunState::Failed { message: e.to_string() };
                self.listeners.emit(Event::State(failed.clone()));
                failed
            }
            _ => state,
        }
    }
}
