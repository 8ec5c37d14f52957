//! Tests the merging of two BDH models: identities for a model that is merged with itself and with one whose neurons
//! never fire, the provenance of neurons, and the commands.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use candle_core::{Device, Tensor};
use orrery::{
    config::Config,
    corpus::generated::parliament::AUXILIARY,
    labs,
    models::{
        Model, Trainable,
        bdh::{
            Bdh, BdhSpec, Form, Position, export_state_dict,
            merge::{MergedModel, Parent, merge},
        },
    },
    nn::{Tap, host},
    store::{Writer, checkpoint, tensors},
    telemetry::{Command as RunCommand, Event, Sink, channels, measurements::TextLosses},
    trainer,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::command::{done, expect_exit, orrery};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const VOCAB: usize = 256;

fn spec(neurons: usize) -> BdhSpec {
    BdhSpec { d_model: 16, heads: 2, neurons, layers: 3, ..BdhSpec::default() }
}

/// A model with weights twelve times the initial ones, so that differences between models become visible.
fn parent(name: &str, spec: &BdhSpec, seed: u64) -> candle_core::Result<Parent> {
    let model = Bdh::new(spec, VOCAB, seed, &Device::Cpu)?;
    let weights = model.params().iter().map(|(n, v)| Ok((n.to_owned(), (v.as_tensor() * 12.0)?.detach())));
    Ok(Parent { name: name.into(), spec: spec.clone(), weights: weights.collect::<candle_core::Result<_>>()? })
}

fn set(
    parent: &mut Parent,
    name: &str,
    to: impl Fn(&Tensor) -> candle_core::Result<Tensor>,
) -> candle_core::Result<()> {
    for (_, value) in parent.weights.iter_mut().filter(|(n, _)| n == name) {
        *value = to(value)?;
    }
    Ok(())
}

fn build_model(spec: &BdhSpec, weights: &[(String, Tensor)]) -> candle_core::Result<Bdh> {
    let model = Bdh::new(spec, VOCAB, 0, &Device::Cpu)?;
    for (name, value) in weights {
        model.params().load(name, value)?;
    }
    Ok(model)
}

fn logits(spec: &BdhSpec, weights: &[(String, Tensor)], taps: bool) -> candle_core::Result<Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let ids: Vec<u32> = (0..2 * 60).map(|_| rng.random_range(0..VOCAB as u32)).collect();
    let mut tap = if taps { Tap::on(&["layers."]) } else { Tap::off() };
    host::to_f64(&build_model(spec, weights)?.logits(&Tensor::from_vec(ids, (2, 60), &Device::Cpu)?, &mut tap)?)
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let size = b.iter().fold(1e-9, |m: f64, v| m.max(v.abs()));
    a.iter().zip(b).fold(0.0, |m, (a, b)| if a.is_finite() { f64::max(m, (a - b).abs() / size) } else { f64::NAN })
}

fn merged_logits(m: &MergedModel, taps: bool) -> candle_core::Result<Vec<f64>> {
    logits(&m.spec, &m.weights, taps)
}

/// With every neuron duplicated, the attention output and the decoded output are twice as large, and layer norms cancel
/// both factors.
#[test]
fn a_model_merged_with_itself_is_itself() -> Outcome {
    for (position, form) in [
        (Position::Rope, Form::Code),
        (Position::Both, Form::Code),
        (Position::Nothing, Form::Code),
        (Position::Rope, Form::Paper),
    ] {
        let spec = BdhSpec { position, form, ..spec(96) };
        let a = parent("a", &spec, 3)?;
        let merged = merge(&a, &a)?;
        assert_eq!((merged.spec.neurons, merged.spec.provenance.as_slice()), (192, [48, 48].as_slice()));
        let alone = logits(&a.spec, &a.weights, false)?;
        for taps in [false, true] {
            let off = apart(&merged_logits(&merged, taps)?, &alone);
            assert!(off < 1e-3, "{position:?} {form:?}, tapped {taps}: {off:e}");
        }
        if position == Position::Rope {
            // with the default frequencies of a head that is twice as large, the result must differ
            let usual = BdhSpec { frequencies: None, ..merged.spec.clone() };
            let off = apart(&logits(&usual, &merged.weights, false)?, &alone);
            assert!(off > 0.05, "{off:e}: frequencies do not matter");
        }
    }
    Ok(())
}

