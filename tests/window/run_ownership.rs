//! Tests with random actions that a run keeps the settings with which it started: it receives a live setting only from
//! a control that the user moved, or whose move was undone, while that run was on the page and had not ended.

use std::{cell::RefCell, rc::Rc};

use crossbeam::channel::{Receiver, bounded};
use eframe::egui::{Context, Event as Input};
use egui_kittest::Harness;
use orrery::{
    config::{Applies, Config, Value},
    experiments::permalink::{LinkSelection, Permalink},
    labs::{self, LABS, Lab, restrictions::Restrictions},
    telemetry::{Command, Event, Inbox, RunHandle, RunInfo, RunState, StepStats},
    ui::{
        app::{App, Start},
        mirror::Mirror,
        page::{Page, UndoKind, controls::acts_now, lesson, undo},
        run::{Run, RunOrigin},
    },
};

use crate::{recorded, stub_host::StubHost};

/// The receivers of all runs' commands, in the order in which the runs started.
type Commands = Rc<RefCell<Vec<Receiver<Command>>>>;

struct TestWindow {
    page: Page,
    commands: Commands,
    ctx: Context,
    now: f64,
    chance: u64,
    /// The panic message lists these actions of the run so far.
    done: Vec<String>,
}

/// A handle of a run after `steps` steps in `state`; its command receiver is added to `commands`.
fn handle(commands: &Commands, config: &Config, steps: u64, state: RunState) -> RunHandle {
    let (sender, receiver) = bounded(64);
    commands.borrow_mut().push(receiver);
    let inbox = std::sync::Arc::new(Inbox::default());
    let info = RunInfo { lab: config.lab.clone(), config: config.clone(), ..recorded::twins_info() };
    inbox.deliver(Event::Started(info.into()));
    if steps > 0 {
        inbox.deliver(Event::Step(StepStats { step: steps, variant: 0, scalars: vec![], wall_secs: 1.0 }));
    }
    inbox.deliver(Event::State(state));
    RunHandle { commands: sender, inbox }
}

impl TestWindow {
    fn new(lab: &'static Lab, seed: u64) -> Self {
        let page = Page::new(lab, lab.config(None).unwrap());
        let mut desk =
            Self { page, commands: Commands::default(), ctx: Context::default(), now: 0.0, chance: seed, done: vec![] };
        desk.launch();
        desk
    }

