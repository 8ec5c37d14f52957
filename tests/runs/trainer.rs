//! Tests runs that are driven in the same way as by the window and the command line, with real models, channels and
//! folders of small size. The mathematics is tested elsewhere.

use std::{
    collections::BTreeSet,
    path::Path,
    process::Stdio,
    sync::Mutex,
    time::{Duration, Instant},
};

use crossbeam::channel::{Sender, bounded};
use orrery::{
    config::{Config, Value},
    labs::{
        self, LABS, Lab, Preset,
        coupled_qk::settings::FinetuneSettings,
        grammar_roles::settings::{CompareSettings, GrammarSettings, NetworkSettings},
        merging::MergingSettings,
    },
    store::{Reader, Writer, checkpoint},
    telemetry::{Command, Event, Question, QuestionState, RunState, Sink, StepStats, channels},
    trainer::{self, DriveOptions, Outcome, TrainSettings},
};

use crate::{
    command::{command, done},
    config_with::config_with,
    headlines,
    record::Record,
    wait_for::wait_until,
};

impl Record {
    fn steps(&self) -> Vec<StepStats> {
        self.events().into_iter().filter_map(|e| if let Event::Step(s) = e { Some(s) } else { None }).collect()
    }

    /// The scalars as (step, variant, channel, bits of the value), without measured times.
    pub fn numbers(&self) -> Vec<(u64, usize, String, u64)> {
        numbers(&self.steps())
    }

    /// Waits until an event satisfies `wanted`; fails after a minute.
    pub fn wait(&self, what: &str, wanted: impl Fn(&Event) -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !self.events().iter().any(&wanted) {
            assert!(Instant::now() < end, "no {what} within a minute: {:?}", self.events().last());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

pub fn numbers(steps: &[StepStats]) -> Vec<(u64, usize, String, u64)> {
    let mut all: Vec<_> = steps
        .iter()
        .flat_map(|s| s.scalars.iter().map(move |(c, v)| (s.step, s.variant, c.to_string(), v.to_bits())))
        .filter(|(_, _, c, _)| c != channels::STEP_MS)
        .collect();
    all.sort();
    all
}

const SMALL: &[(&str, &str)] = &[
    ("model.d_model", "16"),
    ("model.heads", "2"),
    ("model.kv_heads", "1"),
    ("train.window", "24"),
    ("train.batch", "2"),
    ("run.eval_every", "4"),
    ("run.eval_windows", "2"),
    ("run.threads", "1"),
    ("run.device", "cpu"),
    // this probe would take most of the time of such a small run
    ("probe.residual_every", "0"),
];

pub fn fast_slow(steps: u64, more: &[(&str, &str)]) -> (&'static Lab, Config) {
    let steps = steps.to_string();
    let config = config_with("fast_slow", None, &[SMALL, more, &[("train.steps", steps.as_str())]].concat());
    (labs::find("fast_slow").unwrap(), config)
}

pub fn train(config: &Config, options: DriveOptions) -> (Outcome, Record) {
    let lab = labs::find(&config.lab).unwrap();
    let record = Record::default();
    let (_keep, commands) = bounded(1);
    let outcome = trainer::drive((lab.plan)(config).unwrap(), options, &commands, vec![Box::new(record.clone())]);
    (outcome, record)
}

pub fn started() -> DriveOptions {
    DriveOptions { start: true, ..DriveOptions::default() }
}

/// A run on its own thread with the sender of its commands.
pub fn spawn(config: &Config) -> (Sender<Command>, Record) {
    let lab = labs::find(&config.lab).unwrap();
    let record = Record::default();
    let options = DriveOptions { stay: true, ..DriveOptions::default() };
    let handle = trainer::spawn((lab.plan)(config).unwrap(), options, vec![Box::new(record.clone())]).unwrap();
    (handle.commands, record)
}

#[test]
fn a_run_that_reads_no_text_describes_none() {
    let described = |config: &Config| {
        let plan = (labs::find(&config.lab).unwrap().plan)(config).unwrap();
        let info = trainer::Run::open(plan).unwrap().info(1, None);
        [!info.corpus.is_empty(), info.vocab > 0, info.tokens_per_step > 0]
    };
    for (lab, preset) in [("equilibrium", "equilibrium"), ("ode_flow", "ode_flow_field")] {
        let mut config = labs::find(lab).unwrap().config(Some(preset)).unwrap();
        config.set_text(&(labs::find(lab).unwrap().knobs)(), "run.device", "cpu").unwrap();
        assert_eq!(described(&config), [false; 3], "{lab}");
    }
    assert_eq!(described(&fast_slow(1, &[]).1), [true; 3]);
}

/// The presets run in parallel, because the test takes minutes.
#[test]
fn every_lab_and_preset_runs_a_few_steps_without_a_window() {
    let presets = Mutex::new(LABS.iter().flat_map(|lab| lab.presets.iter().map(move |preset| (*lab, preset))));
    let next = || presets.lock().unwrap().next();
    let told = Mutex::new(BTreeSet::<(&str, &str)>::new());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some((lab, preset)) = next() {
                    let ids = runs_and_tells(lab, preset);
                    told.lock().unwrap().extend(ids.into_iter().map(|id| (lab.id, id)));
                }
            });
        }
    });
    let told = told.into_inner().unwrap();
    for lab in LABS {
        let is_told = |id: &&str| headlines::ASKED_FOR.contains(id) || told.contains(&(lab.id, *id));
        let never: Vec<&str> = lab.headlines.iter().map(|h| h.id).filter(|id| !is_told(id)).collect();
        assert!(never.is_empty(), "no preset of {} tells {never:?}", lab.id);
    }
}

