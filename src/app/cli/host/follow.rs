//! Follows a run folder that another program is writing: sends its events to the window, and the window's questions to
//! that program.

use std::{fs, time::SystemTime};

use crossbeam::channel::{Receiver, RecvTimeoutError};

use crate::{
    cli::{
        ask::{
            foreign::{AskedProgram, ProgramQuestion},
            matrices::MatrixQuestion,
        },
        prelude::*,
        process::spawn,
        remote::FollowedRun,
    },
    experiments::run_rows::may_have_writer,
    labs::foreign::asks,
    probe::neuron_graph::MATRIX_PROBES,
    store::{FolderStatus, Reply},
    telemetry::{Command, FollowedState, Inbox, Question, QuestionState},
};

/// The interval at which a followed folder is checked. What is new draws a frame, which takes longer than to read it.
const POLL_INTERVAL: Duration = Duration::from_millis(400);

/// Polls after which a run that may continue is reported as followed; one that is just ending is not.
const POLLS_BEFORE_NOTICE: u32 = 3;

/// The number of events that are sent at a time.
const EVENTS_PER_CHUNK: usize = 4096;

pub(super) enum FollowOutcome {
    /// The run has ended, and its models may be restored from its checkpoint.
    Whole,
    /// The run was another program's, or the window no longer shows it.
    Left,
}

/// The conditions under which a window follows a run.
pub(super) struct FollowOptions<'a> {
    /// Disconnected when the window no longer shows it.
    pub commands: &'a Receiver<Command>,
    /// True when the window closes.
    pub ends: &'a dyn Fn() -> bool,
    /// The run as the command line follows it: until it ends, even if no process of this machine holds it.
    pub followed: Option<&'a FollowedRun>,
}

/// Delivers the events of a run: those that are recorded, and while another process writes it, those that are appended.
/// A run that another program has written is followed as long as the window shows it.
pub(super) fn follow_run(
    folder: &Path,
    inbox: &Arc<Inbox>,
    options: &FollowOptions<'_>,
) -> Result<FollowOutcome, String> {
    let FollowOptions { commands, ends, .. } = *options;
    let mut followed = FollowedFolder::open(folder, inbox, options)?;
    followed.deliver_new_events();
    if !followed.is_whole {
        followed.send_state();
    }
    let mut looks = 0;
    while followed.may_grow() {
        // its models are with the program that trains them, which is asked over the folder
        match commands.recv_timeout(POLL_INTERVAL) {
            Err(RecvTimeoutError::Disconnected) => return Ok(FollowOutcome::Left),
            Ok(_) | Err(RecvTimeoutError::Timeout) if ends() => return Ok(FollowOutcome::Left),
            Ok(Command::Measure(question)) => followed.ask(&question),
            Ok(Command::Cancel(request)) => followed.cancel(request),
            // sent before the window knew that the run is followed
            Ok(Command::Run | Command::StepOnce | Command::RunTo(_) | Command::Set { .. } | Command::Checkpoint) => {
                followed.notice(Level::Warning, "another process trains this run: this window does not".to_owned());
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
        }
        followed.poll();
        followed.send_state();
        followed.take_replies();
        looks += 1;
        if looks == POLLS_BEFORE_NOTICE {
            followed.send_followed();
        }
    }
    if !followed.is_whole {
        followed.finish();
    }
    Ok(FollowOutcome::Whole)
}

/// A followed folder and the window that receives its events.
struct FollowedFolder<'a> {
    folder: &'a Path,
    inbox: &'a Arc<Inbox>,
    reader: Reader,
    is_foreign: bool,
    options: &'a FollowOptions<'a>,
    /// No process writes the run, so it is read once, to its end.
    is_whole: bool,
    info: Arc<RunInfo>,
    /// Questions that the program has not answered yet, with their numbers.
    open: Vec<(u64, ProgramQuestion)>,
    /// Questions to the weights that the program keeps, which threads answer; true ends one.
    computing: Vec<(u64, Arc<AtomicBool>)>,
    /// When the folder of those weights last changed.
    weights_changed: Option<SystemTime>,
    /// The problem that was reported last.
    problem: String,
    sent: Option<FollowedState>,
}

/// Dropping withdraws the questions that the program has not answered.
impl Drop for FollowedFolder<'_> {
    fn drop(&mut self) {
        self.open.drain(..).for_each(|(_, question)| question.withdraw());
        self.computing.iter().for_each(|(_, is_cancelled)| is_cancelled.store(true, Ordering::Relaxed));
    }
}

