//! A sentence with three traces under it: how much of each word is left when reading has come to the
//! cursor. Computed from the settings: it needs no run.

use eframe::egui::{Stroke, epaint::TextShape};

use super::sentence::{SENTENCE, Sentence, TRACE_NAMES};
use crate::{analysis::ema, labs::traces::TraceSettings, ui::views::prelude::*};

/// Seconds a word takes while playing.
const WORD_TIME: f64 = 0.35;
/// Room for the names of the traces, left of the strips.
const NAMES_WIDTH: f32 = 84.0;

/// The minimum size at which the words and numbers of three strips are not cut off.
const MIN_SIZE: Vec2 = vec2(160.0, 150.0);
/// Width of a word that is rotated by 90 degrees, points.
const TURNED_WIDTH: f32 = 14.0;

#[derive(Default)]
pub struct TraceStrips {
    playhead: Playhead,
}

/// The layout of the canvas.
struct CanvasLayout {
    rect: Rect,
    /// Width of one word's column.
    column: f32,
    top: f32,
    strip: f32,
    upright: bool,
}

impl CanvasLayout {
    fn new(ui: &Ui, rect: Rect, s: &Sentence) -> Self {
        let column = (rect.width() - NAMES_WIDTH) / s.words.len().max(1) as f32;
        let widest = s.words.iter().map(|word| note_width(ui.painter(), word)).fold(0.0, f32::max);
        let upright = widest + 4.0 <= column;
        let head = if upright { 20.0 } else { (widest + 8.0).min(rect.height() * 0.35) };
        let top = rect.top() + head;
        Self { rect, column, top, strip: (rect.bottom() - top) / 3.0, upright }
    }

    fn word_left(&self, word: usize) -> f32 {
        self.rect.left() + NAMES_WIDTH + self.column * word as f32
    }

    fn word_at(&self, p: Pos2, words: usize) -> Option<usize> {
        let i = ((p.x - self.word_left(0)) / self.column).floor();
        (i >= 0.0 && (i as usize) < words && self.rect.contains(p)).then_some(i as usize)
    }
}

impl TraceStrips {
    fn sentence_ui(ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Ok(text) = cx.config.value(TraceSettings::sentence) else { return };
        let line = |ui: &mut Ui, text: &mut String| text_line(ui, text, "sentence", SENTENCE);
        cx.edit_setting_ui(ui, TraceSettings::sentence.name, text, line);
    }

    fn canvas_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, s: &Sentence) {
        let size = ui.available_size().max(MIN_SIZE);
        let (rect, response, _) = canvas_ui(ui, size, Sense::click_and_drag(), "traces under the sentence");
        let stage = CanvasLayout::new(ui, rect, s);
        let under = |p: Option<Pos2>| p.and_then(|p| stage.word_at(p, s.words.len()));
        if (response.clicked() || response.dragged())
            && let Some(word) = under(response.interact_pointer_pos())
        {
            cx.selection.token = Some(word);
            self.playhead.stop();
        }
        let cursor = s.cursor(cx.selection.token);
        let painter = ui.painter_at(rect);
        draw_words(&painter, &stage, cx, s, cursor);
        (0..3).for_each(|trace| draw_strip(&painter, &stage, cx, s, trace, cursor));
        if let Some(word) = under(response.hover_pos()) {
            explain(response, s, word, cursor);
        }
    }
}

fn draw_words(painter: &Painter, stage: &CanvasLayout, cx: &ViewCx<'_>, s: &Sentence, cursor: usize) {
    let x = stage.word_left(cursor);
    let column = Rect::from_min_max(pos2(x, stage.rect.top()), pos2(x + stage.column, stage.rect.bottom()));
    painter.rect_filled(column, 2.0, cx.theme.accent.gamma_multiply(0.16));
    // Where columns are narrower than a word, only every second or third word is printed, and the one just read.
    let every = if stage.upright { 1 } else { (TURNED_WIDTH / stage.column.max(0.1)).ceil().max(1.0) as usize };
    for (i, word) in s.words.iter().enumerate().filter(|(i, _)| i.abs_diff(cursor).is_multiple_of(every)) {
        let colour = match i {
            _ if i > cursor => cx.theme.secondary.gamma_multiply(0.6),
            _ => s.colour(word, cx.theme),
        };
        let font = theme::small();
        let middle = stage.word_left(i) + stage.column / 2.0;
        if stage.upright {
            painter.text(pos2(middle, stage.top - 4.0), Align2::CENTER_BOTTOM, word, font, colour);
        } else {
            let galley = painter.layout_no_wrap(word.clone(), font, colour);
            let left = (middle - galley.size().y / 2.0).min(stage.rect.right() - galley.size().y);
            let at = pos2(left, stage.top - 4.0);
            painter.add(TextShape::new(at, galley, colour).with_angle(-std::f32::consts::FRAC_PI_2));
        }
    }
}

