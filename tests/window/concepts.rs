//! Tests the Concepts view with a model in training: its questions, the trainer's answers, and what the view shows of
//! them in a tile as narrow as in a small window.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crossbeam::channel::{Sender, unbounded};
use eframe::egui::{Rect, accesskit::Role};
use egui_kittest::{
    Harness,
    kittest::{NodeT, Queryable},
};
use orrery::{
    config::Config,
    labs::{self, Lab},
    telemetry::{Command, Event, Measurement, QuestionState, Sink, Synapse, measurements::ConceptSearch, neuron_name},
    trainer::{self, DriveOptions},
    ui::mirror::Mirror,
};

use crate::{config_with::config_with, tiles::Tile};

/// Settings of a small model and a small part of the parliament corpus, so that a search takes only a moment.
const SMALL: &[(&str, &str)] = &[
    ("model.neurons", "128"),
    ("model.d_model", "16"),
    ("model.heads", "2"),
    ("model.layers", "3"),
    ("parliament.languages", "2"),
    ("parliament.nouns", "8"),
    ("train.steps", "12"),
    ("train.batch", "4"),
    ("train.window", "64"),
    ("run.device", "cpu"),
    ("run.threads", "1"),
];

fn lab() -> &'static Lab {
    labs::find("synapses").unwrap()
}

fn config() -> Config {
    config_with("synapses", None, SMALL)
}

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<Event>>>);

impl Sink for Heard {
    fn event(&mut self, event: &Event) -> Result<(), String> {
        self.0.lock().unwrap().push(event.clone());
        Ok(())
    }
}

/// A run that stays alive after training to answer questions, and the events that it has sent.
struct Trained {
    commands: Sender<Command>,
    heard: Heard,
}

impl Trained {
    fn begin() -> Self {
        let (commands, receiver) = unbounded();
        let heard = Heard::default();
        let (plan, sinks) = ((lab().plan)(&config()).unwrap(), vec![Box::new(heard.clone()) as Box<dyn Sink>]);
        let options = DriveOptions { start: true, stay: true, ..DriveOptions::default() };
        let worker = move || drop(trainer::drive(plan, options, &receiver, sinks));
        std::thread::Builder::new().stack_size(64 << 20).spawn(worker).unwrap();
        let trained = Self { commands, heard };
        trained.wait(|e| matches!(e, Event::State(orrery::telemetry::RunState::Finished)));
        trained
    }

