//! Tests that the numbers in lessons are those that the lessons' commands yield, with the real binary and complete
//! runs. The slow runs are ignored by default.

use std::{collections::BTreeMap, path::Path};

use orrery::{
    labs::{
        LABS,
        examples::find as find_example,
        find,
        lesson::{Lesson, LessonStep},
    },
    store::Reader,
    telemetry::{Event, Sample},
    ui::{
        lesson::{Outcome, deciding_value, outcome},
        mirror::Mirror,
    },
};
use serde_json::{Value, json};

use super::command::{command, stderr_of};

/// Runs a command and reads its record, or the answers that it prints.
fn record(words: &str, out: &Path) -> Mirror {
    let mut process = command(Path::new("."), words.split_whitespace());
    let asks = words.starts_with("ask ");
    if !asks {
        process.args(["--no-figures", "--set", "run.threads=1", "--out"]).arg(out);
    }
    let ended = process.output().unwrap();
    assert!(ended.status.success(), "orrery {words}: {}", stderr_of(&ended));
    if asks {
        return answers(&String::from_utf8_lossy(&ended.stdout));
    }
    let folder = std::fs::read_dir(out).unwrap().next().unwrap().unwrap().path();
    let mut mirror = Mirror::default();
    let _ = Reader::open(&folder).unwrap().read_through(|e| mirror.apply(e)).unwrap();
    mirror
}

/// Reads the answers that `orrery ask` prints, one a line, of the first variant of a model that was not trained.
fn answers(printed: &str) -> Mirror {
    let mut mirror = Mirror::default();
    for line in printed.lines() {
        let mut answer: Value = serde_json::from_str(line).unwrap();
        // the variant's id, where a sample has its index
        answer["variant"] = json!(0);
        mirror.apply(Event::Sample(serde_json::from_value::<Sample>(answer).unwrap()));
    }
    mirror
}

/// The steps of all lessons, grouped by their command.
fn by_command(slow: bool) -> BTreeMap<String, Vec<LessonStep>> {
    let mut all: BTreeMap<String, Vec<LessonStep>> = BTreeMap::new();
    for lab in LABS {
        for step in Lesson::parse(lab.id, lab.lesson).unwrap().steps {
            if let Some(command) = step.does.command.clone().filter(|_| step.does.slow == slow) {
                all.entry(command).or_default().push(step);
            }
        }
    }
    all
}

/// Runs all commands in parallel, each on its own thread, and checks the lessons' steps against their records.
fn hold_to_their_commands(slow: bool) {
    std::thread::scope(|scope| {
        for (command, steps) in by_command(slow) {
            scope.spawn(move || hold_to(&command, &steps));
        }
    });
}

fn hold_to(command: &str, steps: &[LessonStep]) {
    let out = tempfile::tempdir().unwrap();
    check_steps(&record(command, out.path()), command, steps, Record::Whole);
}

#[derive(Clone, Copy, PartialEq)]
enum Record {
    Whole,
    /// The record holds only some of the measured steps. A number at another step than the stated one is not compared.
    Thinned,
}

/// Compares the steps' checks and stated numbers with the record, and returns how many numbers were compared.
fn check_steps(record: &Mirror, command: &str, steps: &[LessonStep], kind: Record) -> usize {
    let mut compared = 0;
    for (step, check) in steps.iter().flat_map(|step| step.does.check.iter().map(move |check| (step, check))) {
        let at = format!("{}: {}, orrery {command}", step.title, check.says);
        let said = outcome(check, Some(record));
        println!("{at}: {said:?}");
        assert!(matches!(said, Outcome::Holds(_)), "{at}: {said:?}");
        let (Some(gives), Some(found)) = (check.gives, deciding_value(check, record)) else { continue };
        if let Some(wanted) = gives.step {
            let is_there = found.step.abs_diff(wanted) <= gives.steps_within;
            if !is_there && kind == Record::Thinned {
                continue;
            }
            assert!(is_there, "{at}: at step {}", found.step);
        }
        if let Some(wanted) = gives.value {
            assert!((found.value - wanted).abs() <= gives.value_within, "{at}: {}", found.value);
            compared += 1;
        }
    }
    compared
}

/// These steps state properties of every generator, so their checks hold at the first measurement, before the network
/// has learned anything.
#[test]
fn checks_of_generators_hold_from_the_first_step() {
    let steps = Lesson::parse("equilibrium", find("equilibrium").unwrap().lesson).unwrap().steps;
    for title in ["Push the step over its bound", "Cut it in two"] {
        let step = steps.iter().find(|step| step.title == title).unwrap();
        let (out, preset) = (tempfile::tempdir().unwrap(), step.does.preset.as_deref().unwrap());
        let command = format!("run {preset} --steps 1");
        let record = record(&command, out.path());
        assert!(!step.does.check.is_empty());
        check_steps(&record, &command, std::slice::from_ref(step), Record::Whole);
    }
}

/// A lab's example is a complete run of a preset, so the numbers of this preset can be checked without another run. So can
/// a check of what no command measures, because the reader asks for it once the run is trained, if the example has the
/// answer.
#[test]
fn stated_numbers_are_those_of_the_examples() {
    let (mut compared, mut asked) = (0, vec![]);
    for lab in LABS {
        let example = find_example(lab.id).unwrap();
        let command = format!("run {}", example.preset);
        let mut record = Mirror::default();
        Reader::packed(example.packed).unwrap().for_each(|event| record.apply(event));
        let has_answers = |step: &LessonStep| {
            let does = &step.does;
            let is_of_example = does.preset.as_deref() == Some(example.preset) && does.set.is_empty();
            let is_asked = is_of_example && does.command.is_none() && !does.check.is_empty();
            is_asked && does.check.iter().all(|check| deciding_value(check, &record).is_some())
        };
        let mut steps = Lesson::parse(lab.id, lab.lesson).unwrap().steps;
        steps.retain(has_answers);
        asked.extend(steps.iter().map(|step| step.title.clone()));
        steps.extend(by_command(true).remove(&command).unwrap_or_default());
        compared += check_steps(&record, &command, &steps, Record::Thinned);
    }
    assert!(compared >= 10, "{compared}");
    assert!(asked.iter().any(|title| title == "One synapse, one concept?"), "{asked:?}");
}

#[test]
fn stated_numbers_are_what_quick_commands_give() {
    hold_to_their_commands(false);
}

/// Run it with `cargo test --test runs lessons -- --ignored --nocapture`.
#[test]
#[ignore = "takes many minutes"]
fn stated_numbers_are_what_slow_commands_give() {
    hold_to_their_commands(true);
}
