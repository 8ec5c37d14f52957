//! Measurements over a range, piece by piece in the background: each answer tells all so far, and
//! the next piece is asked for when it came. Pausing is not asking; going on is asking again; cancelling
//! is not asking, and forgetting what came.

mod charts;

use std::sync::Arc;

use eframe::egui::{Button, ComboBox, ProgressBar, RichText, TextStyle, Ui, WidgetInfo, accesskit::Role};

use self::charts::{KINDS, Kind, chart, under};
use super::{SWEEP, answer::Answer, dials::Dials};
use crate::{
    config::Value,
    telemetry::{Args, Level, Payload, Sample, Series},
    ui::{
        plot::{Chart, ChartState},
        theme,
        views::{RunTracker, View, ViewCx},
        widgets::stacked_charts::stacked_ui,
    },
};

/// What was told of a kind.
#[derive(Debug, Clone)]
struct Told {
    payload: Arc<Payload>,
    step: u64,
    about: String,
    request: Option<u64>,
}

/// View `flow_sweep`.
#[derive(Default)]
pub struct Sweep {
    kind: usize,
    going: Option<Going>,
    told: [Option<Told>; KINDS.len()],
    /// What a kind told before it was begun again, for who thinks better of it.
    before: [Option<Told>; KINDS.len()],
    /// The step of the model that is measured: what trains meanwhile is another one.
    begun: [Option<u64>; KINDS.len()],
    /// What the dials were when it began: it is of one question throughout.
    asked: [Option<Args>; KINDS.len()],
    /// Answers to requests up to this one were cancelled.
    dropped: [u64; KINDS.len()],
    states: [ChartState; KINDS.len()],
    below: [ChartState; 3],
    run_tracker: RunTracker,
    /// Why the last one ended, where it was not asked to.
    note: String,
}

/// What is waited for while a sweep goes on.
#[derive(Debug, Clone, Copy)]
struct Going {
    request: u64,
    kind: usize,
    begins: bool,
    /// Messages of the run before it was asked: a later warning is the answer to it.
    messages: usize,
}

/// Between the names of what can be measured, points.
const GAP: f32 = 4.0;
/// Tiles this high have room for the steps whose length the error chose, points.
const TALL: f32 = 420.0;

impl Sweep {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    /// Asks until so many pieces are measured; those that are, are not measured again. From one: of the
    /// model as it is now; then of the same.
    fn ask(&mut self, cx: &mut ViewCx<'_>, kind: usize, upto: f64) {
        let begins = upto <= 1.0;
        let mut args = match self.asked[kind].take().filter(|_| !begins) {
            Some(args) => args,
            None => Dials::args(cx),
        };
        self.asked[kind] = Some(args.clone());
        args.insert("kind".to_owned(), Value::Text(KINDS[kind].id.to_owned()));
        args.insert("upto".to_owned(), Value::Int(upto as i64));
        if begins {
            args.insert("begin".to_owned(), Value::Switch(true));
        }
        self.note.clear();
        let messages = cx.mirror.notices.len();
        self.going = Some(Going { request: cx.ask("flow_sweep", None, args), kind, begins, messages });
    }

    fn begin(&mut self, cx: &mut ViewCx<'_>, kind: usize) {
        let whole = self.progress(kind).is_some_and(|(done, total)| done >= total);
        self.before[kind] = self.told[kind].clone().filter(|_| whole);
        self.begun[kind] = None;
        self.ask(cx, kind, 1.0);
    }

    /// Forgets what was measured since the beginning, and what may still come.
    fn cancel(&mut self, cx: &ViewCx<'_>, kind: usize) {
        self.going = None;
        self.dropped[kind] = cx.questions.last_number();
        self.told[kind] = self.before[kind].take();
        self.begun[kind] = None;
    }

