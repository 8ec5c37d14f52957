//! Checks that a view shows the current run, step and selection: after any sequence of actions on a page, it shows the
//! same as a newly opened view.

use crossbeam::channel::bounded;
use eframe::egui::{
    self, Context, Memory, RawInput, Rect,
    accesskit::{Node, NodeId},
    pos2, vec2,
};
use orrery::{
    config::Config,
    experiments::short_number::short,
    labs::{LABS, Lab},
    telemetry::{Channel, Command, Event, Inbox, RunHandle, RunInfo, RunState, StepStats, channels},
    ui::{
        action::{Action, Actions, RunAction},
        host::Host,
        lists::Lists,
        mirror::Mirror,
        page::{Page, UndoKind, play, undo},
        panels::{Shell, inspector::right_panel_ui, tiles::tiles_ui},
        run::{Run, RunOrigin},
        session::{Session, Tab},
        theme::{self, Theme},
        views::{VIEWS, ViewCx},
        views_of,
    },
};

use crate::{recorded, stub_host::StubHost, tessellation::view_ids, tiles::words};

/// The view whose animation has its own clock, so that its content depends on when it was opened.
const HAS_A_CLOCK: &[&str] = &["oscillators"];

/// The view that keeps its scroll position, for instance at a selected neuron. Its exported table is compared instead
/// of the visible texts.
const IS_SCROLLED: &[&str] = &["graph_table"];

/// Starts a run whose curves differ from those of every other run; `begun` is the number of earlier runs.
fn begin(begun: u64, config: &Config) -> RunHandle {
    let (commands, _) = bounded(1);
    let inbox = std::sync::Arc::new(Inbox::default());
    let info = RunInfo { lab: config.lab.clone(), config: config.clone(), ..recorded::twins_info() };
    inbox.deliver(Event::Started(info.into()));
    let mut noise = recorded::Noise::new(begun);
    for step in 1..=(60 + 40 * (begun % 3)) {
        for variant in 0..3 {
            let names = [channels::LOSS_TRAIN, channels::LOSS_HELD_OUT, channels::GATE, channels::GATE_GRAD];
            let scalars = names.map(|name| (Channel::new(name), 3.0 + noise.next())).to_vec();
            inbox.deliver(Event::Step(StepStats { step, variant, scalars, wall_secs: step as f64 }));
        }
    }
    inbox.deliver(Event::State(RunState::Paused));
    RunHandle { commands, inbox }
}

struct TestWindow {
    page: Page,
    host: Box<dyn Host>,
    ctx: Context,
    /// The context that draws newly opened views: it keeps the fonts and no other state.
    fresh: Context,
    now: f64,
    chance: u64,
    said: Vec<String>,
}

/// The content of one view: its title, texts and table.
pub type Words = (Vec<String>, Option<String>);