#[test]
fn beside_a_silent_model_nothing_changes_but_the_average() -> Outcome {
    let a = parent("a", &spec(96), 3)?;
    // the second model has a different number of neurons and other frequencies, and its neurons never fire
    let mut silent = parent("silent", &spec(64), 5)?;
    set(&mut silent, "encoder", Tensor::zeros_like)?;
    for name in ["embed.weight", "lm_head"] {
        let same = a.weights.iter().find(|(n, _)| n == name).ok_or("gone")?.1.clone();
        set(&mut silent, name, |_| Ok(same.clone()))?;
    }
    let alone = logits(&a.spec, &a.weights, false)?;
    for (merged, provenance) in [(merge(&a, &silent)?, [48, 32]), (merge(&silent, &a)?, [32, 48])] {
        assert_eq!(merged.spec.provenance, provenance);
        for taps in [false, true] {
            let off = apart(&merged_logits(&merged, taps)?, &alone);
            assert!(off < 1e-4, "{provenance:?}: {off:e}");
        }
    }
    // merged with a model that does fire, the result differs, so the test is not vacuous
    let other = merge(&a, &parent("b", &spec(64), 5)?)?;
    assert!(apart(&merged_logits(&other, false)?, &alone) > 0.05);
    Ok(())
}

#[test]
fn every_neuron_keeps_its_weights_its_speed_and_its_name() -> Outcome {
    let (a, b, c) = (parent("a", &spec(96), 3)?, parent("b", &spec(64), 5)?, parent("c", &spec(32), 6)?);
    let two = merge(&a, &b)?;
    let two = Parent { name: "two".into(), spec: two.spec, weights: two.weights };
    let all = merge(&two, &c)?;
    assert_eq!(all.spec.provenance, [48, 32, 16]);
    let rows = |w: &[(String, Tensor)]| host::to_f32(&w.iter().find(|(n, _)| n == "decoder").unwrap().1);
    let columns = |w: &[(String, Tensor)]| host::to_f32(&w.iter().find(|(n, _)| n == "encoder").unwrap().1);
    let (row, column) = (rows(&all.weights)?, columns(&all.weights)?);
    let mut counts = [0; 3];
    for neuron in 0..192 {
        let which = all.spec.shape().parent(neuron).ok_or("no parent")?;
        let from = [&a, &b, &c][which];
        let (head, within) = (neuron / 96, neuron % 96 - [0, 48, 80][which]);
        let n = from.spec.per_head();
        assert_eq!(row[neuron * 16..][..16], rows(&from.weights)?[(head * n + within) * 16..][..16], "row of {neuron}");
        let value = column[(head * 16 + 5) * 96 + neuron % 96];
        assert_eq!(value, columns(&from.weights)?[(head * 16 + 5) * n + within], "column of {neuron}");
        assert_eq!(
            all.spec.shape().turns_per_token()[neuron % 96 / 2],
            from.spec.shape().turns_per_token()[within / 2],
            "speed of {neuron}"
        );
        counts[which] += 1;
    }
    assert_eq!(counts, [96, 64, 32]);
    assert_eq!(spec(96).shape().parent(3), None, "of a model that was not merged");
    Ok(())
}

#[test]
fn models_that_do_not_fit_are_told_apart() -> Outcome {
    let a = parent("a", &spec(96), 3)?;
    for (other, word) in [
        (BdhSpec { d_model: 8, ..spec(96) }, "width"),
        (BdhSpec { heads: 4, ..spec(96) }, "heads"),
        (BdhSpec { layers: 2, ..spec(96) }, "layers"),
        (BdhSpec { position: Position::Alibi, ..spec(96) }, "time"),
        (BdhSpec { gated: true, ..spec(96) }, "gates"),
    ] {
        let words = merge(&a, &parent("b", &other, 5)?).err().ok_or("they merged")?.to_string();
        assert!(words.contains(word), "`{word}` is not in: {words}");
    }
    Ok(())
}

