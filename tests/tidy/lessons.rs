//! Checks that the presets, settings, views, channels, variants and commands that lessons name exist.

use std::path::Path;

use orrery::{
    config::Config,
    experiments::claims::ledger::Ledger,
    labs::{
        LABS, Lab,
        lesson::{Lesson, LessonStep},
    },
    probe,
    telemetry::measurements::MEASUREMENTS,
    ui::views,
};

fn lesson(lab: &Lab) -> Lesson {
    Lesson::parse(lab.id, lab.lesson).unwrap_or_else(|e| panic!("{e}"))
}

/// The settings that a step begins with.
fn config(lab: &Lab, step: &LessonStep) -> Config {
    let mut config = lab.config(step.does.preset.as_deref()).unwrap_or_else(|e| panic!("{}: {e}", step.title));
    step.does.apply_to(&mut config, &(lab.knobs)()).unwrap_or_else(|e| panic!("{}: {e}", step.title));
    config
}

/// The settings of the command `run PRESET --set KEY=VALUE ..`.
fn config_of_command(lab: &Lab, command: &str) -> Config {
    let mut words = command.split_whitespace().skip(1);
    let knobs = (lab.knobs)();
    let mut config = lab.config(words.next()).unwrap_or_else(|e| panic!("{command}: {e}"));
    while let Some(option) = words.next() {
        let value = words.next().unwrap_or_else(|| panic!("{command}: {option} has no value"));
        let (key, value) = match option {
            "--set" => value.split_once('=').unwrap_or_else(|| panic!("{command}: {value} sets nothing")),
            "--seed" => ("seed", value),
            "--steps" => continue,
            _ => panic!("{command}: {option} is not known here"),
        };
        config.set_text(&knobs, key, value).unwrap_or_else(|e| panic!("{command}: {e}"));
    }
    config
}

/// True if a source file contains this word in quotes, as a channel's name occurs where it is sent.
fn is_in_sources(word: &str) -> bool {
    fn holds(folder: &Path, quoted: &str) -> bool {
        std::fs::read_dir(folder).unwrap().any(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() {
                return holds(&path, quoted);
            }
            path.extension().is_some_and(|e| e == "rs") && std::fs::read_to_string(&path).unwrap().contains(quoted)
        })
    }
    holds(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src"), &format!("\"{word}\""))
}

#[test]
fn every_lab_has_a_lesson_with_steps() {
    for lab in LABS {
        assert!(lesson(lab).steps.len() >= 3, "{}", lab.id);
    }
}

#[test]
fn every_step_names_what_there_is() {
    for lab in LABS {
        for (i, step) in lesson(lab).steps.iter().enumerate() {
            let at = format!("{}, step {} {}", lab.id, i + 1, step.title);
            let config = config(lab, step);
            let plan = (lab.plan)(&config).unwrap_or_else(|e| panic!("{at}: {e}"));
            for key in step.does.needed_controls().filter(|key| *key != "seed") {
                assert!(config.get(key).is_some(), "{at}: there is no setting {key}");
            }
            let view = step.does.view.as_deref().unwrap_or_else(|| panic!("{at}: a step shows a view"));
            assert!(views::find(view).is_some(), "{at}: there is no view {view}");
            assert!(lab.panes.iter().any(|p| p.view == view), "{at}: {view} is not on the lab's page");
            for check in &step.does.check {
                assert!(!check.says.is_empty(), "{at}: a check says what holds");
                let channel = check.channel.as_str();
                let is_measured = MEASUREMENTS.iter().any(|m| m.channel == channel);
                assert!(is_measured || is_in_sources(channel), "{at}: there is no channel {channel}");
                assert_eq!(is_measured, check.entry.is_some(), "{at}: a measurement is read at an entry");
                for id in check.variant.iter().chain(&check.minus) {
                    assert!(plan.variants.iter().any(|v| v.id == *id), "{at}: there is no variant {id}");
                }
                assert!(check.gives.is_none() || step.does.command.is_some(), "{at}: a number needs its command");
                assert!(check.measures.as_ref().is_some_and(|name| !name.is_empty()), "{at}: a check names its number");
                let has_condition = check.above.or(check.below).or(check.apart).is_some();
                assert!(has_condition, "{at}: a check that any value fulfils answers no guess");
            }
            if let Some(command) = &step.does.command {
                let mut words = command.split_whitespace();
                let verb = words.next().unwrap_or_default();
                assert_eq!(words.next(), step.does.preset.as_deref(), "{at}: the command is for the step's preset");
                if verb == "ask" {
                    let id = words.next().unwrap_or_default();
                    assert!(probe::find(id).is_some(), "{at}: there is no probe {id}");
                    assert!(step.does.set.is_empty(), "{at}: a question to a preset has the preset's settings");
                } else {
                    assert_eq!(verb, "run", "{at}");
                }
            }
        }
    }
}

