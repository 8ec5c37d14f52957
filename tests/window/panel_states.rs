//! Tests that a view says which state it is in: that it stays empty and why, that a question is open, that a question
//! was refused and why, or which question the shown answer belongs to.

use std::collections::BTreeSet;

use eframe::egui::Context;
use orrery::{
    config::Value,
    labs::{self, LABS, Lab, examples, merging::MergingSettings},
    telemetry::{
        Event, FollowedState, MEASUREMENTS, Measurement, Question, QuestionState, RunState, Sample, StepStats,
        measurements::{FlowSweepNfe, GeneratorState, GraphNeuron, ModularityAtStep},
    },
    ui::{mirror::Mirror, page::Page, widgets::number::grouped},
};

use crate::{
    recorded,
    stage::{REASON, Stage},
    tessellation::view_ids,
};

/// The start of the note that the shown answer belongs to a question other than the controls describe.
const OUTDATED: &str = "Shown is";
/// The start of the note that the controls' question is sent only after a click on a button.
const UNASKED: &str = "Not asked with these settings yet";

fn lab(id: &str) -> &'static Lab {
    labs::find(id).unwrap()
}

/// True for a text that advises the user to start a run.
fn is_advice(words: &str) -> bool {
    ["ress Space", "Space runs"].iter().any(|advice| words.contains(advice))
}

#[test]
fn no_view_advises_to_begin_a_run_that_has_begun() {
    let twins = recorded::twins();
    let failed = RunState::Failed { message: "the checkpoint needs a vocabulary".into() };
    let fonts = Context::default();
    for view in view_ids() {
        let mut stage = Stage::with_fonts(lab("fast_slow"), view, &fonts);
        stage.launch();
        let words = stage.words();
        assert!(!is_advice(&words), "{view}, preparing: {words}");
        for (step, state) in [(0, RunState::Running), (30, RunState::Running), (30, RunState::Finished)] {
            stage.begin(step, state.clone());
            let words = stage.words();
            assert!(!is_advice(&words), "{view}, {state:?} at {step}: {words}");
            stage.answer(&twins, false);
            let words = stage.words();
            assert!(!is_advice(&words), "{view}, {state:?} at {step}, without an answer: {words}");
        }
        for state in [RunState::Stopped, RunState::Followed(FollowedState::Running), failed.clone()] {
            stage.begin(30, state.clone());
            let words = stage.words();
            assert!(!is_advice(&words), "{view}, {state:?}: {words}");
        }
    }
}

/// Without a measurement, a view says how to start. The page of an opened lab may have no run, and the page of a link
/// has a run before its first step.
#[test]
fn an_empty_view_of_a_graph_says_how_to_begin() {
    for view in ["graph_modularity", "graph_threshold", "graph_degrees"] {
        let mut stage = Stage::new(lab("neuron_graph"), view);
        let words = stage.words();
        assert!(is_advice(&words), "{view}, by hand: {words}");
        stage.begin(0, RunState::Paused);
        let words = stage.words();
        assert!(is_advice(&words) || !stage.questions().is_empty(), "{view}, by a link: {words}");
    }
}

/// A page without a run does not send the user to the lab that it is of.
#[test]
fn an_empty_view_leads_to_no_other_page() {
    let fonts = Context::default();
    for lab in LABS {
        for pane in lab.panes {
            let words = Stage::with_fonts(lab, pane.view, &fonts).words();
            assert!(!words.contains("Open the"), "{}, {}: {words}", lab.id, pane.view);
        }
    }
}

/// The models can be loaded once the other process has ended. Advice to start a new run would be wrong, since it gives
/// no answer about this run.
#[test]
fn a_run_that_another_process_trains_says_when_it_can_be_asked() {
    let mut stage = Stage::new(lab("fast_slow"), "staircase");
    stage.begin(30, RunState::Followed(FollowedState::Running));
    let words = stage.words();
    assert!(words.contains("once the process that trains it has ended") && !words.contains("Press R"), "{words}");
}

#[test]
fn an_example_says_that_it_has_no_weights() {
    for (id, view) in [("ode_flow", "steer"), ("trained_bdh", "logit_lens"), ("equilibrium", "stationary_map")] {
        let mut stage = Stage::new(lab(id), view);
        stage.show_example();
        let words = stage.words();
        assert!(words.contains("Recorded example: no weights"), "{id}, {view}: {words}");
    }
    let fonts = Context::default();
    for view in view_ids() {
        let mut stage = Stage::with_fonts(lab("fast_slow"), view, &fonts);
        stage.show_example();
        let words = stage.words();
        assert!(!words.contains("its models cannot be asked"), "{view}: {words}");
        let asked = stage.questions();
        assert!(asked.iter().all(|q| examples::may_answer(&q.probe)), "{view} asks an example: {asked:?}");
    }
}

