//! Sweeps from their files: which points they have, and what is refused.

use super::*;
use crate::{labs, models::ModelSpec};

fn sweep(text: &str) -> Result<Sweep, SweepError> {
    let lab = labs::find("fast_slow").unwrap();
    Sweep::new(&SweepFile::parse(text)?, lab, &lab.config(Some("fast_slow_needed"))?)
}

fn column(sweep: &Sweep, key: &str) -> Vec<f64> {
    sweep.points.iter().map(|c| c.get(key).and_then(Value::as_f64).unwrap()).collect()
}

#[test]
fn two_axes_are_a_grid_and_seeds_are_three() {
    let text = r#"
        base = "fast_slow_needed"
        [axes]
        "model.d_model" = [32, 64]
        "train.lr" = { from = 1e-4, to = 1e-2, points = 3, scale = "log" }
    "#;
    let sweep = sweep(text).unwrap();
    assert_eq!(sweep.seeds.len(), 3);
    assert_eq!(column(&sweep, "model.d_model"), [32.0, 32.0, 32.0, 64.0, 64.0, 64.0]);
    assert_eq!(column(&sweep, "train.lr"), [1e-4, 1e-3, 1e-2, 1e-4, 1e-3, 1e-2]);
    let tasks = sweep.tasks();
    assert_eq!(tasks.len(), 18);
    let last = sweep.config(tasks[17]);
    assert_eq!(last.seed, sweep.seeds[2]);
    assert_eq!(last.value(RunSettings::threads).unwrap(), 1, "runs of a sweep share the cores");
}

#[test]
fn three_axes_are_filled_evenly_and_the_same_every_time() {
    let text = r#"
        base = "fast_slow_needed"
        seeds = [5, 5, 6]
        samples = 32
        [set]
        "train.steps" = 20
        [axes]
        "train.lr" = { from = 1e-4, to = 1e-2, scale = "log" }
        "train.weight_decay" = { from = 0.0, to = 0.2 }
        "model.d_model" = [32, 64]
    "#;
    let (first, again) = (sweep(text).unwrap(), sweep(text).unwrap());
    assert_eq!((first.points.len(), &first.seeds[..]), (32, &[5, 6][..]));
    assert_eq!(first.points, again.points);
    assert!(column(&first, "train.steps").iter().all(|steps| *steps == 20.0));
    let narrow = column(&first, "model.d_model").iter().filter(|d| **d == 32.0).count();
    assert_eq!(narrow, 16, "half of a scrambled Sobol sequence of a power of two");
    // one value in each of 32 equal parts of the axis
    let mut parts: Vec<usize> =
        column(&first, "train.lr").iter().map(|lr| ((lr.log10() + 4.0) / 2.0 * 32.0) as usize).collect();
    parts.sort_unstable();
    assert_eq!(parts, (0..32).collect::<Vec<_>>());
    let more = sweep(&text.replace("samples = 32", "samples = 40")).unwrap();
    assert_eq!(first.points[..], more.points[..32]);
}

#[test]
fn the_documented_sweep_is_one() {
    let page = include_str!("../../../../docs/sweeps.md");
    let text = page.split("```toml").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let sweep = sweep(text).unwrap();
    assert_eq!((sweep.points.len(), sweep.tasks().len()), (8, 24));
    assert_eq!(sweep.objective, Some(Objective { key: "accuracy".into(), group: Some("coupled".into()) }));
}

#[test]
fn the_documented_sizes_have_transformers_as_large() {
    let text = include_str!("../../../../assets/sweeps/bdh_scaling.toml");
    let lab = labs::find("synapses").unwrap();
    let sweep =
        Sweep::new(&SweepFile::parse(text).unwrap(), lab, &lab.config(Some("bdh_against_gpt")).unwrap()).unwrap();
    assert_eq!((sweep.points.len(), sweep.tasks().len()), (6, 30));
    for config in &sweep.points {
        let plan = (lab.plan)(config).unwrap();
        let sizes: Vec<f64> = plan
            .variants
            .iter()
            .map(|v| match &v.model {
                ModelSpec::Bdh(spec) => spec.parameters(256) as f64,
                ModelSpec::AlibiGpt(spec) => spec.parameters(256) as f64,
                other => panic!("{other:?} is not compared"),
            })
            .collect();
        assert_eq!(sizes.len(), 2);
        assert!((sizes[1] / sizes[0] - 1.0).abs() < 0.02, "{sizes:?}");
    }
}

#[test]
fn invalid_sweeps_are_refused_with_a_reason() {
    let with = |rest: &str| format!("base = \"fast_slow_needed\"\n{rest}");
    for (text, words) in [
        (with("[axes]"), "needs an axis"),
        (with("[axes]\n\"train.lrr\" = [1]"), "train.lr"),
        (with("[axes]\n\"train.lr\" = [-1.0]"), "the axis `train.lr`"),
        (with("[axes]\n\"train.lr\" = []"), "has no values"),
        (with("[axes]\n\"train.lr\" = { from = 0.0, to = 1.0, scale = \"log\" }"), "above 0"),
        (with("[axes]\n\"train.lr\" = { from = 1e-4, to = 1e-2, points = 1 }"), "2 to 1,000 points"),
        (with("seeds = 0\n[axes]\n\"train.lr\" = [1e-3]"), "`seeds` is empty"),
        (with("seeds = 4000\n[axes]\n\"train.lr\" = [1e-3, 2e-3, 3e-3]"), "12000 runs are too many"),
        (with("objective = \"beauty\"\n[axes]\n\"train.lr\" = [1e-3]"), "no headline number"),
        (with("[axes]\n\"model.d_model\" = [63]"), "point 1 (model.d_model = 63)"),
        (with("colour = 3\n[axes]\n\"train.lr\" = [1e-3]"), "colour"),
        (with("sedes = 3\n[axes]\n\"train.lr\" = [1e-3]"), "did you mean `seeds`?"),
        (with("seeds = -2\n[axes]\n\"train.lr\" = [1e-3]"), "`seeds` is a number of seeds, such as 3"),
        (with("seeds = [-1]\n[axes]\n\"train.lr\" = [1e-3]"), "`seeds` is a number of seeds, such as 3"),
        (with("samples = -3\n[axes]\n\"train.lr\" = [1e-3]"), "expected a whole number from 0"),
        (with("objective = \"acuracy of coupled\"\n[axes]\n\"train.lr\" = [1e-3]"), "did you mean `accuracy`?"),
        (with("[axes]\n\"train.lr\" = 5"), "expected a list of values, such as [1e-3, 1e-2], or a range"),
        (with("[axes]\n\"train.lr\" = [[1]]"), "a value is a number"),
        (with("[axes]\n\"train.lr\" = { form = 1, to = 2, points = 3 }"), "did you mean `from`?"),
        (with("[axes]\n\"train.lr\" = { from = 1 }"), "missing field `to`"),
        (with("[axes]\n\"train.lr\" = { from = 1, to = 2, scale = \"logg\" }"), "did you mean `log`?"),
    ] {
        let said = sweep(&text).err().unwrap().to_string();
        assert!(said.contains(words), "{text}: {said}");
        assert!(!["untagged", "usize", "f64"].iter().any(|word| said.contains(word)), "{text}: {said}");
    }
}
