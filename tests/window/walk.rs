//! Tests the section "One lab in five lines" of the README literally, with the real application, host, examples and a
//! real run. A second test follows the same steps with the example alone, whose numbers are the same on every
//! processor, and compares stored pictures; it needs a graphics adapter. `scripts/walk` runs both.

use std::time::Duration;

use eframe::egui::{Event, Key, Modifiers, accesskit::Role, pos2};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    cli::{host::DesktopHost, runs::Runs},
    telemetry::{Measurement, channels, measurements::Causality},
    ui::{
        app::{App, Start},
        run::Run,
    },
};

use crate::{
    adapter, pictures,
    snapshot::Comparison,
    tiles::painted,
    waiting::{looking_every, until_within},
};

/// The README promises that the gate opens within a minute on two cores; a busy machine gets more time.
const PATIENCE: Duration = Duration::from_secs(300);
/// The pause between two frames while the model trains, so that it gets the cores.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The names of the stored pictures, one for each step of the second test.
pub const PICTURES: [&str; 5] = ["walk-example", "walk-accuracy", "walk-causality", "walk-scrubbed", "walk-light"];
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
        let host = Box::new(DesktopHost::new(folder.path().to_owned(), Runs::new()).with_examples());
        let builder = Harness::builder().with_size([1280.0, 800.0]);
        let builder = if is_drawn { builder.with_step_dt(1.0 / 60.0).wgpu() } else { builder };
        let app = builder.build_eframe(move |cc| App::new(cc, host, Start::default()));
        Self { app, _folder: folder }
    }

    /// Opens the lab from the gallery, on its example.
    fn open_lab(&mut self) {
        self.app.run_steps(3);
        self.app.get_by_label("Open Fast-slow gate").click();
        let is_whole = |app: &App| app.page().and_then(|page| page.run.as_ref()).is_some_and(Run::has_ended);
        self.until("its example", |app| (is_example(app) && is_whole(app)).then_some(()));
        self.app.run_steps(4);
    }

    /// Compares the rendered window with a stored picture, with the pointer outside the window.
    fn look(&mut self, name: &str, comparison: &mut Comparison) {
        self.app.event(Event::PointerGone);
        self.app.run_steps(REST);
        let page = self.app.state().theme().page;
        comparison.check(name, &pictures::over(page, self.app.render().expect("rendered")));
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

fn is_example(app: &App) -> bool {
    app.page().and_then(|page| page.run.as_ref()).is_some_and(Run::is_example)
}

#[test]
fn one_lab_in_five_lines_is_as_the_readme_says() {
    let mut walk = Walk::begin(false);

    // 1. The lab Fast-slow gate opens on its example, which shows the effect; Space starts a run.
    walk.open_lab();
    assert_eq!(walk.app.state().page().unwrap().config.preset, "fast_slow_needed");
    let example = |variant, channel| Walk::newest(walk.app.state(), variant, channel);
    assert!(example("coupled", channels::GATE).unwrap().abs() > 0.1, "its gate is open");
    assert!(example("coupled", channels::ACCURACY).unwrap() > 0.9);
    walk.press(Key::Space, Modifiers::NONE);
    walk.until("a run of one's own", |app| app.page()?.run.as_ref()?.is_own().then_some(()));

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
    let [example, accuracy, causality, scrubbed, light] = PICTURES;
    let (mut walk, mut comparison) = (Walk::begin(true), Comparison::default());
    walk.open_lab();
    walk.look(example, &mut comparison);
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