/// The settings of a model decide some answers, so that a control that is moved over an example is followed.
#[test]
fn an_example_answers_what_needs_no_weights() {
    let twins = recorded::twins();
    let (channel, newest) = (GeneratorState::CHANNEL, u64::MAX);
    let sample = twins.sample_at(0, channel, newest).or(twins.answer(0, channel)).expect("a generator").clone();
    let mut stage = Stage::new(lab("equilibrium"), "generator");
    stage.show_example();
    stage.emit([Event::Sample(Sample { step: 0, variant: 0, request: None, ..sample })]);
    let _ = stage.words();
    assert!(stage.questions().is_empty(), "the record has this answer");
    for (y0, is_asked) in [(4.0, true), (0.0, false)] {
        stage.page.change("control.y0", Value::Float(y0), stage.now);
        let _ = stage.words();
        let asked = stage.questions();
        assert_eq!(asked.len(), usize::from(is_asked), "{y0}: {asked:?}");
        let is_right = |q: &Question| q.probe == "generator" && q.args.get("y0") == Some(&Value::Float(y0));
        assert!(asked.iter().all(is_right), "{asked:?}");
        let words = stage.words();
        assert!(!words.contains("no weights"), "{y0}: {words}");
    }
}

/// A new run with the same settings would not have these curves either, so the view must not advise one.
#[test]
fn a_record_without_a_curve_says_what_its_run_lacks() {
    for (view, lacks) in
        [("slow_memory", "has a slow path that decays"), ("equilibrium_solves", "solves for its fast state")]
    {
        let mut stage = Stage::new(lab("fast_slow"), view);
        stage.show_example();
        stage.emit([Event::Step(StepStats { step: 30, variant: 0, scalars: vec![], wall_secs: 1.0 })]);
        let words = stage.words();
        assert!(words.contains(lacks) && !is_advice(&words), "{view}: {words}");
        assert!(!words.contains('`'), "{view} names a control as code: {words}");
    }
}

#[test]
fn accuracy_points_to_a_preset_of_its_own_lab() {
    for id in ["fast_slow", "spen", "coupled_qk"] {
        let mut stage = Stage::new(lab(id), "accuracy");
        let words = stage.words();
        let named = words.split_once("The preset \u{201c}").and_then(|(_, rest)| rest.split_once('\u{201d}'));
        let (title, _) = named.unwrap_or_else(|| panic!("{id}: {words}"));
        assert!(stage.page.lab.presets.iter().any(|preset| preset.title == title), "{id}: {title}");
    }
}

