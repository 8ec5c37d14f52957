//! Tests fine-tuning with a classification head: the copied weights, the measurements, and which losses are compared.

use orrery::{
    labs::coupled_qk::LAB,
    nn::host,
    telemetry::{StepStats, channels},
    trainer::{Plan, Run},
};

fn plan(more: &[(&str, &str)]) -> Result<Plan, String> {
    let knobs = (LAB.knobs)();
    let mut config = LAB.config(Some("coupled_qk_labels")).unwrap();
    let small = [
        ("variants.mlp", "false"),
        ("variants.seeds", "2"),
        ("model.d_model", "16"),
        ("model.layers", "1"),
        ("model.hidden", "24"),
        ("train.steps", "2"),
        ("train.batch", "4"),
        ("finetune.steps", "3"),
        ("run.eval_windows", "8"),
        ("run.device", "cpu"),
        ("run.threads", "1"),
    ];
    for (key, value) in [&small[..], more].concat() {
        config.set_text(&knobs, key, value).map_err(|e| e.to_string())?;
    }
    (LAB.plan)(&config).map_err(|e| e.to_string())
}

fn weights(run: &Run, variant: usize, name: &str) -> Option<Vec<f32>> {
    run.variants[variant].model.params().get(name).map(|var| host::to_f32(var).unwrap())
}

fn value(stats: &StepStats, channel: &str) -> Option<f64> {
    stats.scalars.iter().find(|(name, _)| name.as_str() == channel).map(|(_, value)| *value)
}

/// Makes one step: updates every variant that trains at this step. Returns the notes.
fn advance(run: &mut Run) -> Vec<String> {
    for v in 0..run.variants.len() {
        if run.plan.stage(v).trains_at(run.step + 1) {
            run.update(v).unwrap();
        }
    }
    run.finish_step().unwrap()
}

#[test]
fn classifiers_go_on_from_their_own_variant_and_seed() {
    let plan = plan(&[]).unwrap();
    let ids: Vec<&str> = plan.variants.iter().map(|v| v.id.as_str()).collect();
    let of_seed = ["standard-s0", "euler-s0", "standard_labels-s0", "euler_labels-s0", "new_labels-s0"];
    assert_eq!(ids[..5], of_seed);
    assert_eq!((ids.len(), plan.steps), (10, 5));
    let mut run = Run::open(plan).unwrap();
    assert!(run.evaluate(0).is_ok_and(|s| value(&s, channels::ACCURACY).is_none()));
    let before = weights(&run, 4, "layers.0.attn.wq.weight");
    advance(&mut run);
    let notes = advance(&mut run);
    // four classifiers start from a pretrained model; the others are trained from scratch
    assert_eq!(notes.iter().filter(|n| n.contains("the head of 2 classes is drawn")).count(), 4, "{notes:?}");
    for (parent, child) in [(0, 2), (1, 3), (5, 7), (6, 8)] {
        for name in ["embed.weight", "layers.0.attn.wq.weight", "layers.0.mlp.down.weight", "norm.weight"] {
            assert_eq!(weights(&run, parent, name), weights(&run, child, name), "{name} of {parent} and {child}");
        }
        assert_eq!(weights(&run, parent, "class_head.weight"), None);
        assert_eq!(weights(&run, child, "class_head.weight").unwrap().len(), 2 * 16);
    }
    assert_eq!(weights(&run, 4, "layers.0.attn.wq.weight"), before, "nobody's weights but its own");

    let at_start = run.evaluate(2).unwrap();
    assert!(value(&at_start, channels::GUESS).is_some_and(|guess| (0.5..0.6).contains(&guess)));
    assert!(value(&at_start, channels::LABELS_HELD_OUT).is_some_and(|loss| (loss - 2f64.ln()).abs() < 0.1));
    // a loss per label is not comparable with one per token, so it is not recorded under that name
    assert_eq!(value(&at_start, channels::LOSS_HELD_OUT), None);
    let head = weights(&run, 2, "class_head.weight");
    advance(&mut run);
    assert_ne!(weights(&run, 2, "class_head.weight"), head);
    assert_ne!(weights(&run, 0, "embed.weight"), weights(&run, 2, "embed.weight"), "all weights are tuned");
    assert!(value(&run.evaluate(4).unwrap(), channels::ACCURACY).is_some_and(|a| (0.0..=1.0).contains(&a)));
}

#[test]
fn sentences_of_a_file_are_classified() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sets.tsv");
    let line = |i: usize| format!("{}\tsentence number {i}\n", ["one", "two", "three"][i % 3]);
    std::fs::write(&path, (0..30).map(line).collect::<String>()).unwrap();
    let file = path.display().to_string();
    let run = Run::open(plan(&[("finetune.file", file.as_str()), ("finetune.labels", "3")]).unwrap()).unwrap();
    assert_eq!(weights(&run, 2, "class_head.weight").unwrap().len(), 3 * 16);
    let refused = Run::open(plan(&[("finetune.file", file.as_str())]).unwrap()).err().unwrap().to_string();
    assert!(refused.contains("has 3 labels") && refused.contains("set the number of labels to 3"), "{refused}");
}

#[test]
fn pairs_of_a_file_are_classified() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pairs.tsv");
    let line = |i: usize| format!("{i}\tIs it {i}?\tIt is {}.\t{}\n", i + i % 2, ["yes", "no"][i % 2]);
    let lines: String = (0..30).map(line).collect();
    std::fs::write(&path, format!("index\tquestion\tsentence\tlabel\n{lines}")).unwrap();
    let file = path.display().to_string();
    let mut run = Run::open(plan(&[("finetune.file", file.as_str()), ("finetune.steps", "2")]).unwrap()).unwrap();
    (0..4).for_each(|_| drop(advance(&mut run)));
    let scores = run.evaluate(2).unwrap();
    assert!(value(&scores, channels::ACCURACY).is_some_and(|a| (0.0..=1.0).contains(&a)));
    assert!(value(&scores, channels::LABELS_HELD_OUT).is_some_and(f64::is_finite));
    std::fs::write(&path, format!("question\tsentence\tlabel\n{lines}")).unwrap();
    let refused = Run::open(plan(&[("finetune.file", file.as_str())]).unwrap()).err().unwrap().to_string();
    assert!(
        refused.contains("Line 2 of") && refused.contains("has 4 columns where the first line names 3"),
        "{refused}"
    );
}

#[test]
fn settings_that_do_not_fit_are_named() {
    for (set, words) in [
        (("finetune.labels", "3"), "`finetune.labels` = 3"),
        (("ablation.longer", "2"), "`ablation.longer`"),
        (("corpus.tokenizer", "char"), "`corpus.tokenizer` = char"),
    ] {
        let refused = plan(&[set]).err().unwrap();
        assert!(refused.contains(words), "{refused}");
    }
    let off = plan(&[("finetune.steps", "0"), ("finetune.labels", "3")]).unwrap();
    assert!(off.stages.is_empty() && off.more_texts.is_empty());
}