#[test]
fn the_command_writes_a_file_that_opens_with_both_provenances() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(format!("{name}.safetensors"));
    let mut kept = vec![];
    for (name, neurons, seed) in [("a", 96, 3), ("b", 64, 5)] {
        let p = parent(name, &spec(neurons), seed)?;
        let out = export_state_dict(&p.spec, &p.weights)?.with_window(Some(128));
        tensors::write(&path(name), &out.tensors, &out.metadata)?;
        kept.push(p);
    }
    let merge_files = "model merge a.safetensors b.safetensors --out c.safetensors";
    expect_exit(folder.path(), merge_files, 0, &["2 heads of 48 and 32 neurons become 2 heads of 80"]);
    expect_exit(folder.path(), "model info c.safetensors", 0, &["window T      128"]);
    let again = Bdh::new(&BdhSpec { weights: Some(path("c")), ..BdhSpec::default() }, VOCAB, 0, &Device::Cpu)?;
    let here = merge(&kept[0], &kept[1])?;
    assert_eq!((again.sizes().provenance.as_slice(), again.sizes().layers), ([48, 32].as_slice(), 3));
    assert_eq!(again.sizes().frequencies, here.spec.frequencies);
    for (name, value) in &here.weights {
        let read = again.params().get(name).ok_or("a weight is gone")?;
        assert_eq!(host::to_f32(read)?, host::to_f32(value)?, "{name}");
    }
    let (code, words) = orrery(folder.path(), "model merge a.safetensors nowhere.pt --out c.safetensors");
    assert!(code != Some(0) && words.contains("nowhere.pt"), "{words}");
    Ok(())
}

#[test]
fn the_merge_story_trains_merges_and_reports_every_loss() -> Outcome {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("story").display().to_string();
    // enough windows that translations of each language into English occur in them
    let small = "--set model.neurons=64 --set model.d_model=8 --set train.window=128 --set train.batch=2 \
                 --set run.device=cpu --set run.eval_windows=32 --set merging.write=5";
    let words = done(folder.path(), &format!("study merge-story --steps 6 --tune 3 --out story {small}"));
    let story: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(format!("{out}/story.json"))?)?;
    let models = story["models"].as_array().ok_or("no models")?;
    let names: Vec<&str> = models.iter().filter_map(|m| m["name"].as_str()).collect();
    assert_eq!(names, ["base", "child_a", "child_b", "merged"]);
    for m in models {
        let merged = m["name"] == "merged";
        assert_eq!(m["neurons"], if merged { 128 } else { 64 });
        let losses: Vec<f64> =
            m["loss"].as_array().ok_or("no loss")?.iter().filter_map(serde_json::Value::as_f64).collect();
        assert!(losses.len() == 3 && losses.iter().all(|l| (1.0..8.0).contains(l)), "{losses:?}");
        let writes: Vec<&str> =
            m["writes"].as_array().ok_or("no writes")?.iter().filter_map(serde_json::Value::as_str).collect();
        assert!(writes.len() == 6 && writes.iter().all(|text| !text.is_empty()), "{writes:?}");
        assert!(m["translations"].is_object(), "{m}");
        assert!(folder.path().join(m["file"].as_str().ok_or("no file")?).is_file());
    }
    assert!(words.contains("held-out loss (nats) on") && words.contains("merged, 128 neurons"), "{words}");
    // the texts' prompts are followed by a sentence that occurs in no text, marked as each language for translation
    // into English
    let prompts: Vec<&str> =
        story["prompts"].as_array().ok_or("no prompts")?.iter().filter_map(serde_json::Value::as_str).collect();
    let auxiliary = ["de", "es", "fr"].map(|code| format!("<F:{code}>{}<T:en>", AUXILIARY.sentence));
    assert_eq!(prompts[3..], auxiliary);
    for prompt in auxiliary {
        let line = format!("a language that no model has learned (\u{201c}{}\u{201d}) | {prompt}", AUXILIARY.english);
        assert!(words.contains(&line), "{line} is not in {words}");
    }
    Ok(())
}

