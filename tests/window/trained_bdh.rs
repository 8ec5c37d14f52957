//! Tests the inspection of a trained BDH through user input: all views share one text, neurons can be named and changed,
//! and a cell of the lens can be examined.

use std::sync::Arc;

use candle_core::Device;
use eframe::egui::{Key, accesskit::Role};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    config::Value,
    labs,
    models::bdh::{Bdh, BdhSpec},
    store,
    telemetry::{
        Event, Measurement, Sample,
        measurements::{InterventionEffect, LogitLens, NeuronGraph},
    },
    ui::mirror::Mirror,
};

use crate::{
    bdh_file::write_bdh,
    real_host::TestWindow,
    recorded,
    tiles::{Tile, painted, questions, rect_of, sized},
};

pub fn tile(view: &str, mirror: Mirror) -> Tile {
    let lab = labs::find("trained_bdh").unwrap();
    let mut tile = Tile::new(view, mirror);
    tile.knobs = (lab.knobs)();
    tile.config = lab.config(None).unwrap();
    tile
}

pub fn words(harness: &Harness<'_, Tile>) -> String {
    painted(harness).join(" ")
}

#[test]
fn a_neuron_is_named_changed_and_asked_about() {
    let mut harness = tile("intervention", recorded::twins()).shown(sized(640.0, 520.0));
    assert!(words(&harness).contains("Nothing is changed"), "{}", words(&harness));
    assert!(questions(&harness).is_empty(), "no model is asked");
    let field = harness.get_by_role_and_label(Role::TextInput, "neurons to change");
    field.focus();
    harness.run_steps(2);
    harness.get_by_role_and_label(Role::TextInput, "neurons to change").type_text("1:9");
    harness.run_steps(2);
    harness.key_press(eframe::egui::Key::Enter);
    harness.run_steps(3);
    let named = harness.state().config.get("change.neurons").cloned();
    assert_eq!(named, Some(Value::Text("1:9".into())));
    let asked = questions(&harness);
    let question = asked.iter().find(|q| q.probe == InterventionEffect::PROBE).expect("it is asked");
    assert_eq!(question.args["neurons"], Value::Text("1:9".into()));
    assert_eq!(question.args["action"], Value::Text("silence".into()));
    harness.get_by_label("clamp").click();
    harness.run_steps(3);
    let last = questions(&harness).pop().unwrap();
    assert_eq!(last.args["action"], Value::Text("clamp".into()));
    assert!(harness.query_by_role_and_label(Role::SpinButton, "value").is_some(), "the amount stands beside it");
    harness.get_by_label("silence").click();
    harness.run_steps(3);
    assert!(harness.query_by_role_and_label(Role::SpinButton, "value").is_none(), "silence has none");
}

#[test]
fn the_selected_neuron_is_taken_over() {
    let mut tile = tile("intervention", recorded::twins());
    tile.selection.neuron = Some(77);
    let mut harness = tile.shown(sized(640.0, 520.0));
    harness.get_by_label("the neuron in focus").click();
    harness.run_steps(3);
    assert_eq!(harness.state().config.get("change.neurons"), Some(&Value::Text("77".into())));
}

#[test]
fn a_synapse_is_taken_over_and_asked_about() {
    let mut tile = tile("intervention", recorded::twins());
    tile.selection.set(orrery::telemetry::Synapse { layer: 2, i: 12, j: 70 });
    let mut harness = tile.shown(sized(640.0, 520.0));
    harness.get_by_label("synapses").click();
    harness.run_steps(3);
    harness.get_by_label("the synapse in focus").click();
    harness.run_steps(3);
    assert_eq!(harness.state().config.get("change.synapses"), Some(&Value::Text("2:12:70".into())));
    let asked = questions(&harness).pop().expect("it is asked");
    assert_eq!(asked.args["target"], Value::Text("synapses".into()));
    assert_eq!(asked.args["synapses"], Value::Text("2:12:70".into()));
}

#[test]
fn the_effect_of_a_found_synapse_is_shown_and_exported() {
    let harness = tile("concept_effect", recorded::twins()).shown(sized(700.0, 620.0));
    let said = words(&harness);
    for part in ["Nothing found", "with it", "without it", "nats per token", "We spoke of the pound."] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let csv = harness.state().csv.clone().unwrap();
    assert!(csv.starts_with("what,concept,text,loss_before,change\nsentence,1,"), "{csv}");
}

#[test]
fn a_community_is_taken_over_from_the_graph() {
    let mut tile = tile("neuron_graph", recorded::twins());
    let twins = recorded::twins();
    let graph =
        twins.sample_at(0, NeuronGraph::CHANNEL, recorded::STEPS).unwrap().measurement::<NeuronGraph>().unwrap();
    let communities = graph.groups.community.as_ref().unwrap();
    let at = communities.iter().position(Option::is_some).unwrap();
    let community = communities[at].unwrap();
    let members = communities.iter().filter(|c| **c == Some(community)).count();
    tile.selection.neuron = Some(graph.neurons[at]);
    let mut harness = tile.shown(sized(900.0, 600.0));
    harness.run_steps(3);
    harness.get_by_label(&format!("community {community} ({members})")).click();
    harness.run_steps(3);
    let Some(Value::Text(taken)) = harness.state().config.get("change.neurons").cloned() else { panic!("none") };
    assert_eq!(taken.split(", ").count(), members, "{taken}");
    assert_eq!(harness.state().config.get("change.target"), Some(&Value::Text("neurons".into())));
}