    fn below(&mut self, n: usize) -> usize {
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.chance >> 33) as usize % n
    }

    fn state(&mut self) -> (u64, RunState) {
        let steps = self.below(3) as u64 * 7;
        let states = [RunState::Paused, RunState::Running, RunState::Finished];
        (steps, states[self.below(states.len())].clone())
    }

    /// A host that refuses to start one in four runs.
    fn host(&mut self) -> StubHost<impl FnMut(&Config) -> Result<RunHandle, String> + use<>> {
        let (commands, (steps, state)) = (Rc::clone(&self.commands), self.state());
        let refuses = self.below(4) == 0;
        StubHost(move |config: &Config| match refuses {
            true => Err("the host refuses".into()),
            false => Ok(handle(&commands, config, steps, state.clone())),
        })
    }

    fn launch(&mut self) {
        let mut host = self.host();
        self.page.launch(&mut host, &self.ctx);
    }

    /// Moves one control to another valid value and returns its key.
    fn move_control(&mut self) -> Option<String> {
        let live: Vec<_> = self.page.knobs.iter().filter(|k| k.applies == Applies::Live).map(|k| k.key).collect();
        let key = live.get(self.below(live.len().max(1)))?.to_string();
        let value = match self.page.config.get(&key)? {
            Value::Float(x) => Value::Float(x * 0.5 + 1e-4),
            Value::Int(n) => Value::Int(n + 1),
            Value::Switch(is_on) => Value::Switch(!is_on),
            _ => return None,
        };
        self.page.change(&key, value, self.now);
        Some(key)
    }

    /// Performs a random action. Returns the keys that the run on the page may receive from it, and the action's
    /// description.
    fn act(&mut self) -> (Vec<String>, String) {
        self.now += 5.0;
        let lab = self.page.lab;
        match self.below(8) {
            0 => {
                let preset = lab.presets[self.below(lab.presets.len())].id;
                self.page.take_config(lab.config(Some(preset)).unwrap(), self.now);
                self.launch();
                (vec![], format!("preset {preset}"))
            }
            1 => {
                let step = self.below(self.page.lesson.lesson.steps.len().max(1));
                let mut host = self.host();
                let _ = lesson::take_step(&mut self.page, step, &mut host, &self.ctx);
                (vec![], format!("lesson step {step}"))
            }
            2 => {
                // opens a config in the same way as a link or a file
                let mut config = lab.config(None).unwrap();
                config.seed = self.below(5) as u64;
                let knob = self.page.knobs.iter().find(|k| k.applies == Applies::Live);
                if let Some((key, Value::Float(x))) = knob.and_then(|k| Some((k.key, config.get(k.key)?.clone()))) {
                    config.set(&self.page.knobs, key, Value::Float(x * 0.75)).unwrap();
                }
                self.page.take_everything(config, None, "link".into(), self.now);
                self.launch();
                (vec![], "link".into())
            }
            3 => {
                let (before, kind) = (self.page.config.clone(), [UndoKind::Undo, UndoKind::Redo][self.below(2)]);
                let said = undo::step_back(&mut self.page, kind, self.now).unwrap_or_default();
                let is_control = ["preset", "lesson", "link", "replayed", "opened"].iter().all(|w| !said.contains(w));
                let keys = if is_control { self.page.config.changed_keys(&before) } else { vec![] };
                (keys, said)
            }
            4 => {
                self.launch();
                (vec![], "reset".into())
            }
            5 => {
                let (config, (steps, state)) = (lab.config(None).unwrap(), self.state());
                let handle = handle(&self.commands, &config, steps, state);
                let run = Run::new(handle, Mirror::default(), RunOrigin::Folder("runs/1".into()), &self.ctx);
                self.page.replay(run);
                (vec![], "replay".into())
            }
            _ => {
                let key = self.move_control();
                (key.iter().cloned().collect(), format!("control {key:?}"))
            }
        }
    }

    /// Performs a random action and compares the settings that each run received with the permitted ones. Returns how
    /// many were received.
    fn step(&mut self) -> usize {
        let on_page = self.page.run.is_some().then(|| self.commands.borrow().len().saturating_sub(1));
        // a run without a step is a model that was opened to be asked
        let may_change = self.page.run.as_ref().is_some_and(|run| !run.has_ended() || run.is_untouched());
        let (may, words) = self.act();
        self.done.push(words);
        self.page.pump();
        let mut received = 0;
        for (i, commands) in self.commands.borrow().iter().enumerate() {
            for command in commands.try_iter() {
                let Command::Set { key, .. } = command else { continue };
                received += 1;
                let is_named = Some(i) == on_page && may_change && may.contains(&key);
                let last = &self.done[self.done.len().saturating_sub(6)..];
                assert!(is_named, "{}: run {i} received {key} after {last:?}", self.page.lab.id);
            }
        }
        received
    }
}