fn stages(set: &[(&str, &str)]) -> Result<(trainer::Plan, Config), Box<dyn std::error::Error>> {
    let lab = labs::find("synapses").ok_or("no lab")?;
    let knobs = (lab.knobs)();
    let mut config = lab.config(Some("synapses_merging"))?;
    let small = [
        ("model.neurons", "64"),
        ("model.d_model", "8"),
        ("train.window", "32"),
        ("train.batch", "2"),
        ("train.steps", "6"),
        ("merging.tune", "4"),
        ("merging.write", "3"),
        ("run.eval_windows", "2"),
        ("run.threads", "1"),
        ("run.device", "cpu"),
        ("probe.activity_every", "0"),
        ("probe.reading_every", "0"),
    ];
    for (key, value) in small.iter().chain(set) {
        config.set_text(&knobs, key, value)?;
    }
    Ok(((lab.plan)(&config)?, config))
}

/// Trains a run, optionally up to a step or from a checkpoint, and returns all its events.
fn train(plan: trainer::Plan, until: Option<u64>, folder: &Path, from: Option<&Path>) -> Result<Vec<Event>, String> {
    let words = |e: orrery::store::StoreError| e.to_string();
    let recorder = Recorder::default();
    let from_checkpoint = match from {
        Some(f) => checkpoint::load(f, &Device::Cpu).map_err(words)?.map(|l| l.checkpoint),
        None => None,
    };
    let writer = match from {
        Some(f) => Writer::resume(f, from_checkpoint.as_ref()).map_err(words)?,
        None => Writer::at_once(folder),
    };
    let options = trainer::DriveOptions {
        start: true,
        writer: Some(writer),
        from: from_checkpoint,
        ..trainer::DriveOptions::default()
    };
    let (commands, receiver) = crossbeam::channel::bounded(1);
    let stop = until.map(|step| Stop { step, commands });
    let mut sinks: Vec<Box<dyn Sink>> = vec![Box::new(recorder.clone())];
    if let Some(stop) = stop {
        sinks.push(Box::new(stop));
    }
    trainer::drive(plan, options, &receiver, sinks);
    let events = recorder.0.lock().map_err(|e| e.to_string())?.clone();
    Ok(events)
}

#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<Event>>>);

impl Sink for Recorder {
    fn event(&mut self, event: &Event) -> Result<(), String> {
        self.0.lock().map_err(|e| e.to_string())?.push(event.clone());
        Ok(())
    }
}

/// A sink that stops the run at a step.
struct Stop {
    step: u64,
    commands: crossbeam::channel::Sender<RunCommand>,
}

impl Sink for Stop {
    fn event(&mut self, event: &Event) -> Result<(), String> {
        if let Event::Step(s) = event
            && s.step >= self.step
        {
            // a second stop command is not needed, so a full channel is not an error
            let _ = self.commands.try_send(RunCommand::Stop);
        }
        Ok(())
    }
}

fn folder_in(out: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    Ok(std::fs::read_dir(out)?.next().ok_or("no run folder")??.path())
}

