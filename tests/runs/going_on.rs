//! Tests a run that is resumed from its folder: changes of settings are in its record, and the resumed run uses the
//! recorded values.

use std::path::{Path, PathBuf};

use crossbeam::channel::{Sender, bounded};
use orrery::{
    config::{Config, Value},
    labs,
    nn::Device,
    store::{Checkpoint, Reader, Writer, checkpoint},
    telemetry::{Command, Event, Level, RunState},
    trainer::{self, DriveOptions},
};

use crate::{record::Record, trainer::fast_slow};

const LR: &str = "train.lr";

/// Drives a run on a thread while `act` sends commands and waits for events, and then stops it. Returns its events.
fn drive(config: &Config, options: DriveOptions, act: impl FnOnce(&Sender<Command>, &Record)) -> Record {
    let lab = labs::find(&config.lab).unwrap();
    let (plan, record, (commands, receiver)) = ((lab.plan)(config).unwrap(), Record::default(), bounded(8));
    let sink = record.clone();
    let thread = std::thread::Builder::new().stack_size(64 << 20);
    let run = thread.spawn(move || trainer::drive(plan, options, &receiver, vec![Box::new(sink)])).unwrap();
    act(&commands, &record);
    commands.send(Command::Stop).unwrap();
    run.join().unwrap();
    record
}

/// Trains up to a step.
fn train_to(step: u64, commands: &Sender<Command>, record: &Record) {
    commands.send(Command::RunTo(step)).unwrap();
    record.wait("step", |e| matches!(e, Event::Step(s) if s.step == step && s.variant == 1));
}

fn change_rate(rate: f64, commands: &Sender<Command>, record: &Record) {
    commands.send(Command::Set { key: LR.into(), value: Value::Float(rate) }).unwrap();
    record.wait("change", |e| matches!(e, Event::Set { value, .. } if *value == Value::Float(rate)));
}

/// Drives a new run in `out` until `act` returns. Returns the run's folder.
fn new_run(out: &Path, config: &Config, act: impl FnOnce(&Sender<Command>, &Record)) -> PathBuf {
    let options = DriveOptions { stay: true, writer: Some(Writer::at_once(out)), ..DriveOptions::default() };
    drive(config, options, act);
    std::fs::read_dir(out).unwrap().next().unwrap().unwrap().path()
}

fn newest(folder: &Path) -> Checkpoint {
    checkpoint::load(folder, &Device::Cpu).unwrap().expect("a checkpoint").checkpoint
}

/// Opens the run in the same way as the window, and drives it until `act` returns.
fn open_again(folder: &Path, config: &Config, act: impl FnOnce(&Sender<Command>, &Record)) -> Record {
    let (from, replayed) = (Some(newest(folder)), Some(folder.to_owned()));
    drive(config, DriveOptions { stay: true, from, replayed, ..DriveOptions::default() }, act)
}

/// The step and the value of each change of the learning rate.
fn rates(events: impl IntoIterator<Item = Event>) -> Vec<(u64, Value)> {
    let change = |event: Event| match event {
        Event::Changed { step, key, value } if key == LR => Some((step, value)),
        _ => None,
    };
    events.into_iter().filter_map(change).collect()
}

/// The recorded ones.
fn changes(folder: &Path) -> Vec<(u64, Value)> {
    rates(Reader::open(folder).unwrap())
}

#[test]
fn a_change_before_a_run_goes_on_is_recorded() {
    let out = tempfile::tempdir().unwrap();
    let (_, config) = fast_slow(100, &[]);
    let folder = new_run(out.path(), &config, |commands, record| train_to(3, commands, record));
    let looked_at = open_again(&folder, &config, |commands, record| change_rate(9e-3, commands, record));
    assert!(changes(&folder).is_empty(), "a run that is only looked at stays as it is");
    assert!(rates(looked_at.events()).is_empty(), "a window lists what the record has");
    let told = open_again(&folder, &config, |commands, record| {
        change_rate(8e-3, commands, record);
        change_rate(9e-3, commands, record);
        train_to(5, commands, record);
    });
    let recorded = [(3, Value::Float(9e-3))];
    assert_eq!(changes(&folder), recorded, "the rate that step 4 was made with");
    assert_eq!(rates(told.events()), recorded, "a window lists what the record has");
    assert_eq!(newest(&folder).live_settings[LR], Value::Float(9e-3));
    open_again(&folder, &config, |commands, record| train_to(6, commands, record));
    assert_eq!(changes(&folder), recorded, "it is recorded once");
}

/// A slider sends each value that it is dragged over.
#[test]
fn a_drag_is_recorded_as_the_value_that_was_used() {
    let out = tempfile::tempdir().unwrap();
    let (_, config) = fast_slow(100, &[]);
    let mut told = Record::default();
    let folder = new_run(out.path(), &config, |commands, record| {
        told = record.clone();
        train_to(3, commands, record);
        // each is told to a window as soon as it holds
        [6e-3, 7e-3, 8e-3].into_iter().for_each(|rate| change_rate(rate, commands, record));
        train_to(4, commands, record);
        [7e-3, 6e-3].into_iter().for_each(|rate| change_rate(rate, commands, record));
        commands.send(Command::Checkpoint).unwrap();
        record.wait("checkpoint", |e| matches!(e, Event::Checkpoint { step: 4 }));
        [5e-3, 4e-3].into_iter().for_each(|rate| change_rate(rate, commands, record));
    });
    assert_eq!(changes(&folder), [(3, 8e-3), (4, 6e-3), (4, 4e-3)].map(|(step, rate)| (step, Value::Float(rate))));
    assert_eq!(rates(told.events()), changes(&folder), "a window lists what the record has");
    assert_eq!(newest(&folder).live_settings.get(LR), Some(&Value::Float(4e-3)));
}