/// Trains a short run of the preset and returns the ids of its headline numbers.
fn runs_and_tells(lab: &Lab, preset: &Preset) -> BTreeSet<&'static str> {
    let knobs = (lab.knobs)();
    let mut config = lab.config(Some(preset.id)).unwrap();
    // a batch for steering needs a row for each direction
    let batch = if lab.id == "ode_flow" { "3" } else { "1" };
    for (key, value) in [("train.steps", "2"), ("run.eval_windows", "1"), ("train.batch", batch), ("run.threads", "1")]
    {
        config.set_text(&knobs, key, value).unwrap();
    }
    // a window of the paper's size would take minutes
    if config.value(TrainSettings::window).is_ok_and(|window| window > 256) {
        config.set_text(&knobs, TrainSettings::window.name, "32").unwrap();
    }
    // so would what probes compare between all tokens, for many variants; prose can have shorter windows, unlike tasks
    let is_usual_text = config.get("corpus.source") == lab.config(None).unwrap().get("corpus.source");
    let is_of_prose = ["coupled_qk", "fast_slow", "neuron_graph", "spen", "trained_bdh"].contains(&lab.id);
    let longest = if lab.id == "spen" { 32 } else { 64 };
    if is_of_prose && is_usual_text && config.value(TrainSettings::window).is_ok_and(|window| window > longest) {
        config.set_text(&knobs, TrainSettings::window.name, "32").unwrap();
    }
    let statistics = "probe.attention_statistics_every";
    if config.value(TrainSettings::window).is_ok_and(|window| window > 128) && config.get(statistics).is_some() {
        config.set_text(&knobs, statistics, "0").unwrap();
    }
    // so would the probes of a deep model, the large states of many neurons, the communities of many edges and exact
    // solutions; bytes need only a small part of a padded vocabulary
    let number = |config: &Config, key: &str| config.get(key).and_then(Value::as_f64);
    for (key, above, less) in [
        ("model.layers", 7.0, "1"),
        ("model.layers", 2.0, "2"),
        ("model.neurons", 512.0, "512"),
        ("corpus.vocab", 8192.0, "512"),
        ("graph.edges", 2000.0, "2000"),
        ("graph.restarts", 1.0, "1"),
        ("approach.max_iters", 4.0, "4"),
    ] {
        if number(&config, key).is_some_and(|value| value > above) {
            config.set_text(&knobs, key, less).unwrap();
        }
    }
    // heads of eight channels test a preset as well as wide ones
    if let (Some(heads), Some(width)) = (number(&config, "model.heads"), number(&config, "model.d_model"))
        && width > 8.0 * heads
    {
        config.set_text(&knobs, "model.d_model", &(8.0 * heads).to_string()).unwrap();
    }
    // one seed and one window suffice to show that a preset runs
    for knob in knobs.iter().filter(|k| k.key.ends_with(".seeds") || k.key == "probe.attention_windows") {
        config.set_text(&knobs, knob.key, "1").unwrap();
    }
    // probes of roles take time proportional to the numbers of sentences and units
    for key in [GrammarSettings::train.name, GrammarSettings::test.name, NetworkSettings::units.name] {
        if config.get(key).is_some() {
            config.set_text(&knobs, key, "20").unwrap();
        }
    }
    // this comparison does not depend on the network, so it runs only with the lab's first preset
    if preset.id != lab.presets[0].id && config.get(CompareSettings::words.name).is_some() {
        config.set_text(&knobs, CompareSettings::words.name, "false").unwrap();
    }
    // the stages of a merging's children are shortened too
    if config.value(MergingSettings::tune).is_ok_and(|updates| updates > 0) {
        config.set_text(&knobs, MergingSettings::tune.name, "2").unwrap();
    }
    if config.value(FinetuneSettings::steps).is_ok_and(|updates| updates > 0) {
        config.set_text(&knobs, FinetuneSettings::steps.name, "2").unwrap();
    }
    // a continuation needs a forward pass for each token, and what a gate does to attention many windows, so they run
    // only with the first preset of a lab that measures them
    for key in ["probe.next_tokens_every", "probe.gate_entropy_every"] {
        let measures = |other: &&Preset| {
            let config = lab.config(Some(other.id)).unwrap();
            number(&config, key).is_some_and(|every| every > 0.0)
        };
        let is_first = lab.presets.iter().find(measures).is_some_and(|first| first.id == preset.id);
        if config.get(key).is_some() && !is_first {
            config.set_text(&knobs, key, "0").unwrap();
        }
    }
    // so does the distance from equilibrium, except for presets with another way of solving for it
    let residual = "probe.residual_every";
    let ways = ["ladder.anderson", "ladder.projector_hidden", "ladder.deq", "ladder.backward_euler"];
    let of_ways = |config: &Config| ways.map(|key| config.get(key).cloned());
    let is_usual_way = of_ways(&config) == of_ways(&lab.config(None).unwrap());
    if preset.id != lab.presets[0].id && config.get(residual).is_some() && is_usual_way {
        config.set_text(&knobs, residual, "0").unwrap();
    }
    let begun = Instant::now();
    let (outcome, record) = train(&config, started());
    println!("{}: {:.1?}", preset.id, begun.elapsed());
    assert_eq!(outcome.state, RunState::Finished, "{}", preset.id);
    let losses = record
        .steps()
        .iter()
        .flat_map(|s| s.scalars.clone())
        .filter(|(c, _)| c.as_str() == channels::LOSS_TRAIN)
        .count();
    assert!(losses >= 2, "{} told {losses} losses", preset.id);
    headlines::check(lab, preset.id, &record.events())
}