/// Some preset of a lab can answer each of its views: none of them leads to another lab.
#[test]
fn no_view_of_a_lab_leads_to_another() {
    const LEADS: &str = "in the lab ";
    let (twins, views, fonts) = (recorded::twins(), view_ids(), Context::default());
    let panes = LABS.iter().flat_map(|lab| lab.panes.iter().map(move |pane| (*lab, pane.view)));
    let mut wrong = vec![];
    for (lab, view) in panes.filter(|(_, view)| views.contains(view)) {
        let mut stage = Stage::with_fonts(lab, view, &fonts);
        stage.begin(60, RunState::Finished);
        stage.settle(&twins, false);
        let words = stage.words();
        let mut leads = words.match_indices(LEADS).map(|(at, _)| &words[at + LEADS.len()..]);
        if !leads.all(|named| named.starts_with(lab.title)) {
            wrong.push(format!("{}, {view}: {words}", lab.id));
        }
    }
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn a_search_for_a_concept_says_what_is_left_to_do() {
    let mut stage = Stage::new(lab("synapses"), "concepts");
    assert!(stage.words().contains("Press Space to train"), "nothing was trained");
    stage.begin(0, RunState::Paused);
    assert!(stage.words().contains("Press Space to train"), "nor now");
    stage.begin(600, RunState::Finished);
    let words = stage.words();
    assert!(words.contains("Press Find.") && !words.to_lowercase().contains("train on"), "{words}");
    change(&mut stage, "corpus.source", Value::Text("mixture".into()));
    stage.begin(600, RunState::Finished);
    let words = stage.words();
    assert!(words.contains("Train on the parliament (preset Parliament)"), "{words}");
    let mut stage = Stage::new(lab("trained_bdh"), "concepts");
    change(&mut stage, "model.checkpoint", Value::Text("other.pt".into()));
    stage.begin(0, RunState::Finished);
    let words = stage.words();
    assert!(words.contains("Press Find."), "{words}");
    assert!(!words.contains("preset") && !words.contains("no sentence"), "nobody knows its text: {words}");
}

/// If the lab's models lack what the question needs, a run of the user could not answer it either, so the view names
/// the need.
#[test]
fn an_example_says_what_a_question_needs() {
    let mut stage = Stage::new(lab("fast_slow"), "steer");
    stage.show_example();
    let words = stage.words();
    assert!(words.contains("a model with a flow"), "{words}");
}

/// The advice holds at every shown step, and the view must not announce a question that no model can answer.
#[test]
fn a_question_without_an_answer_names_a_preset_of_its_own_lab() {
    let mut stage = Stage::new(lab("equilibrium"), "generator_distance");
    stage.begin(60, RunState::Finished);
    stage.settle(&recorded::twins(), false);
    for scrub in [None, Some(20), Some(50)] {
        stage.page.scrub = scrub;
        let _ = stage.words();
        let words = stage.words();
        assert!(words.contains("A trained block") && !words.contains("Asking the model"), "{scrub:?}: {words}");
    }
}

#[test]
fn a_failed_run_says_why_in_the_views_that_wait_for_it() {
    for (id, view) in [("trained_bdh", "trained_bdh"), ("trained_bdh", "logit_lens"), ("fast_slow", "losses")] {
        let mut stage = Stage::new(lab(id), view);
        stage.launch();
        stage.emit([Event::State(RunState::Failed { message: "the checkpoint needs a vocabulary".into() })]);
        let words = stage.words();
        assert!(words.contains("needs a vocabulary") && !words.contains("No model is open"), "{view}: {words}");
    }
}

#[test]
fn a_page_without_a_run_says_why_none_could_be_made() {
    let mut stage = Stage::new(lab("trained_bdh"), "trained_bdh");
    stage.page.problem = Some("the checkpoint needs a vocabulary".into());
    assert!(stage.words().contains("needs a vocabulary"));
    stage.page.problem = None;
    assert!(stage.words().contains("No model is open"), "nothing was opened");
}

/// The views that ask a run of this program nothing. Any other view asks by itself in
/// [`states_of_a_question_are_shown`], or is one of [`ASK_BY_BUTTON`], or the merging view, which has a test of its
/// own.
const NEVER_ASK: &[&str] = &[
    "accuracy",
    "cost",
    "equilibrium_solves",
    "flow_claims",
    "flow_training",
    "gate",
    "graph_table",
    "logged",
    "loss_difference",
    "losses",
    "mechanisms",
    "oscillators",
    "pair_attention",
    "questions",
    "race",
    "recoverability",
    "slow_manifold",
    "slow_memory",
    "step_lengths",
    "trace_decay",
    "trace_strips",
    "word_swap",
];

/// The views of the graph of the weights, which a live setting of the training does not ask about again.
const GRAPH_OF_WEIGHTS: [&str; 3] = ["graph_degrees", "graph_threshold", "neuron_graph"];

/// The view whose answer is computed without the model, so that its subtitle names no step.
const WITHOUT_MODEL: &str = "bdh_theory";

/// Starts a run at step 30 and chooses what a view asks about, where it asks nothing before.
fn begin_asking(stage: &mut Stage, view: &str, recorded: &Mirror) {
    stage.begin(30, RunState::Paused);
    match view {
        "graph_neuron" => {
            let known = recorded.sample_at(0, GraphNeuron::CHANNEL, u64::MAX);
            stage.page.selection.neuron = known.and_then(Sample::measurement::<GraphNeuron>).map(|m| m.neuron);
        }
        "intervention" => change(stage, "change.neurons", Value::Text("0:12".into())),
        _ => {}
    }
}

/// Reports this state of each of the questions.
fn report(stage: &mut Stage, questions: &[Question], state: &QuestionState) {
    for question in questions {
        stage.emit([Event::Question { request: question.request, state: state.clone() }]);
    }
}

/// The texts of one frame that is drawn this many seconds later.
fn words_after(stage: &mut Stage, seconds: f64) -> String {
    stage.now += seconds;
    stage.frame(vec![]).texts.join("\n")
}

/// True if a part of a subtitle is this step.
fn names_step(words: &str, step: u64) -> bool {
    let named = format!("step {step}");
    let mut parts = words.lines().flat_map(|line| line.split(" \u{b7} "));
    parts.any(|part| part.split(',').next() == Some(named.as_str()))
}

/// Each view of each lab says for its question since when it is open and how far the answer is, why it was refused,
/// which step the answer shown is from, and, once another question was asked, that the answer is to an earlier one.
#[test]
fn states_of_a_question_are_shown() {
    const FAR: QuestionState = QuestionState::Working(Some(0.4));
    let refused = QuestionState::Refused(REASON.into());
    let (twins, views) = (recorded::twins(), view_ids());
    let (mut askers, mut wrong, fonts) = (BTreeSet::new(), vec![], Context::default());
    let panes = LABS.iter().flat_map(|lab| lab.panes.iter().map(move |pane| (*lab, pane.view)));
    for (lab, view) in panes.filter(|(_, view)| views.contains(view)) {
        let mut check = |holds: bool, state: &str, words: &str| {
            if !holds {
                wrong.push(format!("{}, {view}, {state}: {words}", lab.id));
            }
        };
        let mut stage = Stage::with_fonts(lab, view, &fonts);
        begin_asking(&mut stage, view, &twins);
        let _ = stage.words();
        let asked = stage.questions();
        if asked.is_empty() {
            continue;
        }
        askers.insert(view);
        report(&mut stage, &asked, &FAR);
        for (seconds, note) in [(1.0, "40%, 1 s"), (7.0, "40%, 8 s")] {
            let words = words_after(&mut stage, seconds);
            check(words.lines().any(|line| line == note), note, &words);
        }
        report(&mut stage, &asked, &refused);
        let words = stage.words();
        check(words.contains(REASON), "refused", &words);

        // a run that goes on shows a later step than that of the answer
        begin_asking(&mut stage, view, &twins);
        stage.settle(&twins, true);
        let next = StepStats { step: 31, variant: 0, scalars: vec![], wall_secs: 2.0 };
        stage.emit([Event::State(RunState::Running), Event::Step(next)]);
        let words = stage.words();
        check(!words.contains(OUTDATED), "answered", &words);
        check(names_step(&words, 30) != (view == WITHOUT_MODEL), "the step of the answer", &words);

        // a changed live setting makes the question another one
        let changed = Event::Changed { step: 31, key: "train.lr".into(), value: Value::Float(9e-3) };
        stage.emit([Event::State(RunState::Paused), changed]);
        let words = stage.words();
        let asked = stage.questions();
        check(asked.is_empty() == GRAPH_OF_WEIGHTS.contains(&view), "asked again", &words);
        if asked.is_empty() {
            continue;
        }
        report(&mut stage, &asked, &FAR);
        let words = words_after(&mut stage, 2.0);
        let is_told = words.contains("This question is asked of step 31, 2 s ago, 40% done.");
        check(is_told && words.contains(OUTDATED), "asked again, with an answer", &words);
        report(&mut stage, &asked, &refused);
        let words = words_after(&mut stage, 1.0);
        check(words.contains(REASON) && words.contains(OUTDATED), "refused, with an answer", &words);
    }
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n\n"));
    let asks_by_itself = |view: &&str| !NEVER_ASK.contains(view) && !ASK_BY_BUTTON.contains(view) && *view != "merging";
    let expected: BTreeSet<&str> = views.iter().copied().filter(asks_by_itself).collect();
    assert_eq!(askers, expected, "a view asks, or stands in a list of those that do not");
}

/// A view with an answer, after whose arrival `change` changed the question of the controls.
fn asked_again(id: &str, view: &str, change: impl Fn(&mut Page)) -> Stage {
    let twins = recorded::twins();
    let mut stage = Stage::new(lab(id), view);
    stage.begin(30, RunState::Paused);
    let _ = stage.words();
    assert!(stage.answer(&twins, true) > 0, "{view} asks");
    let words = stage.words();
    assert!(!words.contains(OUTDATED), "{view}: {words}");
    change(&mut stage.page);
    stage
}

#[test]
fn an_answer_to_an_earlier_question_is_marked() {
    let change = |page: &mut Page| match page.lab.id {
        "fast_slow" => page.selection.token = Some(15),
        _ => page.change("control.y0", Value::Float(1.25), 2.0),
    };
    for (id, view) in [("fast_slow", "causality"), ("equilibrium", "generator_flow"), ("equilibrium", "generator")] {
        let mut stage = asked_again(id, view, change);
        let _ = stage.words();
        let words = stage.words();
        assert!(words.contains(OUTDATED) && words.contains("This question is asked"), "{view}: {words}");
        assert!(stage.refuse() > 0, "{view} asks again");
        let words = stage.words();
        assert!(words.contains(OUTDATED) && words.contains(REASON), "{view}: {words}");

        let mut stage = asked_again(id, view, change);
        let _ = stage.words();
        stage.answer(&recorded::twins(), true);
        let words = stage.words();
        assert!(!words.contains(OUTDATED), "{view}, answered: {words}");

        let mut stage = asked_again(id, view, |_| ());
        stage.emit([Event::State(RunState::Stopped)]);
        change(&mut stage.page);
        let words = stage.words();
        assert!(words.contains(OUTDATED) && words.contains("cannot be asked"), "{view}, stopped: {words}");
    }
}

/// The views with a button that sends their question and that is enabled in any run with recorded measurements.
const ASK_BY_BUTTON: [&str; 10] = [
    "adaptation",
    "concept_effect",
    "concepts",
    "fast_weights",
    "flow_sweep",
    "graph_modularity",
    "role_accuracy",
    "top_contexts",
    "uncertainty",
    "warm_up",
];

/// Each view is tested without a result and with an earlier result.
#[test]
fn every_button_shows_that_its_question_is_asked_or_refused() {
    let (twins, views) = (recorded::twins(), view_ids());
    let (mut askers, fonts) = (BTreeSet::new(), Context::default());
    let panes = LABS.iter().flat_map(|lab| lab.panes.iter().map(move |pane| (*lab, pane.view)));
    for ((lab, view), has_results) in panes.flat_map(|pane| [(pane, false), (pane, true)]) {
        if !views.contains(&view) {
            continue;
        }
        let mut stage = Stage::with_fonts(lab, view, &fonts);
        stage.begin(30, RunState::Paused);
        for measured in MEASUREMENTS.iter().filter(|_| has_results) {
            let sample = twins.sample_at(0, measured.channel, u64::MAX).cloned();
            let Some(sample) = sample else { continue };
            stage.emit([Event::Sample(Sample { step: 10, request: None, ..sample })]);
        }
        stage.settle(&twins, has_results);
        let buttons = stage.buttons().into_iter().filter(|(_, node)| node.toggled().is_none());
        for label in buttons.filter_map(|(_, node)| node.label().map(str::to_owned)).collect::<Vec<_>>() {
            let place = format!("{}, {view}, {label}, over a result: {has_results}", lab.id);
            let _ = stage.questions();
            if !stage.press(&label) || stage.commands.is_empty() {
                continue;
            }
            askers.insert(view);
            let _ = stage.words();
            let words = stage.words();
            assert!(words.contains("asking, "), "{place}: {words}");
            let asked = stage.questions();
            assert!(!asked.is_empty(), "{place}");
            report(&mut stage, &asked, &QuestionState::Working(Some(0.4)));
            let words = words_after(&mut stage, 1.0);
            assert!(words.contains("40%, "), "{place}: {words}");
            report(&mut stage, &asked, &QuestionState::Refused(REASON.into()));
            let words = stage.words();
            assert!(words.contains(REASON), "{place}: {words}");
        }
    }
    assert!(!askers.iter().any(|view| NEVER_ASK.contains(view)), "{askers:?}");
    let missing: Vec<_> = ASK_BY_BUTTON.iter().filter(|view| views.contains(view) && !askers.contains(*view)).collect();
    assert!(missing.is_empty(), "{missing:?} asked nothing: {askers:?}");
}

/// Otherwise the passages of one neuron, for instance, would appear under the name of another.
#[test]
fn an_answer_stays_marked_until_the_button_asks_with_the_settings_as_they_are() {
    type Change = fn(&mut Stage);
    let cases: [(&str, &str, [&str; 2], Change); 5] = [
        ("grammar_roles", "role_accuracy", ["Measure now"; 2], |stage| {
            change(stage, "roles.lambda", Value::Float(0.5));
        }),
        ("neuron_graph", "graph_modularity", ["Measure now"; 2], |stage| {
            change(stage, "graph.weighted", Value::Switch(true));
        }),
        ("trained_bdh", "top_contexts", ["Find"; 2], |stage| stage.page.selection.neuron = Some(77)),
        ("ode_flow", "flow_sweep", ["measure", "measure again"], |stage| {
            change(stage, "control.u1", Value::Float(0.5));
        }),
        ("spen", "warm_up", ["measure", "measure again"], |stage| {
            assert!(stage.press(&format!("{} tokens", grouped(4000))) && stage.press(&grouped(2000)));
        }),
    ];
    let twins = recorded::twins();
    for (id, view, [button, again], change) in cases {
        let mut stage = Stage::new(lab(id), view);
        stage.begin(30, RunState::Paused);
        if view == "graph_modularity" {
            // this view hides its button until something was measured
            let curve = twins.sample_at(0, ModularityAtStep::CHANNEL, u64::MAX).unwrap().clone();
            stage.emit([Event::Sample(Sample { step: 10, ..curve })]);
        }
        stage.settle(&twins, true);
        assert!(stage.press(button), "{view}");
        assert!(stage.answer(&twins, true) > 0, "{view}");
        let words = stage.words();
        assert!(!words.contains(OUTDATED), "{view}, answered: {words}");
        change(&mut stage);
        let _ = stage.words();
        let words = stage.words();
        assert!(words.contains(OUTDATED) && words.contains(UNASKED), "{view}, changed: {words}");
        assert!(stage.press(again), "{view}");
        let words = stage.words();
        assert!(words.contains(OUTDATED) && words.contains("This question is asked"), "{view}, asked: {words}");
        assert!(stage.refuse() > 0, "{view}");
        let words = stage.words();
        assert!(words.contains(OUTDATED) && words.contains(REASON), "{view}, refused: {words}");
        assert!(stage.press(again), "{view}");
        assert!(stage.answer(&twins, true) > 0, "{view}");
        let words = stage.words();
        assert!(!words.contains(OUTDATED), "{view}, answered again: {words}");
    }
}

fn change(stage: &mut Stage, key: &str, value: Value) {
    let now = stage.now;
    stage.page.change(key, value, now);
}

#[test]
fn the_merging_view_shows_the_state_of_its_question() {
    const NOTHING: &str = "Nothing has been merged yet";
    let name = |stage: &mut Stage, file: &str| {
        change(stage, MergingSettings::checkpoint.name, Value::Text(file.into()));
    };
    let mut stage = Stage::new(lab("synapses"), "merging");
    stage.begin(30, RunState::Paused);
    name(&mut stage, "wide.safetensors");
    assert!(stage.words().contains(NOTHING));
    assert!(stage.press("Merge and compare"));
    let words = stage.words();
    assert!(words.contains("Asking the model of step 30") && !words.contains(NOTHING), "{words}");
    assert_eq!(stage.refuse(), 1);
    let words = stage.words();
    assert!(words.contains(REASON) && !words.contains(NOTHING), "{words}");
    assert!(stage.press("Merge again"));
    assert_eq!(stage.answer(&recorded::twins(), true), 1);
    let words = stage.words();
    assert!(words.contains("held-out loss (nats per token) of ") && words.contains("merged, "), "{words}");
    assert!(!words.contains(OUTDATED), "{words}");
    name(&mut stage, "narrow.safetensors");
    let words = stage.words();
    assert!(words.contains(OUTDATED) && words.contains(UNASKED), "{words}");
    assert!(stage.press("Merge and compare"));
    let words = stage.words();
    assert!(words.contains(OUTDATED) && words.contains("This question is asked"), "{words}");
    assert_eq!(stage.refuse(), 1);
    let words = stage.words();
    assert!(words.contains(OUTDATED) && words.contains(REASON), "{words}");
}

#[test]
fn a_sweep_follows_the_scrubber() {
    let mut stage = Stage::new(lab("ode_flow"), "flow_sweep");
    stage.begin(60, RunState::Paused);
    let sweep = recorded::twins().sample_at(0, FlowSweepNfe::CHANNEL, u64::MAX).unwrap().clone();
    stage.emit([Event::Sample(Sample { step: 40, request: Some(1), ..sweep })]);
    for (scrub, is_shown) in [(None, true), (Some(20), false), (Some(50), true), (None, true)] {
        stage.page.scrub = scrub;
        // the subtitle is drawn before the view, so it is up to date only in the second frame
        let _ = stage.words();
        let words = stage.words();
        assert_eq!(words.contains("step 40"), is_shown, "{scrub:?}: {words}");
    }
}