    fn wait(&self, what: impl Fn(&Event) -> bool) {
        let begin = Instant::now();
        while !self.heard.0.lock().unwrap().iter().any(&what) {
            assert!(begin.elapsed() < Duration::from_secs(240), "nothing came");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Applies the events that arrived since the last call.
    fn emit(&self, mirror: &mut Mirror) {
        self.heard.0.lock().unwrap().drain(..).for_each(|e| mirror.apply(e));
    }
}

/// The size of the view's tile in a window of 1280 x 800.
const TILE: [f32; 2] = [336.0, 640.0];

fn tile(mirror: Mirror) -> Harness<'static, Tile> {
    let tile = Tile { config: config(), knobs: (lab().knobs)(), ..Tile::new("concepts", mirror) };
    tile.shown(Harness::builder().with_size(TILE))
}

/// Sends the view's commands since the last call to the trainer; returns true if there was a question about concepts.
fn pass_on(harness: &mut Harness<'_, Tile>, trained: &Trained) -> bool {
    let asked = std::mem::take(&mut harness.state_mut().commands);
    asked.iter().for_each(|c| trained.commands.send(c.clone()).unwrap());
    asked.iter().any(|c| matches!(c, Command::Measure(q) if q.probe == "concepts"))
}

fn says(harness: &Harness<'_, Tile>, words: &str) -> bool {
    harness.query_all_by(|n| n.value().is_some_and(|v| v.contains(words))).next().is_some()
}

fn rows(harness: &Harness<'_, Tile>) -> Vec<(String, Rect)> {
    let of_row = |label: &String| label.starts_with("layer ");
    let found = harness.query_all_by_role(Role::Button).filter_map(|n| Some((n.accesskit_node().label()?, n.rect())));
    found.filter(|(label, _)| of_row(label)).collect()
}

#[test]
fn a_search_is_asked_answered_followed_and_refused() {
    let trained = Trained::begin();
    let mut harness = tile({
        let mut mirror = Mirror::default();
        trained.emit(&mut mirror);
        mirror
    });
    assert!(says(&harness, "Does one synapse rise for every currency"), "an empty view says what it is for");
    assert!(harness.state().csv.is_none());

    // the first click starts a search; while it runs, a second click must not start another one
    harness.get_by_label("Find").click();
    harness.run_steps(2);
    assert!(pass_on(&mut harness, &trained), "a click asks");
    assert!(says(&harness, "Searching this model"));
    harness.get_by_label("Find").click();
    harness.run_steps(2);
    assert!(!pass_on(&mut harness, &trained), "while one search is under way there is no other");
    trained.wait(|e| matches!(e, Event::Sample(s) if s.measurement::<ConceptSearch>().is_some()));
    trained.emit(&mut harness.state_mut().mirror);
    harness.run_steps(2);
    let sample = harness.state().mirror.answer(0, ConceptSearch::CHANNEL).unwrap().clone();
    assert_eq!(sample.request, Some(1));

    // The view shows the measurement.
    let search = sample.measurement::<ConceptSearch>().unwrap();
    assert!(says(&harness, &search.verdict), "{}", search.verdict);
    assert!(!says(&harness, "Searching"));
    assert!(harness.state().subtitle.starts_with("step 12"), "{}", harness.state().subtitle);
    assert!(search.synapses.iter().all(|s| s.languages.len() == 2), "the text has two languages");
    let drawn = rows(&harness);
    assert!(drawn.len() >= 5, "{drawn:?}");
    for (k, (label, rect)) in drawn.iter().enumerate() {
        let s = &search.synapses[k];
        let [y, x] = [s.i, s.j].map(|neuron| neuron_name(neuron, search.per_head));
        let begin = format!("layer {}  y {y} \u{2192} x {x}, searched ", s.layer);
        assert!(label.starts_with(&begin), "{label}");
        assert!(label.contains(&format!("new {:.2}", s.correlation.both_new)), "{label}");
        assert!(rect.left() >= 0.0 && rect.right() <= TILE[0], "the tile cuts a row off: {rect:?}");
    }
    let csv = harness.state().csv.clone().unwrap();
    assert_eq!(csv.lines().count(), search.synapses.len() + 1);
    let columns = |line: &str| line.split(',').count();
    assert!(csv.lines().all(|l| columns(l) == 1 + 3 + 4 + 2 + 4 + 2 * 2 + 2), "{csv}");

    // a click selects a synapse, for other views and for the list of nouns below
    let third = drawn[2].0.clone();
    harness.get_by_role_and_label(Role::Button, &third).click();
    harness.run_steps(2);
    let s = &search.synapses[2];
    assert_eq!(harness.state().selection.get(), Some(&Synapse { layer: s.layer, i: s.i, j: s.j }));
    let [y, x] = [s.i, s.j].map(|neuron| neuron_name(neuron, search.per_head));
    let drives = format!("what drives layer {}  y {y} \u{2192} x {x}", s.layer);
    let canvas = harness.get_by(|n| n.role() == Role::Canvas && n.label().is_some_and(|l| l.starts_with(&drives)));
    assert!(canvas.rect().height() > 60.0);

    // after another concept is chosen, the results below still belong to the first one, and the view says so
    harness.get_by_label("country").click();
    harness.run_steps(2);
    assert!(says(&harness, "Below is currency, of step 12. Press Find for country."));

    // with too few sentences of the user's own, the view shows the reason and allows another search
    harness.get_by_label("own sentences").click();
    harness.run_steps(2);
    let list = harness.get_by_role_and_label(Role::MultilineTextInput, "sentences with the concept");
    list.focus();
    harness.run_steps(2);
    harness.key_press_modifiers(eframe::egui::Modifiers::COMMAND, eframe::egui::Key::A);
    harness.run_steps(2);
    harness.get_by_role_and_label(Role::MultilineTextInput, "sentences with the concept").type_text("The euro.");
    harness.run_steps(2);
    harness.get_by_label("Find").click();
    harness.run_steps(2);
    assert!(pass_on(&mut harness, &trained));
    trained.wait(|e| matches!(e, Event::Question { state: QuestionState::Refused(_), .. }));
    trained.emit(&mut harness.state_mut().mirror);
    harness.run_steps(2);
    assert!(says(&harness, "There are 1 sentences with the concept: at least 4 are needed"));
    harness.get_by_label("currency").click();
    harness.run_steps(2);
    harness.get_by_label("Find").click();
    harness.run_steps(2);
    assert!(pass_on(&mut harness, &trained), "a refusal is not a dead end");
}
