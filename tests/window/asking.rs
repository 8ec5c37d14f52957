//! Tests views that ask a trained BDH questions, through user input: the user searches the passages that activate a
//! neuron, selects a token of a map, and lets the model continue a text.

use std::sync::Arc;

use eframe::egui::accesskit::Role;
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    config::Value,
    telemetry::{
        Args, Event, Measurement, QuestionState, RunState, Sample, Synapse,
        measurements::{ConceptSearch, LogitLens, QueryKeyMaps, SynapseReading, TopContexts},
    },
    ui::{figure::Figure, mirror::Mirror, questions::QuestionTime, theme::Theme},
};

use crate::{
    recorded,
    tiles::{Tile, questions, sized},
    trained_bdh::{tile, words},
};

fn recorded_contexts() -> TopContexts {
    let twins = recorded::twins();
    twins.sample_at(0, TopContexts::CHANNEL, recorded::STEPS).and_then(|s| s.measurement().cloned()).unwrap()
}

/// The tooltip of a disabled button must give the reason.
#[test]
fn a_button_without_a_model_to_ask_says_so() {
    let mut mirror = recorded::twins();
    mirror.apply(Event::State(RunState::Stopped));
    let mut harness = tile("graph_modularity", mirror).shown(sized(640.0, 520.0));
    harness.get_by_label("Measure now").hover();
    harness.run_steps(60);
    let words = words(&harness);
    assert!(words.contains("There is no model here that can be asked."), "{words}");
}

#[test]
fn the_selected_neuron_or_synapse_is_asked_about() {
    let mut tile = tile("top_contexts", recorded::twins());
    tile.selection.neuron = Some(77);
    tile.selection.set(Synapse { layer: 2, i: 5, j: 70 });
    let mut harness = tile.shown(sized(640.0, 520.0));
    assert!(questions(&harness).is_empty(), "nothing long is asked without a hand");
    harness.get_by_label("x").click();
    harness.run_steps(3);
    harness.get_by_label("Find").click();
    harness.run_steps(3);
    let asked = questions(&harness).pop().unwrap();
    assert_eq!(asked.probe, TopContexts::PROBE);
    assert_eq!(
        (asked.args["neuron"].clone(), asked.args["of"].clone()),
        (Value::Text("77".into()), Value::Text("x".into()))
    );
    assert_eq!((asked.args["span"].to_string(), asked.args["tokens"].clone()), ("held-out".into(), Value::Int(65_536)));
}

#[test]
fn a_synapse_in_focus_is_asked_about() {
    let mut tile = tile("top_contexts", recorded::twins());
    tile.selection.set(Synapse { layer: 2, i: 5, j: 70 });
    tile.config.set(&tile.knobs, "contexts.of", Value::Text("synapse".into())).unwrap();
    let mut harness = tile.shown(sized(640.0, 520.0));
    assert!(words(&harness).contains("layer 2, y 0:5 \u{2192} x 1:6"), "{}", words(&harness));
    harness.get_by_label("Find").click();
    harness.run_steps(3);
    let asked = questions(&harness).pop().unwrap();
    let named: Vec<_> = ["layer", "i", "j"].map(|name| asked.args[name].clone()).into();
    assert_eq!(named, [Value::Int(2), Value::Int(5), Value::Int(70)]);
}

#[test]
fn a_passage_that_is_clicked_is_read() {
    let found = recorded_contexts();
    assert!(found.fires > 0 && found.contexts.len() > 3);
    let mut harness = tile("top_contexts", recorded::twins()).shown(sized(640.0, 520.0));
    assert!(words(&harness).contains("is above zero at"), "{}", words(&harness));
    let second = &found.contexts[1];
    let token = orrery::ui::widgets::token_strip::visible_text(&second.tokens[second.token]);
    let label = format!("passage 2: {:.3} at {token}, position {}", second.value, second.position);
    harness.get_by_role_and_label(Role::Button, &label).click();
    harness.run_steps(3);
    let tile = harness.state();
    assert_eq!(tile.config.get("reading.text"), Some(&Value::Text(second.text.clone())));
    assert_eq!(tile.selection.token, Some(second.token));
    let csv = tile.csv.clone().unwrap();
    assert_eq!(csv::Reader::from_reader(csv.as_bytes()).records().count(), found.contexts.len());
    let svg = tile.svg.clone().unwrap();
    for value in found.contexts.iter().map(|context| format!(">{:.3}</text>", context.value)) {
        assert!(svg.contains(&value), "the drawing has all passages: {value}");
    }
}

