//! Tests the section "One lab in five lines" of the README literally, with the real application, host, examples and a
//! real run. A second test follows the same steps with the example alone, whose numbers are the same on every
//! processor, and compares stored pictures; a third has pictures of what an example cannot answer, from runs whose questions
//! are answered by a recorded one. Both need a graphics adapter. `scripts/walk` runs all three.

use std::{cell::RefCell, rc::Rc, sync::Arc, time::Duration};

use crossbeam::channel::{Receiver, bounded};
use eframe::egui::{Event, Key, Modifiers, accesskit::Role, pos2};
use egui_kittest::{Harness, kittest::Queryable};
use image::RgbaImage;
use orrery::{
    cli::{host::DesktopHost, runs::Runs},
    config::Config,
    telemetry::{
        self, Command, Inbox, Measurement, QuestionState, RunHandle, RunInfo, RunState, StepStats, channels,
        measurements::Causality,
    },
    ui::{
        app::{App, Start},
        host::Host,
        mirror::Mirror,
        run::Run,
    },
};

use crate::{
    adapter, pictures, recorded,
    snapshot::Comparison,
    stage::recorded_answers,
    stub_host::StubHost,
    tiles::painted,
    waiting::{looking_every, until_within},
};

/// The README promises that the gate opens within a minute on two cores; a busy machine gets more time.
const PATIENCE: Duration = Duration::from_secs(300);
/// The pause between two frames while the model trains, so that it gets the cores.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The names of the stored pictures: one for each step of the second test but the first, the lab as it opens, which is a stored
/// picture of every lab; then those of the third.
pub const PICTURES: [&str; 6] =
    ["walk-accuracy", "walk-causality", "walk-scrubbed", "walk-light", "walk-edited-token", "walk-control"];
/// The number of frames after which all animations have ended.
const REST: usize = 90;

struct Walk {
    app: Harness<'static, App>,
    _folder: tempfile::TempDir,
}

impl Walk {
    /// Starts the application; it renders pictures only if `is_drawn`.
    fn begin(is_drawn: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = DesktopHost::new(folder.path().to_owned(), Runs::new()).with_examples();
        Self { app: window(Box::new(host), Start::default(), is_drawn), _folder: folder }
    }

    /// Opens the lab with this title from the gallery, on its example.
    fn open_lab(&mut self, title: &str) {
        self.app.run_steps(3);
        self.app.get_by_label(&format!("Open {title}")).click();
        let is_whole = |app: &App| app.page().and_then(|page| page.run.as_ref()).is_some_and(Run::has_ended);
        self.until("its example", |app| (is_example(app) && is_whole(app)).then_some(()));
        self.app.run_steps(4);
    }

    fn look(&mut self, name: &str, comparison: &mut Comparison) {
        look(&mut self.app, name, comparison);
    }

    fn until<R>(&mut self, what: &str, found: impl Fn(&App) -> Option<R>) -> R {
        until_within(PATIENCE, &mut self.app, what, found)
    }

    fn click(&mut self, label: &str) {
        self.app.get_by_label(label).click();
        self.app.run_steps(4);
    }

    fn press(&mut self, key: Key, modifiers: Modifiers) {
        self.app.key_press_modifiers(modifiers, key);
        self.app.run_steps(4);
    }

    fn shows(&self, words: &str) -> bool {
        self.app.query_all_by_label_contains(words).next().is_some()
    }

    /// The newest value of a curve of this variant.
    fn newest(app: &App, variant: &str, channel: &str) -> Option<f64> {
        let mirror = &app.page()?.run.as_ref()?.mirror;
        let variant = mirror.variants().iter().position(|v| v.id == variant)?;
        mirror.curve(variant, channel)?.value_at(mirror.step)
    }

    /// The answer of *Causality* for the first variant that has one.
    fn causality(app: &App) -> Option<&Causality> {
        let mirror = &app.page()?.run.as_ref()?.mirror;
        (0..mirror.variants().len()).find_map(|v| mirror.answer(v, Causality::CHANNEL)?.measurement())
    }
}

/// The window; it renders pictures only if `is_drawn`.
pub fn window(host: Box<dyn Host>, start: Start, is_drawn: bool) -> Harness<'static, App> {
    let builder = Harness::builder().with_size([1280.0, 800.0]);
    let builder = if is_drawn { builder.with_step_dt(1.0 / 60.0).wgpu() } else { builder };
    builder.build_eframe(move |cc| App::new(cc, host, start))
}