    /// Takes what came, and asks for the next piece.
    fn follow(&mut self, cx: &mut ViewCx<'_>) {
        if self.run_tracker.new_run(cx.mirror) {
            *self = Self { kind: self.kind, run_tracker: std::mem::take(&mut self.run_tracker), ..Self::default() };
        }
        for (kind, told) in self.told.iter_mut().enumerate() {
            let Some(sample) = newest(cx, kind, self.dropped[kind]) else { continue };
            // What was asked for is not replaced by what came by itself.
            if sample.request.is_none() && told.as_ref().is_some_and(|t| t.request.is_some()) {
                continue;
            }
            if told.as_ref().is_none_or(|t| !Arc::ptr_eq(&t.payload, &sample.payload)) {
                *told = Some(Told {
                    payload: sample.payload.clone(),
                    step: sample.step,
                    about: sample.about.clone(),
                    request: sample.request,
                });
            }
        }
        let Some(Going { request, kind, begins, messages }) = self.going else { return };
        let came = self.told[kind].as_ref().filter(|t| t.request.is_some_and(|r| r >= request));
        if let Some(told) = came {
            if begins {
                self.begun[kind] = Some(told.step);
            }
            self.going = None;
            if let Some((done, total)) = self.progress(kind)
                && done < total
                && cx.can_ask()
            {
                self.ask(cx, kind, done + 1.0);
            }
            return;
        }
        let since = cx.mirror.notices.get(messages..).unwrap_or_default();
        if let Some((_, words)) = since.iter().find(|(level, _)| *level != Level::Info) {
            (self.going, self.note) = (None, words.clone());
        }
    }

    /// What can be measured of the flow that is there: words only where there are words, classes only where
    /// it is steered.
    fn kinds(cx: &ViewCx<'_>) -> Vec<usize> {
        let answer = Answer::of(cx);
        let plane = answer.is_some_and(|a| a.playground().is_some());
        let steered = answer.is_none_or(|a| a.taught() > 0);
        let fits = |kind: &Kind| match kind.id {
            "nfe" | "tolerance" | "invariance" => true,
            "class" | "layers" => steered && !plane,
            _ => !plane,
        };
        (0..KINDS.len()).filter(|i| fits(&KINDS[*i])).collect()
    }

    /// Pieces done and in all.
    fn progress(&self, kind: usize) -> Option<(f64, f64)> {
        let told = self.told[kind].as_ref()?;
        let series = told.payload.part("progress")?.as_series()?;
        let of = |name: &str| series.lines.iter().find(|l| l.name == name).and_then(|l| l.y.first()).copied();
        Some((of("done")?, of("total")?))
    }

    fn series(&self, kind: usize) -> Option<&Series> {
        let payload = &self.told[kind].as_ref()?.payload;
        payload.part("sweep").and_then(Payload::as_series).or_else(|| payload.as_series())
    }

    fn kinds_ui(&mut self, ui: &mut Ui, kinds: &[usize], wide: bool) {
        let now = KINDS[self.kind];
        let selected = &mut self.kind;
        let mut choose = |ui: &mut Ui| {
            for i in kinds {
                ui.selectable_value(selected, *i, KINDS[*i].name).on_hover_text(KINDS[*i].about);
            }
        };
        if wide {
            ui.spacing_mut().item_spacing.x = GAP;
            choose(ui);
            return;
        }
        let shown = ComboBox::from_id_salt("kind").selected_text(now.name).width(104.0).show_ui(ui, choose);
        shown.response.widget_info(|| WidgetInfo::labeled(Role::ComboBox, true, "what to measure"));
        shown.response.on_hover_text(now.about);
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
        let going = self.going.is_some_and(|g| g.kind == kind);
        ui.horizontal(|ui| {
            if !wide {
                self.kinds_ui(ui, &kinds, false);
            }
            let (done, total) = progress.unwrap_or((0.0, 1.0));
            let begun = done > 0.0 && done < total;
            let words = match (going, begun, done >= total) {
                (true, ..) => "pause",
                (_, true, _) => "go on",
                (.., true) => "measure again",
                _ => "measure",
            };
            let tip = "Pieces are measured between training steps, or while the run stands, all of them of the model \
                       and the dials as they are when it begins. One sweep at a time.";
            let free = self.going.is_none_or(|g| g.kind == kind);
            let button = ui.add_enabled(going || cx.can_ask() && free, Button::new(words));
            if button.on_hover_text(tip).clicked() {
                match (going, begun) {
                    (true, _) => self.going = None,
                    (_, true) => self.ask(cx, kind, done + 1.0),
                    _ => self.begin(cx, kind),
                }
            }
            if going || begun {
                let tip = "Forgets what was measured since it began.";
                if ui.button("cancel").on_hover_text(tip).clicked() {
                    self.cancel(cx, kind);
                }
            }
            if let Some((done, total)) = progress.filter(|_| going || begun) {
                let share = (done / total.max(1.0)) as f32;
                let words = format!("{done:.0} of {total:.0}");
                let room = (ui.available_width() - 80.0).clamp(30.0, 120.0);
                let bar = ui.add(ProgressBar::new(share).desired_width(room).desired_height(14.0));
                bar.widget_info(|| WidgetInfo::labeled(Role::ProgressIndicator, true, format!("sweep: {words}")));
                ui.label(RichText::new(words).font(theme::numbers()).color(cx.theme.secondary));
            } else if going {
                ui.label(RichText::new("measuring the first piece").color(cx.theme.secondary));
            }
        });
        if !self.note.is_empty() {
            ui.label(RichText::new(&self.note).size(theme::SMALL).color(cx.theme.error));
        }
    }
}

