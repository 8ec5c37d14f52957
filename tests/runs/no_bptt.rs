//! Tests training without backpropagation through time in comparison with training with it, and the loss of
//! translations by direction.

use orrery::{
    nn::host,
    telemetry::{
        Args, Measurement,
        measurements::{DirectionLoss, TextLosses},
    },
    trainer::{Plan, Run},
};

use crate::config_with::plan_with;

fn plan(more: &[(&str, &str)]) -> Result<Plan, String> {
    let small = [
        ("model.neurons", "64"),
        ("model.d_model", "16"),
        ("train.batch", "2"),
        ("train.window", "256"),
        ("run.device", "cpu"),
        ("run.threads", "1"),
    ];
    plan_with("synapses", Some("synapses_no_bptt"), &[&small[..], more].concat()).map_err(|e| e.to_string())
}

fn directions(run: &mut Run, variant: usize, args: &Args) -> Vec<DirectionLoss> {
    let samples = run.ask(variant, "texts", args).unwrap();
    samples.iter().find_map(|s| s.measurement::<TextLosses>()).unwrap().texts[0].directions.clone()
}

#[test]
fn both_variants_start_equal_and_differ_after_the_first_update() {
    let plan = plan(&[]).unwrap();
    assert_eq!(plan.variants.iter().map(|v| v.id.as_str()).collect::<Vec<_>>(), ["bdh", "no_bptt"]);
    let mut args = plan.probes.iter().find(|p| p.probe == TextLosses::PROBE).unwrap().args.clone();
    args.insert("windows".into(), orrery::config::Value::Int(64));
    let mut run = Run::open(plan).unwrap();
    let before = directions(&mut run, 0, &args);
    assert_eq!(before, directions(&mut run, 1, &args), "equal seeds draw equal weights");
    let labels: Vec<String> = before.iter().map(DirectionLoss::label).collect();
    assert!(["en", "fr", "en-fr", "fr-en", "de-es"].iter().all(|l| labels.iter().any(|k| k == l)), "{labels:?}");
    assert!(before.iter().all(|d| d.tokens > 0 && (4.0..7.0).contains(&d.loss)), "{before:?}");
    for variant in 0..2 {
        run.update(variant).unwrap();
    }
    run.finish_step().unwrap();
    let weights =
        |run: &Run, v: usize, name: &str| host::to_f32(run.variants[v].model.params().get(name).unwrap()).unwrap();
    assert_ne!(weights(&run, 0, "encoder"), weights(&run, 1, "encoder"), "the gradient through keys is missing");
    assert_ne!(before, directions(&mut run, 0, &args));
}

#[test]
fn a_text_without_marks_has_no_directions() {
    let plan = plan(&[("corpus.source", "mixture")]).unwrap();
    let args = plan.probes.iter().find(|p| p.probe == TextLosses::PROBE).unwrap().args.clone();
    let mut run = Run::open(plan).unwrap();
    assert!(directions(&mut run, 0, &args).is_empty());
}

#[test]
fn a_no_bptt_variant_of_a_no_bptt_model_is_refused() {
    let error = plan(&[("model.through_past", "false")]).err().unwrap();
    assert!(error.contains("`variants.no_bptt`") && error.contains("`model.through_past`"), "{error}");
}