/// A mark of the window stands at the last of the changes of a step, in a replay as while it trained.
#[test]
fn changes_of_a_pause_are_recorded_in_their_order() {
    let out = tempfile::tempdir().unwrap();
    let (_, config) = fast_slow(100, &[]);
    let folder = new_run(out.path(), &config, |commands, record| {
        train_to(3, commands, record);
        for (key, value) in [(LR, Value::Float(8e-3)), ("run.eval_every", Value::Int(7)), (LR, Value::Float(7e-3))] {
            commands.send(Command::Set { key: key.into(), value }).unwrap();
        }
        commands.send(Command::Set { key: "run.checkpoint_every".into(), value: Value::Int(9) }).unwrap();
        train_to(4, commands, record);
    });
    let key = |event: Event| if let Event::Changed { key, .. } = event { Some(key) } else { None };
    let keys: Vec<String> = Reader::open(&folder).unwrap().filter_map(key).collect();
    assert_eq!(keys, ["run.eval_every", LR, "run.checkpoint_every"]);
}

/// Otherwise a person would hear of it first when the run should go on.
#[test]
fn a_paused_run_says_at_once_that_its_record_has_ended() {
    let out = tempfile::tempdir().unwrap();
    let (_, config) = fast_slow(100, &[]);
    new_run(out.path(), &config, |commands, record| {
        train_to(3, commands, record);
        let run = std::fs::read_dir(out.path()).unwrap().next().unwrap().unwrap().path();
        std::fs::remove_dir_all(run.join("checkpoints")).unwrap();
        std::fs::write(run.join("checkpoints"), "no folder").unwrap();
        // the second one waits already when the record ends
        [Command::Checkpoint, Command::Run].into_iter().for_each(|command| commands.send(command).unwrap());
        let words = "The models can still be asked, but not be trained on";
        let is_told = |e: &Event| matches!(e, Event::Notice { level: Level::Error, text } if text.contains(words));
        record.wait("notice", is_told);
    });
}

#[test]
fn a_change_after_the_last_checkpoint_stays_in_force() {
    let out = tempfile::tempdir().unwrap();
    let (_, config) = fast_slow(100, &[]);
    let folder = new_run(out.path(), &config, |commands, record| {
        train_to(3, commands, record);
        commands.send(Command::Checkpoint).unwrap();
        record.wait("checkpoint", |e| matches!(e, Event::Checkpoint { step: 3 }));
        change_rate(9e-3, commands, record);
    });
    assert_eq!(newest(&folder).live_settings.get(LR), Some(&Value::Float(9e-3)));
    open_again(&folder, &config, |commands, record| train_to(4, commands, record));
    assert_eq!(changes(&folder), [(3, Value::Float(9e-3))]);
}

/// What it was trained with is settled, unless it goes on to more steps.
#[test]
fn a_finished_run_takes_no_change() {
    let out = tempfile::tempdir().unwrap();
    let (_, config) = fast_slow(3, &[]);
    let set_rate = |commands: &Sender<Command>| {
        for rate in [9e-3, 8e-3] {
            commands.send(Command::Set { key: LR.into(), value: Value::Float(rate) }).unwrap();
        }
        commands.send(Command::Checkpoint).unwrap();
    };
    let folder = new_run(out.path(), &config, |commands, record| {
        train_to(3, commands, record);
        record.wait("end", |e| matches!(e, Event::State(RunState::Finished)));
        set_rate(commands);
    });
    let events = std::fs::read_to_string(folder.join("events.jsonl")).unwrap();
    assert!(events.lines().last().unwrap().contains("finished"), "{events}");
    assert!(changes(&folder).is_empty() && newest(&folder).live_settings.is_empty());

    let is_change = |e: &Event| matches!(e, Event::Changed { .. } | Event::Set { .. });
    let record = open_again(&folder, &config, |commands, _| set_rate(commands));
    assert!(!record.events().iter().any(is_change), "a chart would mark it");
    assert_eq!(std::fs::read_to_string(folder.join("events.jsonl")).unwrap(), events);

    let (_, longer) = fast_slow(100, &[]);
    open_again(&folder, &longer, |commands, record| {
        change_rate(7e-3, commands, record);
        train_to(5, commands, record);
    });
    assert_eq!(changes(&folder), [(3, Value::Float(7e-3))], "the rate that step 4 was made with");
}

#[test]
fn a_run_that_goes_on_says_from_which_step() {
    let out = tempfile::tempdir().unwrap();
    let (_, config) = fast_slow(100, &[]);
    let folder = new_run(out.path(), &config, |commands, record| {
        train_to(3, commands, record);
        commands.send(Command::Checkpoint).unwrap();
        record.wait("checkpoint", |e| matches!(e, Event::Checkpoint { step: 3 }));
        train_to(6, commands, record);
    });
    // as if the process had died before its last checkpoint
    std::fs::remove_dir_all(folder.join("checkpoints/step-00000006")).unwrap();
    let record = open_again(&folder, &config, |commands, record| {
        assert!(!record.events().iter().any(|e| matches!(e, Event::Resumed { .. })), "it is only looked at");
        train_to(4, commands, record);
    });
    let told = record.events();
    let resumed = told.iter().position(|e| matches!(e, Event::Resumed { step: 3, .. })).expect("it goes on from there");
    assert_eq!(told.iter().filter(|e| matches!(e, Event::Resumed { .. })).count(), 1);
    let first_step = told.iter().position(|e| matches!(e, Event::Step(_))).unwrap();
    assert!(resumed < first_step, "before it makes the next one");
    let events = std::fs::read_to_string(folder.join("events.jsonl")).unwrap();
    assert!(!events.contains("\"resumed\""), "{events}");
}