#[test]
fn a_task_tells_what_guessing_reaches_and_prose_does_not() {
    let told = |channel: &str, more: &[(&str, &str)]| {
        let (_, config) = fast_slow(1, more);
        let (_, record) = train(&config, started());
        let all: Vec<f64> = record
            .steps()
            .iter()
            .flat_map(|s| s.scalars.clone())
            .filter(|(c, _)| c.as_str() == channel)
            .map(|(_, v)| v)
            .collect();
        all
    };
    assert_eq!(told(channels::GUESS, &[]), [] as [f64; 0]);
    assert_eq!(told(channels::ANSWERS, &[]), [] as [f64; 0]);
    let task = [
        ("corpus.source", "facts_symbols"),
        ("corpus.tokenizer", "word"),
        ("train.window", "96"),
        ("run.eval_windows", "4"),
        ("run.eval_every", "1"),
    ];
    let all = [channels::GUESS, channels::ANSWERS, channels::ACCURACY];
    let [guesses, asked, shares] = all.map(|channel| told(channel, &task));
    assert!(!guesses.is_empty() && guesses.iter().all(|g| *g == 0.1), "{guesses:?}");
    assert!(asked.len() == guesses.len() && shares.len() > asked.len(), "said once a variant: {asked:?}");
    let is_whole = |v: f64| (v - v.round()).abs() < 1e-9;
    assert!(
        asked.iter().all(|n| *n > 0.0 && shares.iter().all(|share| is_whole(share * n))),
        "{asked:?} of {shares:?}"
    );
}

