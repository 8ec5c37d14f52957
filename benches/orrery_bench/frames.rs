//! `orrery-bench --frames LAB`: what the frames of the window cost while a run trains and a hand drags, and what the run
//! loses by being looked at. It opens the window and moves the pointer itself; it needs a display but no user.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, mpsc},
    time::{Duration, Instant},
};

use super::unwatched;
use eframe::egui::{
    self, Context, Event, FullOutput, Key, Modifiers, Plugin, PointerButton, Pos2, RawInput, Rect, Role, Ui,
    ViewportCommand, pos2,
};
use orrery::{
    cli::{Failure, host::DesktopHost, runs::Runs},
    labs,
    ui::{App, Start, app::Opening, panels::CONTROLS_WIDTH, run::Run, run_scripted},
};

/// What happens in a part of the script, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// The page opens.
    Open,
    /// Nothing runs and nothing is touched.
    Rest,
    /// The run begins.
    Begin,
    /// The window is minimised, the run trains.
    Hidden,
    /// The run trains, nothing is touched.
    Watch,
    /// A slider of the controls is dragged to and fro, the run trains.
    Drag,
    /// The step shown is dragged to and fro, the run trains.
    Scrub,
}

/// The script: a minute, with the visible parts between two with a hidden window.
const SCRIPT: [(Act, f64); 9] = [
    (Act::Open, 3.0),
    (Act::Rest, 4.0),
    (Act::Begin, 6.0),
    (Act::Hidden, 8.0),
    (Act::Watch, 8.0),
    (Act::Drag, 8.0),
    (Act::Scrub, 8.0),
    (Act::Watch, 8.0),
    (Act::Hidden, 8.0),
];
/// A hand's moves are this far apart.
const MOVE: Duration = Duration::from_millis(16);
/// Seconds in which the pointer goes from one end to the other and back.
const SWING: f64 = 3.0;
/// Longest wait for the run's first step.
const PATIENCE: Duration = Duration::from_secs(60);

impl Act {
    fn label(self) -> &'static str {
        match self {
            Act::Open | Act::Begin => "",
            Act::Rest => "at rest",
            Act::Hidden => "minimised",
            Act::Watch => "watched",
            Act::Drag => "a slider dragged",
            Act::Scrub => "scrubbed",
        }
    }

    fn moves(self) -> bool {
        matches!(self, Act::Drag | Act::Scrub)
    }
}

/// The processor time of the threads of this process, seconds.
#[derive(Debug, Clone, Copy, Default)]
struct ThreadTimes {
    interface: f64,
    rasteriser: f64,
}

impl ThreadTimes {
    /// Reads them from Linux; zero elsewhere.
    fn now() -> Self {
        let mut times = Self::default();
        let own = std::process::id().to_string();
        for task in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
            let nanoseconds: f64 = read("schedstat").split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0.0);
            if task.file_name().to_str() == Some(&own) {
                times.interface += nanoseconds / 1e9;
            } else if ["llvmpipe", "lavapipe", "WSI", "vk"].iter().any(|name| read("comm").starts_with(name)) {
                times.rasteriser += nanoseconds / 1e9;
            }
        }
        times
    }
}

/// What was measured in a part of the script.
struct Row {
    act: Act,
    secs: f64,
    /// Milliseconds between the beginnings of frames, and those that the interface worked on each.
    apart: Vec<f32>,
    busy: Vec<f32>,
    steps: u64,
    times: ThreadTimes,
    was_hidden: bool,
}

/// Where the script's widgets are, points.
#[derive(Debug, Clone, Copy, Default)]
struct Places {
    slider: Option<Rect>,
    scrubber: Option<Rect>,
}

/// Looks for the widgets among what screen readers are told.
struct Finder(Arc<Mutex<Places>>);

impl Plugin for Finder {
    fn debug_name(&self) -> &'static str {
        "places of widgets"
    }

    fn output_hook(&mut self, _ctx: &Context, output: &mut FullOutput) {
        let (Some(update), Ok(mut places)) = (&output.platform_output.accesskit_update, self.0.lock()) else { return };
        let sliders = update.nodes.iter().filter(|(_, node)| node.role() == Role::Slider && !node.is_disabled());
        *places = Places::default();
        for (_, node) in sliders {
            let Some(b) = node.bounds() else { continue };
            let rect = Rect::from_min_max(pos2(b.x0 as f32, b.y0 as f32), pos2(b.x1 as f32, b.y1 as f32));
            if node.label() == Some("Step shown") {
                places.scrubber = Some(rect);
            } else if rect.right() < CONTROLS_WIDTH && places.slider.is_none_or(|other| rect.top() < other.top()) {
                places.slider = Some(rect);
            }
        }
    }
}

