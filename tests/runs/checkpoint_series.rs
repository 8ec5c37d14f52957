//! Tests a folder of checkpoints as a time axis: it is recorded as a run with the checkpoints' steps, and can be asked
//! at each of them. Uses the real binary.

use std::{
    fs,
    path::{Path, PathBuf},
};

use candle_core::Device;
use orrery::{
    cli::{host::DesktopHost, runs::Runs},
    config::Value,
    labs,
    models::{
        ModelSpec,
        bdh::{BdhSpec, export_state_dict},
    },
    store::{Reader, checkpoint, snapshots, tensors},
    telemetry::{
        self, Event, Measurement, Question, QuestionState, channels,
        measurements::{ModularityAtStep, TrainedBdh},
    },
    trainer::{self, DriveOptions},
    ui::host::Host,
};

use crate::{
    command::{output_in, stderr_of},
    config_with::config_with,
    record::Record,
    wait_for::wait_until,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn write(path: &Path, seed: u64, neurons: usize) {
    write_with(path, (seed, neurons), &[]);
}

fn write_with(path: &Path, (seed, neurons): (u64, usize), said: &[(&str, &str)]) {
    let spec = BdhSpec { d_model: 8, heads: 2, neurons, layers: 2, ..BdhSpec::default() };
    let model = ModelSpec::Bdh(spec.clone()).build(256, seed, &Device::Cpu).unwrap();
    let weights: Vec<_> = model.params().iter().map(|(n, v)| (n.to_owned(), v.as_tensor().clone())).collect();
    let mut out = export_state_dict(&spec, &weights).unwrap();
    out.metadata.extend(said.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
    tensors::write(path, &out.tensors, &out.metadata).unwrap();
}

/// Writes checkpoints of steps 10 and 20 into a new folder, which say neither their layers nor their tokens, `vocab` of them.
fn write_unsaid(folder: &Path, vocab: usize) {
    fs::create_dir(folder).unwrap();
    for step in [10, 20] {
        let spec = BdhSpec { d_model: 8, heads: 2, neurons: 32, layers: 2, ..BdhSpec::default() };
        let model = ModelSpec::Bdh(spec.clone()).build(vocab, step, &Device::Cpu).unwrap();
        let weights: Vec<_> = model.params().iter().map(|(n, v)| (n.to_owned(), v.as_tensor().clone())).collect();
        let out = export_state_dict(&spec, &weights).unwrap();
        tensors::write(&folder.join(format!("step-{step}.safetensors")), &out.tensors, &[]).unwrap();
    }
}

const QUIET: &str = "--no-figures --set graph.edges=100 --set run.threads=1 --device cpu";

/// Writes a folder with checkpoints of steps 0, 50 and 200, and records a run of it. Returns the run's folder.
fn recorded(folder: &Path) -> PathBuf {
    fs::create_dir(folder.join("made")).unwrap();
    for (seed, step) in [(3, 200), (1, 0), (2, 50)] {
        write(&folder.join(format!("made/ckpt-{step:04}.safetensors")), seed, 32);
    }
    let output = output_in(folder, &format!("run made {QUIET}"));
    assert!(output.status.success(), "{}", stderr_of(&output));
    let run = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    folder.join(run)
}

#[test]
fn steps_of_a_checkpoint_series_are_those_of_its_files() -> Outcome {
    let folder = tempfile::tempdir()?;
    let run = recorded(folder.path());
    assert_eq!(snapshots::list(&run).keys().copied().collect::<Vec<_>>(), [0, 50, 200]);
    let (mut losses, mut modularity, mut models) = (vec![], vec![], vec![]);
    for event in Reader::open(&run)? {
        match event {
            Event::Step(stats) => {
                losses.extend(
                    stats
                        .scalars
                        .iter()
                        .filter(|(c, _)| c.as_str() == channels::LOSS_HELD_OUT)
                        .map(|(_, v)| (stats.step, *v)),
                );
            }
            Event::Sample(s) => {
                modularity.extend(s.measurement::<ModularityAtStep>().map(|m| (s.step, m.model)));
                models.extend(s.measurement::<TrainedBdh>().map(|m| (s.step, m.loss)));
            }
            _ => {}
        }
    }
    let steps = |of: &[(u64, f64)]| of.iter().map(|(s, _)| *s).collect::<Vec<_>>();
    assert_eq!(steps(&losses), [0, 50, 200]);
    assert_eq!(steps(&modularity), [0, 50, 200]);
    assert_eq!(steps(&models), [0, 50, 200]);
    assert!(losses[0].1 != losses[1].1 && modularity[1].1 != modularity[2].1, "{losses:?} {modularity:?}");
    // the loss at a step equals that of the checkpoint's file alone
    let alone = output_in(folder.path(), &format!("run made/ckpt-0050.safetensors {QUIET}"));
    let alone = folder.path().join(String::from_utf8_lossy(&alone.stdout).trim());
    let found = Reader::open(&alone)?.find_map(|e| match e {
        Event::Step(s) => s.scalars.iter().find(|(c, _)| c.as_str() == channels::LOSS_HELD_OUT).map(|(_, v)| *v),
        _ => None,
    });
    assert_eq!(found.map(f64::to_bits), Some(losses[1].1.to_bits()));
    Ok(())
}

/// The step in a file's metadata takes precedence over its name. Here the names have no step, all epochs are equal, and
/// the folder's name has a dot, which must not count as a file ending.
#[test]
fn steps_in_metadata_take_precedence_over_file_names() -> Outcome {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("made.v2"))?;
    for (name, seed, step) in [("early", 1, "40"), ("best", 2, "700.0"), ("final", 3, "1000")] {
        let said = [("iter_num", step), ("epoch", "1")];
        write_with(&folder.path().join(format!("made.v2/{name}.safetensors")), (seed, 32), &said);
    }
    let output = output_in(folder.path(), &format!("run made.v2 {QUIET}"));
    let told = stderr_of(&output);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("best.safetensors`, as its `iter_num` says"), "{told}");
    let run = folder.path().join(String::from_utf8_lossy(&output.stdout).trim());
    assert_eq!(snapshots::list(&run).keys().copied().collect::<Vec<_>>(), [40, 700, 1000]);
    // if one file has no step in its metadata, the names of all files are used
    write(&folder.path().join("made.v2/last.safetensors"), 4, 32);
    let output = output_in(folder.path(), &format!("run made.v2 {QUIET}"));
    let told = stderr_of(&output);
    assert!(output.status.code() == Some(2) && told.contains("such as step-500.pt"), "{told}");
    Ok(())
}