#[test]
fn the_same_seed_gives_the_same_numbers_bit_for_bit_and_another_does_not() {
    let (_, config) = fast_slow(6, &[]);
    let a = train(&config, started()).1.numbers();
    assert_eq!(a, train(&config, started()).1.numbers());
    let mut other = config;
    other.seed += 1;
    assert_ne!(a, train(&other, started()).1.numbers());
}

#[test]
fn watching_changes_nothing() {
    let quiet = [("probe.staircase_every", "0"), ("probe.attention_maps_every", "0"), ("probe.residual_every", "0")];
    let often = [("probe.staircase_every", "1"), ("probe.attention_maps_every", "2"), ("probe.residual_every", "3")];
    let (_, a) = fast_slow(6, &quiet);
    let (_, b) = fast_slow(6, &often);
    let (a, b) = (train(&a, started()).1, train(&b, started()).1);
    assert!(b.events().iter().any(|e| matches!(e, Event::Sample(_))), "the probes did answer");
    assert_eq!(a.numbers(), b.numbers());
}

#[test]
fn two_threads_give_the_numbers_of_one() {
    let (_, one) = fast_slow(4, &[("run.threads", "1")]);
    let (_, two) = fast_slow(4, &[("run.threads", "2")]);
    assert_eq!(train(&one, started()).1.numbers(), train(&two, started()).1.numbers());
}

#[test]
fn the_twins_see_the_same_batches_and_part_only_through_the_gate() {
    let (_, config) = fast_slow(3, &[]);
    let steps = train(&config, started()).1.steps();
    let loss = |step: u64, variant: usize| {
        let s = steps
            .iter()
            .find(|s| s.step == step && s.variant == variant && s.scalars[0].0.as_str() == channels::LOSS_TRAIN);
        s.unwrap().scalars[0].1
    };
    assert_eq!(loss(1, 0).to_bits(), loss(1, 1).to_bits(), "before the first update the gate is zero");
    assert_ne!(loss(3, 0).to_bits(), loss(3, 1).to_bits(), "after two updates it is not");
}