/// Draws a trace: one bar per word, as high as its retained share.
fn draw_strip(painter: &Painter, stage: &CanvasLayout, cx: &ViewCx<'_>, s: &Sentence, trace: usize, cursor: usize) {
    let a = s.alphas[trace];
    let top = stage.top + stage.strip * trace as f32 + if stage.strip < 48.0 { 4.0 } else { 8.0 };
    let bottom = stage.top + stage.strip * (trace as f32 + 1.0);
    let tone = cx.theme.trace_colour(trace);
    let left = stage.rect.left();
    painter.text(pos2(left, top), Align2::LEFT_TOP, TRACE_NAMES[trace], FontId::proportional(theme::BODY), tone);
    let number = |y: f32, words: String| {
        painter.text(pos2(left, top + y), Align2::LEFT_TOP, words, theme::numbers(), cx.theme.secondary);
    };
    if stage.strip > 36.0 {
        number(18.0, format!("\u{3b1} {a:.3}"));
    }
    if stage.strip > 60.0 {
        number(32.0, format!("half {:.1}", ema::half_life(a)));
    }
    let gap = if stage.column > 8.0 { 2.0 } else { 0.5 };
    for (i, word) in s.words.iter().enumerate().take(cursor + 1) {
        let share = ema::retention(a, (cursor - i) as f64) as f32;
        let x = stage.word_left(i);
        let colour = s.colour(word, cx.theme);
        let full = Rect::from_min_max(pos2(x + gap / 2.0, top), pos2(x + stage.column - gap / 2.0, bottom));
        painter.rect_filled(full, 1.0, colour.gamma_multiply(0.10));
        let bar = Rect::from_min_max(pos2(full.left(), bottom - full.height() * share), full.max);
        painter.rect_filled(bar, 1.0, colour);
    }
    let ends = stage.word_left(0)..=stage.word_left(s.words.len());
    painter.hline(ends, bottom, Stroke::new(1.0, cx.theme.line));
}

/// Says in a tooltip how much of the word under the pointer each trace retains.
fn explain(response: Response, s: &Sentence, word: usize, cursor: usize) {
    let name = s.words.get(word).map_or("", String::as_str);
    let mut words = match cursor.checked_sub(word) {
        None => format!("\u{201c}{name}\u{201d} has not been read yet."),
        Some(0) => format!("\u{201c}{name}\u{201d} has just been read."),
        Some(1) => format!("\u{201c}{name}\u{201d}, one word ago."),
        Some(k) => format!("\u{201c}{name}\u{201d}, {k} words ago."),
    };
    if let Some(k) = cursor.checked_sub(word) {
        for (name, &a) in TRACE_NAMES.iter().zip(&s.alphas) {
            let (left, weight) = (100.0 * ema::retention(a, k as f64), ema::impulse(a, k as f64));
            let _ = write!(words, "\n{name}: {left:.1}% left, weight {weight:.4} in the trace");
        }
    }
    response.on_hover_text_at_pointer(words);
}

impl View for TraceStrips {
    fn controls(&self) -> &'static [&'static str] {
        const { &[TraceSettings::sentence.name] }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        cx.controls_ui(ui, Self::sentence_ui);
        let s = Sentence::from_settings(cx);
        if s.words.is_empty() {
            return cx.nothing_ui(ui, "Type a sentence above: each word gets a colour.");
        }
        let count = s.words.len();
        let name = |at: usize| format!("{} of {count}", at + 1);
        cx.controls_ui(ui, |ui, cx| {
            self.playhead.ui(ui, "word", WORD_TIME, &mut cx.selection.token, count - 1, Some(&name))
        });
        self.canvas_ui(ui, cx, &s);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let s = Sentence::from_settings(cx);
        let cursor = s.cursor(cx.selection.token);
        format!("what is left of each word after {} of {} words", cursor + 1, s.words.len())
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let s = Sentence::from_settings(cx);
        let cursor = s.cursor(cx.selection.token);
        let columns = "word,text,words_ago,fast_left,medium_left,slow_left,fast_weight,medium_weight,slow_weight";
        let mut table = Table::new(columns.split(','));
        for (i, word) in s.words.iter().enumerate().take(cursor + 1) {
            let k = (cursor - i) as f64;
            let [fast, medium, slow] = s.alphas.map(|a| ema::retention(a, k));
            let weights = s.alphas.map(|a| ema::impulse(a, k));
            table.cells(&[&i, word, &k, &fast, &medium, &slow, &weights[0], &weights[1], &weights[2]]);
        }
        table.finish_if_any()
    }
}