impl TestWindow {
    fn new(lab: &'static Lab, seed: u64) -> Self {
        let page = Page::new(lab, lab.config(None).unwrap());
        let mut begun = 0;
        let host = Box::new(StubHost(move |config: &Config| {
            begun += 1;
            Ok(begin(begun, config))
        }));
        let (ctx, fresh) = (Context::default(), Context::default());
        Self { page, host, ctx, fresh, now: 0.0, chance: seed, said: vec![] }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.chance >> 33) % n
    }

    fn replay(&mut self, mirror: Mirror) {
        let (commands, _) = bounded(1);
        let handle = RunHandle { commands, inbox: Default::default() };
        let run = Run::new(handle, mirror, RunOrigin::Folder("runs/1".into()), &self.ctx);
        self.page.replay(run);
    }

    /// Replays one of two runs: recorded ones with many measurements if the lab has them, else small ones.
    fn replay_either(&mut self, first: bool) {
        let lab = self.page.lab;
        let mirror = match (lab.id == LABS[0].id, first) {
            (true, true) => recorded::twins(),
            (true, false) => recorded::seeds(),
            (false, _) => {
                let mut mirror = Mirror::default();
                let run = begin(if first { 7 } else { 8 }, &lab.config(None).unwrap());
                run.inbox.take().into_iter().for_each(|event| mirror.apply(event));
                mirror
            }
        };
        self.replay(mirror);
    }

    fn show(&mut self, view: &str) {
        self.page.tiling.show(view);
        self.page.tiling.maximised = self.page.tiling.selected;
    }

    fn act(&mut self) {
        let n = self.below(13);
        let words = match n {
            0 => (self.replay_either(true), "replay").1,
            1 => (self.replay_either(false), "replay of another").1,
            2 => (self.page.launch(self.host.as_mut(), &self.ctx), "reset").1,
            3 => {
                let presets = self.page.lab.presets;
                let preset = presets[self.below(presets.len() as u64) as usize].id;
                self.page.take_config(self.page.lab.config(Some(preset)).unwrap(), self.now);
                self.page.launch(self.host.as_mut(), &self.ctx);
                "preset"
            }
            4 | 5 => {
                let newest = self.page.newest();
                self.page.scrub = Some(self.below(newest + 1));
                "scrub"
            }
            6 => {
                self.page.scrub = None;
                "follow"
            }
            7 => {
                if let Some(id) = self.page.tiling.selected {
                    self.page.tiling.close(id);
                }
                "close"
            }
            11 => {
                // plays for a moment, then pauses
                let _ = play::play_or_pause(&mut self.page, self.now);
                play::advance_play(&mut self.page, self.now + 0.4, false);
                self.page.play.stop();
                "play"
            }
            8 => (undo::step_back(&mut self.page, UndoKind::Undo, self.now), "undo").1,
            9 => (undo::step_back(&mut self.page, UndoKind::Redo, self.now), "redo").1,
            10 => {
                self.page.selection.variant = self.below(3) as usize;
                self.page.selection.token = Some(self.below(40) as usize).filter(|t| *t > 3);
                "variant and token"
            }
            _ => {
                let neuron = self.below(500) as u32 * 4;
                self.page.selection.neuron = Some(neuron).filter(|n| *n > 400);
                "neuron"
            }
        };
        self.page.pump();
        self.now += 1.0;
        self.said.push(format!("{words} (step {} of {})", self.page.shown_step(), self.page.newest()));
    }

    /// The content of the maximised tile after a few frames.
    fn words(&mut self, ctx: &Context) -> Words {
        texts_at_rest(&mut self.page, ctx, self.now)
    }

    fn compare(&mut self, view: &str) {
        self.show(view);
        let ctx = self.ctx.clone();
        let kept = self.words(&ctx);
        let views = std::mem::take(&mut self.page.tiling.views);
        let ctx = self.fresh.clone();
        ctx.memory_mut(|memory| *memory = Memory::default());
        let fresh = self.words(&ctx);
        self.page.tiling.views = views;
        let words_differ = !IS_SCROLLED.contains(&view) && kept.0 != fresh.0;
        if words_differ || kept.1 != fresh.1 {
            let differs = kept.0.iter().zip(&fresh.0).find(|(a, b)| a != b);
            let last = self.said.iter().rev().take(8).rev().cloned().collect::<Vec<_>>().join(", ");
            let lines =
                |t: &Option<String>| t.clone().unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>();
            let (a, b) = (lines(&kept.1), lines(&fresh.1));
            let row = a.iter().zip(&b).find(|(a, b)| a != b);
            let counts = (kept.0.len(), fresh.0.len(), a.len(), b.len());
            let lab = self.page.lab.id;
            panic!("{lab}: {view} says other than one opened now: {differs:?}, row {row:?}, {counts:?}, after {last}");
        }
    }
}

/// Returns texts and table of a page's maximised tile after a few frames, and sends the questions it asks to the run.
pub fn texts_at_rest(page: &mut Page, ctx: &Context, now: f64) -> Words {
    let mut texts = vec![];
    for _ in 0..3 {
        texts = frame(page, ctx, now, vec![]).texts;
    }
    (texts, table(page, &Theme::dark()))
}

/// The content that one frame drew.
pub struct Frame {
    pub texts: Vec<String>,
    /// The accessible nodes; empty unless `Context::enable_accesskit` was called.
    pub widgets: Vec<(NodeId, Node)>,
    /// The changes of settings that the view requests, which are not carried out.
    pub changes: Vec<String>,
}

