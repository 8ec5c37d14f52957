//! Measurements over a range of settings, made in parts in the background. Each answer holds all points so far, and the
//! next part is asked for when it arrives. Pausing stops asking, resuming asks again, cancelling drops the points too.

mod kinds;

use eframe::egui::{ProgressBar, TextStyle};

use self::kinds::{CONTROL, KINDS, NFE, Needs, SweepKind, lower_charts};
use super::{answer::Answer, settings::FlowSettings};
use crate::ui::views::prelude::*;

#[derive(Default)]
pub struct Sweep {
    kind: usize,
    /// The kind is the user's choice; otherwise it is the first that has been measured.
    is_chosen: bool,
    running: Option<RunningSweep>,
    results: [Option<Sample>; KINDS.len()],
    /// The newest of each kind at or before the shown step.
    shown: [Option<Sample>; KINDS.len()],
    /// The complete earlier result of a kind, restored if its repetition is cancelled.
    before: [Option<Sample>; KINDS.len()],
    /// The step of the model that is measured, since training continues meanwhile.
    begun: [Option<u64>; KINDS.len()],
    /// The arguments with which each sweep began, so that all its parts answer the same question.
    asked: [Option<FlowArgs>; KINDS.len()],
    /// Answers to requests up to this one were cancelled.
    dropped: [u64; KINDS.len()],
    run: RunNumber,
    /// The reason why the last sweep ended before its last point.
    note: String,
}

/// A sweep in progress, and the request that it waits for.
#[derive(Debug, Clone, Copy)]
struct RunningSweep {
    request: u64,
    kind: usize,
    begins: bool,
}

/// The gap between the names of the measurements, points.
const GAP: f32 = 4.0;
/// Tiles lower than this show the main chart alone, points.
const LOW_HEIGHT: f32 = 260.0;
/// Tiles of at least this height have room for the steps whose length the error chose, points.
const TALL_HEIGHT: f32 = 420.0;

impl Sweep {
    /// Asks until `upto` pieces are measured, none of them twice. The first fixes the model of all others.
    fn ask(&mut self, cx: &mut ViewCx<'_>, kind: usize, upto: usize) {
        let begins = upto <= 1;
        let flow = self.asked[kind].take().filter(|_| !begins).unwrap_or_else(|| FlowSettings::args(cx));
        self.asked[kind] = Some(flow.clone());
        let args = FlowSweepArgs { flow, kind: KINDS[kind].id, upto: Some(upto), begin: begins.then_some(true) };
        self.note.clear();
        self.running = Some(RunningSweep { request: (KINDS[kind].request)(cx, &args), kind, begins });
    }

    fn begin(&mut self, cx: &mut ViewCx<'_>, kind: usize) {
        self.is_chosen = true;
        let whole = self.progress(kind).is_some_and(|p| p.done >= p.total);
        self.before[kind] = self.results[kind].clone().filter(|_| whole);
        self.begun[kind] = None;
        self.ask(cx, kind, 1);
    }

    /// Drops the points measured since the sweep began, and ignores answers that are still to come.
    fn cancel(&mut self, cx: &ViewCx<'_>, kind: usize) {
        self.running = None;
        self.dropped[kind] = cx.questions.last_request;
        self.results[kind] = self.before[kind].take();
        self.shown[kind].clone_from(&self.results[kind]);
        self.begun[kind] = None;
    }

    /// Takes the newest answer, and asks for the next part.
    fn follow(&mut self, cx: &mut ViewCx<'_>) {
        if self.run != cx.mirror.run {
            let Self { kind, is_chosen, .. } = *self;
            *self = Self { kind, is_chosen, run: cx.mirror.run, ..Self::default() };
        }
        for (kind, result) in self.results.iter_mut().enumerate() {
            let newest = (KINDS[kind].newest)(cx, self.dropped[kind]);
            let is_answer = |sample: &Sample| sample.request.is_some();
            // An answer is replaced only by another. A scheduled measurement belongs to the shown step, which the scrubber
            // may have left.
            let is_kept = result.as_ref().is_some_and(is_answer) && !newest.is_some_and(is_answer);
            let key = |sample: &Sample| (sample.request, Arc::as_ptr(&sample.payload));
            if !is_kept && result.as_ref().map(key) != newest.map(key) {
                *result = newest.cloned();
            }
        }
        let Some(RunningSweep { request, kind, begins }) = self.running else { return };
        let came = self.results[kind].as_ref().filter(|t| t.request.is_some_and(|r| r >= request));
        if let Some(result) = came {
            if begins {
                self.begun[kind] = Some(result.step);
            }
            let progress = (KINDS[kind].progress)(&result.payload);
            self.running = None;
            if let Some(progress) = progress.filter(|p| p.done < p.total && cx.can_ask()) {
                self.ask(cx, kind, progress.done + 1);
            }
            return;
        }
        match cx.mirror.question(request) {
            Some(QuestionState::Refused(words)) => (self.running, self.note) = (None, words.clone()),
            Some(QuestionState::Cancelled) => self.running = None,
            Some(QuestionState::Working(_) | QuestionState::Answered) | None => {}
        }
    }