impl<'a> FollowedFolder<'a> {
    fn open(folder: &'a Path, inbox: &'a Arc<Inbox>, options: &'a FollowOptions<'a>) -> Result<Self, String> {
        let words = |e: StoreError| e.to_string();
        let reader = Reader::open(folder).map_err(words)?;
        let info = reader.info().unwrap_or_default();
        let is_foreign = info.lab == FOREIGN;
        let is_whole = !is_foreign && options.followed.is_none() && !store::is_being_written(folder);
        let reader = if is_whole { reader } else { Reader::follow(folder).map_err(words)? };
        Ok(Self {
            folder,
            inbox,
            reader,
            is_foreign,
            options,
            is_whole,
            info,
            open: vec![],
            computing: vec![],
            weights_changed: None,
            problem: String::new(),
            sent: None,
        })
    }

    /// True while more may be appended.
    fn may_grow(&self) -> bool {
        let is_held = || self.options.followed.is_some() || store::is_being_written(self.folder);
        let is_written = || !self.reader.has_ended() && is_held();
        !self.is_whole && (self.is_foreign || is_written())
    }

    /// Delivers the events that can be read now. States of a run that trains elsewhere are left out, except for its
    /// failure, since no model here takes commands or answers by itself.
    fn deliver_new_events(&mut self) {
        let (is_foreign, is_whole) = (self.is_foreign, self.is_whole);
        let is_delivered = |event: &Event| match event {
            Event::State(state) => is_whole || matches!(state, RunState::Failed { .. }),
            Event::Checkpoint { .. } => !is_foreign,
            _ => true,
        };
        let mut chunk = vec![];
        for event in self.reader.by_ref().filter(is_delivered) {
            if let Event::Described(info) = &event {
                self.info = Arc::clone(info);
            }
            chunk.push(event);
            if chunk.len() >= EVENTS_PER_CHUNK {
                self.inbox.deliver_recorded(std::mem::take(&mut chunk));
            }
        }
        if !chunk.is_empty() {
            self.inbox.deliver_recorded(chunk);
        }
        if is_foreign {
            self.send_weights();
        }
    }

    /// Sends the steps whose weights the program keeps, if they have changed.
    fn send_weights(&mut self) {
        let changed = fs::metadata(self.folder.join("snapshots")).and_then(|m| m.modified()).ok();
        if changed != self.weights_changed {
            self.weights_changed = changed;
            let steps = snapshots::list(self.folder).into_keys().collect();
            self.inbox.deliver(Event::Snapshots(Arc::new(steps)));
        }
    }

    /// Sends the state of the run if it has changed. A failure is delivered from the record instead.
    fn send_state(&mut self) {
        let state = (!self.reader.has_failed()).then(|| self.state());
        if let Some(new) = state.filter(|_| state != self.sent) {
            self.inbox.deliver(Event::State(RunState::Followed(new)));
        }
        self.sent = state;
    }

    fn state(&self) -> FollowedState {
        match self.reader.recorded_state() {
            Some(RunState::Finished) => FollowedState::Finished,
            Some(RunState::Stopped) => FollowedState::Stopped,
            _ if self.program().was_abandoned_here() => FollowedState::Killed { was_left_here: true },
            // one that the command line follows may be written from anywhere
            _ if self.options.followed.is_none() && !may_have_writer(&self.info.lab, self.folder) => {
                FollowedState::Killed { was_left_here: false }
            }
            Some(RunState::Paused) => FollowedState::Paused,
            _ => FollowedState::Running,
        }
    }

    /// Sends a notice that the run is followed, if it may grow.
    fn send_followed(&self) {
        if !self.reader.has_ended() {
            self.notice(Level::Info, "this run is followed: what is appended to its folder shows here".to_owned());
        }
    }

    fn poll(&mut self) {
        let problem = match self.reader.poll() {
            Ok(FolderStatus::Same) => {
                self.deliver_new_events();
                String::new()
            }
            Ok(FolderStatus::Missing { why }) => {
                format!("the run's folder is incomplete at the moment ({why}); it will be checked again")
            }
            Ok(FolderStatus::Replaced) => return self.reopen(),
            Err(e) => format!("{e}; it is tried again"),
        };
        if problem != self.problem && !problem.is_empty() {
            self.notice(Level::Warning, problem.clone());
        }
        self.problem = problem;
    }

    /// Reads the folder again from the beginning: it holds another run or other variants, or the same run was cut.
    fn reopen(&mut self) {
        // a folder that is not complete yet is tried again later
        let Ok(other) = Self::open(self.folder, self.inbox, self.options) else { return };
        // the one that was in its place is dropped, and what it was asked is withdrawn
        *self = other;
        self.deliver_new_events();
        self.send_state();
        self.notice(
            Level::Info,
            "the folder's logs or its variants were rewritten, so it was read again from the start".to_owned(),
        );
    }