#[test]
fn a_head_and_a_token_of_the_map_are_selected() {
    let mut harness = tile("query_key_maps", recorded::twins()).shown(sized(640.0, 520.0));
    assert!(words(&harness).contains("layer 2 head 0; each map has a scale of its own"), "{}", words(&harness));
    harness.get_by_role_and_label(Role::Button, "layer 1 head 1").click();
    harness.run_steps(3);
    let selection = &harness.state().selection;
    assert_eq!((selection.layer.as_deref(), selection.head), (Some("layers.1"), Some(1)));
    assert!(words(&harness).contains("layer 1 head 1; each map"), "{}", words(&harness));
    let asked = questions(&harness);
    assert!(
        asked.iter().any(|q| q.probe == QueryKeyMaps::PROBE && q.args.contains_key("text")),
        "it reads what is typed"
    );
    let csv = harness.state().csv.clone().unwrap();
    let tokens = recorded::twins().sample_at(0, QueryKeyMaps::CHANNEL, recorded::STEPS).unwrap().tokens.len();
    assert_eq!(csv.lines().count(), 1 + tokens * (tokens - 1) / 2, "a row for each pair");
    assert!(csv.starts_with("layer,head,query,query_token,key,key_token,product\n1,1,1,"), "{}", &csv[..80]);
}

#[test]
fn the_number_of_generated_tokens_is_set_and_sent_with_the_question() {
    let mut harness = tile("reading", recorded::twins()).shown(sized(640.0, 520.0));
    let asked = |harness: &Harness<'_, Tile>| {
        questions(harness).into_iter().rfind(|q| q.probe == SynapseReading::PROBE).map(|q| q.args["write"].clone())
    };
    assert_eq!(asked(&harness), Some(Value::Int(0)));
    harness.get_by_role_and_label(Role::SpinButton, "and writes on").set_value_accesskit(40.0);
    harness.run_steps(4);
    assert_eq!(harness.state().config.get("reading.write"), Some(&Value::Int(40)));
    assert_eq!(asked(&harness), Some(Value::Int(40)));
}

#[test]
fn generated_tokens_are_marked_in_strip_chart_and_csv() {
    let harness = tile("reading", recorded::written()).shown(sized(640.0, 520.0));
    let strip = harness.query_all_by_role(Role::Canvas);
    use egui_kittest::kittest::NodeT;
    let labels: Vec<String> = strip.filter_map(|n| n.accesskit_node().label()).collect();
    assert!(labels.iter().any(|l| l.starts_with("tokens: ") && l.contains("; written: ")), "{labels:?}");
    assert!(words(&harness).contains("written"), "the chart marks it");
    let csv = harness.state().csv.clone().unwrap();
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    assert!(rows.headers().unwrap().iter().take(3).eq(["position", "token", "written"]));
    let written = rows.records().filter(|r| &r.as_ref().unwrap()[2] == "1").count();
    assert_eq!(written, 24);
}

/// A scheduled measurement takes precedence over an answer to a question that this window did not ask.
#[test]
fn an_old_answer_stands_behind_what_was_measured() {
    let mut mirror = recorded::twins();
    let measured = mirror.sample_at(0, LogitLens::CHANNEL, recorded::STEPS).unwrap().clone();
    let answer = |request| {
        let tokens = vec!["Zz".to_owned(); measured.tokens.len()];
        Event::Sample(Sample { request: Some(request), about: "another question".into(), tokens, ..measured.clone() })
    };
    mirror.apply(answer(1));
    let mut shown = tile("logit_lens", Mirror::default());
    let theme = Theme::dark();
    for state in [RunState::Finished, RunState::Stopped] {
        mirror.apply(Event::State(state));
        let figure = Figure::new("logit_lens", &mirror, &shown.config, &shown.knobs, &theme);
        assert!(!figure.csv().unwrap().unwrap().contains("Zz"), "a picture of the record");
    }
    shown.mirror = mirror;
    let mut harness = shown.shown(sized(640.0, 520.0));
    assert!(!harness.state().subtitle.contains("another question"), "{}", harness.state().subtitle);
    let Tile { questions, mirror, .. } = harness.state_mut();
    let time = QuestionTime { at: None, scheduled: None, is_measured: false };
    let request = questions.register((LogitLens::PROBE, Some(0)), Args::new(), mirror, &time);
    mirror.apply(answer(request));
    harness.run_steps(2);
    assert!(harness.state().subtitle.contains("another question"), "{}", harness.state().subtitle);
}

/// After an undo, an earlier question may still be open in another thread and be answered after the current one. Its
/// answer must not replace the current one.
#[test]
fn an_answer_to_an_earlier_question_does_not_replace_a_later_one() {
    let mut mirror = recorded::twins();
    let measured = mirror.sample_at(0, LogitLens::CHANNEL, recorded::STEPS).unwrap().clone();
    for (request, about) in [(12, "the current question"), (11, "an earlier question")] {
        mirror.apply(Event::Sample(Sample { request: Some(request), about: about.into(), ..measured.clone() }));
    }
    assert_eq!(mirror.answer(0, LogitLens::CHANNEL).unwrap().about, "the current question");
    assert!(mirror.answer_to(11).is_none());
}