#[test]
fn a_run_obeys_pause_step_questions_settings_and_stop() {
    let (_, config) = fast_slow(100_000, &[]);
    let (commands, record) = spawn(&config);
    let send = |c: Command| commands.send(c).unwrap();
    record.wait("paused state", |e| matches!(e, Event::State(RunState::Paused)));
    let mut args = orrery::telemetry::Args::new();
    args.insert("text".into(), Value::Text("The keeper of the light waited.".into()));
    send(Command::Measure(Question { request: 41, probe: "causality".into(), variant: Some(0), args, at: None }));
    record.wait(
        "answer before the first step",
        |e| matches!(e, Event::Sample(s) if s.request == Some(41) && s.step == 0),
    );

    send(Command::StepOnce);
    record.wait("single step", |e| matches!(e, Event::Step(s) if s.step == 1 && s.variant == 1));
    record.wait("pause after it", |e| matches!(e, Event::State(RunState::Running)));
    std::thread::sleep(Duration::from_millis(200));
    assert!(record.steps().iter().all(|s| s.step <= 1), "one step and no more");

    send(Command::Run);
    record.wait("fifth step", |e| matches!(e, Event::Step(s) if s.step == 5));
    send(Command::Set { key: "train.lr".into(), value: Value::Float(5e-4) });
    send(Command::Set { key: "model.coupling_scale".into(), value: Value::Float(2.0) });
    send(Command::Set { key: "model.d_model".into(), value: Value::Int(8) });
    record.wait("change told", |e| matches!(e, Event::Changed { key, .. } if key == "model.coupling_scale"));
    record.wait("refusal told", |e| matches!(e, Event::Notice { text, .. } if text.contains("next reset")));
    let args = Default::default();
    send(Command::Measure(Question { request: 1, probe: "nonsense".into(), variant: None, args, at: None }));
    record.wait("unknown probe told", |e| {
        matches!(e, Event::Question { request: 1, state: QuestionState::Refused(words) } if words.contains("no probe `nonsense`"))
    });
    send(Command::Stop);
    record.wait("stop", |e| matches!(e, Event::State(RunState::Stopped)));
}

#[test]
fn dropping_the_handle_ends_the_run() {
    let (_, config) = fast_slow(100_000, &[]);
    let (commands, record) = spawn(&config);
    commands.send(Command::Run).unwrap();
    record.wait("a step", |e| matches!(e, Event::Step(s) if s.step == 2));
    drop(commands);
    record.wait("stop", |e| matches!(e, Event::State(RunState::Stopped)));
}

#[test]
fn a_run_that_cannot_begin_says_why() {
    let short = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(short.path(), "Too short a story.").unwrap();
    let short = short.path().to_str().unwrap();
    for (set, word) in [
        (&[("corpus.file", "/nowhere/to/be/found.txt")][..], "found.txt"),
        (&[("run.device", "abacus")], "abacus"),
        (&[("train.window", "8192"), ("corpus.file", short)], "one window needs 8193"),
    ] {
        let (_, config) = fast_slow(3, set);
        let (outcome, _) = train(&config, started());
        assert!(matches!(&outcome.state, RunState::Failed { message } if message.contains(word)), "{outcome:?}");
    }
}

#[test]
fn a_nan_ends_the_run_with_words_and_keeps_its_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let (_, config) = fast_slow(8, &[("run.checkpoint_every", "4")]);
    let writer = Writer::at_once(dir.path());
    let folder = {
        train(&config, DriveOptions { writer: Some(writer.clone()), ..started() });
        writer.folder().unwrap()
    };
    let mut from = checkpoint::load(&folder, &orrery::nn::Device::Cpu).unwrap().unwrap().checkpoint;
    for v in &mut from.variants {
        for (_, t) in v.weights.iter_mut().filter(|(n, _)| n.contains("embed")) {
            *t = (t.clone() * f64::NAN).unwrap();
        }
    }
    from.step = 4;
    let (outcome, record) = train(&config, DriveOptions { from: Some(from), ..started() });
    assert!(
        matches!(&outcome.state, RunState::Failed { message } if message.contains("NaN") && message.contains("step 5")),
        "{outcome:?}"
    );
    assert!(record.steps().is_empty(), "no number of the broken step is told");
    assert!(
        Reader::open(&folder).unwrap().filter(|e| matches!(e, Event::Step(_))).count() >= 16,
        "the folder keeps its own"
    );
}

