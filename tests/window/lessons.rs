//! Tests lessons through user input: a step applies its settings, a result stays hidden until the user has guessed, a
//! link opens a step. Needs no graphics adapter.

use eframe::egui::{self, Key, Modifiers, accesskit::Role, pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use orrery::{
    config::{Config, Value},
    labs::{LABS, find, lesson::LessonLink, restrictions::Restrictions},
    telemetry::RunState,
    ui::{
        app::Opening,
        page::{Page, UndoKind, lesson, undo},
        session::SharedSession,
        views::{self, VIEWS},
    },
};

use crate::{
    config_with::config_with,
    stage::Stage,
    stub_host::StubHost,
    ui::{Desktop, Worker, open_labs, reopen_labs},
};

fn open(opening: Opening) -> Desktop {
    let mut d = open_labs(opening, Worker::Steps, VIEWS, [1280.0, 800.0]);
    d.steps(6);
    d
}

fn link(lab: &str, step: usize) -> LessonLink {
    LessonLink::new(lab, step)
}

fn click(d: &mut Desktop, label: &str) {
    d.harness.get_by_label(label).click();
    d.steps(4);
}

#[test]
fn a_link_opens_a_step_with_its_controls_alone() {
    let mut d = open(Opening::Lesson(link("fast_slow", 5)));
    assert_eq!(d.page().lesson.current, Some(4));
    assert_eq!(d.page().config.preset, "fast_slow_needed");
    assert_eq!(d.page().config.get("model.upsample").unwrap().to_string(), "leaky");
    assert!(d.shows("Step 5 of the lesson shows 1 of"));
    assert!(d.harness.query_by_role_and_label(Role::ComboBox, "Upsampling").is_some());
    assert!(d.harness.query_by_role_and_label(Role::Slider, "Learning rate").is_none());
    let selected = d.page().tiling.selected.unwrap();
    assert!(d.page().tiling.in_order().contains(&(selected, "causality".into())));
    d.harness.get_all_by_label("Show all controls").next().unwrap().click();
    d.steps(3);
    assert!(!d.shows("Step 5 of the lesson shows"));
}

/// A window that has no room for both side panels shows the lesson, and the controls once they are asked for.
#[test]
fn a_link_opens_its_step_in_sight_in_a_narrow_window() {
    let mut d = open_labs(Opening::Lesson(link("fast_slow", 5)), Worker::Steps, VIEWS, [1024.0, 700.0]);
    d.steps(6);
    let row = d.harness.get_by_label("Step 5: What a leak looks like").rect();
    let guess = d.harness.query_all_by_label_contains("First guess: ").next().expect("the step asks for one").rect();
    // what follows the steps is folded, so that the last of them cannot come to the top
    let is_in_sight = row.left() > 512.0 && row.top() > 40.0 && guess.bottom() < 660.0;
    assert!(is_in_sight && guess.top() > row.top(), "in sight: {row}, {guess}");
    assert!(d.shows("First guess: ") && !d.shows("Step 5 of the lesson shows"));
    d.press(Key::OpenBracket);
    assert!(d.shows("Step 5 of the lesson shows 1 of") && !d.shows("First guess: "));
    d.press(Key::CloseBracket);
    assert!(d.shows("First guess: ") && !d.shows("Step 5 of the lesson shows"));
}

#[test]
fn a_hidden_control_of_a_step_is_no_search_without_a_result() {
    let mut d = open(Opening::Lab("fast_slow".into()));
    d.harness.event(egui::Event::Paste("orrery:fast_slow?lesson=5&hide=model.upsample".into()));
    d.steps(5);
    assert!(!d.shows("Step 5 of the lesson shows"), "the link chooses the controls that are shown");
    assert!(d.harness.query_by_role_and_label(Role::Slider, "Learning rate").is_some());
    assert!(d.harness.query_by_label("Only its controls").is_none(), "the link hides all of them");
    assert!(!d.shows("No control matches"));
}

#[test]
fn a_link_is_pasted_or_typed_and_a_broken_one_says_so() {
    let mut d = open(Opening::Lab("traces".into()));
    d.harness.event(egui::Event::Paste("orrery:fast_slow?lesson=2".into()));
    d.steps(5);
    assert_eq!((d.page().lab.id, d.page().lesson.current), ("fast_slow", Some(1)));
    d.harness.key_press_modifiers(Modifiers::COMMAND, Key::O);
    d.steps(3);
    d.harness.event(egui::Event::Text("orrery:traces?lesson=6".into()));
    d.steps(2);
    d.press(Key::Enter);
    assert_eq!((d.page().lab.id, d.page().lesson.current), ("traces", Some(5)));
    assert_eq!(d.page().config.get("recoverability.bits").unwrap().to_string(), "2");
    d.harness.event(egui::Event::Paste("orrery:traces?lesson=two".into()));
    d.steps(3);
    assert!(d.shows("is not a link to a lesson"));
    d.harness.event(egui::Event::Paste("orrery:traces?lesson=77".into()));
    d.steps(3);
    assert!(d.shows("there is no step 77"));
}

#[test]
fn a_step_says_what_is_missing_and_then_what_was_found() {
    let mut d = open(Opening::Lesson(link("fast_slow", 2)));
    d.until("a run", |d| d.page().mirror().is_some_and(|m| m.info.is_some()));
    d.steps(3);
    let due = "what this step looks for: not yet; by step 150 at the latest";
    assert!(d.shows(due) && !d.shows("the gate was a tenth open"));
    d.press(Key::Space);
    d.until("steps", |d| d.page().newest() > 155);
    d.steps(3);
    assert!(d.shows("Check: failed at step"), "the pretended gate stays shut");
    assert!(d.shows("The run says:"), "no sign, which would seem to judge a guess");
}

#[test]
fn hidden_answers_leave_of_a_check_only_that_it_was_measured() {
    let mut d = open(Opening::Lab("fast_slow".into()));
    d.harness.event(egui::Event::Paste("orrery:fast_slow?lesson=2&answers=hidden".into()));
    d.steps(8);
    d.press(Key::Space);
    d.until("steps", |d| d.page().newest() > 5);
    d.steps(1);
    assert!(d.shows("what this step looks for: not yet; by step 150 at the latest") && !d.shows("a tenth open"));
    d.until("steps", |d| d.page().newest() > 155);
    d.steps(3);
    assert!(d.shows("Check: measured; the link hides what was found"));
    assert!(!d.shows("a tenth open") && !d.shows("failed at step") && !d.shows("The run says:"));
}

#[test]
fn hidden_answers_hide_the_text_after_the_steps() {
    const AFTER: &str = "cleverness does not lift the curves";
    let mut d = open(Opening::Lesson(link("traces", 2)));
    assert!(!d.shows(AFTER) && !d.shows("all claims of this lab"), "it is folded: the steps are not answered");
    d.harness.get_by_role_and_label(Role::Button, "After the steps").click_accesskit();
    d.steps(4);
    assert!(d.shows(AFTER) && d.shows("all claims of this lab"));
    d.harness.event(egui::Event::Paste("orrery:traces?lesson=2&answers=hidden".into()));
    d.steps(8);
    assert!(!d.shows(AFTER) && !d.shows("all claims of this lab") && !d.shows("After the steps"));
    assert!(d.shows("Step 6: A memory of two bits"), "the steps stay");
}

#[test]
fn the_text_after_the_steps_unfolds_once_all_are_answered() {
    const AFTER: &str = "On ordinary text the gate drifts";
    let mut d = open(Opening::Lab("fast_slow".into()));
    for step in 1..=5 {
        d.harness.event(egui::Event::Paste(link("fast_slow", step).to_string()));
        d.steps(8);
        assert!(!d.shows(AFTER) && d.shows("After the steps"), "before step {step} is answered");
        click(&mut d, "Show the answer");
    }
    assert!(d.shows(AFTER) && !d.shows("After the steps"));
}

/// A copied session is as restricted as a copied link.
#[test]
fn a_session_pasted_where_it_was_copied_lifts_no_restriction() {
    let mut d = open(Opening::Lab("traces".into()));
    d.harness.event(egui::Event::Paste("orrery:traces?lesson=1&lock=traces&answers=hidden".into()));
    d.steps(8);
    let restrictions = d.page().restrictions.clone();
    assert!(restrictions.hides_answers && restrictions.locks("traces.alpha_fast"));
    let copied = d.page().shared().to_text().unwrap();
    d.harness.event(egui::Event::Paste(copied));
    d.steps(8);
    assert!(d.shows("The pasted session is open") && !d.shows("Show the answer"));
    assert_eq!(d.page().restrictions, restrictions);
    let free = SharedSession::from(d.page().config.clone()).to_text().unwrap();
    d.harness.event(egui::Event::Paste(free));
    d.steps(8);
    assert_eq!(d.page().restrictions, Restrictions::default(), "a session of an unrestricted page lifts them");
}

/// Otherwise the lab would open on the example, which shows what the step asks.
#[test]
fn a_page_comes_back_at_its_step_with_its_guesses() {
    let lab = find("fast_slow").unwrap();
    let mut page = Page::new(lab, lab.config(None).unwrap());
    take_step(&mut page, 1);
    page.lesson.written.insert(0, "near zero".into());
    page.lesson.guesses.insert(1, vec![[0.0, 0.0], [100.0, 0.2]]);
    page.lesson.asked.insert(4);
    let (back, complaints) = Page::restore(lab, &page.to_session());
    assert!(complaints.is_empty() && back.lesson.current == Some(1) && back.lesson.scroll_to == Some(1));
    assert_eq!((&back.lesson.written, &back.lesson.guesses), (&page.lesson.written, &page.lesson.guesses));
    assert!(back.lesson.has_guess_at(4) && !back.lesson.has_guess_at(2));
    assert!(lesson::step_begins_run(&back, 1), "the step has a run of its own");
    // a setting that waits for a guess waits again
    let lab = find("ode_flow").unwrap();
    let mut page = Page::new(lab, lab.config(None).unwrap());
    take_step(&mut page, 1);
    let (back, _) = Page::restore(lab, &page.to_session());
    assert!(!page.lesson.waiting.is_empty() && back.lesson.waiting == page.lesson.waiting);
}

#[test]
fn a_window_opens_again_at_its_step_without_the_example() {
    let worker = Worker::StepsAfterExample;
    let mut left = open_labs(Opening::Lesson(link("fast_slow", 2)), worker, VIEWS, [1280.0, 800.0]);
    left.steps(6);
    let mut d = reopen_labs(&mut left, worker, VIEWS);
    d.until("a run", |d| ["ready", "example"].contains(&d.state()));
    assert_eq!((d.state(), d.page().lesson.current, d.page().newest()), ("ready", Some(1), 0));
}

#[test]
fn a_step_says_which_of_its_settings_a_link_locks() {
    let mut d = open(Opening::Lab("fast_slow".into()));
    d.harness.event(egui::Event::Paste("orrery:fast_slow?lesson=2&lock=model.upsample".into()));
    d.steps(8);
    assert!(!d.shows("is locked by the link"), "this step leaves it as it is");
    click(&mut d, "Step 5: What a leak looks like");
    d.steps(4);
    assert_ne!(d.page().config.get("model.upsample").unwrap().to_string(), "leaky");
    assert!(d.shows("\u{201c}Upsampling\u{201d} is locked by the link, so that this step is not judged"));
    assert!(!d.shows("click the step's heading"));
}

/// A lock may be of what acts in views, which no run is made anew for.
#[test]
fn a_step_says_which_setting_of_a_view_a_link_locks() {
    for answers in ["", "&answers=hidden"] {
        let mut d = open(Opening::Lab("equilibrium".into()));
        let link = format!("orrery:equilibrium?preset=equilibrium&seed=7&lock=generator{answers}");
        d.harness.event(egui::Event::Paste(link));
        d.steps(8);
        d.harness.get_by_label("Step 3: Cut it in two").click_accesskit();
        d.steps(8);
        assert_eq!(d.page().lesson.current, Some(2));
        assert_eq!(d.page().config.get("generator.cut"), Some(&Value::Switch(false)));
        assert!(d.shows("\u{201c}Cut in two\u{201d} is locked by the link, so that this step is not judged"));
        assert!(!d.shows("Check: not"));
    }
}

#[test]
fn what_the_step_of_a_link_sets_after_the_guess_passes_the_lock() {
    const WAITS: &str = "Once you have guessed, the step sets Sentence";
    const LOCKED: &str = "\u{201c}Sentence\u{201d} is locked by the link, so that this step is not judged";
    let sentence = |d: &Desktop| d.page().config.get("traces.sentence").unwrap().to_string();
    let own = "the door was old and the door was open";
    let mut d = open(Opening::Lab("traces".into()));
    d.harness.event(egui::Event::Paste("orrery:traces?lesson=2&lock=traces".into()));
    d.steps(8);
    assert!(d.shows(WAITS) && !d.shows(LOCKED) && sentence(&d) != own);
    // it waits also after a restart
    let (back, _) = Page::restore(d.page().lab, &d.page().to_session());
    assert!(back.lesson.waiting == d.page().lesson.waiting && !back.lesson.waiting.is_empty());
    guess(&mut d, "they are");
    assert_eq!(sentence(&d), own);
    assert!(!d.shows(LOCKED) && d.page().restrictions.locks("traces.sentence"));
    // a later step cannot set it, and says so in place of a promise
    let mut d = open(Opening::Lab("traces".into()));
    d.harness.event(egui::Event::Paste("orrery:traces?lesson=1&lock=traces".into()));
    d.steps(8);
    assert!(d.shows("opened with locks \u{201c}Fast\u{201d}"), "the text asks the reader to pull it");
    d.harness.get_by_label("Step 2: The same word twice").click_accesskit();
    d.steps(8);
    assert!(d.page().lesson.current == Some(1) && !d.shows(WAITS) && d.shows(LOCKED));
    guess(&mut d, "they are");
    assert_ne!(sentence(&d), own);
}

#[test]
fn a_step_does_not_judge_a_run_of_other_settings() {
    let mut d = open(Opening::Lesson(link("traces", 6)));
    d.press(Key::Space);
    d.until("steps", |d| d.page().newest() > 5);
    d.press(Key::Space);
    d.until("paused", |d| !d.page().run.as_ref().unwrap().is_running());
    let settings_of_six = SharedSession::from(d.page().config.clone()).to_text().unwrap();
    d.harness.event(egui::Event::Paste("orrery:traces?lesson=3".into()));
    d.steps(5);
    assert!(!d.shows("was made with another"), "the step began its own run");
    d.harness.event(egui::Event::Paste(settings_of_six));
    d.steps(3);
    d.until("a run of the settings of before", |d| d.page().mirror().is_some_and(|m| m.info.is_some()));
    d.steps(3);
    assert!(d.shows("not yet: click the step's heading, then press Space"));
}

#[test]
fn a_step_asks_before_a_training_ends() {
    let mut d = open(Opening::Lesson(link("fast_slow", 2)));
    d.press(Key::Space);
    d.until("steps", |d| d.page().newest() > 5);
    click(&mut d, "Step 3: Back to where it began");
    assert_eq!(d.page().lesson.current, Some(2), "of the same settings: it may be followed while it trains");
    assert!(!d.shows("A run is training"));
    click(&mut d, "Step 5: What a leak looks like");
    assert!(d.shows("A run is training") && d.page().lesson.current == Some(2));
    click(&mut d, "Stop it and go on");
    assert_eq!(d.page().lesson.current, Some(4));
    d.until("a new run", |d| d.page().newest() == 0);
}

#[test]
fn a_guess_is_drawn_before_the_run_is_seen_and_stays() {
    let mut d = open(Opening::Lesson(link("fast_slow", 2)));
    let gate = |d: &Desktop| d.harness.query_by_role_and_label(Role::Canvas, "gate").map(|n| n.rect());
    assert!(gate(&d).is_none(), "nothing is drawn yet");
    click(&mut d, "Draw it");
    let area = gate(&d).expect("a chart to draw on");
    let at = |k: usize| area.left_center() + vec2(area.width() * (0.1 + 0.2 * k as f32), -10.0 * k as f32);
    d.harness.drag_at(at(0));
    d.harness.step();
    for k in 1..=4 {
        d.harness.hover_at(at(k));
        d.harness.step();
    }
    d.harness.drop_at(at(4));
    d.steps(3);
    let guess = d.page().lesson.guesses[&1].clone();
    assert!(guess.len() >= 4 && guess.windows(2).all(|w| w[0][0] < w[1][0]), "{guess:?}");
    assert!(guess[0][0] > 0.0 && guess.last().unwrap()[0] > 100.0, "in steps: {guess:?}");
    click(&mut d, "Done");
    d.press(Key::Space);
    d.until("steps", |d| d.page().newest() > 20);
    assert!(gate(&d).is_some());
    assert_eq!(d.page().lesson.guesses[&1], guess, "the run is laid over it");
    click(&mut d, "Clear");
    assert!(d.page().lesson.guesses.is_empty());
}

/// Otherwise the words that ask for a guess would lie over the curves that answer it.
#[test]
fn nothing_is_drawn_once_the_answer_is_told() {
    let mut d = open(Opening::Lesson(link("fast_slow", 2)));
    click(&mut d, "Draw it");
    assert!(d.page().lesson.is_drawing);
    click(&mut d, "Show the answer");
    let is_offered = ["Draw it", "Done"].map(|name| d.harness.query_by_role_and_label(Role::Button, name).is_some());
    assert!(!d.page().lesson.is_drawing && is_offered == [false; 2], "{is_offered:?}");
}

/// Every step of every lab brings its view to the front, its chart accepts a guess, and its text shows no markdown
/// syntax.
#[test]
fn every_lesson_step_shows_its_view_and_its_rendered_text() {
    for lab in LABS {
        let mut d = open(Opening::Lab(lab.id.into()));
        let steps = d.page().lesson.lesson.steps.clone();
        assert_eq!(d.page().lesson.problem, None);
        for (i, step) in steps.iter().enumerate() {
            d.harness.event(egui::Event::Paste(link(lab.id, i + 1).to_string()));
            d.steps(8);
            assert_eq!(d.page().lesson.current, Some(i), "{}: {}", lab.id, step.title);
            // the lesson's markdown is rendered, so a visible asterisk would be a parsing error
            let raw: Vec<String> = d
                .harness
                .query_all_by_role(Role::Label)
                .filter_map(|node| node.accesskit_node().value().or_else(|| node.accesskit_node().label()))
                .filter(|words| words.contains("**") || words.matches('*').count() > 1)
                .collect();
            assert!(raw.is_empty(), "{}: {}: {raw:?}", lab.id, step.title);
            let view = step.does.view.clone().unwrap();
            let selected = d.page().tiling.selected.unwrap();
            assert!(d.page().tiling.in_order().contains(&(selected, view)), "{}: {}", lab.id, step.title);
            for (key, value) in &step.does.set {
                let shown = d.page().config.get(key);
                let is_set = match value.as_float() {
                    Some(number) => shown.and_then(Value::as_f64) == Some(number),
                    None => shown == Some(&Value::from_toml(value.clone())),
                };
                let waits = d.page().lesson.waiting.contains_key(key);
                assert!(key == "seed" || is_set || waits, "{}: {key} {shown:?}", step.title);
            }
            if let Some(chart) = step.does.predict.as_ref().and_then(|p| p.chart.clone()) {
                click(&mut d, "Draw it");
                let canvas = d.harness.query_by_role_and_label(Role::Canvas, &chart);
                assert!(canvas.is_some(), "{}: {}: there is no chart {chart}", lab.id, step.title);
            }
        }
    }
}

#[test]
fn an_answer_is_not_shown_before_a_guess() {
    let mut d = open(Opening::Lesson(link("traces", 2)));
    d.steps(6);
    assert!(d.shows("First guess: ") && !d.shows("the trace holds both together"));
    assert!(!d.shows("Check: "), "a control that is set is not a finding");
    guess(&mut d, "they are");
    assert_eq!(d.page().lesson.written[&1], "they are");
    assert!(d.shows("Your guess: they are") && d.shows("the trace holds both together") && !d.shows("First guess: "));
    click(&mut d, "Clear");
    assert!(d.shows("First guess: ") && !d.shows("the trace holds both together"));
    click(&mut d, "Show the answer");
    assert!(d.shows("the trace holds both together"));
}

/// Types a guess and confirms it.
fn guess(d: &mut Desktop, words: &str) {
    d.harness.get_by_role_and_label(Role::TextInput, "your guess").focus();
    d.steps(2);
    d.harness.get_by_role_and_label(Role::TextInput, "your guess").type_text(words);
    d.steps(2);
    d.press(Key::Enter);
    d.steps(3);
}

#[test]
fn a_setting_that_shows_the_answer_waits_for_a_guess() {
    let mut d = open(Opening::Lesson(link("ode_flow", 2)));
    let u0 = |d: &Desktop| d.page().config.get("control.u0").and_then(Value::as_f64);
    assert_eq!(u0(&d), Some(0.0));
    assert!(d.shows("Once you have guessed, the step sets Control u₀ = 0.5."));
    guess(&mut d, "as at 0");
    assert_eq!(u0(&d), Some(0.5));
    assert!(!d.shows("Once you have guessed"));
    // the guess is remembered: when the step is opened again, its settings apply at once
    click(&mut d, "Step 1: First the language, then the wind");
    assert_eq!(u0(&d), Some(0.0));
    click(&mut d, "Step 2: Does it jump, or slide?");
    assert_eq!(u0(&d), Some(0.5));
}

#[test]
fn a_result_that_was_there_waits_for_a_guess() {
    let mut d = open(Opening::Lesson(link("fast_slow", 2)));
    d.press(Key::Space);
    d.until("steps", |d| d.page().newest() > 155);
    d.press(Key::Space);
    d.until("paused", |d| !d.page().run.as_ref().unwrap().is_running());
    d.steps(3);
    assert!(d.shows("Check: failed at step"), "the reader has run it");
    click(&mut d, "Step 3: Back to where it began");
    d.steps(3);
    assert!(d.shows("guess first") && !d.shows("Check: failed at step"));
    click(&mut d, "Show the answer");
    assert!(d.shows("Check: it had left the band at step") && !d.shows("guess first"));
}

/// The reader did not begin such a run for the step, and its results come by themselves.
#[test]
fn a_run_that_trains_on_gives_no_answer_away() {
    let mut d = open(Opening::Lesson(link("fast_slow", 2)));
    d.press(Key::Space);
    d.until("steps", |d| d.page().newest() > 25);
    click(&mut d, "Step 3: Back to where it began");
    d.until("more steps", |d| d.page().newest() > 160);
    d.steps(3);
    assert!(d.shows("guess first") && !d.shows("it had left the band"));
    d.press(Key::Space);
    d.until("paused", |d| !d.page().run.as_ref().unwrap().is_running());
    d.steps(3);
    assert!(!d.shows("it had left the band"), "what it has made meanwhile stays hidden");
    let paused_at = d.page().newest();
    d.press(Key::Space);
    d.until("the reader's own steps", |d| d.page().newest() > paused_at);
    d.steps(3);
    assert!(d.shows("it had left the band at step"));
}

#[test]
fn a_step_goes_to_its_time_once_the_reader_has_guessed() {
    let mut stage = Stage::new(find("fast_slow").unwrap(), "gate");
    take_step(&mut stage.page, 1);
    stage.begin(30, RunState::Paused);
    take_step(&mut stage.page, 2);
    lesson::take_guess(&mut stage.page, &egui::Context::default());
    assert_eq!(stage.page.scrub, None, "the views would show the answer");
    stage.page.lesson.written.insert(2, "7".into());
    lesson::take_guess(&mut stage.page, &egui::Context::default());
    assert_eq!(stage.page.scrub, Some(20));
    stage.page.scrub = None;
    lesson::take_guess(&mut stage.page, &egui::Context::default());
    assert_eq!(stage.page.scrub, None, "it goes there once");
}

/// Otherwise the paper's number would stand where the reader is to draw.
#[test]
fn a_paper_s_number_is_not_drawn_beside_an_open_question() {
    const MARK: &str = "claim A1: paper: stays closed";
    let mut d = open(Opening::Lesson(link("fast_slow", 1)));
    d.press(Key::Space);
    d.until("steps", |d| d.page().newest() > 20);
    d.steps(3);
    assert!(d.shows(MARK), "the reader has run it");
    click(&mut d, "Draw it");
    assert!(!d.shows(MARK), "a guess is being drawn");
    click(&mut d, "Done");
    assert!(d.shows(MARK));
    d.harness.event(egui::Event::Paste("orrery:fast_slow?lesson=1&answers=hidden".into()));
    d.steps(8);
    assert!(d.page().newest() > 20 && !d.shows(MARK), "the link hides the answers");
}

#[test]
fn a_step_opens_in_sight_and_its_whole_row_is_the_button() {
    let mut d = open(Opening::Lesson(link("fast_slow", 1)));
    d.steps(6);
    let row = d.harness.get_by_label("Step 4: The past stands still").rect();
    assert!(row.width() > 200.0 && row.height() > 24.0, "{row}");
    d.harness.drag_at(row.right_center() - vec2(4.0, 0.0));
    d.harness.step();
    d.harness.drop_at(row.right_center() - vec2(4.0, 0.0));
    d.steps(8);
    assert_eq!(d.page().lesson.current, Some(3));
    let row = d.harness.get_by_label("Step 4: The past stands still").rect();
    assert!(row.top() > 40.0 && row.bottom() < 760.0, "in sight: {row}");
}

/// Opens a step of the page's lesson with a host that starts no run.
fn take_step(page: &mut Page, step: usize) {
    let mut host = StubHost(|_: &Config| Err("no run is begun".into()));
    lesson::take_step(page, step, &mut host, &egui::Context::default()).unwrap();
}

#[test]
fn a_step_is_read_and_turned_by_keys_in_presenter_mode() {
    let mut d = open(Opening::Lab("fast_slow".into()));
    d.press(Key::P);
    assert!(!d.shows("Step 1: "), "without a step the tiles have all the room");
    d.press(Key::PageUp);
    assert_eq!(d.page().lesson.current, None, "there is no step before the first");
    d.press(Key::PageDown);
    d.press(Key::PageDown);
    assert_eq!(d.page().lesson.current, Some(1));
    assert!(d.shows("First guess: ") && d.shows("Step 2: ") && !d.shows("Step 1: "), "this step alone");
    d.press(Key::PageUp);
    assert!(d.page().lesson.current == Some(0) && d.shows("Step 1: ") && !d.shows("Find a control"));
    for is_shown in [false, true] {
        d.press(Key::CloseBracket);
        assert_eq!(d.shows("Step 1: "), is_shown);
    }
    d.press(Key::P);
    assert!(d.shows("Step 1: ") && d.shows("Step 2: ") && d.shows("Inspector"), "the whole lesson");
    d.press(Key::OpenBracket);
    d.press(Key::PageDown);
    assert!(d.page().lesson.current == Some(1) && !d.shows("Find a control"), "folded controls stay folded");
}

#[test]
fn a_step_keeps_an_opened_text() {
    let lab = find("fast_slow").unwrap();
    let mut page = Page::new(lab, lab.config(None).unwrap());
    page.change("corpus.file", Value::Text("mine.txt".into()), 0.0);
    take_step(&mut page, 1);
    assert_eq!(page.config.preset, "fast_slow_needed");
    assert_eq!(page.config.get("corpus.file").unwrap().to_string(), "mine.txt");
}

#[test]
fn a_step_is_undone_at_once_and_whole() {
    let lab = find("fast_slow").unwrap();
    let mut page = Page::new(lab, lab.config(None).unwrap());
    let (config, layout) = (page.config.clone(), page.tiling.tree.clone());
    take_step(&mut page, 3);
    assert!(page.lesson.current == Some(3) && page.selection.token == Some(12) && page.config != config);
    let said = undo::step_back(&mut page, UndoKind::Undo, 1.0).unwrap();
    assert!(said.starts_with("Undid: lesson step 4"), "{said}");
    assert_eq!((page.lesson.current, page.selection.token), (None, None));
    assert!(page.config == config && page.tiling.tree == layout);
    assert_eq!(page.history.next_undo(), None);
    undo::step_back(&mut page, UndoKind::Redo, 2.0).unwrap();
    assert_eq!((page.lesson.current, page.selection.token), (Some(3), Some(12)));
}

#[test]
fn an_undone_step_says_what_a_link_locks() {
    let lab = find("traces").unwrap();
    let mut page = Page::new(lab, lab.config(None).unwrap());
    page.change("traces.alpha_fast", Value::Float(0.02), 1.0);
    page.restrictions.locked = vec!["traces".into()];
    for kind in [UndoKind::Undo, UndoKind::Redo] {
        let said = undo::step_back(&mut page, kind, 2.0).unwrap();
        assert_eq!(said, "The link locks what \u{201c}Fast\u{201d} changed.");
        assert_eq!(page.config.get("traces.alpha_fast"), Some(&Value::Float(0.02)));
    }
}

#[test]
fn a_step_says_which_of_its_controls_a_link_hides() {
    let mut d = open(Opening::Lab("traces".into()));
    d.harness.event(egui::Event::Paste("orrery:traces?lesson=1&hide=traces.alpha_fast".into()));
    d.steps(8);
    assert!(d.shows("hides \u{201c}Fast\u{201d}") && !d.shows("Only its controls"));
    assert!(!d.page().lesson.is_focused, "none of its controls is left to show");
}

#[test]
fn a_step_taken_again_as_it_stands_begins_nothing_anew() {
    let mut stage = Stage::new(find("fast_slow").unwrap(), "gate");
    take_step(&mut stage.page, 1);
    stage.begin(30, RunState::Paused);
    stage.page.lesson.draft = "half a guess".into();
    let is_seen = |page: &Page| page.lesson.has_run_since(page.mirror().unwrap());
    assert!(is_seen(&stage.page), "the run was made for this step");
    take_step(&mut stage.page, 1);
    assert!(is_seen(&stage.page) && stage.page.lesson.draft == "half a guess");
    assert_eq!(stage.page.lesson.scroll_to, Some(1), "it is scrolled to");
    stage.page.change("train.steps", Value::Int(7), 1.0);
    take_step(&mut stage.page, 1);
    assert_ne!(stage.page.config.get("train.steps"), Some(&Value::Int(7)), "what was changed is set again");
    assert_eq!(stage.page.lesson.draft, "");
}

#[test]
fn an_undone_step_leaves_neither_scrubber_nor_mark() {
    let mut stage = Stage::new(find("fast_slow").unwrap(), "gate");
    take_step(&mut stage.page, 1);
    stage.begin(30, RunState::Paused);
    stage.page.lesson.written.insert(2, "7".into());
    for before in [None, Some(7)] {
        stage.page.scrub = before;
        take_step(&mut stage.page, 2);
        assert_eq!(stage.page.scrub, Some(20));
        for (kind, scrub) in [(UndoKind::Undo, before), (UndoKind::Redo, Some(20)), (UndoKind::Undo, before)] {
            undo::step_back(&mut stage.page, kind, 1.0).unwrap();
            assert_eq!(stage.page.scrub, scrub, "{kind:?}");
        }
    }
    take_step(&mut stage.page, 4);
    assert_eq!(stage.page.scroll_to, Some("model.upsample"));
    undo::step_back(&mut stage.page, UndoKind::Undo, 2.0).unwrap();
    assert_eq!(stage.page.scroll_to, None);
}

#[test]
fn a_step_that_names_no_time_shows_the_newest() {
    let mut stage = Stage::new(find("fast_slow").unwrap(), "gate");
    take_step(&mut stage.page, 1);
    stage.begin(30, RunState::Paused);
    stage.page.lesson.written.insert(2, "7".into());
    take_step(&mut stage.page, 2);
    assert_eq!(stage.page.scrub, Some(20));
    take_step(&mut stage.page, 1);
    assert_eq!(stage.page.scrub, None);
    undo::step_back(&mut stage.page, UndoKind::Undo, 1.0).unwrap();
    assert_eq!((stage.page.lesson.current, stage.page.scrub), (Some(2), Some(20)));
    // the same step again moves the reader's time, which is a step to undo
    stage.page.scrub = Some(7);
    take_step(&mut stage.page, 2);
    assert_eq!(stage.page.scrub, Some(20));
    undo::step_back(&mut stage.page, UndoKind::Undo, 2.0).unwrap();
    assert_eq!((stage.page.lesson.current, stage.page.scrub), (Some(2), Some(7)));
}

/// Otherwise a check of one variant would stand beside a view of another that was chosen before.
#[test]
fn a_step_selects_what_it_names_and_the_variant_that_it_checks() {
    let lab = find("grammar_roles").unwrap();
    let mut page = Page::new(lab, lab.config(None).unwrap());
    (page.selection.token, page.selection.neuron) = (Some(3), Some(7));
    (page.selection.head, page.selection.layer) = (Some(1), Some("blocks.0".into()));
    let chosen = page.selection.clone();
    take_step(&mut page, 2);
    let variants = (lab.plan)(&page.config).unwrap().variants;
    let words = variants.iter().position(|variant| variant.id == "words").unwrap();
    assert!(words > 0 && page.selection.variant == words, "the check is of the words");
    assert_eq!((page.selection.token, page.selection.neuron), (None, None));
    assert_eq!((page.selection.head, page.selection.layer.as_deref()), (None, None));
    undo::step_back(&mut page, UndoKind::Undo, 1.0).unwrap();
    assert_eq!(page.selection, chosen);
    page.selection.variant = words;
    take_step(&mut page, 0);
    assert_eq!(page.selection.variant, 0, "this step checks no variant");
}

#[test]
fn a_step_about_random_weights_does_not_judge_an_opened_model() {
    for file in ["", "mine.pt"] {
        let mut d = open(Opening::Config(config_with("trained_bdh", None, &[("model.checkpoint", file)])));
        d.harness.event(egui::Event::Paste("orrery:trained_bdh?lesson=3".into()));
        d.steps(8);
        assert_eq!(d.page().lesson.current, Some(2));
        let is_opened = !file.is_empty();
        assert_eq!(lesson::opened_model(d.page(), 2), is_opened.then_some("model.checkpoint"));
        assert_eq!(lesson::opened_model(d.page(), 3), None, "this step is about any model");
        assert_eq!(d.shows("names a trained one, which the step does not judge"), is_opened);
        assert_eq!(d.shows("Judge this one yourself"), !is_opened);
    }
}

#[test]
fn a_file_that_is_named_after_the_run_leaves_it_judged() {
    let mut stage = Stage::new(find("trained_bdh").unwrap(), "trained_bdh");
    take_step(&mut stage.page, 2);
    stage.begin(0, RunState::Finished);
    stage.page.change("model.checkpoint", Value::Text("mine.pt".into()), 1.0);
    assert_eq!(lesson::opened_model(&stage.page, 2), None, "the run has random weights");
    stage.page.run = None;
    assert_eq!(lesson::opened_model(&stage.page, 2), Some("model.checkpoint"));
}

/// Otherwise a control of an earlier step would stay: the red comparison with the wrong upsampling, for instance, would
/// stand beside the check mark of a step about the right one.
#[test]
fn a_step_puts_back_the_controls_of_its_view() {
    let lab = find("fast_slow").unwrap();
    let mut page = Page::new(lab, lab.config(None).unwrap());
    for (tile, view) in page.tiling.in_order() {
        page.tiling.views.insert(tile, (views::find(&view).unwrap().make)());
    }
    let all = page.tiling.views.len();
    take_step(&mut page, 3);
    let (tile, view) = page.tiling.in_order().into_iter().find(|(_, view)| view == "causality").unwrap();
    assert!(!page.tiling.views.contains_key(&tile), "{view} is made anew when it is next drawn");
    assert_eq!(page.tiling.views.len(), all - 1, "no other view is");
}

#[test]
fn a_lesson_opens_at_its_top() {
    let mut d = open(Opening::Lesson(link("traces", 6)));
    d.steps(30);
    d.press(Key::Escape);
    d.press(Key::Escape);
    d.steps(3);
    click(&mut d, "Open Fast-slow gate");
    d.steps(5);
    let question = d.harness.get_by_label_contains("A slow path is wired in").rect();
    assert!(question.top() > 40.0 && question.top() < 120.0, "{question}");
    assert!(question.contains(pos2(question.center().x, question.center().y)));
}