#[test]
fn the_effect_stands_beside_that_of_random_neurons() {
    let mut tile = tile("intervention", recorded::twins());
    tile.config.set(&tile.knobs, "change.neurons", Value::Text("0:12, 1:3".into())).unwrap();
    let harness = tile.shown(sized(640.0, 620.0));
    let said = words(&harness);
    for part in [
        "Random sets that move it as far",
        "0:12, 1:3",
        "Seed of the random sets: ",
        "Loss of the text",
        "goes on as it is",
        "random neurons, mean of 8",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let csv = harness.state().csv.clone().unwrap();
    assert!(csv.starts_with("position,token,loss_before,loss_after,divergence,divergence_random"), "{csv}");
}

#[test]
fn a_text_of_one_token_has_no_loss_to_compare() {
    let mut mirror = recorded::twins();
    let sample = mirror.sample_at(0, InterventionEffect::CHANNEL, recorded::STEPS).unwrap().clone();
    let mut one = sample.measurement::<InterventionEffect>().unwrap().clone();
    (one.loss_before, one.loss_after) = (vec![f64::NAN].into(), vec![f64::NAN].into());
    [&mut one.divergence, &mut one.null_divergence].into_iter().for_each(|list| list.0.truncate(1));
    let tokens = sample.tokens[..1].to_vec();
    mirror.apply(Event::Sample(Sample { tokens, payload: Arc::new(one.into_payload()), ..sample }));
    let mut tile = tile("intervention", mirror);
    tile.config.set(&tile.knobs, "change.neurons", Value::Text("0:12, 1:3".into())).unwrap();
    let harness = tile.shown(sized(640.0, 620.0));
    let said = words(&harness);
    assert!(said.contains("no loss to compare") && !said.contains("0.000 \u{2192}"), "{said}");
    let csv = harness.state().csv.clone().unwrap();
    assert!(csv.lines().nth(1).is_some_and(|row| row.starts_with("0,") && row.contains(",,,")), "{csv}");
}

#[test]
fn a_cell_of_the_lens_is_looked_at() {
    let mut tile = tile("logit_lens", recorded::twins());
    tile.selection.token = Some(3);
    let mut harness = tile.shown(sized(640.0, 520.0));
    assert!(words(&harness).contains("after 3 layers, at token 3"), "{}", words(&harness));
    let measured: LogitLens = recorded::twins()
        .answer(0, LogitLens::CHANNEL)
        .or(recorded::twins().sample_at(0, LogitLens::CHANNEL, recorded::STEPS))
        .and_then(|s| s.measurement::<LogitLens>().cloned())
        .unwrap();
    let losses: Vec<String> = measured.loss.iter().enumerate().map(|(l, v)| format!("{l}: {v:.3}")).collect();
    let rect = rect_of(&harness, &format!("likeliest tokens; loss by layers {}", losses.join(", ")));
    // the third row from the top is the lens after one layer
    let at = rect.left_top() + eframe::egui::vec2(5.0, rect.height() / 5.0 * 2.5);
    crate::tiles::press(&mut harness, at, true);
    crate::tiles::press(&mut harness, at, false);
    harness.run_steps(3);
    assert_eq!(harness.state().selection.token, Some(0));
    assert!(words(&harness).contains("after 1 layer, at token 0"), "{}", words(&harness));
}

#[test]
fn a_model_that_reads_no_better_than_frequencies_is_warned_of() {
    let mut harness = tile("trained_bdh", recorded::twins()).shown(sized(480.0, 240.0));
    let said = words(&harness);
    assert!(said.contains("choose those that it was trained on"), "the warning is never folded: {said}");
    assert!(harness.query_all_by_label_contains("held-out loss: ").next().is_some());
    assert!(!said.contains("128 in 2 heads of 64"), "{said}");
    harness.get_by_label("Details").click();
    harness.run_steps(3);
    let said = words(&harness);
    for part in ["128 in 2 heads of 64", "Layers, sharing weights"] {
        assert!(said.contains(part), "{part}: {said}");
    }

    let mut harness = tile("trained_bdh", recorded::twins()).shown(sized(480.0, 600.0));
    assert!(words(&harness).contains("128 in 2 heads of 64"), "a tile that has room shows them at once");
    harness.get_by_label("Details").click();
    harness.run_steps(3);
    assert!(!words(&harness).contains("128 in 2 heads of 64"), "and folds them all the same");
}

/// A run of the newest checkpoint alone would have no time axis.
#[test]
fn a_reset_records_a_folder_of_checkpoints_again() {
    let folder = tempfile::tempdir().unwrap();
    let (made, runs) = (folder.path().join("made"), folder.path().join("runs"));
    std::fs::create_dir(&made).unwrap();
    for step in [10, 20] {
        let spec = BdhSpec { d_model: 8, heads: 2, neurons: 32, layers: 2, ..BdhSpec::default() };
        let model = Bdh::new(&spec, 256, step, &Device::Cpu).unwrap();
        write_bdh(&made.join(format!("step-{step}.safetensors")), &model);
    }
    let mut desk = TestWindow::new(&runs);
    desk.drop_folder(&made);
    let recorded = |desk: &TestWindow| {
        let mirror = desk.page()?.mirror()?;
        (mirror.checkpoints.last() == Some(&20) && *mirror.snapshots == [10, 20]).then_some(mirror.run)
    };
    desk.until("the folder is recorded", |desk| recorded(desk).is_some());
    let first = recorded(&desk).unwrap();
    desk.harness.key_press(Key::R);
    desk.until("it is recorded again", |desk| recorded(desk).is_some_and(|run| run != first));
    assert_eq!((desk.newest(), store::list(&runs).unwrap().len()), (20, 2));
}