#[test]
fn a_replay_answers_at_each_checkpoint_of_the_series() -> Outcome {
    let folder = tempfile::tempdir()?;
    let run = recorded(folder.path());
    let info = Reader::open(&run)?.info().ok_or("no description")?;
    let lab = labs::find(&info.lab).ok_or("no lab")?;
    let plan = (lab.plan)(&info.config)?;
    let from = checkpoint::load(&run, &Device::Cpu)?.ok_or("no checkpoint")?.checkpoint;
    assert_eq!(from.step, 200);
    let (commands, receiver) = crossbeam::channel::bounded(8);
    let record = Record::default();
    let options = DriveOptions { stay: true, from: Some(from), replayed: Some(run.clone()), ..DriveOptions::default() };
    let sink = record.clone();
    let thread = std::thread::Builder::new().stack_size(64 << 20);
    let thread = thread.spawn(move || trainer::drive(plan, options, &receiver, vec![Box::new(sink)]))?;
    let mut losses = vec![];
    for (request, at) in [(1, Some(0)), (2, Some(120)), (3, None)] {
        let args = telemetry::Args::from([("windows".to_owned(), Value::Int(2))]);
        let question = Question { request, probe: TrainedBdh::PROBE.into(), variant: Some(0), args, at };
        commands.send(telemetry::Command::Measure(question))?;
        let is_end = |e: &Event| matches!(e, Event::Question { request: r, state } if *r == request && !matches!(state, QuestionState::Working(_)));
        record.wait("answer", is_end);
        let sample = record.events().into_iter().find_map(|e| match e {
            Event::Sample(s) if s.request == Some(request) => Some(s),
            _ => None,
        });
        let sample = sample.ok_or("no answer")?;
        losses.push((sample.step, sample.measurement::<TrainedBdh>().ok_or("another answer")?.loss));
    }
    assert_eq!(losses.iter().map(|(s, _)| *s).collect::<Vec<_>>(), [0, 50, 200]);
    assert!(losses[0].1 != losses[1].1 && losses[1].1 != losses[2].1, "{losses:?}");
    drop(commands);
    let _ = thread.join();
    Ok(())
}

