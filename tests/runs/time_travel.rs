//! Tests questions about earlier steps: the weights of that step answer them, in the training run and in its replay,
//! and the training is not affected.

use std::sync::Arc;

use orrery::{
    config::{Config, Value},
    labs,
    store::{Writer, checkpoint, snapshots},
    telemetry::{Args, Command, Event, Payload, Question, QuestionState, RunState, Sample},
    trainer::{self, DriveOptions},
};

use crate::{
    config_with::config_with,
    record::Record,
    trainer::{fast_slow, spawn, started, train},
};

fn question(request: u64, at: Option<u64>) -> Command {
    let args = Args::from([("text".to_owned(), Value::Text("The keeper of the light waited.".into()))]);
    Command::Measure(Question { request, probe: "causality".into(), variant: Some(0), args, at })
}

/// Waits for the end of a question. Returns the step and the measurement of its answer.
fn answer(record: &Record, request: u64) -> (u64, Arc<Payload>) {
    let is_end = |e: &Event| matches!(e, Event::Question { request: r, state } if *r == request && !matches!(state, QuestionState::Working(_)));
    record.wait("end of the question", is_end);
    let samples: Vec<Sample> = record.events().into_iter().filter_map(|e| sample(e, request)).collect();
    let [one] = samples.as_slice() else { panic!("{} answers to question {request}", samples.len()) };
    (one.step, one.payload.clone())
}

fn sample(event: Event, request: u64) -> Option<Sample> {
    match event {
        Event::Sample(s) if s.request == Some(request) => Some(s),
        _ => None,
    }
}

fn newest(record: &Record) -> Vec<u64> {
    let mut kept = record.events().into_iter().filter_map(|e| if let Event::Snapshots(s) = e { Some(s) } else { None });
    kept.next_back().map(|s| s.to_vec()).unwrap_or_default()
}

fn run_to_the_end(config: &Config) -> (crossbeam::channel::Sender<Command>, Record) {
    let (commands, record) = spawn(config);
    commands.send(Command::Run).unwrap();
    record.wait("end", |e| matches!(e, Event::State(RunState::Finished)));
    (commands, record)
}

#[test]
fn an_earlier_step_is_asked_with_its_own_weights() {
    let (_, config) = fast_slow(12, &[]);
    let (commands, record) = run_to_the_end(&config);
    assert_eq!(newest(&record), (0..=12).collect::<Vec<_>>());
    // a question replaces a waiting one of the same kind, so the test waits for each answer before the next question
    commands.send(question(2, None)).unwrap();
    let (step, now) = answer(&record, 2);
    assert_eq!(step, 12);
    commands.send(question(3, Some(5))).unwrap();
    let (step, then) = answer(&record, 3);
    assert_eq!(step, 5);
    assert_ne!(now, then);

    // a second run with the same settings, which is paused at step 5, must give the same answer
    let (commands, other) = spawn(&config);
    for step in 1..=5 {
        commands.send(Command::StepOnce).unwrap();
        other.wait("step", |e| matches!(e, Event::Step(s) if s.step == step && s.variant == 1));
    }
    commands.send(question(1, None)).unwrap();
    assert_eq!(answer(&other, 1), (5, then));
}

#[test]
fn a_replay_answers_of_the_past_as_the_run_did() {
    let dir = tempfile::tempdir().unwrap();
    let (lab, config) = fast_slow(12, &[]);
    let options = DriveOptions { writer: Some(Writer::at_once(dir.path())), ..started() };
    let (_, _) = train(&config, options);
    let folder = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
    assert!(snapshots::list(&folder).contains_key(&5));

    let (commands, receiver) = crossbeam::channel::bounded(8);
    let record = Record::default();
    let from = checkpoint::load(&folder, &candle_core::Device::Cpu).unwrap().unwrap().checkpoint;
    let options =
        DriveOptions { stay: true, from: Some(from), replayed: Some(folder.clone()), ..DriveOptions::default() };
    let (plan, sink) = ((lab.plan)(&config).unwrap(), record.clone());
    let thread = std::thread::Builder::new().stack_size(64 << 20);
    let replay = thread.spawn(move || trainer::drive(plan, options, &receiver, vec![Box::new(sink)])).unwrap();
    commands.send(question(1, Some(5))).unwrap();
    let (step, then) = answer(&record, 1);
    drop(commands);
    replay.join().unwrap();
    assert_eq!(step, 5);

    let (commands, living) = run_to_the_end(&config);
    commands.send(question(1, Some(5))).unwrap();
    assert_eq!(answer(&living, 1), (5, then));
}

#[test]
fn questions_leave_no_trace_in_the_training() {
    let (_, config) = fast_slow(20, &[]);
    let (_, quiet) = run_to_the_end(&config);
    let (commands, asked) = spawn(&config);
    commands.send(Command::Run).unwrap();
    for request in 1..60 {
        commands.send(question(request, (request % 3 == 0).then_some(request % 7))).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    asked.wait("end", |e| matches!(e, Event::State(RunState::Finished)));
    assert!(asked.events().iter().any(|e| matches!(e, Event::Sample(s) if s.request.is_some())));
    assert_eq!(asked.numbers(), quiet.numbers());
}

#[test]
fn a_long_answer_can_be_cancelled_and_training_goes_on_meanwhile() {
    // training steps are short, and the search takes long
    let small = [("train.batch", "1"), ("train.window", "32"), ("train.steps", "100000"), ("run.eval_windows", "1")];
    let unasked = ["probe.activity_every", "probe.reading_every", "probe.texts_every"].map(|key| (key, "0"));
    let settings = [&small[..], &unasked, &[("run.threads", "1")]].concat();
    let (commands, record) = spawn(&config_with("synapses", None, &settings));
    let args = Args::from([("random".to_owned(), Value::Int(16))]);
    let search = Question { request: 9, probe: "concepts".into(), variant: Some(0), args, at: None };
    commands.send(Command::Measure(search)).unwrap();
    record.wait("progress", |e| matches!(e, Event::Question { request: 9, state: QuestionState::Working(Some(_)) }));
    commands.send(Command::Run).unwrap();
    record.wait("a step", |e| matches!(e, Event::Step(s) if s.step == 1));
    commands.send(Command::Cancel(9)).unwrap();
    record.wait("end", |e| matches!(e, Event::Question { request: 9, state: QuestionState::Cancelled }));
    assert!(!record.events().iter().any(|e| matches!(e, Event::Sample(s) if s.request == Some(9))));
}

#[test]
fn a_step_before_any_that_is_kept_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (_, config) = fast_slow(6, &[]);
    let (_, _) = train(&config, DriveOptions { writer: Some(Writer::at_once(dir.path())), ..started() });
    let folder = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_dir_all(folder.join("snapshots")).unwrap();
    let from = checkpoint::load(&folder, &candle_core::Device::Cpu).unwrap().unwrap().checkpoint;
    let (commands, receiver) = crossbeam::channel::bounded(8);
    commands.send(question(1, Some(3))).unwrap();
    drop(commands);
    let record = Record::default();
    let options = DriveOptions { stay: true, from: Some(from), replayed: Some(folder), ..DriveOptions::default() };
    let lab = labs::find("fast_slow").unwrap();
    trainer::drive((lab.plan)(&config).unwrap(), options, &receiver, vec![Box::new(record.clone())]);
    let refused =
        |e: &Event| matches!(e, Event::Question { state: QuestionState::Refused(w), .. } if w.contains("step 3"));
    assert!(record.events().iter().any(refused), "{:?}", record.events());
}