    /// Asks the program that writes the run a question, or answers it from the weights that the program saved.
    fn ask(&mut self, question: &Question) {
        let Question { request, probe, args, at, .. } = question;
        if MATRIX_PROBES.contains(&probe.as_str()) && args.contains_key(asks::FROM) && args.contains_key(asks::TO) {
            return self.ask_weights(question.clone());
        }
        let put = match at {
            Some(_) => {
                Err("the program that trains this run has only its newest weights: press F to follow it".to_owned())
            }
            None => {
                let program = self.program();
                let has_ended = program.has_ended(|| self.reader.has_ended());
                program.send(has_ended, probe, args, None).map_err(|failure| failure.message)
            }
        };
        match put {
            Ok(open) => {
                // the newest question of a kind replaces a waiting one, as it does with a local model
                let older = self.open.iter().find(|(_, older)| older.question.ask == open.question.ask);
                let older = older.map(|(request, _)| *request);
                older.into_iter().for_each(|request| self.cancel(request));
                self.open.push((*request, open));
                self.send_question_state(*request, QuestionState::Working(None));
            }
            Err(words) => self.send_question_state(*request, QuestionState::Refused(words)),
        }
    }

    fn program(&self) -> AskedProgram<'_> {
        let remote = self.options.followed.and_then(|followed| followed.remote.as_ref());
        AskedProgram { folder: self.folder, info: &self.info, remote }
    }

    /// Reads the weights and answers on a thread of its own.
    fn ask_weights(&mut self, question: Question) {
        let (is_cancelled, request) = (Arc::<AtomicBool>::default(), question.request);
        let (folder, inbox, info) = (self.folder.to_owned(), Arc::clone(self.inbox), Arc::clone(&self.info));
        let is_unwanted = Arc::clone(&is_cancelled);
        // the newest question takes the place of those before it
        self.computing.drain(..).for_each(|(_, older)| older.store(true, Ordering::Relaxed));
        self.send_question_state(request, QuestionState::Working(None));
        match spawn("matrices", move || answer_by_weights(question, &folder, &info, &inbox, &is_unwanted)) {
            Ok(_) => self.computing.push((request, is_cancelled)),
            Err(words) => self.send_question_state(request, QuestionState::Refused(words)),
        }
    }

    /// The answer to the question with this number is no longer wanted.
    fn cancel(&mut self, request: u64) {
        if let Some((_, is_cancelled)) = self.computing.iter().find(|(computing, _)| *computing == request) {
            is_cancelled.store(true, Ordering::Relaxed);
        }
        if let Some(place) = self.open.iter().position(|(open, _)| *open == request) {
            self.open.remove(place).1.withdraw();
            self.send_question_state(request, QuestionState::Cancelled);
        }
    }

    /// Delivers the replies that have come. A run that ends leaves what it was asked unanswered.
    fn take_replies(&mut self) {
        let has_ended = self.program().has_ended(|| self.reader.has_ended());
        for (request, question) in std::mem::take(&mut self.open) {
            let state = match question.reply(&self.info) {
                Ok(None) if !has_ended => {
                    self.open.push((request, question));
                    continue;
                }
                Ok(None) => QuestionState::Refused("the run ended before its program answered".to_owned()),
                Ok(Some(Reply::Refused(words))) => QuestionState::Refused(words),
                Ok(Some(Reply::Answered { sample, .. })) => {
                    self.inbox.deliver(Event::Sample(Sample { request: Some(request), ..sample }));
                    QuestionState::Answered
                }
                Err(why) => QuestionState::Refused(why.message),
            };
            question.withdraw();
            self.send_question_state(request, state);
        }
    }

    fn send_question_state(&self, request: u64, state: QuestionState) {
        self.inbox.deliver(Event::Question { request, state });
    }

    /// Delivers what is known at a record's end alone: that the run stopped, and the events that were held back.
    fn finish(&mut self) {
        if !self.reader.has_failed() {
            self.inbox.deliver(Event::State(RunState::Stopped));
        }
        self.reader.end_following();
        self.deliver_new_events();
    }

    fn notice(&self, level: Level, text: String) {
        self.inbox.deliver(Event::Notice { level, text });
    }
}

/// Answers a question from the weights that the run's program has saved, unless the question is cancelled meanwhile.
fn answer_by_weights(question: Question, folder: &Path, info: &RunInfo, inbox: &Inbox, is_cancelled: &AtomicBool) {
    let Question { request, probe, mut args, at, .. } = question;
    let names = [asks::FROM, asks::TO].map(|key| match args.remove(key) {
        Some(Value::Text(name)) => name,
        other => other.map_or(String::new(), |value| value.to_string()),
    });
    let send_question_state = |state| inbox.deliver(Event::Question { request, state });
    let report = |share| send_question_state(QuestionState::Working(Some(share)));
    let asked = MatrixQuestion { probe: &probe, names: [&names[0], &names[1]], args: &args, at };
    send_question_state(match asked.ask(folder, info, Progress::new(&report, is_cancelled)) {
        _ if is_cancelled.load(Ordering::Relaxed) => QuestionState::Cancelled,
        Ok(samples) => {
            for sample in samples {
                inbox.deliver(Event::Sample(Sample { request: Some(request), ..sample }));
            }
            QuestionState::Answered
        }
        Err(words) => QuestionState::Refused(words),
    });
}