/// Two accumulated batches of two rows have the same losses and gradients as one batch of four, up to rounding.
#[test]
fn accumulated_batches_train_as_one_large_batch() {
    let width = ("model.d_model", "16");
    for (id, small) in [
        ("fast_slow", &[width][..]),
        ("coupled_qk", &[width, ("model.hidden", "24")]),
        ("synapses", &[("model.neurons", "64"), ("model.d_model", "8")]),
        ("ode_flow", &[width]),
    ] {
        let lab = labs::find(id).unwrap();
        let losses = |batch: &str, accumulate: &str| {
            let mut config = lab.config(Some(if id == "ode_flow" { "ode_flow_train" } else { id })).unwrap();
            let sizes = [
                ("train.batch", batch),
                ("train.accumulate", accumulate),
                ("train.window", "24"),
                ("train.steps", "3"),
                ("run.eval_windows", "2"),
                ("run.threads", "1"),
                ("run.device", "cpu"),
            ];
            let knobs = (lab.knobs)();
            let is_schedule = |key: &str| key.starts_with("probe.") && key.ends_with("_every");
            let unasked = knobs.iter().map(|k| (k.key, "0")).filter(|(key, _)| is_schedule(key));
            for (key, value) in sizes.into_iter().chain(small.iter().copied()).chain(unasked) {
                config.set_text(&knobs, key, value).unwrap();
            }
            let (outcome, record) = train(&config, started());
            assert!(matches!(outcome.state, RunState::Finished), "{id}: {outcome:?}");
            let of_step = |s: StepStats| {
                let wanted = [channels::LOSS_TRAIN, channels::GRAD_NORM, channels::LOSS_HELD_OUT];
                let scalars = s.scalars.into_iter().filter(|(c, _)| wanted.contains(&c.as_str()));
                scalars.map(|(c, v)| (s.step, s.variant, c.to_string(), v)).collect::<Vec<_>>()
            };
            record.steps().into_iter().flat_map(of_step).collect::<Vec<_>>()
        };
        let (whole, parts) = (losses("4", "1"), losses("2", "2"));
        assert_eq!(whole.len(), parts.len(), "{id}");
        assert!(whole.len() > 6, "{id}: {whole:?}");
        for (a, b) in whole.iter().zip(&parts) {
            assert_eq!((&a.0, &a.1, &a.2), (&b.0, &b.1, &b.2), "{id}");
            assert!((a.3 - b.3).abs() < 1e-3 * a.3.abs().max(1.0), "{id}: {a:?} and {b:?}");
        }
    }
}

#[test]
fn accumulation_is_refused_where_it_cannot_be() {
    for (id, more, why) in [
        ("grammar_roles", ("grammar.train", "2000"), "a rule of its own"),
        ("synapses", ("train.carry", "4"), "carried from batch to batch"),
    ] {
        let lab = labs::find(id).unwrap();
        let mut config = lab.config(None).unwrap();
        for (key, value) in [more, ("train.accumulate", "2"), ("train.batch", "4"), ("run.device", "cpu")] {
            config.set_text(&(lab.knobs)(), key, value).unwrap();
        }
        let refused = trainer::Run::open((lab.plan)(&config).unwrap()).err().expect("no such run").to_string();
        assert!(refused.contains("`train.accumulate` = 2") && refused.contains(why), "{id}: {refused}");
    }
}

/// Four accumulated batches need less memory than one batch of the same total size, and more than one of them without
/// accumulation.
#[test]
fn the_estimate_of_memory_follows_accumulation() {
    let bytes = |batch: &str, accumulate: &str| {
        let (lab, config) = fast_slow(3, &[("train.batch", batch), ("train.accumulate", accumulate)]);
        trainer::MemoryEstimate::new(&(lab.plan)(&config).unwrap()).bytes()
    };
    assert!(bytes("16", "4") < bytes("64", "1"));
    assert!(bytes("16", "4") > bytes("16", "1"));
}

#[test]
fn an_evolution_that_overflows_is_named_with_what_helps() {
    let lab = labs::find("coupled_qk").unwrap();
    let mut config = lab.config(None).unwrap();
    let small = [
        ("model.d_model", "16"),
        ("model.layers", "2"),
        ("model.hidden", "16"),
        ("model.dt", "10"),
        ("model.evolution_steps", "16"),
        ("train.steps", "3"),
        ("train.batch", "2"),
        ("train.window", "24"),
    ];
    for (key, value) in small {
        config.set_text(&(lab.knobs)(), key, value).unwrap();
    }
    let (outcome, _) = train(&config, started());
    let RunState::Failed { message } = &outcome.state else { panic!("{outcome:?}") };
    assert!(message.contains("of `hamiltonian` became") && message.contains("steps of queries and keys"), "{message}");
}