/// The application, driven by the script.
struct Script {
    app: App,
    /// Where in the script, and since when.
    part: usize,
    since: Instant,
    places: Arc<Mutex<Places>>,
    last_frame: Option<Instant>,
    row: Row,
    first_step: u64,
    first_times: ThreadTimes,
    /// Space was pressed in this part.
    is_begun: bool,
    /// Where the button is down, and where the part before left it down: a late frame may have been its last.
    held: Option<Pos2>,
    left_down: Option<Pos2>,
    /// To whom finished rows go, and to the thread that wakes the window.
    rows: Arc<Mutex<Vec<Row>>>,
    wakes: mpsc::Sender<(Instant, bool)>,
    failure: Arc<Mutex<Option<String>>>,
}

impl Script {
    fn act(&self) -> Act {
        SCRIPT.get(self.part).map_or(Act::Rest, |(act, _)| *act)
    }

    fn step(&self) -> u64 {
        self.app.page().map_or(0, |page| page.newest())
    }

    fn is_training(&self) -> bool {
        self.app.page().is_some_and(|page| page.run.as_ref().is_some_and(|r: &Run| r.is_own() && r.is_running()))
    }

    /// Goes on to the next part when this one's time is over.
    fn follow_script(&mut self, ctx: &Context) {
        let hidden = ctx.input(|i| i.viewport().visible()) == Some(false);
        self.row.was_hidden |= hidden;
        let Some((act, secs)) = SCRIPT.get(self.part).copied() else { return };
        let elapsed = self.since.elapsed().as_secs_f64();
        let is_waiting = act == Act::Begin && !(self.is_training() && self.step() >= 5);
        if is_waiting && self.since.elapsed() > PATIENCE {
            self.fail("the run did not begin", ctx);
        }
        if elapsed < secs || is_waiting {
            return;
        }
        self.row.secs = elapsed;
        self.row.steps = self.step().saturating_sub(self.first_step);
        let now = ThreadTimes::now();
        self.row.times = ThreadTimes {
            interface: now.interface - self.first_times.interface,
            rasteriser: now.rasteriser - self.first_times.rasteriser,
        };
        self.part += 1;
        let next = new_row(self.act());
        let done = std::mem::replace(&mut self.row, next);
        if let Ok(mut rows) = self.rows.lock() {
            rows.push(done);
        }
        self.begin_part(act, ctx);
    }

    fn begin_part(&mut self, before: Act, ctx: &Context) {
        let Some((act, secs)) = SCRIPT.get(self.part).copied() else {
            return ctx.send_viewport_cmd(ViewportCommand::Close);
        };
        match act {
            Act::Hidden => ctx.send_viewport_cmd(ViewportCommand::Minimized(true)),
            _ if before == Act::Hidden => {
                ctx.send_viewport_cmd(ViewportCommand::Minimized(false));
                ctx.send_viewport_cmd(ViewportCommand::Focus);
            }
            _ => {}
        }
        if act == Act::Rest {
            ctx.disable_accesskit();
        }
        (self.since, self.last_frame, self.is_begun) = (Instant::now(), None, false);
        self.left_down = self.held.take();
        (self.first_step, self.first_times) = (self.step(), ThreadTimes::now());
        let _ = self.wakes.send((self.since + Duration::from_secs_f64(secs), act.moves()));
    }

    /// The events of a hand at this moment.
    fn move_pointer(&mut self, raw: &mut RawInput) {
        raw.events.extend(self.left_down.take().map(|at| button(at, false)));
        let Ok(places) = self.places.lock().map(|places| *places) else { return };
        let act = self.act();
        let rect = match act {
            Act::Drag => places.slider,
            Act::Scrub => places.scrubber,
            _ => None,
        };
        let Some(rect) = rect else {
            if act == Act::Begin && !self.is_begun {
                self.is_begun = true;
                raw.events.extend([true, false].map(space));
            }
            return;
        };
        let (_, secs) = SCRIPT.get(self.part).copied().unwrap_or((act, 0.0));
        let elapsed = self.since.elapsed().as_secs_f64();
        let share = 0.5 - 0.45 * (elapsed / SWING * std::f64::consts::TAU).cos();
        let at = pos2(rect.left() + rect.width() * share as f32, rect.center().y);
        raw.events.push(Event::PointerMoved(at));
        let holds = elapsed < secs - 0.5;
        if self.held.is_some() != holds {
            raw.events.push(button(at, holds));
        }
        self.held = holds.then_some(at);
    }