/// Draws one frame of a page's maximised tile with these input events. Questions that it requests are sent to the run.
pub fn frame(page: &mut Page, ctx: &Context, now: f64, events: Vec<egui::Event>) -> Frame {
    let (theme, mut session) = (Theme::dark(), Session { still: true, ..Session::default() });
    let (mut actions, devices) = (Actions::default(), vec![]);
    let screen_rect = Some(Rect::from_min_size(pos2(0.0, 0.0), vec2(900.0, 640.0)));
    let input = RawInput { screen_rect, time: Some(now), events, ..RawInput::default() };
    let out = ctx.run_ui(input, |ui| {
        theme::apply(&theme, true, ui.ctx());
        let mut shell = Shell {
            theme: &theme,
            session: &mut session,
            lists: Lists::default(),
            actions: &mut actions,
            devices: &devices,
            trash: &[],
            now,
        };
        tiles_ui(ui, &mut shell, page);
    });
    for action in actions.iter() {
        if let Action::Run(RunAction::Ask(question)) = action {
            // a stub run answers no questions
            let _ = page.send(Command::Measure(question.clone()));
        }
    }
    let changes = actions.changes().map(|(key, _)| key.to_owned()).collect();
    let texts = words(&out.shapes);
    let widgets = out.platform_output.accesskit_update.as_ref().map_or(vec![], |update| update.nodes.clone());
    out.drop_without_applying_deltas();
    Frame { texts, widgets, changes }
}

fn table(page: &mut Page, theme: &Theme) -> Option<String> {
    let nothing = Mirror::default();
    let (step, follow) = (page.shown_step(), page.scrub.is_none());
    let view = page.tiling.views.get(&page.tiling.maximised?)?;
    let cx = ViewCx {
        mirror: page.run.as_ref().map_or(&nothing, |r| &r.mirror),
        step,
        follow,
        config: &page.config,
        knobs: &page.knobs,
        preset: &page.preset,
        restrictions: &page.restrictions,
        theme,
        selection: &mut page.selection,
        actions: &mut Actions::default(),
        questions: &mut page.questions,
        all_views: VIEWS,
        still: true,
        has_controls: true,
    };
    view.csv(&cx)
}

