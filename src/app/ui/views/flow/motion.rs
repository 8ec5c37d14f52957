//! Animates a control, to and fro or from end to end, and records it: a PNG for each frame and one table. Each value
//! waits for its answer, so no frame shows a value with the answer to another.

use super::{
    answer::Answer,
    pad::{MAX_CONTROL, U_LABELS},
    settings::{FlowSettings, U, is_answered},
};
use crate::ui::views::prelude::*;

/// The function of time that the control follows over a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waveform {
    /// A sawtooth from the lowest value to the highest.
    Sweep,
    /// A sine between the lowest value and the highest.
    Sine,
}

impl Waveform {
    fn label(self) -> &'static str {
        match self {
            Waveform::Sweep => "sweep",
            Waveform::Sine => "sine",
        }
    }

    /// The value after a share of the period.
    fn value_at(self, share: f64) -> f64 {
        let v = match self {
            Waveform::Sweep => MAX_CONTROL * (2.0 * share.rem_euclid(1.0) - 1.0),
            Waveform::Sine => MAX_CONTROL * (std::f64::consts::TAU * share).sin(),
        };
        (v * 1e3).round() / 1e3
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
enum State {
    #[default]
    Rest,
    /// Playing since then, by egui's clock.
    Playing(f64),
    Recording(Recording),
}

#[derive(Debug, Clone, PartialEq)]
struct Recording {
    folder: String,
    frame: usize,
    stage: Stage,
    rows: Vec<[String; COLUMNS.len()]>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    /// The next value has to be set.
    Set,
    /// The answer is due, or has been in view for `seen` frames; `since` is the start of the wait.
    Waiting { seen: u8, since: f64 },
    /// The picture was requested and is taken of the next frame.
    Taken { frames: u8 },
}

const COLUMNS: [&str; 11] =
    ["frame", "u0", "u1", "u2", "u3", "p_plus", "p_minus", "top_word", "p_top_word", "nfe", "h_init"];
/// Pictures in a recording: one period.
const N_FRAMES: usize = 60;
/// Frames for which an answer must be in view before its picture is taken: dependent questions are asked first.
const SETTLE_FRAMES: u8 = 2;
/// The number of frames that a value is held after its screenshot was requested, because the next frame is captured.
const HOLD_FRAMES: u8 = 2;
/// An answer that takes longer ends a recording, seconds.
const ANSWER_TIMEOUT: f64 = 20.0;

#[derive(Debug, Clone)]
pub struct Motion {
    dim: usize,
    waveform: Waveform,
    /// The duration of one cycle, seconds.
    period: f64,
    state: State,
    /// A message beside the buttons.
    note: String,
}

impl Default for Motion {
    fn default() -> Self {
        Self { dim: 0, waveform: Waveform::Sine, period: 8.0, state: State::Rest, note: String::new() }
    }
}

impl Motion {
    pub fn stop(&mut self) {
        self.state = State::Rest;
    }

    /// Draws the controls that animate one of the first `dials` dials; none if the page's link locks them all.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCx<'_>, dials: usize) {
        let can_move = |dim: &usize| *dim < dials && !cx.is_restricted(&[U[*dim]]);
        let Some(first) = (0..dials).find(can_move) else { return };
        if !can_move(&self.dim) {
            self.stop();
            self.dim = first;
        }
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            let dims = (0..dials).filter(can_move).map(|dim| (dim, U_LABELS[dim]));
            choice_box(ui, "control that moves", 44.0, U_LABELS[self.dim], &mut self.dim, dims);
            let ways = [Waveform::Sine, Waveform::Sweep].map(|waveform| (waveform, waveform.label()));
            choice_box(ui, "way of moving", 64.0, self.waveform.label(), &mut self.waveform, ways);
            let period = DragValue::new(&mut self.period).range(0.5..=120.0).speed(0.1).suffix(" s");
            ui.add(period.update_while_editing(false))
                .on_hover_text("Time of one round from \u{2212}2 to 2, while the answers keep up.");
            let moving = self.state != State::Rest;
            let can = cx.can_ask();
            let play = ui.add_enabled(can, Button::new(if moving { "stop" } else { "play" }));
            if play.on_hover_text("Moves the control by itself. Each value waits for its answer.").clicked() {
                self.state = if moving { State::Rest } else { State::Playing(ui.input(|i| i.time)) };
                self.note.clear();
            }
            let words = match &self.state {
                State::Recording(r) => format!("{} / {N_FRAMES}", r.frame + 1),
                _ => "record".to_owned(),
            };
            let record = ui.add_enabled(can && !moving, Button::new(words));
            let tip = format!(
                "Goes through one round and writes {N_FRAMES} pictures of the window and a table of the values into \
                 the export folder."
            );
            if record.on_hover_text(tip).clicked() {
                let when = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
                let folder = format!("steering-u{}-{}-{when}", self.dim, self.waveform.label());
                self.note.clear();
                self.state = State::Recording(Recording { folder, frame: 0, stage: Stage::Set, rows: vec![] });
            }
            if !self.note.is_empty() {
                ui.label(&self.note);
            }
        });
    }

    /// Advances the animation or the recording; requests the next frame only while one is in progress.
    pub fn drive(&mut self, ui: &Ui, cx: &mut ViewCx<'_>) {
        let now = ui.input(|i| i.time);
        match &mut self.state {
            State::Rest => return,
            State::Playing(since) => {
                // The next value is asked for once the last one was answered.
                if cx.can_ask() && is_answered(cx) {
                    let v = self.waveform.value_at((now - *since) / self.period);
                    cx.set(U[self.dim], Value::Float(v));
                }
            }
            State::Recording(recording) => {
                let (dim, waveform) = (self.dim, self.waveform);
                if let Some(words) = recording.drive(cx, now, ui.ctx().content_rect(), dim, waveform) {
                    self.note = words;
                    self.state = State::Rest;
                }
            }
        }
        ui.ctx().request_repaint();
    }
}

