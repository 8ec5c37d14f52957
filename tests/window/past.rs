//! Tests every view of every lab with a real model: scrubbed to an earlier step, a view shows the same as a view that
//! was opened at that step, and the weights of that step answer its questions.

use std::time::Instant;

use eframe::egui::{Context, Memory};
use orrery::{
    config::Config,
    labs::{self, LABS, Lab},
    telemetry::{Command, RunHandle, RunState},
    trainer::{self, DriveOptions},
    ui::{page::Page, questions::Questions},
};

use crate::{
    small_models::make_small,
    stub_host::StubHost,
    truth::{Words, texts_at_rest},
};

/// Starts a real run without a folder.
fn spawn(config: &Config) -> Result<RunHandle, String> {
    let lab = labs::find(&config.lab).unwrap();
    let options = DriveOptions { stay: true, ..DriveOptions::default() };
    trainer::spawn((lab.plan)(config).unwrap(), options, vec![]).map_err(|e| e.to_string())
}

const STEPS: u64 = 12;
const SMALL: &[(&str, &str)] = &[
    ("train.steps", "12"),
    ("train.batch", "3"),
    ("run.threads", "1"),
    ("run.device", "cpu"),
    ("run.eval_windows", "1"),
    ("run.eval_every", "4"),
    ("steer.language_steps", "6"),
    ("grammar.train", "40"),
    ("grammar.test", "20"),
    ("network.units", "32"),
];

/// A page of the lab with a finished run of a model that `resize` makes smaller.
fn finished(lab: &'static Lab, resize: fn(&Lab, &mut Config)) -> Page {
    let knobs = (lab.knobs)();
    let mut config = lab.config(None).unwrap();
    resize(lab, &mut config);
    for (key, value) in SMALL.iter().filter(|(key, _)| knobs.iter().any(|k| k.key == *key)) {
        config.set_text(&knobs, key, value).unwrap();
    }
    let mut page = Page::new(lab, config);
    page.launch(&mut StubHost(spawn), &Context::default());
    assert_eq!(page.problem, None);
    page.send(Command::Run).unwrap();
    wait(&mut page, |page| matches!(page.mirror().unwrap().state, Some(RunState::Finished)));
    page
}

fn wait(page: &mut Page, until: impl Fn(&mut Page) -> bool) {
    let began = Instant::now();
    while !until(page) {
        page.pump();
        assert!(began.elapsed().as_secs() < 120, "{}: nothing came", page.lab.id);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// The texts of the view once all its questions are answered, including those that it sends only after the controls
/// have been unchanged for a while.
fn settled(page: &mut Page, ctx: &Context, now: &mut f64) -> Words {
    let (mut calm, mut words) = (0, texts_at_rest(page, ctx, *now));
    // views wait at most half a second before they ask: two calm looks, 0.4 s apart, are longer
    while calm < 2 {
        page.pump();
        *now += 0.4;
        words = texts_at_rest(page, ctx, *now);
        calm = if is_asked(page, *now) { 0 } else { calm + 1 };
        // a view that was drawn meanwhile would only take the core from the model
        let at = *now;
        wait(page, |page| !is_asked(page, at));
    }
    words
}

/// True while the model has not answered all that the view asks.
fn is_asked(page: &mut Page, now: f64) -> bool {
    let keys: Vec<_> = page.asked.values().flatten().copied().collect();
    let mirror = &page.run.as_ref().unwrap().mirror;
    !page.questions.unanswered(&keys, mirror, now).is_empty()
}

/// The same as [`settled`] for a newly opened view without earlier questions. It is drawn with the fonts that `fonts`
/// has loaded; nothing else that was drawn there is remembered.
fn fresh(page: &mut Page, fonts: &Context, now: &mut f64) -> Words {
    let views = std::mem::take(&mut page.tiling.views);
    let numbers = page.questions.last_request;
    page.questions = Questions::default();
    while page.questions.last_request < numbers {
        page.questions.next_number();
    }
    fonts.memory_mut(|memory| *memory = Memory::default());
    let words = settled(page, fonts, now);
    page.tiling.views = views;
    words
}

#[test]
fn a_scrubbed_view_says_what_one_says_that_was_opened_there() {
    for lab in LABS {
        // the words do not depend on the model's size, which decides how long training and answers take
        let mut page = finished(lab, make_small);
        let (ctx, fonts, mut now) = (Context::default(), Context::default(), 1.0);
        for view in orrery::ui::views_of(Default::default(), lab.id).into_iter().filter(|v| *v != "oscillators") {
            page.tiling.show(view);
            page.tiling.maximised = page.tiling.selected;
            let at_present = settled(&mut page, &ctx, &mut now);
            for scrub in [Some(3), Some(0)] {
                page.scrub = scrub;
                let (kept, opened) = (settled(&mut page, &ctx, &mut now), fresh(&mut page, &fonts, &mut now));
                assert!(kept == opened, "{}, {view} at {scrub:?}:\n{kept:?}\n{opened:?}", lab.id);
            }
            page.scrub = None;
            let back = settled(&mut page, &ctx, &mut now);
            assert!(back == at_present, "{}, {view} at present again:\n{back:?}\n{at_present:?}", lab.id);
        }
    }
}

/// Returns the step that the subtitle names.
fn step_of(words: &Words) -> Option<u64> {
    let said = words.0.iter().find_map(|w| w.strip_prefix("step ").or_else(|| w.split(" step ").nth(1)))?;
    said.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[test]
fn a_question_at_a_step_is_answered_with_the_weights_of_that_step() {
    for (lab, views) in [
        ("fast_slow", &["causality"][..]),
        ("ode_flow", &["steer", "flow_paths", "flow_solver"]),
        ("synapses", &["reading"]),
    ] {
        let mut page = finished(labs::find(lab).unwrap(), |_, _| ());
        let (ctx, mut now) = (Context::default(), 1.0);
        for view in views {
            page.tiling.show(view);
            page.tiling.maximised = page.tiling.selected;
            let mut tables = vec![];
            for step in [STEPS, 8, 4, 0] {
                page.scrub = (step < STEPS).then_some(step);
                let words = settled(&mut page, &ctx, &mut now);
                assert_eq!(step_of(&words), Some(step), "{view}: {words:?}");
                tables.push(words.1.unwrap());
            }
            tables.sort();
            tables.dedup();
            assert!(tables.len() >= 3, "{view}: {} different answers", tables.len());
        }
    }
}