/// The environment variable `ORRERY_ACTIONS` sets the number of random actions.
#[test]
fn a_run_receives_only_changes_of_its_own_controls() {
    let actions: usize = std::env::var("ORRERY_ACTIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(1000);
    for (i, lab) in LABS.iter().enumerate() {
        let mut desk = TestWindow::new(lab, i as u64 + 3);
        let received: usize = (0..actions.div_ceil(LABS.len())).map(|_| desk.step()).sum();
        let has_live = desk.page.knobs.iter().any(|k| k.applies == Applies::Live);
        assert!(received > 0 || !has_live, "{}: no control reached its run", lab.id);
    }
}

#[test]
fn a_preset_leaves_a_finished_run_as_it_was() {
    let lab = LABS[0];
    let mut desk = TestWindow::new(lab, 1);
    let finished = handle(&desk.commands, &lab.config(None).unwrap(), 12, RunState::Finished);
    desk.page.replay(Run::new(finished, Mirror::default(), RunOrigin::Folder("runs/1".into()), &desk.ctx));
    desk.page.pump();
    let mut refusing = StubHost(|_: &Config| Err("the host refuses".to_owned()));
    let of_run = lab.config(None).unwrap();
    let others = lab.presets.iter().map(|p| lab.config(Some(p.id)).unwrap()).filter(|config| *config != of_run);
    for config in others {
        desk.page.take_config(config, 1.0);
        desk.page.launch(&mut refusing, &desk.ctx);
        desk.move_control();
    }
    let commands: Vec<Command> = desk.commands.borrow().iter().flat_map(|c| c.try_iter().collect::<Vec<_>>()).collect();
    assert!(commands.is_empty(), "{commands:?}");
}

const LR: &str = "train.lr";

/// The live settings that the runs have received since the last call.
fn received(commands: &Commands) -> Vec<Value> {
    let take = |receiver: &Receiver<Command>| receiver.try_iter().collect::<Vec<_>>();
    let all: Vec<Command> = commands.borrow().iter().flat_map(take).collect();
    all.into_iter().filter_map(|c| if let Command::Set { value, .. } = c { Some(value) } else { None }).collect()
}

#[test]
fn controls_of_a_replay_are_those_it_goes_on_with() {
    let lab = LABS[0];
    let mut desk = TestWindow::new(lab, 1);
    let config = lab.config(None).unwrap();
    let at_first = config.get(LR).cloned().unwrap();
    let replayed = handle(&desk.commands, &config, 12, RunState::Paused);
    let inbox = std::sync::Arc::clone(&replayed.inbox);
    desk.page.replay(Run::new(replayed, Mirror::default(), RunOrigin::Folder("runs/1".into()), &desk.ctx));
    desk.page.pump();
    assert_eq!(desk.page.config.get(LR), Some(&at_first));
    // a resumed run starts at its last checkpoint, so that changes recorded after it do not count
    let change = |value: f64| Event::Changed { step: 12, key: LR.into(), value: Value::Float(value) };
    inbox.deliver_recorded(vec![change(9e-3), Event::Checkpoint { step: 12 }, change(8e-3)]);
    desk.page.pump();
    assert_eq!(desk.page.config.get(LR), Some(&Value::Float(9e-3)));
    assert!(desk.page.pending().is_empty());
    received(&desk.commands);
    desk.page.change(LR, at_first.clone(), 1.0);
    assert_eq!(received(&desk.commands), [at_first], "the run is told to go back");
}

#[test]
fn a_control_moved_in_a_replay_stays_where_it_was_moved_to() {
    let lab = LABS[0];
    let mut desk = TestWindow::new(lab, 1);
    let replayed = handle(&desk.commands, &lab.config(None).unwrap(), 12, RunState::Paused);
    let inbox = std::sync::Arc::clone(&replayed.inbox);
    desk.page.replay(Run::new(replayed, Mirror::default(), RunOrigin::Folder("runs/1".into()), &desk.ctx));
    desk.page.pump();
    desk.page.change(LR, Value::Float(7e-3), 1.0);
    let change = Event::Changed { step: 12, key: LR.into(), value: Value::Float(9e-3) };
    inbox.deliver_recorded(vec![change, Event::Checkpoint { step: 12 }]);
    desk.page.pump();
    assert_eq!(desk.page.config.get(LR), Some(&Value::Float(7e-3)));
    assert!(desk.page.pending().is_empty(), "the run has it too");
}

/// What it was trained with is settled, whatever a control, an undo or a redo says afterwards.
#[test]
fn a_run_that_has_ended_takes_no_change() {
    let lab = LABS[0];
    let failed = RunState::Failed { message: "the loss is not a number".into() };
    for (state, is_replayed) in
        [RunState::Finished, RunState::Stopped, failed].into_iter().flat_map(|s| [(s.clone(), false), (s, true)])
    {
        let mut desk = TestWindow::new(lab, 1);
        let ended = handle(&desk.commands, &lab.config(None).unwrap(), 12, state.clone());
        if is_replayed {
            desk.page.replay(Run::new(ended, Mirror::default(), RunOrigin::Folder("runs/1".into()), &desk.ctx));
        } else {
            let mut ended = Some(ended);
            let mut host = StubHost(move |_: &Config| ended.take().ok_or_else(|| "it begins one run".to_owned()));
            desk.page.launch(&mut host, &desk.ctx);
        }
        desk.page.pump();
        received(&desk.commands);
        desk.page.change(LR, Value::Float(5e-3), 1.0);
        assert_eq!(desk.page.pending(), [LR], "{state:?}: it waits for the next run");
        let rate = desk.page.knobs.iter().find(|knob| knob.key == LR).unwrap();
        assert!(!acts_now(&desk.page, rate), "{state:?}");
        for (kind, waits) in [(UndoKind::Undo, false), (UndoKind::Redo, true)] {
            undo::step_back(&mut desk.page, kind, 9.0).unwrap();
            assert_eq!(desk.page.pending().is_empty(), !waits, "{state:?}, {kind:?}");
        }
        desk.page.pump();
        assert!(received(&desk.commands).is_empty(), "{state:?}");
        assert!(desk.page.mirror().unwrap().changes.is_empty(), "{state:?}: no chart marks a change");
    }
}

/// A run may finish while a slider is dragged.
#[test]
fn a_change_sent_after_the_last_step_waits_for_the_next_run() {
    let lab = LABS[0];
    for is_taken in [true, false] {
        let mut desk = TestWindow::new(lab, 1);
        let running = handle(&desk.commands, &lab.config(None).unwrap(), 12, RunState::Running);
        let (inbox, mut running) = (std::sync::Arc::clone(&running.inbox), Some(running));
        let mut host = StubHost(move |_: &Config| running.take().ok_or_else(|| "it begins one run".to_owned()));
        desk.page.launch(&mut host, &desk.ctx);
        desk.page.pump();
        desk.page.change(LR, Value::Float(5e-3), 1.0);
        assert_eq!(received(&desk.commands), [Value::Float(5e-3)]);
        if is_taken {
            inbox.deliver(Event::Changed { step: 12, key: LR.into(), value: Value::Float(5e-3) });
        }
        inbox.deliver(Event::State(RunState::Finished));
        desk.page.pump();
        assert_eq!(desk.page.pending().is_empty(), is_taken, "{:?}", desk.page.pending());
    }
}

/// Until the new run sends its first event, the page still holds events of the previous run, which must not count as
/// those of the new one. The new run has no steps to lose, so a redo keeps it.
#[test]
fn a_run_that_is_still_prepared_is_redone_as_it_is() {
    let lab = LABS[0];
    let mut desk = TestWindow::new(lab, 1);
    let commands = Rc::clone(&desk.commands);
    let mut host = StubHost(move |config: &Config| {
        let handle = handle(&commands, config, 12, RunState::Paused);
        handle.inbox.deliver(Event::Folder("runs/1".into()));
        Ok(handle)
    });
    desk.page.launch(&mut host, &desk.ctx);
    desk.page.pump();
    assert!(desk.page.recorded_folder().is_some());
    let mut silent = StubHost(|_: &Config| Ok(RunHandle { commands: bounded(1).0, inbox: Default::default() }));
    desk.page.take_config(lab.config(Some(lab.presets[1].id)).unwrap(), 1.0);
    desk.page.launch(&mut silent, &desk.ctx);
    assert_eq!(desk.page.recorded_folder(), None, "nothing of the new run is recorded");
    let (before, new) = ("The previous run is opened again.", "The run on the page stays.");
    // without a window nothing opens the requested runs, so each undo step must know the run that the step before it
    // restores
    for (kind, brings) in [(UndoKind::Undo, before), (UndoKind::Redo, new), (UndoKind::Undo, before)] {
        let said = undo::step_back(&mut desk.page, kind, 2.0).unwrap();
        assert!(said.contains(brings), "{kind:?}: {said}");
    }
}

#[test]
fn a_setting_read_only_by_views_does_not_detach_controls_from_the_run() {
    let lab = labs::find("ode_flow").unwrap();
    let mut desk = TestWindow::new(lab, 1);
    let commands = Rc::clone(&desk.commands);
    let mut host = StubHost(move |config: &Config| Ok(handle(&commands, config, 7, RunState::Paused)));
    desk.page.launch(&mut host, &desk.ctx);
    desk.page.pump();
    let runs = desk.commands.borrow().len();
    desk.page.lesson.written.insert(1, "between".to_owned());
    lesson::take_step(&mut desk.page, 1, &mut host, &desk.ctx).unwrap();
    assert_eq!(desk.page.config.get("control.u0"), Some(&Value::Float(0.5)));
    assert_eq!(desk.commands.borrow().len(), runs, "the step begins no run");
    assert!(desk.page.reaches_run());
    received(&desk.commands);
    desk.page.change(LR, Value::Float(5e-3), 1.0);
    assert_eq!(received(&desk.commands), [Value::Float(5e-3)]);
}

#[test]
fn a_later_lesson_step_sends_no_change_to_an_earlier_run() {
    let lab = LABS[0];
    let mut desk = TestWindow::new(lab, 1);
    let commands = Rc::clone(&desk.commands);
    let mut host = StubHost(move |config: &Config| Ok(handle(&commands, config, 7, RunState::Paused)));
    lesson::take_step(&mut desk.page, 1, &mut host, &desk.ctx).unwrap();
    desk.page.pump();
    let runs = desk.commands.borrow().len();
    desk.page.change(LR, Value::Float(5e-3), 1.0);
    assert_eq!(received(&desk.commands), [Value::Float(5e-3)]);
    // the lesson's step has the same settings as the run, except for the moved one
    lesson::take_step(&mut desk.page, 2, &mut host, &desk.ctx).unwrap();
    assert!(received(&desk.commands).is_empty(), "the run keeps what its control said");
    assert_eq!(desk.commands.borrow().len(), runs + 1, "the step begins a run of its own");
}

/// The window reads a pasted link, opens its lab and begins its run. The second link of a lab has other live settings, which
/// the run of the first one must not receive.
#[test]
fn a_pasted_link_changes_no_earlier_run() {
    let commands = Commands::default();
    let begun = Rc::clone(&commands);
    let host = StubHost(move |config: &Config| Ok(handle(&begun, config, 7, RunState::Paused)));
    let builder = Harness::builder().with_size([1280.0, 800.0]);
    let mut app = builder.build_eframe(move |cc| App::new(cc, Box::new(host), Start::default()));
    for lab in LABS {
        let (first, knobs) = (lab.config(None).unwrap(), (lab.knobs)());
        let mut second = first.clone();
        for knob in knobs.iter().filter(|k| k.applies == Applies::Live) {
            if let Some(Value::Float(x)) = first.get(knob.key) {
                // a setting that may not be smaller stays
                let _ = second.set(&knobs, knob.key, Value::Float(x * 0.75));
            }
        }
        for (config, views) in [(first, vec![]), (second, vec![lab.panes[0].view.to_owned()])] {
            let (restrictions, selection) = (Restrictions::default(), LinkSelection::default());
            let link = Permalink { config: config.clone(), restrictions, step: None, views, selection };
            app.event(Input::Paste(link.to_string()));
            app.run_steps(2);
            assert_eq!(app.state().page().map(|page| &page.config), Some(&config), "{}", lab.id);
        }
        let values = received(&commands);
        assert!(values.is_empty(), "{}: {values:?}", lab.id);
    }
    assert!(commands.borrow().len() > LABS.len(), "each link begins a run");
}
