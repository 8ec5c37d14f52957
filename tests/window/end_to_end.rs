//! Tests the complete application without a window: the real application and host, a real lab with a small model, and
//! training on its own thread. egui_kittest supplies the user input.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use candle_core::Device;
use eframe::egui::{Event, Key, Modifiers, Role};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    config::Value,
    models::bdh::{Bdh, BdhSpec},
    telemetry::{
        Measurement, RunState,
        measurements::{Causality, GeneratorState},
    },
    ui::app::{App, Opening},
};

use crate::{bdh_file::write_bdh, config_with::config_with, real_host::window_on, waiting::until_within};

struct Lab {
    harness: Harness<'static, App>,
    _folder: tempfile::TempDir,
}

/// The fast-slow lab with a small model, whose steps take only a moment.
fn lab() -> Lab {
    let settings = [
        ("model.d_model", "32"),
        ("train.window", "64"),
        ("train.steps", "100000"),
        ("train.lr", "1e-2"),
        ("run.eval_every", "0"),
        ("probe.staircase_every", "5"),
        // these take most of the time of such a small run
        ("probe.residual_every", "0"),
        ("probe.generator_distance_every", "0"),
    ];
    let config = config_with("fast_slow", None, &settings);
    let folder = tempfile::tempdir().unwrap();
    let builder = Harness::builder().with_size([1280.0, 800.0]);
    let harness = window_on(builder, folder.path(), Some(Opening::Config(config)));
    Lab { harness, _folder: folder }
}

impl Lab {
    fn until<R>(&mut self, what: &str, found: impl Fn(&App) -> Option<R>) -> R {
        until_within(Duration::from_secs(60), &mut self.harness, what, found)
    }

    fn newest(&self) -> u64 {
        self.harness.state().page().map_or(0, |p| p.newest())
    }
}

fn state(app: &App) -> Option<&'static str> {
    app.page()?.run.as_ref().map(|r| r.state_label())
}

/// The effective gate s tanh(gamma) in the last answer to the causality question.
fn answered_gate(app: &App) -> Option<f64> {
    let sample = app.page()?.run.as_ref()?.mirror.answer(0, Causality::CHANNEL)?;
    sample.measurement::<Causality>().map(|causality| causality.effective_gate)
}

#[test]
fn a_model_trains_and_a_slider_changes_its_answer() {
    let mut lab = lab();
    lab.until("models are ready", |app| (state(app) == Some("ready")).then_some(()));
    lab.harness.key_press(Key::Space);
    lab.until("training steps", |app| (app.page()?.newest() >= 20).then_some(()));
    lab.harness.key_press(Key::Space);
    lab.until("it pauses", |app| (state(app) == Some("paused")).then_some(()));
    let stood = lab.newest();

    // the causality view is a tab behind another one
    lab.harness.get_by_label_contains("  Causality").click();
    let open = lab.until("the model answers", answered_gate);
    assert!(open != 0.0, "twenty steps move the gate");
    lab.harness.get_by_role_and_label(Role::Slider, "s").set_value_accesskit(10.0);
    let wide = lab.until("it answers at the new scale", |app| answered_gate(app).filter(|g| *g != open));
    assert!((wide / open - 10.0).abs() < 1e-5, "{open} became {wide}");
    assert_eq!(lab.newest(), stood, "asking is not training");
}

#[derive(Debug)]
struct Dropped(PathBuf);

impl eframe::egui::DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        Err("the window never reads files".into())
    }
}

/// A trained model with a vocabulary of five characters opens when it is dropped on the window together with a text of
/// five different characters. A text of six is refused with the reason, and dropping the right text afterwards works.
#[test]
fn a_model_of_characters_opens_with_the_text_that_is_dropped_on_it() {
    let mut lab = lab();
    lab.until("models are ready", |app| (state(app) == Some("ready")).then_some(()));
    let folder = tempfile::tempdir().unwrap();
    let [model, right, wrong] = ["model.safetensors", "right.txt", "wrong.txt"].map(|name| folder.path().join(name));
    let spec = BdhSpec { d_model: 12, heads: 2, neurons: 64, layers: 2, ..BdhSpec::default() };
    write_bdh(&model, &Bdh::new(&spec, 5, 5, &Device::Cpu).unwrap());
    std::fs::write(&right, "abcd\n".repeat(900)).unwrap();
    std::fs::write(&wrong, "abcde\n".repeat(900)).unwrap();
    let drop = |lab: &mut Lab, path: &Path| {
        lab.harness.input_mut().dropped_files.push(Arc::new(Dropped(path.to_owned())));
        lab.harness.step();
    };
    let opened = |app: &App| {
        let page = app.page().filter(|page| page.lab.id == "trained_bdh")?;
        let vocab = page.run.as_ref()?.mirror.info.as_ref()?.vocab;
        (vocab == 5 && state(app) != Some("failed")).then(|| page.config.get("corpus.tokenizer").cloned())
    };
    drop(&mut lab, &model);
    lab.until("the built-in text does not fit", |app| (state(app) == Some("failed")).then_some(()));
    drop(&mut lab, &wrong);
    lab.until("nor does this one", |app| {
        let Some(RunState::Failed { message }) = &app.page()?.run.as_ref()?.mirror.state else { return None };
        message.contains("6 distinct characters").then_some(())
    });
    drop(&mut lab, &right);
    let tokens = lab.until("it opens", opened);
    assert_eq!(tokens, Some(Value::Text("sorted_char".into())), "the control says what was found");
    // a dropped JSON list of characters is used as the vocabulary, not as a tokenizer
    let list = folder.path().join("list.json");
    std::fs::write(&list, r#"["\n", "a", "b", "c", "d"]"#).unwrap();
    drop(&mut lab, &list);
    let set = |app: &App| {
        let file = app.page()?.config.get("corpus.vocabulary_file")?.to_string();
        file.ends_with("list.json").then_some(())
    };
    lab.until("it is the vocabulary", set);
    // a dropped JSON graph opens as a graph
    let graph = folder.path().join("graph.json");
    let links = r#"{"directed": true, "nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b"}]}"#;
    std::fs::write(&graph, links).unwrap();
    drop(&mut lab, &graph);
    lab.until("it is shown", |app| (app.page()?.lab.id == "graph_file").then_some(()));
}

#[test]
fn an_attention_map_opens_as_a_generator() {
    let mut lab = lab();
    lab.until("models are ready", |app| (state(app) == Some("ready")).then_some(()));
    lab.harness.key_press_modifiers(Modifiers::COMMAND, Key::P);
    lab.harness.run_steps(3);
    lab.harness.event(Event::Text("Markov step".into()));
    lab.harness.run_steps(3);
    lab.harness.key_press(Key::Enter);
    let button = "in Equilibrium";
    let begun = Instant::now();
    while lab.harness.query_by_role_and_label(Role::Button, button).is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no attention came");
        lab.harness.step();
        std::thread::sleep(Duration::from_millis(20));
    }
    lab.harness.get_by_role_and_label(Role::Button, button).click();
    let generator = lab.until("the generator is measured", |app| {
        let page = app.page().filter(|page| page.lab.id == "equilibrium")?;
        page.run.as_ref()?.mirror.answer(0, GeneratorState::CHANNEL)?.measurement::<GeneratorState>().cloned()
    });
    assert_eq!(generator.matrix.rows(), 48, "a state a token of the passage");
    assert_eq!(
        generator.classes.iter().filter(|class| class.is_closed()).count(),
        1,
        "causal attention ends on its first token"
    );
}