    fn fail(&mut self, words: &str, ctx: &Context) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert_with(|| words.to_owned());
        }
        self.part = SCRIPT.len();
        ctx.send_viewport_cmd(ViewportCommand::Close);
    }
}

fn new_row(act: Act) -> Row {
    Row { act, secs: 0.0, apart: vec![], busy: vec![], steps: 0, times: ThreadTimes::default(), was_hidden: false }
}

fn space(pressed: bool) -> Event {
    Event::Key { key: Key::Space, physical_key: None, pressed, repeat: false, modifiers: Modifiers::NONE }
}

fn button(pos: Pos2, pressed: bool) -> Event {
    Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE }
}

impl eframe::App for Script {
    fn raw_input_hook(&mut self, ctx: &Context, raw: &mut RawInput) {
        self.app.raw_input_hook(ctx, raw);
        self.move_pointer(raw);
    }

    fn logic(&mut self, ctx: &Context, frame: &mut eframe::Frame) {
        self.app.logic(ctx, frame);
        self.follow_script(ctx);
    }

    fn ui(&mut self, ui: &mut Ui, frame: &mut eframe::Frame) {
        let now = Instant::now();
        if let Some(last) = self.last_frame.replace(now) {
            self.row.apart.push((now - last).as_secs_f32() * 1e3);
            self.row.busy.extend(frame.info().cpu_usage.map(|secs| secs * 1e3));
        }
        self.app.ui(ui, frame);
        let is_lost = SCRIPT.get(self.part).is_some_and(|(act, _)| *act == Act::Watch) && !self.is_training();
        if is_lost {
            self.fail("the run ended before the script did", ui.ctx());
        }
    }

    fn clear_color(&self, visuals: &egui::Visuals) -> [f32; 4] {
        self.app.clear_color(visuals)
    }
}

/// `draws_all`: a software adapter draws every frame whole.
pub fn report(lab: &str, draws_all: bool) -> Result<(), Failure> {
    let failed = |e: &dyn std::fmt::Display| Failure::run(format!("the frames could not be measured: {e}"));
    let found = labs::find(lab).ok_or_else(|| Failure::usage(format!("there is no lab `{lab}`; see `orrery list`")))?;
    let (preset, config) = unwatched::config(found)?;
    let before = unwatched::pace(found, &config)?;
    let folder = std::env::temp_dir().join(format!("orrery-frames-{}", std::process::id()));
    let rows = Arc::<Mutex<Vec<Row>>>::default();
    let failure = Arc::<Mutex<Option<String>>>::default();
    let runs = Runs::new();
    let host = DesktopHost::new(folder.join("runs"), Arc::clone(&runs)).with_examples();
    let start = Start { opening: Some(Opening::Config(config.clone())), draws_all, ..Start::default() };
    let (told, complaint) = (Arc::clone(&rows), Arc::clone(&failure));
    let shown = open(Box::new(host), start, folder.join("session.ron"), told, complaint);
    runs.end();
    let _ = fs::remove_dir_all(&folder);
    shown.map_err(|e| failed(&e))?;
    if let Some(words) = failure.lock().ok().and_then(|mut failure| failure.take()) {
        return Err(failed(&words));
    }
    let rows = rows.lock().map_err(|_| failed(&"the window was lost"))?;
    // what else the machine does changes in a minute
    let unwatched = [before, unwatched::pace(found, &config)?];
    print(preset, draws_all, &rows, unwatched);
    Ok(())
}

