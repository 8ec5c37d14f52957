//! Questions to a run without a window, over the files of its folder (docs/protocol.md): a thread looks for them, hands
//! the run commands, and answers once they are done. The run records each as a command, for replays and continuations.

use std::{
    sync::MutexGuard,
    thread::{JoinHandle, sleep},
};

use crossbeam::channel::{Sender, TrySendError};

use super::process::spawn;
use crate::{
    cli::prelude::*,
    labs::foreign::asks::{self, PAUSE, RESUME, SAVE, SCALE_LR},
    store::{QuestionInbox, ReceivedQuestion},
    telemetry::{Args, Command},
    trainer::{DriveOptions, Plan, TrainSettings},
};

/// Time between two looks for questions.
const QUESTION_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Time between two looks at the state of the training.
const STATE_POLL_INTERVAL: Duration = Duration::from_millis(10);
/// The maximum number of characters of a name that an error message repeats.
const MAX_SHOWN: usize = 80;

/// The commands that `--allow` lets other processes send to a run while it trains: name, name in the protocol, help text.
pub const ALLOWED: [(&str, &str, &str); 3] = [
    (PAUSE, PAUSE, "Wait between two steps, and go on"),
    (SAVE, SAVE, "Write a checkpoint"),
    (SCALE_LR, SCALE_LR, "Multiply the learning rate"),
];

pub struct AskedRun {
    training: SharedTrainingState,
    answering: JoinHandle<()>,
}

impl AskedRun {
    /// Begins to look for questions in the folder that the run writes; `None` where nothing is allowed or recorded.
    pub fn begin(
        plan: &Plan,
        options: &DriveOptions,
        commands: &Sender<Command>,
        allow: &[&str],
    ) -> Result<Option<Self>, String> {
        let Some(writer) = options.writer.clone().filter(|_| !allow.is_empty()) else { return Ok(None) };
        let from = options.from.as_ref();
        let changed_lr = from.and_then(|from| from.live_settings.get(TrainSettings::lr.name)?.as_f64());
        let training = SharedTrainingState(Arc::new(Mutex::new(TrainingState {
            step: from.map_or(0, |from| from.step),
            lr: changed_lr.unwrap_or(plan.optimisation.schedule.lr),
            checkpoint: from.map(|from| from.step),
            ..TrainingState::default()
        })));
        let answerer = Answerer {
            training: training.clone(),
            writer,
            commands: commands.clone(),
            allowed: allow.iter().map(|ask| (*ask).to_owned()).collect(),
            config: plan.config.clone(),
            knobs: labs::find(&plan.config.lab).map(|lab| (lab.knobs)()).unwrap_or_default(),
        };
        let answering = spawn("questions", move || answerer.work())?;
        Ok(Some(Self { training, answering }))
    }

    pub fn sink(&self) -> Box<dyn Sink> {
        Box::new(self.training.clone())
    }

    /// Stops answering questions, once the run has ended.
    pub fn end(self) {
        self.training.lock().is_over = true;
        // a panic of the thread has been reported already
        let _ = self.answering.join();
    }
}

/// The progress of a training run, as its events report it.
#[derive(Debug, Clone, Copy, Default)]
struct TrainingState {
    step: u64,
    is_paused: bool,
    is_over: bool,
    lr: f64,
    lr_changes: u64,
    /// The step of the newest checkpoint; `None` if a setting was changed since.
    checkpoint: Option<u64>,
    checkpoints: u64,
}

impl TrainingState {
    /// True if a checkpoint was written after `before`, or the newest is of this step and these settings: none is due.
    fn is_saved_since(&self, before: &Self) -> bool {
        self.checkpoints > before.checkpoints || self.checkpoint == Some(self.step)
    }
}

#[derive(Clone)]
struct SharedTrainingState(Arc<Mutex<TrainingState>>);

impl SharedTrainingState {
    fn lock(&self) -> MutexGuard<'_, TrainingState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> TrainingState {
        *self.lock()
    }
}

impl Sink for SharedTrainingState {
    fn event(&mut self, event: &Event) -> Result<(), String> {
        let mut training = self.lock();
        match event {
            Event::Step(stats) => training.step = stats.step,
            Event::State(state) => {
                training.is_paused = matches!(state, RunState::Paused);
                training.is_over = !matches!(state, RunState::Paused | RunState::Running);
            }
            Event::Changed { key, value, .. } => {
                training.checkpoint = None;
                if let Some(lr) = value.as_f64().filter(|_| key == TrainSettings::lr.name) {
                    training.lr = lr;
                    training.lr_changes += 1;
                }
            }
            Event::Checkpoint { step } => {
                training.checkpoint = Some(*step);
                training.checkpoints += 1;
            }
            _ => {}
        }
        Ok(())
    }
}

struct Answerer {
    training: SharedTrainingState,
    writer: Writer,
    commands: Sender<Command>,
    allowed: Vec<String>,
    /// The settings of the run and their ranges.
    config: Config,
    knobs: Vec<Knob>,
}