impl Recording {
    /// Advances the recording; once it has ended, returns its outcome as text.
    fn drive(&mut self, cx: &mut ViewCx<'_>, now: f64, window: Rect, dim: usize, waveform: Waveform) -> Option<String> {
        match self.stage {
            Stage::Set => {
                let v = waveform.value_at(self.frame as f64 / N_FRAMES as f64);
                cx.set(U[dim], Value::Float(v));
                self.stage = Stage::Waiting { seen: 0, since: now };
            }
            Stage::Waiting { since, .. } if now - since > ANSWER_TIMEOUT || !cx.can_ask() => {
                return Some(format!("frame {} was not answered: stopped", self.frame + 1));
            }
            Stage::Waiting { seen, since } => {
                let answered = is_answered(cx);
                self.stage = Stage::Waiting { seen: if answered { seen + 1 } else { 0 }, since };
                if answered && seen >= SETTLE_FRAMES {
                    let name = format!("{}/frame-{:04}.png", self.folder, self.frame + 1);
                    cx.act(FileAction::Record(window, name));
                    self.rows.push(row(cx, self.frame + 1));
                    self.stage = Stage::Taken { frames: 0 };
                }
            }
            Stage::Taken { frames } if frames < HOLD_FRAMES => self.stage = Stage::Taken { frames: frames + 1 },
            Stage::Taken { .. } => {
                self.frame += 1;
                self.stage = Stage::Set;
                if self.frame == N_FRAMES {
                    let name = format!("{}/values.csv", self.folder);
                    let mut table = Table::new(COLUMNS);
                    self.rows.drain(..).for_each(|row| table.row(row));
                    cx.act(FileAction::SaveInExports(name, table.finish().into_bytes()));
                    return Some(format!("{N_FRAMES} frames recorded"));
                }
            }
        }
        None
    }
}

/// A row of the table: what this frame shows.
fn row(cx: &ViewCx<'_>, frame: usize) -> [String; COLUMNS.len()] {
    let [u0, u1, u2, u3] = FlowSettings::u(cx).map(|v| v.to_string());
    let answer = Answer::in_focus(cx);
    let number = |v: Option<f64>| optional_field(v.filter(|v| v.is_finite()));
    let classes = answer.and_then(|a| a.value.classes());
    let [plus, minus] = [classes.map(|c| c.plus.probability), classes.map(|c| c.minus.probability)].map(number);
    let top = answer.and_then(|a| a.value.language()?.next.first());
    let word = optional_field(top.map(|t| &t.token));
    let trace = answer.map(|a| &a.value.trace);
    let nfe = optional_field(trace.map(|t| t.nfe));
    let [p_top_word, h_init] = [top.map(|t| t.probability), trace.map(|t| t.h_init)].map(number);
    [frame.to_string(), u0, u1, u2, u3, plus, minus, word, p_top_word, nfe, h_init]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_waveforms_stay_within_the_control_range_and_are_periodic() {
        for waveform in [Waveform::Sweep, Waveform::Sine] {
            for i in 0..200 {
                let share = f64::from(i) / 50.0;
                assert!(waveform.value_at(share).abs() <= MAX_CONTROL, "{waveform:?} at {share}");
                assert_eq!(waveform.value_at(share), waveform.value_at(share + 1.0), "{waveform:?} at {share}");
            }
        }
        assert_eq!(Waveform::Sine.value_at(0.0), 0.0);
        assert_eq!((Waveform::Sweep.value_at(0.0), Waveform::Sweep.value_at(0.5)), (-MAX_CONTROL, 0.0));
        assert_eq!((Waveform::Sine.value_at(0.25), Waveform::Sine.value_at(0.75)), (MAX_CONTROL, -MAX_CONTROL));
    }
}