#[test]
fn a_view_with_only_a_form_exports_no_picture() {
    let mut mirror = Mirror::default();
    mirror.apply(Event::Started(Arc::new(recorded::twins_info())));
    mirror.apply(Event::State(RunState::Finished));
    let (tile, theme) = (tile("merging", Mirror::default()), Theme::dark());
    for view in ["merging", "steer"] {
        let figure = Figure::new(view, &mirror, &tile.config, &tile.knobs, &theme);
        assert!(figure.empty_message().unwrap().is_some(), "{view}");
    }
}

/// While an answer arrives token by token, the view shows its newest token, and it does not replay the answer once it
/// is complete.
#[test]
fn a_partial_answer_shows_its_newest_token() {
    let mirror = recorded::written();
    let whole = mirror.sample_at(0, SynapseReading::CHANNEL, recorded::STEPS).unwrap().clone();
    let so_far = |tokens: usize| {
        let reading = whole.measurement::<SynapseReading>().unwrap().clone();
        let given = whole.tokens.len() - reading.written;
        let reading = SynapseReading { written: tokens - given, synapses: vec![], y: vec![], x: vec![], ..reading };
        let payload = std::sync::Arc::new(reading.into_payload());
        Sample { tokens: whole.tokens[..tokens].to_vec(), request: Some(1), payload, ..whole.clone() }
    };
    let mut tile = tile("reading", mirror);
    tile.still = false;
    tile.config.set(&tile.knobs, "reading.write", Value::Int(24)).unwrap();
    let mut harness = tile.shown(sized(640.0, 520.0));
    let request = questions(&harness).into_iter().rfind(|q| q.probe == SynapseReading::PROBE).unwrap().request;
    let rows = |harness: &Harness<'_, Tile>| harness.state().csv.clone().unwrap().lines().count() - 1;
    let last = whole.tokens.len();
    for tokens in [last - 23, last - 10, last - 1] {
        let state = QuestionState::Working(Some(0.5));
        harness.state_mut().mirror.apply(Event::Question { request, state });
        harness.state_mut().mirror.apply(Event::Partial(Sample { request: Some(request), ..so_far(tokens) }));
        harness.run_steps(2);
        assert_eq!((rows(&harness), harness.state().selection.token), (tokens, None), "the newest token is in sight");
    }
    harness.state_mut().mirror.apply(Event::Sample(Sample { request: Some(request), ..whole.clone() }));
    harness.state_mut().mirror.apply(Event::Question { request, state: QuestionState::Answered });
    harness.run_steps(4);
    assert_eq!((rows(&harness), harness.state().selection.token), (last, None), "it is not played once more");
}

#[test]
fn a_file_of_ones_own_sentences_is_searched() {
    let mut tile = tile("concepts", recorded::twins());
    let path = Value::Text("my/sets.tsv".into());
    let mut harness = {
        tile.config.set(&tile.knobs, "concepts.label", Value::Text("weather".into())).unwrap();
        tile.shown(sized(640.0, 520.0))
    };
    harness.get_by_label("file").click();
    harness.run_steps(3);
    assert!(words(&harness).contains("No file yet: name one under Concepts"), "{}", words(&harness));
    harness.get_by_label("Find").click();
    harness.run_steps(3);
    assert!(questions(&harness).is_empty(), "there is nothing to read");
    let tile = harness.state_mut();
    tile.config.set(&tile.knobs, "concepts.sentences", path.clone()).unwrap();
    harness.run_steps(3);
    assert!(words(&harness).contains("my/sets.tsv, concept: weather"), "{}", words(&harness));
    harness.get_by_label("Find").click();
    harness.run_steps(3);
    let asked = questions(&harness).pop().unwrap();
    assert_eq!(asked.probe, ConceptSearch::PROBE);
    assert_eq!(
        (asked.args.len(), &asked.args["sentences"], asked.args["label"].to_string()),
        (2, &path, "weather".into())
    );
}

#[test]
fn results_of_own_sentence_sets_use_the_names_of_the_sets() {
    let mut mirror = recorded::twins();
    let (about, search) = ("weather against sport, food".into(), recorded::own_concept().into_payload());
    mirror.apply(Event::Sample(Sample { step: recorded::STEPS, about, ..recorded::bare_sample(search) }));
    let harness = tile("concepts", mirror).shown(sized(640.0, 520.0));
    let said = words(&harness);
    for part in ["weather", "by sentence", "food", "sport"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("noun") && !said.contains("language"), "{said}");
}