#[test]
fn stopped_and_resumed_equals_never_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let (_, config) = fast_slow(9, &[("run.checkpoint_every", "3")]);
    let whole = train(&config, started()).1.numbers();

    let (_, first_part) = fast_slow(9, &[("run.checkpoint_every", "3")]);
    let lab = labs::find("fast_slow").unwrap();
    let writer = Writer::at_once(dir.path());
    let record = Record::default();
    let (commands, receiver) = bounded(16);
    let options = DriveOptions { stay: true, writer: Some(writer.clone()), ..DriveOptions::default() };
    let plan = (lab.plan)(&first_part).unwrap();
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(record.clone())];
    let run = std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(move || trainer::drive(plan, options, &receiver, sinks))
        .unwrap();
    for _ in 0..5 {
        let told = record.steps().len();
        commands.send(Command::StepOnce).unwrap();
        record.wait("a step", |_| record.steps().len() > told);
        std::thread::sleep(Duration::from_millis(50));
    }
    commands.send(Command::Stop).unwrap();
    let stopped = run.join().unwrap();
    assert!(stopped.step < 9, "{stopped:?}");
    drop(record);

    let folder = writer.folder().unwrap();
    drop(writer);
    let from = checkpoint::load(&folder, &orrery::nn::Device::Cpu).unwrap().map(|l| l.checkpoint);
    let writer = Writer::resume(&folder, from.as_ref()).unwrap();
    let (outcome, _) = train(&config, DriveOptions { from, writer: Some(writer.clone()), ..started() });
    assert_eq!(outcome.state, RunState::Finished);
    drop(writer);
    assert_eq!(recorded_numbers(&folder, u64::MAX), whole);
}

/// The folder of the run in `out`, if it exists already.
fn run_under(out: &Path) -> Option<std::path::PathBuf> {
    Some(std::fs::read_dir(out).ok()?.next()?.ok()?.path())
}

fn only_run(out: &Path) -> std::path::PathBuf {
    run_under(out).unwrap()
}

/// The numbers of an undamaged run folder up to a step.
pub fn recorded_numbers(folder: &Path, until: u64) -> Vec<(u64, usize, String, u64)> {
    let mut steps: Vec<StepStats> = vec![];
    let keep = |event: Event| {
        if let Event::Step(stats) = event
            && stats.step <= until
        {
            steps.push(stats);
        }
    };
    assert!(Reader::open(folder).unwrap().read_through(keep).unwrap().is_empty());
    numbers(&steps)
}

#[test]
fn killed_and_resumed_equals_never_killed() {
    let dir = tempfile::tempdir().unwrap();
    let small = SMALL.iter().chain(&[("run.checkpoint_every", "10")]).map(|(k, v)| format!(" --set {k}={v}"));
    let words = format!("run fast_slow --steps 120 --no-figures{}", small.collect::<String>());
    let (whole, killed) = (dir.path().join("whole"), dir.path().join("killed"));
    done(dir.path(), &format!("{words} --out whole"));

    let mut victim = command(dir.path(), format!("{words} --out killed").split(' '));
    let mut victim = victim.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let first = "checkpoints/step-00000020/state.json";
    wait_until("no checkpoint came", || run_under(&killed).is_some_and(|run| run.join(first).exists()));
    victim.kill().unwrap(); // SIGKILL
    victim.wait().unwrap();
    let folder = only_run(&killed);
    done(dir.path(), &format!("resume {} --no-figures", folder.display()));
    assert_eq!(recorded_numbers(&folder, u64::MAX), recorded_numbers(&only_run(&whole), u64::MAX));
}
