//! Tests that a run that is too large for the machine's memory is refused before its folder, text or weights are
//! created.

use orrery::{
    config::{Range, Value},
    labs::LABS,
    trainer::check_plan_memory_against,
};

use super::command::done;

#[test]
fn every_lab_at_its_defaults_fits_into_two_gigabytes() {
    for lab in LABS {
        let plan = (lab.plan)(&lab.config(None).unwrap()).unwrap();
        let estimate =
            check_plan_memory_against(&plan, Some(2_000_000_000)).unwrap_or_else(|e| panic!("{}: {e}", lab.id));
        println!("{}: about {:.0} MB, {estimate:?}", lab.id, estimate.bytes() as f64 / 1e6);
        assert!(estimate.bytes() > 1_000_000 && estimate.models > 0.0, "{}: {estimate:?}", lab.id);
    }
}

/// The largest values that the settings allow exceed the memory of most machines. The estimate must not overflow for
/// them.
#[test]
fn the_largest_allowed_values_are_refused_with_what_to_lower() {
    let mut refusals = 0;
    for lab in LABS {
        // the lab's first preset has small batches, so another one is used
        let preset = (lab.id == "equilibrium").then_some("equilibrium_block");
        let (mut config, knobs) = (lab.config(preset).unwrap(), (lab.knobs)());
        for knob in &knobs {
            let counts = ["train.batch", "train.window"].contains(&knob.key) || knob.key.ends_with("d_model");
            if let (true, Range::Int { max, .. }) = (counts, &knob.range) {
                config.set(&knobs, knob.key, Value::Int(*max)).unwrap();
            }
        }
        let Ok(plan) = (lab.plan)(&config) else { continue };
        let refused = check_plan_memory_against(&plan, Some(1_000_000_000)).unwrap_err();
        let words = refused.to_string();
        assert!(refused.needed > 1_000_000_000 && words.contains("lower `train.batch`"), "{}: {words}", lab.id);
        assert!(words.contains("1.0 GB"), "{words}");
        assert!(check_plan_memory_against(&plan, None).is_ok(), "nobody knows, or one insists");
        refusals += 1;
    }
    assert!(refusals >= 3, "the labs no longer have these settings");
}

/// `ulimit -v` simulates a machine of 4 GB, and the batch needs more.
#[cfg(target_os = "linux")]
#[test]
fn a_run_too_large_is_refused_before_its_folder_is_made() {
    let out = tempfile::tempdir().unwrap();
    let run = format!(
        "ulimit -v 4000000; exec {} run fast_slow --set train.batch=1024 --set train.window=8192 --out {}",
        env!("CARGO_BIN_EXE_orrery"),
        out.path().display()
    );
    let output = std::process::Command::new("sh").args(["-c", &run]).output().unwrap();
    let words = super::command::stderr_of(&output);
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("would hold about") && words.contains("lower `train.batch`"), "{words}");
    assert!(words.contains("--insist-memory"), "{words}");
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0, "{words}");
}

#[test]
fn a_run_says_what_it_will_hold() {
    let out = tempfile::tempdir().unwrap();
    let small = "--set model.d_model=16 --set train.steps=1 --set train.batch=1 --set train.window=32";
    let said = done(out.path(), &format!("run fast_slow --no-figures {small}"));
    assert_eq!(said.matches("it will hold about").count(), 1, "{said}");
}