fn open(
    host: Box<DesktopHost>,
    start: Start,
    session: PathBuf,
    rows: Arc<Mutex<Vec<Row>>>,
    failure: Arc<Mutex<Option<String>>>,
) -> Result<(), String> {
    run_scripted(host, start, session, move |cc, app| {
        let ctx = &cc.egui_ctx;
        let places = Arc::<Mutex<Places>>::default();
        ctx.add_plugin(Finder(Arc::clone(&places)));
        ctx.enable_accesskit();
        let (wakes, ends) = mpsc::channel();
        let waker = ctx.clone();
        std::thread::spawn(move || wake(&waker, &ends));
        let mut script = Script {
            app,
            part: 0,
            since: Instant::now(),
            places,
            last_frame: None,
            row: new_row(Act::Open),
            first_step: 0,
            first_times: ThreadTimes::default(),
            is_begun: false,
            held: None,
            left_down: None,
            rows,
            wakes,
            failure,
        };
        script.begin_part(Act::Open, ctx);
        Box::new(script)
    })
}

/// Asks for a frame when a part ends, and every [`MOVE`] while the pointer moves.
fn wake(ctx: &Context, ends: &mpsc::Receiver<(Instant, bool)>) {
    let (mut end, mut moves) = (Instant::now(), false);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        // a part that waits for the run's first step ends later than it should
        let wait = if moves { MOVE } else { left.max(Duration::from_millis(100)) };
        match ends.recv_timeout(wait) {
            Ok(next) => (end, moves) = next,
            Err(mpsc::RecvTimeoutError::Timeout) => ctx.request_repaint_after(Duration::from_nanos(1)),
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// The nearest-rank percentile.
fn percentile(values: &[f32], share: f64) -> f32 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f32::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f32::NAN)
}

/// `unwatched`: the run's steps per second without a window, before and after.
fn print(preset: &str, draws_all: bool, rows: &[Row], unwatched: [f64; 2]) {
    let how = if draws_all { "every frame drawn whole" } else { "as in the window" };
    println!("{preset}, {how}; milliseconds, and milliseconds of the processor a frame");
    println!(
        "{:<18}{:>8}{:>10}{:>8}{:>11}{:>8}{:>11}{:>12}{:>10}{:>12}",
        "", "frames", "busy p50", "p99", "apart p50", "p99", "interface", "rasteriser", "steps/s", "unwatched"
    );
    let unseen = f64::midpoint(unwatched[0], unwatched[1]);
    for row in rows.iter().filter(|row| !row.act.label().is_empty()) {
        let frames = row.apart.len();
        let each = |secs: f64| if frames > 0 { format!("{:.1}", secs * 1e3 / frames as f64) } else { "-".to_owned() };
        let pace = row.steps as f64 / row.secs;
        let share = if row.act == Act::Rest { "-".to_owned() } else { format!("{:.0}%", 100.0 * pace / unseen) };
        let p = |values: &[f32], share| {
            if values.is_empty() { "-".to_owned() } else { format!("{:.1}", percentile(values, share)) }
        };
        println!(
            "{:<18}{:>8}{:>10}{:>8}{:>11}{:>8}{:>11}{:>12}{:>10.1}{:>12}",
            row.act.label(),
            frames,
            p(&row.busy, 0.5),
            p(&row.busy, 0.99),
            p(&row.apart, 0.5),
            p(&row.apart, 0.99),
            each(row.times.interface),
            each(row.times.rasteriser),
            pace,
            share
        );
        if matches!(row.act, Act::Rest | Act::Hidden) {
            println!("{:<18}{}", "", interface_share(row));
        }
    }
    println!(
        "without a window, in this process: {:.1} steps/s before and {:.1} after; the last column is of their mean",
        unwatched[0], unwatched[1]
    );
    let watched = rows.iter().filter(|row| row.act == Act::Watch);
    let (steps, secs) = watched.fold((0, 0.0), |(n, s), row| (n + row.steps, s + row.secs));
    println!("watched, training keeps {:.0}% of its unwatched pace", 100.0 * steps as f64 / secs / unseen);
}

/// The share of a core that the interface's thread takes, in words.
fn interface_share(row: &Row) -> String {
    if row.act == Act::Hidden && !row.was_hidden {
        return "hidden: not measured, since this desktop did not minimise the window (it needs a window manager)"
            .to_owned();
    }
    if row.times.interface <= 0.0 {
        return "the interface's share of a core is not measured: it needs Linux' /proc/self/task/*/schedstat"
            .to_owned();
    }
    format!("the interface's thread takes {:.1}% of a core", 100.0 * row.times.interface / row.secs)
}