/// What the files leave open is found once for all of them, said once, and in the record, by which the run is asked.
#[test]
fn the_record_holds_the_tokens_and_layers_that_were_found() -> Outcome {
    let folder = tempfile::tempdir()?;
    let made = folder.path().join("made");
    let letters: Vec<String> = ('a'..='z').chain([' ', '.', '\n']).map(String::from).collect();
    write_unsaid(&made, letters.len());
    fs::write(made.join("vocab.json"), serde_json::to_string(&letters)?)?;
    let output = output_in(folder.path(), &format!("run made {QUIET}"));
    let said = stderr_of(&output);
    assert!(output.status.success(), "{said}");
    let run = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let notices: Vec<String> = Reader::open(&folder.path().join(&run))?
        .filter_map(|event| if let Event::Notice { text, .. } = event { Some(text) } else { None })
        .collect();
    for part in ["does not say how many layers", "vocab.json, beside it", "is read without"] {
        assert_eq!(notices.iter().filter(|text| text.contains(part)).count(), 1, "{part}: {notices:?}");
        assert_eq!(said.matches(part).count(), 1, "{part}: {said}");
    }
    let info = Reader::open(&folder.path().join(&run))?.info().ok_or("no description")?;
    let setting = |key: &str| info.config.get(key).map(ToString::to_string).unwrap_or_default();
    assert_eq!((setting("corpus.tokenizer"), setting("model.layers")), ("sorted_char".to_owned(), "6".to_owned()));
    assert!(setting("corpus.vocabulary_file").ends_with("vocab.json"), "{}", setting("corpus.vocabulary_file"));
    assert!(info.inputs.iter().any(|file| file.path == setting("corpus.vocabulary_file")), "{:?}", info.inputs);

    let ask = || output_in(folder.path(), &format!("ask {run} next_tokens --set text=the"));
    let answer = ask();
    assert!(answer.status.success(), "{}", stderr_of(&answer));
    fs::remove_file(made.join("vocab.json"))?;
    let refused = ask();
    let said = stderr_of(&refused);
    assert!(refused.status.code() == Some(2) && said.contains("vocab.json is missing"), "{said}");
    Ok(())
}

/// As *Reset* in the window does.
#[test]
fn a_folder_is_recorded_again_with_other_settings() -> Outcome {
    let folder = tempfile::tempdir()?;
    let made = folder.path().join("made");
    write_unsaid(&made, 256);
    let newest = made.join("step-20.safetensors").display().to_string();
    let settings = [
        ("model.checkpoint", newest.as_str()),
        ("model.layers", "3"),
        ("graph.edges", "100"),
        ("run.threads", "1"),
        ("run.device", "cpu"),
    ];
    let config = config_with("trained_bdh", None, &settings);
    let mut host = DesktopHost::new(folder.path().join("runs"), Runs::new());
    let handle = host.record_checkpoints(made, &config);
    let mut events: Vec<Event> = vec![];
    wait_until("no checkpoint is recorded", || {
        events.extend(handle.inbox.take());
        events.iter().any(|event| matches!(event, Event::Checkpoint { .. }))
    });
    let started = events.iter().find_map(|event| if let Event::Started(info) = event { Some(info) } else { None });
    assert_eq!(started.ok_or("it began")?.config.get("model.layers"), Some(&Value::Int(3)));
    let of_step = |event: &Event| if let Event::Step(stats) = event { Some(stats.step) } else { None };
    assert_eq!(events.iter().filter_map(of_step).collect::<Vec<_>>(), [10, 20]);
    Ok(())
}

#[test]
fn folders_that_are_not_a_series_are_refused_naming_the_file() -> Outcome {
    let folder = tempfile::tempdir()?;
    let refused = |what: &str, parts: &[&str]| {
        let output = output_in(folder.path(), &format!("run {what} {QUIET}"));
        let said = stderr_of(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        parts.iter().for_each(|part| assert!(said.contains(part), "{part}: {said}"));
    };
    fs::create_dir(folder.path().join("empty"))?;
    refused("empty", &["neither of a run"]);
    fs::create_dir(folder.path().join("nameless"))?;
    write(&folder.path().join("nameless/model.safetensors"), 1, 32);
    refused("nameless", &["model.safetensors", "has no step"]);
    fs::create_dir(folder.path().join("twice"))?;
    write(&folder.path().join("twice/a-10.safetensors"), 1, 32);
    write(&folder.path().join("twice/b-10.safetensors"), 1, 32);
    refused("twice", &["a-10.safetensors", "b-10.safetensors", "both have step 10"]);
    fs::create_dir(folder.path().join("sizes"))?;
    write(&folder.path().join("sizes/m-1.safetensors"), 1, 32);
    write(&folder.path().join("sizes/m-2.safetensors"), 1, 48);
    refused("sizes", &["m-2.safetensors", "m-1.safetensors", "encoder"]);
    fs::write(folder.path().join("sizes/m-2.safetensors"), "no")?;
    refused("sizes", &["m-2.safetensors"]);
    Ok(())
}