/// The rendered window after so many frames, with the pointer outside of it.
pub fn picture_after(app: &mut Harness<'_, App>, frames: usize) -> RgbaImage {
    app.event(Event::PointerGone);
    app.run_steps(frames);
    pictures::over(app.state().theme().page, app.render().expect("rendered"))
}

fn look(app: &mut Harness<'_, App>, name: &str, comparison: &mut Comparison) {
    comparison.check(name, &picture_after(app, REST));
}

/// The ends of a run that the test plays.
type Played = (Receiver<Command>, Arc<Inbox>);

/// A paused run of these settings with the curves of a recorded run.
fn played(recorded: &Mirror, config: &Config) -> (RunHandle, Played) {
    let (commands, receiver) = bounded(256);
    let inbox = Arc::<Inbox>::default();
    let info = RunInfo { lab: config.lab.clone(), config: config.clone(), ..recorded::twins_info() };
    let mut events = vec![telemetry::Event::Started(info.into())];
    for (channel, variants) in recorded.scalar_channels() {
        for variant in variants {
            for (step, value) in recorded.curve(variant, channel.as_str()).unwrap().points(0, u64::MAX) {
                let (scalars, wall_secs) = (vec![(channel.clone(), value)], step as f64 * 0.08);
                events.push(telemetry::Event::Step(StepStats { step, variant, scalars, wall_secs }));
            }
        }
    }
    events.push(telemetry::Event::State(RunState::Paused));
    inbox.deliver_recorded(events);
    (RunHandle { commands, inbox: Arc::clone(&inbox) }, (receiver, inbox))
}

fn is_example(app: &App) -> bool {
    app.page().and_then(|page| page.run.as_ref()).is_some_and(Run::is_example)
}

#[test]
fn one_lab_in_five_lines_is_as_the_readme_says() {
    let mut walk = Walk::begin(false);

    // 1. The lab Fast-slow gate opens on its example, which shows the effect; Space starts a run.
    walk.open_lab("Fast-slow gate");
    assert_eq!(walk.app.state().page().unwrap().config.preset, "fast_slow_needed");
    let example = |variant, channel| Walk::newest(walk.app.state(), variant, channel);
    assert!(example("coupled", channels::GATE).unwrap().abs() > 0.1, "its gate is open");
    assert!(example("coupled", channels::ACCURACY).unwrap() > 0.9);
    walk.press(Key::Space, Modifiers::NONE);
    walk.until("a run of the user's own", |app| app.page()?.run.as_ref()?.is_own().then_some(()));

    // 2. In the coupled model the gate opens and the accuracy rises; in the frozen one it stays closed and the accuracy
    // stays near chance.
    let accurate = |variant: &'static str| move |app: &App| Walk::newest(app, variant, channels::ACCURACY);
    let learned = |app: &App| accurate("coupled")(app).filter(|share| *share > 0.9);
    looking_every(LOOK_EVERY, PATIENCE, &mut walk.app, "the coupled model answers", learned);
    let app = walk.app.state();
    assert!(Walk::newest(app, "coupled", channels::GATE).unwrap().abs() > 0.1, "the gate is open");
    assert_eq!(Walk::newest(app, "frozen", channels::GATE).unwrap_or(0.0), 0.0, "its twin's stays shut");
    assert!(accurate("frozen")(app).unwrap() < 0.5, "the twin guesses");

    // 3. In Causality, with another token and s = 10, nothing before the change moves; with the wrong upsampling the
    // future leaks.
    walk.app.get_by_label_contains("  Causality").click();
    walk.until("the model answers", |app| Walk::causality(app).map(|_| ()));
    walk.app.run_steps(3);
    let strip = walk.app.get_all_by_label_contains("tokens: ").next().unwrap().rect();
    let at = pos2(strip.left() + 0.6 * strip.width(), strip.top() + 6.0);
    walk.app.hover_at(at);
    walk.app.drag_at(at);
    walk.app.drop_at(at);
    let position = walk.until("the token that was clicked", |app| app.page()?.selection.token);
    walk.until("its answer", |app| Walk::causality(app).filter(|c| c.position == position).map(|_| ()));
    let gate = Walk::causality(walk.app.state()).unwrap().effective_gate;
    walk.app.get_by_role_and_label(Role::Slider, "s").set_value_accesskit(10.0);
    walk.until("its answer at ten times the gate", |app| {
        Walk::causality(app).filter(|c| c.effective_gate.abs() > 5.0 * gate.abs()).map(|_| ())
    });
    let asked = Walk::causality(walk.app.state()).unwrap();
    assert_eq!(asked.before_max, 0.0, "nothing before the change moves");
    assert!(asked.delta.iter().any(|d| *d > 0.0), "the change itself is seen");
    walk.click("wrong upsample");
    let leak = walk.until("the answer with the wrong upsample", |app| {
        Walk::causality(app)?.leaky_upsample.as_ref().map(|leaky| (leaky.pool, leaky.before_max))
    });
    // a change of a block's first token cannot leak, since the block has no earlier position
    assert_eq!(leak.1 > 0.0, !position.is_multiple_of(leak.0), "token {position}: the future leaks");

    // 4. The scrubber: the views show that step while training goes on.
    let newest = walk.app.state().page().unwrap().newest();
    walk.app.get_by_role_and_label(Role::Slider, "Step shown").set_value_accesskit(50.0);
    walk.until("step 50 is shown", |app| app.page().filter(|page| page.shown_step() == 50).map(|_| ()));
    walk.app.run_steps(3);
    let says = |words: &String| words.starts_with("step 50 \u{b7} ");
    assert!(painted(&walk.app).iter().any(says), "the views say so");
    walk.until("training went on or had ended", |app| {
        let page = app.page()?;
        (page.newest() > newest || page.newest() == page.total()).then_some(())
    });

    // 5. F follows the run again, ? shows all keys, Ctrl P opens the command palette, D switches the theme.
    walk.press(Key::F, Modifiers::NONE);
    assert_eq!(walk.app.state().page().unwrap().scrub, None);
    walk.press(Key::Questionmark, Modifiers::NONE);
    assert!(walk.shows("Keys and gestures"));
    walk.press(Key::Escape, Modifiers::NONE);
    walk.press(Key::P, Modifiers::COMMAND);
    assert!(walk.app.query_by_label("Command").is_some());
    walk.press(Key::Escape, Modifiers::NONE);
    let dark = walk.app.state().theme().dark;
    walk.press(Key::D, Modifiers::NONE);
    assert_ne!(walk.app.state().theme().dark, dark);
}