/// Settings of steps that their command leaves out, because they change none of the checked numbers: the checked sweep
/// goes over values of the control, and the checked claims have controls and prompts of their own.
const LEFT_OUT: [(&str, usize, &[&str]); 2] =
    [("ode_flow", 2, &["control.u0"]), ("ode_flow", 3, &["control.u0", "steer.prompt"])];

#[test]
fn a_command_has_the_settings_of_its_step() {
    let mut compared = 0;
    for lab in LABS {
        for (i, step) in lesson(lab).steps.iter().enumerate() {
            let Some(command) = step.does.command.as_deref().filter(|c| c.starts_with("run ")) else { continue };
            let (wanted, found) = (config(lab, step), config_of_command(lab, command));
            let left_out = LEFT_OUT.iter().find(|(id, n, _)| *id == lab.id && *n == i + 1);
            let left_out = left_out.map_or(&[][..], |(_, _, keys)| *keys);
            let at = format!("{}, step {}: orrery {command}", lab.id, i + 1);
            assert_eq!(found.changed_keys(&wanted), left_out, "{at} has other settings than the step");
            assert_eq!(found.seed, wanted.seed, "{at} has another seed than the step");
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared} commands");
}

#[test]
fn every_step_asks_for_a_guess() {
    for lab in LABS {
        for step in lesson(lab).steps {
            let at = format!("{}: {}", lab.id, step.title);
            let predict = step.does.predict.unwrap_or_else(|| panic!("{at}: there is nothing to guess"));
            assert!(predict.ask.ends_with('?'), "{at}");
            let has_check = !step.does.check.is_empty();
            assert_ne!(has_check, predict.by_eye.is_some(), "{at}: a check judges the guess, or the reader does");
            assert!(has_check || !step.answer.is_empty(), "{at}: nothing answers what it asks");
            let is_phrase = |how: &String| how.starts_with(char::is_lowercase) && !how.ends_with('.');
            assert!(predict.by_eye.iter().all(is_phrase), "{at}: `by_eye` ends a sentence: {:?}", predict.by_eye);
            assert!(!step.text.contains("<!--") && !step.answer.contains("<!--"), "{at}: one `<!-- answer -->`");
        }
    }
}

/// A claim's numbers are in the ledger, which is renewed from runs. A copy in a lesson would become outdated.
#[test]
fn a_lesson_that_names_a_claim_gives_no_number_of_it() {
    let ledger = Ledger::built_in().unwrap();
    let is_claim = |word: &str| ledger.claims().any(|(_, claim)| claim.id == word);
    // "0.011", ".97", "9%"
    let has_result = |text: &str| {
        let is_decimal = |pair: &[u8]| pair[0] == b'.' && pair[1].is_ascii_digit();
        text.contains('%') || text.as_bytes().windows(2).any(is_decimal)
    };
    assert!(has_result("ahead by 0.011 (A2)") && has_result("9% apart") && !has_result("A1 to A4. D5 in 3 steps"));
    for lab in LABS {
        for paragraph in lab.lesson.split("\n\n") {
            let names_claim = paragraph.split(|c: char| !c.is_ascii_alphanumeric()).any(is_claim);
            assert!(!names_claim || !has_result(paragraph), "{}: {paragraph}", lab.id);
        }
    }
}

/// The last section of a lesson may name claims, which must belong to its lab.
#[test]
fn claims_that_a_lesson_names_are_those_of_its_lab() {
    let claims: Vec<_> = Ledger::built_in().unwrap().entries().into_iter().flat_map(|paper| paper.claims).collect();
    let is_id = |word: &&str| {
        let mut letters = word.chars();
        let begins = letters.next().is_some_and(|c| c.is_ascii_uppercase());
        begins && !letters.as_str().is_empty() && letters.all(|c| c.is_ascii_digit())
    };
    let mut count = 0;
    for lab in LABS {
        let Some((_, section)) = lab.lesson.split_once("\n## On the page Claims\n") else { continue };
        for id in section.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_id) {
            let found = claims.iter().find(|entry| entry.claim.id == id);
            let entry = found.unwrap_or_else(|| panic!("{}: there is no claim {id}", lab.id));
            assert!(entry.lab.is_empty() || entry.lab == lab.id, "{}: {id} is decided in {}", lab.id, entry.lab);
            count += 1;
        }
    }
    assert!(count > 50, "{count} ids");
}