/// What was told last of a kind, but for what was cancelled.
fn newest<'a>(cx: &ViewCx<'a>, kind: usize, dropped: u64) -> Option<&'a Sample> {
    let channel = format!("{SWEEP}.{}", KINDS[kind].id);
    let all = [cx.answer(&channel), cx.sample(&channel)];
    all.into_iter().flatten().map(|(_, s)| s).find(|s| s.request.is_none_or(|r| r > dropped))
}

impl View for Sweep {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.follow(cx);
        if !cx.can_ask() {
            self.going = None;
        }
        ui.spacing_mut().item_spacing.y = 4.0;
        self.controls_ui(ui, cx);
        let room = ui.available_size();
        let theme = cx.theme;
        let main = chart(self.series(self.kind), self.kind, theme);
        let beneath: Vec<usize> = match KINDS[self.kind].id {
            "nfe" if room.y > 260.0 => (0..if room.y > TALL { 3 } else { 2 })
                .filter(|w| !under(self.series(0), *w, theme).is_empty())
                .collect(),
            _ => vec![],
        };
        if beneath.is_empty() || main.is_empty() {
            main.show(ui, room, theme, &mut self.states[self.kind]);
            return;
        }
        let each = if beneath.len() > 2 { 0.19 } else { 0.24 };
        let share = 1.0 - each * beneath.len() as f32;
        let lower: Vec<Chart<'_>> = beneath.iter().map(|which| under(self.series(0), *which, theme)).collect();
        let charts = std::iter::once((main, share)).chain(lower.into_iter().map(|c| (c, each)));
        let charts: Vec<(Chart<'static>, f32)> = charts.collect();
        let mut states = vec![&mut self.states[self.kind]];
        states.extend(self.below.iter_mut().enumerate().filter(|(i, _)| beneath.contains(i)).map(|(_, s)| s));
        stacked_ui(ui, theme, charts, &mut states);
    }

    fn subtitle(&self, _cx: &ViewCx<'_>) -> String {
        let kind = &KINDS[self.kind];
        match &self.told[self.kind] {
            Some(told) => {
                let step = self.begun[self.kind].unwrap_or(told.step);
                format!("step {step} \u{b7} {} \u{b7} {}", kind.name, told.about)
            }
            None => format!("{}: not measured yet", kind.name),
        }
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let mut main = chart(self.series(self.kind), self.kind, cx.theme);
        if KINDS[self.kind].id == "nfe" {
            for which in 0..3 {
                main.lines.extend(under(self.series(0), which, cx.theme).lines);
            }
        }
        main.csv(&self.states[self.kind])
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        chart(self.series(self.kind), self.kind, cx.theme).svg(&self.states[self.kind], cx.theme)
    }
}
