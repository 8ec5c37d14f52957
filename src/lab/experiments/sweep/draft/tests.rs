//! Drafts of sweeps: the files that they become, and their messages.

use super::*;
use crate::labs;

fn lab() -> (&'static Lab, Config, Vec<Knob>) {
    let lab = labs::find("fast_slow").unwrap();
    (lab, lab.config(Some("fast_slow_needed")).unwrap(), (lab.knobs)())
}

fn ticked(keys: &[&str]) -> SweepDraft {
    let (lab, config, knobs) = lab();
    let mut draft = SweepDraft::new(lab, &config);
    for key in keys {
        let knob = knobs.iter().find(|knob| knob.key == *key).unwrap();
        draft.toggle(knob, config.get(key).unwrap());
    }
    draft
}

#[test]
fn a_draft_becomes_the_file_that_one_would_write() {
    let (lab, mut config, knobs) = lab();
    config.set_text(&knobs, "train.steps", "40").unwrap();
    let mut draft = ticked(&["train.lr", "model.pool"]);
    (draft.axes[0].from, draft.axes[0].to, draft.axes[0].points) = ("1e-3".into(), "1e-2".into(), 3);
    draft.axes[1].list = "4, 8".into();
    let check = draft.check(lab, &config);
    assert_eq!((check.points, check.runs, check.is_checked), (6, 18, true), "{check:?}");
    assert_eq!(check.sentence(), "6 points × 3 seeds = 18 runs");
    let file = check.file.unwrap();
    let text = file.to_toml().unwrap();
    assert_eq!(SweepFile::parse(&text).unwrap(), file, "{text}");
    assert_eq!(file.set.keys().collect::<Vec<_>>(), ["train.steps"], "what differs from the preset");
    assert_eq!((file.base.as_str(), file.objective.as_deref()), ("fast_slow_needed", Some("held_out_loss of coupled")));
    let sweep = Sweep::new(&SweepFile::parse(&text).unwrap(), lab, &lab.config(Some(&file.base)).unwrap()).unwrap();
    let rates: Vec<f64> = sweep.points.iter().filter_map(|c| c.get("train.lr")?.as_f64()).collect();
    assert!(rates.contains(&1e-3) && rates.contains(&1e-2) && rates.iter().any(|r| (r.log10() + 2.5).abs() < 1e-9));
    assert!(sweep.points.iter().all(|c| c.get("train.steps") == Some(&Value::Int(40))));
}

#[test]
fn objectives_are_named_as_the_sweep_names_its_numbers() {
    let (lab, config, _) = lab();
    let all = objectives(lab, &config);
    let (first, heading) = (&all[0], lab.headline("held_out_loss").unwrap().heading("held_out_loss"));
    assert_eq!(first.id, "held_out_loss of coupled");
    assert!(first.label.starts_with(&format!("{heading}, ")), "{first:?}");
    assert!(all.iter().all(|choice| !choice.label.contains('_')), "{all:?}");
}

#[test]
fn errors_in_a_draft_are_named_at_their_axis() {
    let (lab, config, _) = lab();
    let mut draft = ticked(&["train.lr", "model.d_model"]);
    assert!(draft.check(lab, &config).file.is_some(), "usual values can be run: {:?}", draft.check(lab, &config));
    draft.axes[0].from = "much".into();
    draft.axes[1].list = "64, -3".into();
    let check = draft.check(lab, &config);
    assert_eq!(check.axes["train.lr"], "`much` is not a number");
    assert!(check.axes["model.d_model"].contains("-3"), "{check:?}");
    assert!(check.file.is_none());
    draft.axes[0].from = "0".into();
    assert_eq!(draft.check(lab, &config).axes["train.lr"], "it is logarithmic and must lie above 0");
    draft.axes[0].from = "1e-3".into();
    draft.axes[1].list = "63".into();
    let error = draft.check(lab, &config).general_error;
    assert!(error.is_some_and(|words| words.contains("point 1")), "a point that cannot be run names itself");
    draft.axes[1].list = " , ".into();
    assert!(draft.check(lab, &config).axes["model.d_model"].contains("has no values"));
}

#[test]
fn three_axes_are_sampled_and_a_seed_of_ones_own_is_kept() {
    let (lab, mut config, _) = lab();
    config.seed = 100;
    let mut draft = ticked(&["train.lr", "model.pool", "train.weight_decay"]);
    (draft.samples, draft.seeds) = (8, 2);
    let check = draft.check(lab, &config);
    let file = check.file.as_ref().expect("it can be run");
    assert_eq!((file.samples, &file.seeds), (Some(8), &Some(Seeds::Each(vec![100, 101]))));
    draft.samples = 100_000;
    let check = draft.check(lab, &config);
    assert!(!check.is_checked && check.runs == 200_000, "many points are tried before they are written");
    assert!(SweepDraft::new(lab, &config).check(lab, &config).file.is_none(), "no axis is not a sweep");
}