/// The losses on the three texts, by variant and step.
fn losses(events: &[Event]) -> Vec<(usize, u64, Vec<f64>)> {
    let of = |e: &Event| match e {
        Event::Sample(s) => {
            let losses = s.measurement::<TextLosses>()?.texts.iter().map(|t| t.loss).collect();
            Some((s.variant, s.step, losses))
        }
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

#[test]
fn a_run_goes_from_a_base_over_two_children_to_the_merged_model() -> Outcome {
    let out = tempfile::tempdir()?;
    let (plan, _) = stages(&[])?;
    assert_eq!(plan.steps, 10);
    let events = train(plan, None, out.path(), None)?;
    // the updates of each variant
    let mut updates: Vec<(usize, u64)> = vec![];
    for e in &events {
        if let Event::Step(s) = e
            && s.scalars.iter().any(|(c, _)| c.as_str() == channels::LOSS_TRAIN)
        {
            updates.push((s.variant, s.step));
        }
    }
    let expected: Vec<(usize, u64)> = (1..=6).map(|s| (0, s)).chain((7..=10).flat_map(|s| [(1, s), (2, s)])).collect();
    assert_eq!(updates, expected);
    // both children start with the base model's final weights and then diverge
    let all = losses(&events);
    let at = |variant, step| all.iter().find(|(v, s, _)| (*v, *s) == (variant, step)).map(|(_, _, l)| l.clone());
    assert!(at(0, 6).is_some() && at(0, 6) == at(1, 6) && at(0, 6) == at(2, 6), "{all:?}");
    assert!(at(1, 10).is_some() && at(1, 10) != at(2, 10) && at(1, 10) != at(1, 6), "{all:?}");
    assert_eq!(all.iter().filter(|(v, ..)| *v == 3).count(), 1, "the merged model was measured once");
    // the run's merged model equals the result of merging the children directly
    let kept = checkpoint::load(&folder_in(out.path())?, &Device::Cpu)?.ok_or("no checkpoint")?.checkpoint;
    let of = |id: &str| kept.variants.iter().find(|v| v.id == id).ok_or(format!("no {id}"));
    let spec = BdhSpec { neurons: 64, d_model: 8, ..BdhSpec::default() };
    let parent = |id: &str| of(id).map(|v| Parent { name: id.into(), spec: spec.clone(), weights: v.weights.clone() });
    let merged = merge(&parent("child_a")?, &parent("child_b")?)?;
    for (name, value) in &merged.weights {
        let found = of("merged")?.weights.iter().find(|(n, _)| n == name).ok_or("a weight is gone")?;
        assert_eq!(host::to_f32(&found.1)?, host::to_f32(value)?, "{name}");
    }
    assert!(events.iter().any(|e| matches!(e, Event::Notice { text, .. } if text.contains("16 and 16 neurons"))));
    Ok(())
}

#[test]
fn a_run_of_stages_stopped_anywhere_goes_on_bit_for_bit() -> Outcome {
    let whole = tempfile::tempdir()?;
    let set = [("merging.after", "3")];
    let straight = losses(&train(stages(&set)?.0, None, whole.path(), None)?);
    assert_eq!(straight.last().map(|(v, s, _)| (*v, *s)), Some((3, 13)));
    for stop in [4, 6, 8, 10, 11] {
        let out = tempfile::tempdir()?;
        let mut measured = losses(&train(stages(&set)?.0, Some(stop), out.path(), None)?);
        let folder = folder_in(out.path())?;
        measured.extend(losses(&train(stages(&set)?.0, None, out.path(), Some(&folder))?));
        for one in &straight {
            assert!(measured.contains(one), "stopped at {stop}: {one:?} is not in {measured:?}");
        }
    }
    Ok(())
}

#[test]
fn questions_before_a_stage_and_unmergeable_settings_are_refused() -> Outcome {
    let (plan, _) = stages(&[])?;
    let mut run = trainer::Run::open(plan)?;
    let words = run.ask(3, "activity", &Default::default()).err().ok_or("it answered")?.to_string();
    assert!(words.contains("merged begins at step 10"), "{words}");
    assert!(!run.ask(0, "activity", &Default::default())?.is_empty());
    for (key, value, word) in [
        ("train.carry", "4", "train.carry"),
        ("variants.baseline", "true", "variants.baseline"),
        ("variants.seeds", "2", "variants.seeds"),
        ("variants.no_bptt", "true", "variants.no_bptt"),
        ("variants.normfree", "true", "variants.normfree"),
        ("variants.gated", "true", "variants.gated"),
        ("model.gated", "true", "model.gated"),
        ("corpus.tokenizer", "char", "corpus.tokenizer"),
    ] {
        let words = stages(&[(key, value)]).err().ok_or(format!("{key} was taken"))?.to_string();
        assert!(words.contains(word), "{words}");
    }
    Ok(())
}