/// Performs the number of random actions in `ORRERY_ACTIONS`, divided among the labs, with a thread for each.
#[test]
fn every_view_says_what_one_opened_now_says_after_random_actions() {
    let actions: usize = std::env::var("ORRERY_ACTIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(500);
    let of_each = actions.div_ceil(LABS.len());
    std::thread::scope(|scope| {
        for (i, lab) in LABS.iter().enumerate() {
            scope.spawn(move || compare_after_random_actions(lab, i as u64 + 11, of_each));
        }
    });
}

fn compare_after_random_actions(lab: &'static Lab, seed: u64, actions: usize) {
    let has_no_clock = |id: &&str| !HAS_A_CLOCK.contains(id);
    let views: Vec<&str> = view_ids().into_iter().filter(has_no_clock).collect();
    // the lab's own views are chosen often, so that they stay open through many actions
    let own: Vec<&str> = views_of(Lists::default(), lab.id).into_iter().filter(has_no_clock).collect();
    let mut desk = TestWindow::new(lab, seed);
    for _ in 0..actions {
        desk.act();
        let of = if desk.below(2) == 0 { &own } else { &views };
        let view = of[desk.below(of.len() as u64) as usize];
        desk.compare(view);
    }
}

#[test]
fn a_smoothed_curve_of_a_former_run_is_not_shown_for_a_new_one() {
    for view in ["losses", "loss_difference", "gate"] {
        let mut desk = TestWindow::new(LABS[0], 1);
        desk.replay(recorded::twins());
        desk.compare(view);
        desk.replay(recorded::seeds());
        desk.compare(view);
        for _ in 0..3 {
            desk.page.launch(desk.host.as_mut(), &desk.ctx);
            desk.page.pump();
            desk.compare(view);
        }
    }
}

#[test]
fn accuracy_does_not_point_to_the_preset_that_is_chosen() {
    let mut desk = TestWindow::new(LABS[0], 1);
    for (preset, asks) in [("fast_slow", false), ("fast_slow_needed", true), ("fast_slow_story", true)] {
        desk.page.take_config(desk.page.lab.config(Some(preset)).unwrap(), 0.0);
        desk.show("accuracy");
        let all = desk.words(&Context::default()).0.join(" ");
        assert_eq!(all.contains("No accuracy yet"), asks, "{preset}: {all}");
        assert_eq!(all.contains("\u{201c}Needed\u{201d}"), !asks, "{preset}: {all}");
    }
}

#[test]
fn a_measurement_of_a_later_step_is_not_shown_for_an_earlier_one() {
    let mut desk = TestWindow::new(LABS[0], 1);
    desk.replay(recorded::twins());
    desk.page.selection.neuron = Some(1897);
    desk.page.scrub = Some(65);
    desk.show("graph_neuron");
    let (texts, _) = desk.words(&Context::default());
    let all = texts.join("\n");
    assert!(all.contains("Of neuron 14:105 nothing was measured by step 65"), "{all}");
}

/// The texts of the inspector, in the order in which they are drawn; it is wide and high enough for a row a channel.
fn inspector(page: &mut Page, ctx: &Context) -> Vec<String> {
    let (theme, mut session) = (Theme::dark(), Session { tab: Tab::Inspector, ..Session::default() });
    let (mut actions, mut texts) = (Actions::default(), vec![]);
    for _ in 0..3 {
        let screen_rect = Some(Rect::from_min_size(pos2(0.0, 0.0), vec2(900.0, 3000.0)));
        let out = ctx.run_ui(RawInput { screen_rect, ..RawInput::default() }, |ui| {
            theme::apply(&theme, true, ui.ctx());
            let (session, actions, lists) = (&mut session, &mut actions, Lists::default());
            let mut shell = Shell { theme: &theme, session, lists, actions, devices: &[], trash: &[], now: 0.0 };
            right_panel_ui(ui, &mut shell, page);
        });
        texts = words(&out.shapes);
        out.drop_without_applying_deltas();
    }
    texts
}

/// A row of the inspector names the step of its values, or of each of them, where it is not the one shown.
#[test]
fn the_inspector_names_the_steps_of_its_values() {
    let (mut desk, ctx) = (TestWindow::new(LABS[0], 1), Context::default());
    desk.replay(recorded::twins());
    for shown in [1, 24, 65, recorded::STEPS] {
        desk.page.scrub = Some(shown);
        let texts = inspector(&mut desk.page, &ctx);
        let mirror = desk.page.mirror().unwrap();
        for channel in mirror.scalar_channels().keys() {
            let rest = |text: &'_ str| text.strip_prefix(channel.as_str()).map(str::to_owned);
            let is_row = |text: &String| rest(text).is_some_and(|rest| rest.is_empty() || rest.starts_with(" (step"));
            let row = texts.iter().position(is_row).unwrap_or_else(|| panic!("{channel}: {texts:?}"));
            let label = rest(&texts[row]).unwrap();
            let named = label.trim_matches(|c: char| !c.is_ascii_digit() && c != '\u{2013}').split(", ");
            let named: Vec<Option<u64>> = named.filter(|s| !s.is_empty()).map(|s| s.parse().ok()).collect();
            for v in 0..mirror.variants().len() {
                let step = named.get(v).or(named.first()).copied().unwrap_or(Some(shown));
                let curve = mirror.curve(v, channel.as_str());
                let point = curve.zip(step).and_then(|(curve, step)| curve.points(step, step).next());
                let text = texts[row + 1 + v].trim();
                let is_value = point.map_or(text == "\u{2013}", |(_, value)| {
                    let is_near = |read: f64| (read - value).abs() <= 6e-4 * value.abs();
                    text == short(value) || text.parse().is_ok_and(is_near)
                });
                assert!(is_value, "{channel} of variant {v} at {shown}: {} {text}, not {point:?}", texts[row]);
            }
        }
    }
}