    /// Chooses the sweeps to show: those measured by the shown step, and the one in progress. The first of them decides
    /// the kind until the user chooses another.
    fn show_step(&mut self, cx: &ViewCx<'_>) {
        for (kind, shown) in self.shown.iter_mut().enumerate() {
            let is_running = self.running.is_some_and(|r| r.kind == kind);
            let is_known = |r: &&Sample| cx.follow || is_running || self.begun[kind].unwrap_or(r.step) <= cx.step;
            let scheduled = || (KINDS[kind].scheduled)(cx).cloned();
            *shown = self.results[kind].as_ref().filter(is_known).cloned().or_else(scheduled);
        }
        if !self.is_chosen {
            self.kind = self.shown.iter().position(Option::is_some).unwrap_or(0);
        }
    }

    /// Marks the shown sweep as the answer to another question if it was asked with other dials. The followed token
    /// makes no difference to a sweep, nor does the first control to one that varies it.
    fn compare(&self, cx: &mut ViewCx<'_>) {
        let Some(shown) = &self.shown[self.kind] else { return };
        let read = |args: &Args| FlowSweepArgs::from_args(args).ok();
        let asked = shown.request.and_then(|request| cx.questions.args_of(request)).and_then(read);
        let Some(asked) = asked else { return };
        let (now, varies_u0) = (FlowSettings::args(cx), KINDS[self.kind].varies_u0());
        let dialled = |args: &FlowSweepArgs| FlowArgs {
            token: args.flow.token,
            u0: if varies_u0 { args.flow.u0 } else { now.u0 },
            ..now.clone()
        };
        if dialled(&asked) == asked.flow {
            return;
        }
        // The arguments of the part that was asked for last, if it belongs to this kind of sweep.
        let last = cx.questions.args((FlowSweepNfe::PROBE, None)).and_then(read);
        let last = last.filter(|last| last.kind == asked.kind).unwrap_or(asked);
        cx.shows_question::<FlowSweepNfe>(None, &FlowSweepArgs { flow: dialled(&last), ..last }, Some(shown));
    }

    /// The kinds of sweep that suit the current flow: words only where it has words, classes only where it is steered.
    fn kinds(cx: &ViewCx<'_>) -> Vec<usize> {
        let answer = Answer::in_focus(cx);
        let plane = answer.is_some_and(|a| a.planar_field().is_some());
        let steered = answer.is_none_or(|a| a.trained_controls() > 0);
        let fits = |kind: &SweepKind| match kind.needs {
            Needs::Flow => true,
            Needs::Words => !plane,
            Needs::Steering => steered && !plane,
        };
        (0..KINDS.len()).filter(|i| fits(&KINDS[*i])).collect()
    }

    fn progress(&self, kind: usize) -> Option<SweepProgress> {
        (KINDS[kind].progress)(self.payload(kind)?)
    }

    fn payload(&self, kind: usize) -> Option<&Payload> {
        self.shown[kind].as_ref().map(|r| r.payload.as_ref())
    }

    fn chart(&self, cx: &ViewCx<'_>) -> Chart<'static> {
        let kind = &KINDS[self.kind];
        let demand = format!("{} Press Measure; it goes on in the background.", kind.about);
        let hint = format!("{} Press Space to begin a run, then Measure.", kind.about);
        let empty = if cx.can_ask() { demand } else { (kind.empty_reason)(cx, &hint, &demand) };
        let mut chart = (kind.chart)(self.payload(self.kind), cx.theme).empty(empty);
        if chart.x.label == CONTROL {
            let [u0, ..] = FlowSettings::u(cx);
            chart.vertical_line(format!("u\u{2080} = {}", number::rounded(u0, 2).replace('-', "\u{2212}")), u0);
        }
        chart
    }

    fn kinds_ui(&mut self, ui: &mut Ui, kinds: &[usize], wide: bool) {
        let now = KINDS[self.kind];
        let (selected, is_chosen) = (&mut self.kind, &mut self.is_chosen);
        let mut choose = |ui: &mut Ui| {
            for i in kinds {
                let choice = ui.selectable_value(selected, *i, KINDS[*i].name).on_hover_text(KINDS[*i].about);
                *is_chosen |= choice.clicked();
            }
        };
        if wide {
            ui.spacing_mut().item_spacing.x = GAP;
            return choose(ui);
        }
        let shown = ComboBox::from_id_salt("kind").selected_text(now.name).width(104.0).show_ui(ui, choose);
        shown.response.widget_info(|| WidgetInfo::labeled(Role::ComboBox, true, "what to measure"));
        shown.response.on_hover_text(now.about);
    }
}

impl PanelView for Sweep {
    const SPACING: Vec2 = vec2(8.0, GAP);

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        self.follow(cx);
        if !cx.can_ask() {
            self.running = None;
        }
        self.show_step(cx);
        self.compare(cx);
    }