#[test]
fn pictures_of_the_walk_are_as_stored() {
    if !adapter::exists() {
        return;
    }
    let [accuracy, causality, scrubbed, light, ..] = PICTURES;
    let (mut walk, mut comparison) = (Walk::begin(true), Comparison::default());
    walk.open_lab("Fast-slow gate");
    walk.app.get_by_label_contains("  Accuracy").click();
    walk.look(accuracy, &mut comparison);
    walk.app.get_by_label_contains("  Causality").click();
    walk.look(causality, &mut comparison);
    walk.app.get_by_role_and_label(Role::Slider, "Step shown").set_value_accesskit(50.0);
    walk.look(scrubbed, &mut comparison);
    assert_eq!(walk.app.state().page().unwrap().shown_step(), 50);
    walk.press(Key::F, Modifiers::NONE);
    walk.press(Key::D, Modifiers::NONE);
    walk.look(light, &mut comparison);
    assert!(is_example(walk.app.state()), "nothing was computed");
    comparison.finish();
}

/// The links select a token, whose edit the recorded answer is about, and the control that the recorded flow had.
#[test]
fn pictures_of_answers_are_as_stored() {
    if !adapter::exists() {
        return;
    }
    let recorded = Rc::new(recorded::twins());
    let runs = Rc::<RefCell<Vec<Played>>>::default();
    let (begun, curves) = (Rc::clone(&runs), Rc::clone(&recorded));
    let host = StubHost(move |config: &Config| {
        let (handle, run) = played(&curves, config);
        begun.borrow_mut().push(run);
        Ok(handle)
    });
    let (mut app, mut comparison) = (window(Box::new(host), Start::default(), true), Comparison::default());
    let [.., edited_token, control] = PICTURES;
    for (name, link) in [
        (edited_token, "orrery:fast_slow#view=causality&token=30"),
        (control, "orrery:ode_flow?control.u0=0.8&control.u1=0.2"),
    ] {
        app.event(Event::Paste(link.into()));
        // some views ask only once an answer has come
        for _ in 0..3 {
            app.run_steps(4);
            for (commands, inbox) in runs.borrow().iter() {
                for command in commands.try_iter() {
                    let Command::Measure(question) = command else { continue };
                    let samples = recorded_answers(&recorded, &question, recorded::STEPS);
                    samples.into_iter().for_each(|sample| inbox.deliver(telemetry::Event::Sample(sample)));
                    let (request, state) = (question.request, QuestionState::Answered);
                    inbox.deliver(telemetry::Event::Question { request, state });
                }
            }
        }
        look(&mut app, name, &mut comparison);
    }
    comparison.finish();
}