impl Answerer {
    fn work(self) {
        let mut inbox = None;
        while !self.training.state().is_over {
            if let Err(e) = self.poll_inbox(&mut inbox) {
                notice!("warning: questions to the run are no longer answered: {e}");
                return;
            }
            // the folder of questions is made as soon as the run has one
            let pause = if inbox.is_some() { QUESTION_POLL_INTERVAL } else { STATE_POLL_INTERVAL };
            let looked = Instant::now();
            while looked.elapsed() < pause && !self.training.state().is_over {
                sleep(STATE_POLL_INTERVAL);
            }
        }
    }

    fn poll_inbox(&self, inbox: &mut Option<QuestionInbox>) -> Result<(), StoreError> {
        let Some(folder) = self.writer.folder() else { return Ok(()) };
        if inbox.is_none() {
            *inbox = Some(QuestionInbox::open(&folder)?);
        }
        let Some(inbox) = inbox else { return Ok(()) };
        for question in inbox.take(self.training.state().step)? {
            let outcome = self.carry_out(&question);
            inbox.answer(&question.id, self.training.state().step, outcome)?;
        }
        Ok(())
    }

    /// Returns a description of what was done; the error is the reason for a refusal.
    fn carry_out(&self, question: &ReceivedQuestion) -> Result<String, String> {
        let ReceivedQuestion { ask, args, .. } = question;
        if !asks::is_allowed(&self.allowed, ask) {
            let ask: String = ask.chars().take(MAX_SHOWN).collect();
            return Err(format!("`{ask}` is not allowed: this run allows {}", self.allowed.join(", ")));
        }
        match ask.as_str() {
            PAUSE => self.set_paused(true),
            RESUME => self.set_paused(false),
            SAVE => self.save(),
            SCALE_LR => self.scale_lr(args),
            _ => Err(format!("a run of Orrery's own does not answer `{ask}` while it trains")),
        }
    }

    fn set_paused(&self, is_paused: bool) -> Result<String, String> {
        let (command, already, now_it) = match is_paused {
            true => (Command::Pause, "paused already", "paused"),
            false => (Command::Run, "was not paused", "goes on"),
        };
        if self.training.state().is_paused == is_paused {
            return Ok(already.to_owned());
        }
        let after = self.command(command, |now| now.is_paused == is_paused)?;
        Ok(format!("{now_it} after step {}", after.step))
    }

    fn save(&self) -> Result<String, String> {
        let before = self.training.state();
        if before.step == 0 {
            return Err("no step is finished yet, so there is nothing to save".to_owned());
        }
        let after = self.command(Command::Checkpoint, |now| now.is_saved_since(&before))?;
        Ok(format!("a checkpoint of step {}", after.checkpoint.unwrap_or(after.step)))
    }

    fn scale_lr(&self, args: &Args) -> Result<String, String> {
        let factor = args.get("factor").and_then(Value::as_f64).ok_or("`factor` is not a number")?;
        if !(factor > 0.0 && factor <= 100.0) {
            return Err(format!("`factor` is {factor}: it must be above 0 and at most 100"));
        }
        let before = self.training.state();
        let (key, value) = (TrainSettings::lr.name, Value::Float(before.lr * factor));
        // tried on a copy first, because the run would refuse a value outside the setting's range
        self.config.clone().set(&self.knobs, key, value.clone()).map_err(|e| e.to_string())?;
        let set = Command::Set { key: key.to_owned(), value };
        let after = self.command(set, |now| now.lr_changes > before.lr_changes)?;
        Ok(format!("learning rate {} -> {}", before.lr, after.lr))
    }

    /// Sends the run a command and waits until it has been carried out; returns the run's progress then.
    fn command(&self, command: Command, is_done: impl Fn(&TrainingState) -> bool) -> Result<TrainingState, String> {
        let mut unsent = Some(command);
        loop {
            let now = self.training.state();
            if unsent.is_none() && is_done(&now) {
                return Ok(now);
            }
            if now.is_over {
                return Err("the run has ended".to_owned());
            }
            if let Some(command) = unsent.take()
                && let Err(TrySendError::Full(command)) = self.commands.try_send(command)
            {
                unsent = Some(command);
            }
            sleep(STATE_POLL_INTERVAL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_from_before_a_change_is_no_save() {
        let mut training = SharedTrainingState(Arc::default());
        training.lock().step = 5;
        let before = training.state();
        training.event(&Event::Checkpoint { step: 5 }).unwrap();
        assert!(training.state().is_saved_since(&before));
        let before = training.state();
        assert!(before.is_saved_since(&before), "no other checkpoint of this step is written");
        let (key, value) = (TrainSettings::lr.name.to_owned(), Value::Float(0.5));
        training.event(&Event::Changed { step: 5, key, value }).unwrap();
        let before = training.state();
        assert!(!before.is_saved_since(&before) && before.lr == 0.5);
        training.event(&Event::Checkpoint { step: 5 }).unwrap();
        assert!(training.state().is_saved_since(&before));
    }
}