    fn chart_set(&self) -> usize {
        self.kind
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let evaluations = self.payload(NFE).and_then(FlowSweepNfe::from_payload).filter(|_| self.kind == NFE);
        let lower = evaluations.into_iter().flat_map(|sweep| lower_charts(sweep, cx.theme)).filter(|c| !c.is_empty());
        let main = Panel::new(self.chart(cx), 1.0);
        std::iter::once(main).chain(lower.map(|chart| Panel::new(chart, 1.0).in_table(""))).collect()
    }

    /// A higher tile has more charts, because each needs a minimum height.
    fn arrange(&self, _ui: &Ui, _cx: &ViewCx<'_>, room: Vec2, panels: &[Panel<'_>], _alone: usize) -> Placement {
        let most = match room.y {
            _ if panels[0].is_empty() => 0,
            y if y > TALL_HEIGHT => 3,
            y if y > LOW_HEIGHT => 2,
            _ => 0,
        };
        let lower = most.min(panels.len() - 1);
        if lower == 0 {
            return Placement::Alone(0);
        }
        let each = if lower > 2 { 0.19 } else { 0.24 };
        Placement::OneAxis([vec![1.0 - each * lower as f32], vec![each; lower]].concat())
    }

    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let kinds = Self::kinds(cx);
        // side by side if there is room for all their names, else from a menu
        let font = TextStyle::Button.resolve(ui.style());
        let wide_of = |name: &str| ui.painter().layout_no_wrap(name.to_owned(), font.clone(), cx.theme.text).size().x;
        let around = 2.0 * ui.spacing().button_padding.x + GAP;
        let wide = kinds.iter().map(|i| wide_of(KINDS[*i].name) + around).sum::<f32>() <= ui.available_width();
        if !kinds.contains(&self.kind) {
            self.kind = 0;
        }
        if wide {
            ui.horizontal(|ui| self.kinds_ui(ui, &kinds, true));
        }
        let kind = self.kind;
        let progress = self.progress(kind);
        let running = self.running.is_some_and(|g| g.kind == kind);
        ui.horizontal(|ui| {
            if !wide {
                self.kinds_ui(ui, &kinds, false);
            }
            let SweepProgress { done, total } = progress.unwrap_or(SweepProgress { done: 0, total: 1 });
            let begun = done > 0 && done < total;
            let words = match (running, begun, done >= total) {
                (true, ..) => "pause",
                (_, true, _) => "go on",
                (.., true) => "measure again",
                _ => "measure",
            };
            let tip = "Pieces are measured between training steps, or while the run is paused, all with the model and \
                       the dials as they are when the sweep begins. One sweep at a time.";
            let free = self.running.is_none_or(|g| g.kind == kind);
            let button = ui.add_enabled(running || cx.can_ask() && free, Button::new(words));
            let why = match cx.can_ask() {
                true => "Another sweep is being measured: one at a time.",
                false => "There is no model here to measure: Space begins a run of your own.",
            };
            if button.on_hover_text(tip).on_disabled_hover_text(why).clicked() {
                match (running, begun) {
                    (true, _) => self.running = None,
                    (_, true) => self.ask(cx, kind, done + 1),
                    _ => self.begin(cx, kind),
                }
            }
            if running || begun {
                let tip = "Stops, and discards what was measured since the sweep began.";
                if ui.button("cancel").on_hover_text(tip).clicked() {
                    self.cancel(cx, kind);
                }
            }
            if progress.is_some() && (running || begun) {
                let share = done as f32 / total.max(1) as f32;
                let words = format!("{done} of {total}");
                let room = (ui.available_width() - 80.0).clamp(30.0, 120.0);
                let bar = ui.add(ProgressBar::new(share).desired_width(room).desired_height(14.0));
                bar.widget_info(|| WidgetInfo::labeled(Role::ProgressIndicator, true, format!("sweep: {words}")));
                ui.label(RichText::new(words).font(theme::numbers()).color(cx.theme.secondary));
            } else if running {
                ui.label(RichText::new("measuring the first piece").color(cx.theme.secondary));
            }
        });
        if !self.note.is_empty() {
            ui.label(small_text(&self.note, cx.theme.error));
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let kind = &KINDS[self.kind];
        match &self.shown[self.kind] {
            Some(result) => {
                let step = self.begun[self.kind].filter(|_| result.request.is_some()).unwrap_or(result.step);
                format!("step {step} \u{b7} {} \u{b7} {}", kind.name, result.about)
            }
            None if cx.follow => format!("{}: not measured yet", kind.name),
            None => format!("{}: not measured by step {}", kind.name, cx.step),
        }
    }
}
