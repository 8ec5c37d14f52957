//! Tests that a run that is killed at any moment and resumed has the same numbers as an uninterrupted run.
//!
//! The "model" is two numbers to which each step adds noise that depends on the step, so that a lost or repeated step
//! changes every later number.

use std::{
    collections::BTreeMap,
    fs,
    process::{Command, Stdio},
    time::Duration,
};

use candle_core::{Device, Tensor};
use orrery::{
    config::Value,
    store::{
        Checkpoint, DataPosition, Lengths, Writer,
        checkpoint::{self, Variant},
    },
    telemetry::{Level, Measurement, RunState, measurements::Residual},
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{folders::scratch_folder, *};

const STEPS: u64 = 40;
const EVERY: u64 = 6;
const IDS: [&str; 2] = ["coupled", "frozen"];

struct Toy {
    step: u64,
    scale: f64,
    weights: [f32; 2],
}

impl Toy {
    fn new() -> Self {
        Self { step: 0, scale: 1.0, weights: [1.0, 2.0] }
    }

    fn restore(c: &Checkpoint) -> Self {
        let weight = |v: &Variant| v.weights[0].1.to_vec1::<f32>().unwrap()[0];
        let scale = c.live_settings["coupling_scale"].as_f64().unwrap();
        assert_eq!(c.variants[0].data.drawn, c.step);
        Self { step: c.step, scale, weights: [weight(&c.variants[0]), weight(&c.variants[1])] }
    }

    fn checkpoint(&self) -> Checkpoint {
        let variant = |i: usize| Variant {
            id: IDS[i].to_owned(),
            optimiser_step: self.step,
            data: DataPosition { seed: 7, drawn: self.step },
            weights: vec![("w".to_owned(), Tensor::new(&[self.weights[i]], &Device::Cpu).unwrap())],
            moments: vec![],
        };
        Checkpoint {
            step: self.step,
            wall_secs: self.step as f64,
            live_settings: BTreeMap::from([("coupling_scale".to_owned(), Value::Float(self.scale))]),
            variants: vec![variant(0), variant(1)],
            lengths: Lengths::default(),
        }
    }

    /// Makes one step of both variants and writes its events.
    fn advance(&mut self, writer: &mut Writer) {
        self.step += 1;
        let mut emit = |e: Event| writer.event(&e).unwrap();
        if self.step == 10 {
            self.scale = 0.5;
            emit(Event::Changed { step: 9, key: "coupling_scale".to_owned(), value: Value::Float(0.5) });
        }
        let mut draws = ChaCha8Rng::seed_from_u64(7 ^ self.step);
        for i in 0..2 {
            self.weights[i] = self.weights[i] * 0.99 + draws.random::<f32>() * self.scale as f32;
            emit(step(self.step, i, &[("loss/train", f64::from(self.weights[i]).sqrt())]));
        }
        if self.step.is_multiple_of(3) {
            let weights = self.weights.map(f64::from);
            emit(sample(self.step, Residual::CHANNEL, None, super::folder::residual(&weights)));
        }
        if self.step.is_multiple_of(EVERY) {
            writer.checkpoint(self.checkpoint()).unwrap();
            writer.event(&Event::Checkpoint { step: self.step }).unwrap();
        }
    }
}

fn train(toy: &mut Toy, writer: &mut Writer, until: u64) {
    while toy.step < until {
        toy.advance(writer);
    }
}

fn begin(out: &Path) -> (Toy, Writer) {
    let mut writer = Writer::new(out);
    writer.event(&started(&IDS)).unwrap();
    (Toy::new(), writer)
}

/// The folder of a run that was killed after this step.
fn killed_at(step: u64, out: &Path) -> PathBuf {
    let (mut toy, mut writer) = begin(out);
    train(&mut toy, &mut writer, step);
    writer.folder().unwrap()
}

fn resume(folder: &Path) -> (Toy, Writer) {
    let loaded = checkpoint::load(folder, &Device::Cpu).unwrap();
    let from = loaded.as_ref().map(|l| &l.checkpoint);
    let mut writer = Writer::resume(folder, from).unwrap();
    writer.event(&started(&IDS)).unwrap();
    (from.map_or_else(Toy::new, Toy::restore), writer)
}

fn finish(mut toy: Toy, mut writer: Writer) {
    train(&mut toy, &mut writer, STEPS);
    writer.event(&Event::State(RunState::Finished)).unwrap();
}

/// The bytes of metrics and samples, and the changed settings.
fn numbers(folder: &Path) -> (String, String, Vec<Event>) {
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let changes = read(folder).into_iter().filter(|e| matches!(e, Event::Changed { .. })).collect();
    (text("metrics.jsonl"), text("samples.jsonl"), changes)
}

fn never_stopped(out: &Path) -> (String, String, Vec<Event>) {
    let (mut toy, mut writer) = begin(out);
    train(&mut toy, &mut writer, 1);
    let folder = writer.folder().unwrap();
    finish(toy, writer);
    numbers(&folder)
}

#[test]
fn cut_at_any_byte_beyond_the_checkpoint_and_resumed() {
    let out = scratch_folder();
    let reference = never_stopped(&out.path().join("reference"));
    let mut draws = ChaCha8Rng::seed_from_u64(1);
    for stop in 1..=STEPS {
        let folder = killed_at(stop, &out.path().join("killed"));
        // after a power failure, a log may end anywhere after the part that was synced
        let at = checkpoint::load(&folder, &Device::Cpu).unwrap();
        let kept = at.as_ref().map_or(Lengths::default(), |l| l.checkpoint.lengths);
        for (name, kept) in
            [("metrics.jsonl", kept.metrics), ("samples.jsonl", kept.samples), ("events.jsonl", kept.events)]
        {
            let bytes = fs::read(folder.join(name)).unwrap();
            let cut = draws.random_range(kept as usize..=bytes.len());
            fs::write(folder.join(name), &bytes[..cut]).unwrap();
        }
        fs::create_dir_all(folder.join("checkpoints/.making-00000099")).unwrap();
        let (toy, writer) = resume(&folder);
        assert_eq!(toy.step, stop / EVERY * EVERY, "killed after {stop}");
        finish(toy, writer);
        assert_eq!(numbers(&folder), reference, "killed after {stop}");
    }
}

#[test]
fn superseded_lines_are_moved_aside_on_resume_and_not_lost() {
    let out = scratch_folder();
    let folder = killed_at(11, out.path());
    let before = fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
    let (_, writer) = resume(&folder);
    drop(writer);
    let kept = fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
    let aside = fs::read_to_string(folder.join("metrics.superseded.jsonl")).unwrap();
    assert_eq!(format!("{kept}{aside}"), before);
    assert_eq!(kept.lines().count(), 12, "two variants, six steps");
    let run: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap();
    assert_eq!(run["resumed"][0]["from_step"], 6);
    let events = read(&folder);
    assert!(events.contains(&Event::Checkpoint { step: 6 }));
    assert!(!notices(&events).contains("lost"), "lines that were moved aside are not lost: {}", notices(&events));
}

#[test]
fn answers_about_steps_that_training_does_not_make_again_stay() {
    let out = scratch_folder();
    let answer = |step: u64, request: u64| {
        let payload = super::folder::residual(&[step as f64, 1.0]);
        sample(step, Residual::CHANNEL, Some(request), payload)
    };
    let folder = killed_at(EVERY, out.path());
    let lines = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let before = lines("samples.jsonl");

    // each answer is the first of its channel, so it is written at once
    let emit = |writer: &mut Writer, event: &Event| writer.event(event).unwrap();
    let (mut toy, mut writer) = resume(&folder);
    assert_eq!(writer.set_aside(), None);
    emit(&mut writer, &answer(EVERY, 1));
    drop(writer);
    let (_, mut writer) = resume(&folder);
    train(&mut toy, &mut writer, EVERY + 3);
    emit(&mut writer, &answer(EVERY + 3, 2));
    drop(writer);
    let (_, mut writer) = resume(&folder);
    emit(&mut writer, &answer(3, 3));
    let words = writer.set_aside().unwrap();
    drop(writer);

    assert!(words.contains("1 answer in") && words.contains("samples.superseded.jsonl"), "{words}");
    assert!(notices(&read(&folder)).contains(&words));
    let (kept, aside) = (lines("samples.jsonl"), lines("samples.superseded.jsonl"));
    let added: Vec<&str> = kept.strip_prefix(&before).unwrap().lines().collect();
    assert_eq!(added.len(), 2, "{kept}");
    assert!(added[0].contains(r#""request":1,"#) && added[1].contains(r#""request":3,"#), "{kept}");
    assert_eq!(aside.matches(r#""request":2,"#).count(), 1, "{aside}");
    let (toy, writer) = resume(&folder);
    assert_eq!(writer.set_aside(), None);
    drop((toy, writer));
    assert_eq!(lines("samples.jsonl"), kept, "nothing is moved a second time");
}

#[test]
fn a_changed_setting_that_is_not_repeated_is_reported() {
    let out = scratch_folder();
    let (mut toy, mut writer) = begin(out.path());
    train(&mut toy, &mut writer, EVERY);
    let folder = writer.folder().unwrap();
    let change =
        |step: u64, value: f64| Event::Changed { step, key: "train.lr".to_owned(), value: Value::Float(value) };
    for event in [change(EVERY, 0.02), change(EVERY, 0.01)] {
        writer.event(&event).unwrap();
    }
    drop(writer);
    let (_, writer) = resume(&folder);
    let words = writer.set_aside().unwrap();
    assert!(words.contains(&format!("train.lr 0.01 at step {EVERY}")) && !words.contains("0.02"), "{words}");
}

#[test]
fn a_damaged_newest_checkpoint_costs_steps_not_the_run() {
    let out = scratch_folder();
    let reference = never_stopped(&out.path().join("reference"));
    let folder = killed_at(14, &out.path().join("killed"));
    let newest = checkpoint::latest(&folder).unwrap();
    fs::write(newest.join("frozen.safetensors"), "torn").unwrap();
    let (toy, writer) = resume(&folder);
    assert_eq!(toy.step, 6);
    assert!(!newest.exists(), "a checkpoint of a future that will be written again is put aside");
    finish(toy, writer);
    assert_eq!(numbers(&folder), reference);
}

/// A run that was stopped soon after a resume has two checkpoints of one step, and its logs were longer at the second one.
#[test]
fn a_damaged_second_checkpoint_of_a_step_is_no_loss_of_lines() {
    let out = scratch_folder();
    let reference = never_stopped(&out.path().join("reference"));
    let folder = killed_at(12, &out.path().join("stopped"));
    let first = checkpoint::latest(&folder).unwrap();
    let (toy, mut writer) = resume(&folder);
    writer.event(&Event::Notice { level: Level::Info, text: "a long sentence. ".repeat(30) }).unwrap();
    let second = writer.checkpoint(toy.checkpoint()).unwrap();
    drop(writer);
    fs::write(second.join("frozen.safetensors"), "torn").unwrap();
    let (toy, writer) = resume(&folder);
    assert_eq!(toy.step, 12);
    let said = notices(&read(&folder));
    assert!(!said.contains("lost lines"), "{said}");
    assert!(first.exists() && !second.exists(), "what the run has not been through is put aside");
    finish(toy, writer);
    assert_eq!(numbers(&folder), reference);
}

#[test]
fn a_run_resumes_only_before_lost_lines() {
    let out = scratch_folder();
    let folder = killed_at(13, out.path());
    let log = folder.join("metrics.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let lines = |n: usize| text.split_inclusive('\n').take(n).collect::<String>();
    let newest = checkpoint::load(&folder, &Device::Cpu).unwrap().expect("a checkpoint").checkpoint;
    assert_eq!(newest.step, 12);

    // lines between the two checkpoints are missing: the run resumes from the older one, with the same numbers
    fs::write(&log, lines(2 * 9)).unwrap();
    let said = notices(&read(&folder));
    assert!(said.contains("metrics.jsonl has lost lines") && said.contains("step 12"), "{said}");
    let said = Writer::resume(&folder, Some(&newest)).map(drop).expect_err("a hole").to_string();
    assert!(said.contains("metrics.jsonl") && said.contains("hole"), "{said}");
    let found = checkpoint::load_resumable(&folder, &Device::Cpu).unwrap().expect("the older checkpoint");
    assert_eq!(found.checkpoint.step, 6);
    assert!(found.notices[0].contains("metrics.jsonl has lost lines"), "{:?}", found.notices);

    // a line between them is damaged, and the log is as long as it was
    let damaged = |i: usize, line: &str| if i == 2 * 9 { "\0".repeat(line.len() - 1) + "\n" } else { line.to_owned() };
    let lines_with_damage = text.split_inclusive('\n').enumerate().map(|(i, line)| damaged(i, line));
    fs::write(&log, lines_with_damage.collect::<String>()).unwrap();
    let found = checkpoint::load_resumable(&folder, &Device::Cpu).unwrap().expect("the older checkpoint");
    assert_eq!((found.checkpoint.step, found.notices.len()), (6, 1), "{:?}", found.notices);

    // lines before both checkpoints are missing, so no checkpoint can be used
    fs::write(&log, lines(5)).unwrap();
    let said = checkpoint::load_resumable(&folder, &Device::Cpu).expect_err("no checkpoint is of use").to_string();
    assert!(said.contains("lost lines") && said.contains("orrery run"), "{said}");
}

const CHILD: &str = "ORRERY_TEST_RUN_TO_KILL";

/// The process that `sigkill_and_resume` starts and kills. Run as a test, it does nothing.
#[test]
fn a_run_to_kill() {
    let Ok(out) = std::env::var(CHILD) else { return };
    let (mut toy, mut writer) = match fs::read_dir(&out).unwrap().find_map(|e| Some(e.ok()?.path())) {
        Some(folder) => resume(&folder),
        None => begin(Path::new(&out)),
    };
    while toy.step < STEPS {
        toy.advance(&mut writer);
        std::thread::sleep(Duration::from_millis(2));
    }
    // waits, so that the process never ends before it is killed
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn sigkill_and_resume() {
    let out = tempfile::tempdir().unwrap();
    let reference = never_stopped(&out.path().join("reference"));
    let mut draws = ChaCha8Rng::seed_from_u64(2);
    let runs = out.path().join("killed");
    fs::create_dir(&runs).unwrap();
    let folders = || fs::read_dir(&runs).unwrap().map(|e| e.unwrap().path());
    let visible = |p: &PathBuf| !p.file_name().unwrap().to_str().unwrap().starts_with('.');
    // a test's path does not include the binary's name
    let name = module_path!().split_once("::").map_or("", |(_, path)| path).to_owned() + "::a_run_to_kill";
    for _ in 0..6 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &name, "--nocapture"])
            .env(CHILD, &runs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(draws.random_range(20..90)));
        child.kill().unwrap();
        child.wait().unwrap();
        // a kill during the creation of the folder leaves only a hidden one
        for half in folders().filter(|p| !visible(p)).collect::<Vec<_>>() {
            fs::remove_dir_all(half).unwrap();
        }
    }
    let Some(folder) = folders().find(visible) else { panic!("six processes of up to 90 ms made no step") };
    let (toy, writer) = resume(&folder);
    finish(toy, writer);
    assert_eq!(numbers(&folder), reference);
}
