//! A number shown large: its name, its value, its trend, and its meaning as a sentence.

use std::{borrow::Cow, sync::Arc};

use eframe::egui::{
    Align, Align2, Color32, FontId, Galley, Layout, Popup, Rect, Response, Role, Sense, Stroke, StrokeKind, Ui,
    WidgetInfo, pos2, vec2,
};

use super::{markdown::sentence_job, number::finite_range, truncated::truncated};
use crate::ui::theme::{self, Theme};

/// Height of a figure, points.
pub const HEIGHT: f32 = 48.0;
pub const GAP: f32 = 24.0;
/// Height of the line with the label, points.
const LABEL_HEIGHT: f32 = 16.0;
const TREND_WIDTH: f32 = 48.0;
const INNER_SPACE: f32 = 8.0;
/// Width of the dot in the colour of the variant, points.
const DOT_WIDTH: f32 = 12.0;

/// A number in large type with its label; parts that are empty take no space.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LargeFigure {
    /// For example "gate".
    pub label: String,
    pub value: String,
    /// For example "nats".
    pub unit: String,
    /// The variant that it belongs to, where there are several.
    pub owner: Option<FigureOwner>,
    /// For example "open".
    pub meaning: String,
    /// Its limits briefly: the step that it was measured at, its interval.
    pub note: String,
    /// Measured points, oldest first, joined by lines.
    pub trend: Vec<(u64, f64)>,
    /// Everything about it, in sentences.
    pub tip: String,
    /// The end of its name for a screen reader: "at step 150".
    pub measured: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FigureOwner {
    pub name: String,
    pub colour: Color32,
}

struct FigureGalleys {
    label: Arc<Galley>,
    owner: Option<Arc<Galley>>,
    value: Arc<Galley>,
    meaning: Option<Arc<Galley>>,
    note: Option<Arc<Galley>>,
}

impl LargeFigure {
    /// A number with its name, and everything about it.
    pub fn new(label: &str, value: String, tip: &str) -> Self {
        Self { label: label.into(), value, tip: tip.into(), ..Self::default() }
    }

    /// Its name for a screen reader: "gate: 0.2000, open, coupled, at step 150".
    fn accessible_text(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        let owner = self.owner.as_ref().map_or("", |owner| owner.name.as_str());
        let parts = [self.meaning.as_str(), owner, self.measured.as_str()].into_iter().filter(|part| !part.is_empty());
        let rest: String = parts.map(|part| format!(", {part}")).collect();
        format!("{}: {}{unit}{rest}", self.label, self.value)
    }

    /// The texts; a label that is wider than this, in points, is cut.
    fn galleys(&self, ui: &Ui, theme: &Theme, max_label: f32) -> FigureGalleys {
        let laid_out = |words: &str, font: FontId, colour| ui.painter().layout_no_wrap(words.to_owned(), font, colour);
        let small = |words: &str, colour| laid_out(words, theme::small(), colour);
        let label = if self.unit.is_empty() { self.label.clone() } else { format!("{} ({})", self.label, self.unit) };
        let some = |words: &str, colour| (!words.is_empty()).then(|| small(words, colour));
        FigureGalleys {
            label: truncated(ui.painter(), &label, theme::small(), theme.secondary, max_label),
            owner: self.owner.as_ref().map(|owner| small(&owner.name, owner.colour)),
            value: laid_out(&self.value, FontId::monospace(theme::HEADING), theme.text),
            meaning: some(&self.meaning, theme.text),
            note: some(&self.note, theme.secondary),
        }
    }

    pub fn width(&self, ui: &Ui, theme: &Theme, has_trend: bool) -> f32 {
        self.width_of(&self.galleys(ui, theme, f32::INFINITY), has_trend)
    }

    fn width_of(&self, words: &FigureGalleys, has_trend: bool) -> f32 {
        let width = |galley: &Option<Arc<Galley>>| galley.as_ref().map_or(0.0, |g| g.size().x);
        let beside = width(&words.meaning).max(width(&words.note));
        let beside = if beside > 0.0 { INNER_SPACE + beside } else { 0.0 };
        let trend = if self.shows_trend(has_trend) { INNER_SPACE + TREND_WIDTH } else { 0.0 };
        let owner = if words.owner.is_some() { INNER_SPACE + DOT_WIDTH + width(&words.owner) } else { 0.0 };
        (words.label.size().x + owner).max(words.value.size().x + trend + beside).ceil()
    }

    /// Its label and number alone, for a place without room for more: whose it is and what it means is in its tooltip, as is
    /// the label, which may be cut, and in its name for a screen reader.
    fn alone(&self) -> Self {
        let owner = self.owner.as_ref().map_or("", |owner| &owner.name);
        let joined = |parts: &[&str], between: &str| {
            parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(between)
        };
        Self {
            label: self.label.clone(),
            value: self.value.clone(),
            unit: self.unit.clone(),
            tip: joined(&[&self.label, owner, &self.meaning, &self.tip], "\n"),
            measured: joined(&[&self.meaning, owner, &self.measured], ", "),
            ..Self::default()
        }
    }

    /// One measured point is not a trend.
    fn shows_trend(&self, has_trend: bool) -> bool {
        has_trend && self.trend.iter().filter(|(_, value)| value.is_finite()).count() > 1
    }

    /// Draws it, with a label of at most `max_label` points; `sense` says whether a click on it does something.
    pub fn ui(&self, ui: &mut Ui, theme: &Theme, has_trend: bool, sense: Sense, max_label: f32) -> Response {
        let words = self.galleys(ui, theme, max_label);
        let (rect, response) = ui.allocate_exact_size(vec2(self.width_of(&words, has_trend), HEIGHT), sense);
        let role = if sense.senses_click() { Role::Button } else { Role::Label };
        response.widget_info(|| WidgetInfo::labeled(role, true, self.accessible_text()));
        if sense.senses_click() && (response.hovered() || response.has_focus()) {
            let outline = if response.has_focus() { theme.accent } else { theme.line };
            ui.painter().rect_stroke(rect.expand(4.0), theme::CORNER, Stroke::new(1.0, outline), StrokeKind::Inside);
        }
        self.paint(ui, theme, rect, &words, self.shows_trend(has_trend));
        if self.tip.is_empty() {
            return response;
        }
        response.on_hover_ui(|ui| {
            ui.set_max_width(ui.spacing().tooltip_width);
            ui.label(sentence_job(theme, &self.tip, theme::BODY, theme.text));
        })
    }

    fn paint(&self, ui: &Ui, theme: &Theme, rect: Rect, words: &FigureGalleys, has_trend: bool) {
        let painter = ui.painter();
        let put = |galley: &Arc<Galley>, x: f32, middle: f32| {
            painter.galley(pos2(x, middle - galley.size().y / 2.0), galley.clone(), theme.text);
        };
        let first = rect.top() + LABEL_HEIGHT / 2.0;
        put(&words.label, rect.left(), first);
        if let (Some(galley), Some(owner)) = (&words.owner, &self.owner) {
            let x = rect.left() + words.label.size().x + INNER_SPACE;
            painter.circle_filled(pos2(x + DOT_WIDTH / 2.0 - 1.0, first), 3.5, owner.colour);
            put(galley, x + DOT_WIDTH, first);
        }
        let middle = (rect.top() + LABEL_HEIGHT + rect.bottom()) / 2.0;
        put(&words.value, rect.left(), middle);
        let mut x = rect.left() + words.value.size().x + INNER_SPACE;
        if has_trend {
            let place = Rect::from_min_size(pos2(x, middle - 10.0), vec2(TREND_WIDTH, 20.0));
            let colour = self.owner.as_ref().map_or(theme.secondary, |owner| owner.colour);
            paint_trend(ui, place.shrink(2.0), &self.trend, colour);
            x += TREND_WIDTH + INNER_SPACE;
        }
        match (&words.meaning, &words.note) {
            (Some(meaning), Some(note)) => {
                put(meaning, x, middle - 8.0);
                put(note, x, middle + 8.0);
            }
            (Some(only), None) | (None, Some(only)) => put(only, x, middle),
            (None, None) => {}
        }
    }
}

/// The minimum height of a trend, as a share of its largest absolute value, so that small changes look small.
const MIN_RELATIVE_RANGE: f64 = 0.05;

/// Widens the range of a trend to at least [`MIN_RELATIVE_RANGE`].
fn widened([low, high]: [f64; 2]) -> [f64; 2] {
    let lacking = MIN_RELATIVE_RANGE * low.abs().max(high.abs()) - (high - low);
    if lacking > 0.0 { [low - lacking / 2.0, high + lacking / 2.0] } else { [low, high] }
}

/// Joins neighbouring measured points by lines, and marks the last.
fn paint_trend(ui: &Ui, place: Rect, points: &[(u64, f64)], colour: Color32) {
    let finite: Vec<(f64, f64)> =
        points.iter().filter(|(_, value)| value.is_finite()).map(|(step, value)| (*step as f64, *value)).collect();
    let [xs, ys] = [finite_range(finite.iter().map(|p| p.0)), finite_range(finite.iter().map(|p| p.1))];
    let (Some(xs), Some(ys)) = (xs, ys.map(widened)) else { return };
    // a constant coordinate is drawn in the middle
    let share = |v: f64, [low, high]: [f64; 2]| {
        let share = (v - low) / (high - low);
        if share.is_finite() { share as f32 } else { 0.5 }
    };
    let at = |p: &(f64, f64)| {
        pos2(place.left() + share(p.0, xs) * place.width(), place.bottom() - share(p.1, ys) * place.height())
    };
    for pair in finite.windows(2) {
        ui.painter().line_segment([at(&pair[0]), at(&pair[1])], Stroke::new(1.5, colour));
    }
    if let Some(last) = finite.last() {
        ui.painter().circle_filled(at(last), 2.0, colour);
    }
}

/// Draws figures in a row, as many as fit, without their trends where otherwise not even two would; the rest is in a list
/// that opens. Returns the index of the figure that was clicked.
pub fn large_figures_ui(ui: &mut Ui, theme: &Theme, figures: &[LargeFigure], sense: Sense) -> Option<usize> {
    let room = ui.available_width();
    let widths = |has_trend| figures.iter().map(|f| f.width(ui, theme, has_trend)).collect::<Vec<_>>();
    if figures.is_empty() {
        return None;
    }
    let [with_trends, without] = [true, false].map(|has_trend| count_that_fits(&widths(has_trend), room));
    let has_trend = with_trends >= 2 || with_trends == without;
    let fitting = if has_trend { with_trends } else { without };
    let rest = if fitting < figures.len() { GAP + MORE_WIDTH } else { 0.0 };
    let lead = figures.first().filter(|first| first.width(ui, theme, has_trend) + rest > room).map(LargeFigure::alone);
    let figures = match lead {
        Some(lead) => Cow::Owned([std::slice::from_ref(&lead), &figures[1..]].concat()),
        None => Cow::Borrowed(figures),
    };
    let mut clicked = None;
    // aligned at the top, for a row of lesser height would push them down
    ui.allocate_ui_with_layout(vec2(room, HEIGHT), Layout::left_to_right(Align::Min), |ui| {
        ui.spacing_mut().item_spacing.x = GAP;
        for (i, figure) in figures.iter().take(fitting).enumerate() {
            if figure.ui(ui, theme, has_trend, sense, room - rest).clicked() {
                clicked = Some(i);
            }
        }
        if fitting < figures.len() {
            let of_rest = rest_ui(ui, theme, &figures[fitting..], sense).map(|i| fitting + i);
            clicked = clicked.or(of_rest);
        }
    });
    clicked
}

/// Width of the note that stands for the figures without room.
const MORE_WIDTH: f32 = 40.0;

/// The number of figures with these widths that fit, at least one. If some do not fit, there is also room for the note
/// about the rest.
fn count_that_fits(widths: &[f32], room: f32) -> usize {
    let total = |n: usize| widths[..n].iter().sum::<f32>() + GAP * n.saturating_sub(1) as f32;
    if total(widths.len()) <= room {
        return widths.len();
    }
    (1..widths.len()).rev().find(|n| total(*n) + GAP + MORE_WIDTH <= room).unwrap_or(1.min(widths.len()))
}

/// "2 more", which opens a list of the figures without room: "+ 2" would be read as a change of the number before it. Returns the
/// index of the one that was clicked.
fn rest_ui(ui: &mut Ui, theme: &Theme, rest: &[LargeFigure], sense: Sense) -> Option<usize> {
    let (rect, response) = ui.allocate_exact_size(vec2(MORE_WIDTH, HEIGHT), Sense::click());
    let words = format!("{} more", rest.len());
    let colour = if response.hovered() || response.has_focus() { theme.text } else { theme.secondary };
    ui.painter().text(rect.left_center(), Align2::LEFT_CENTER, words, theme::small(), colour);
    let lines = rest.iter().map(LargeFigure::accessible_text).collect::<Vec<_>>().join("\n");
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("More numbers: {lines}")));
    let mut clicked = None;
    Popup::menu(&response).show(|ui| {
        for (i, figure) in rest.iter().enumerate() {
            if figure.ui(ui, theme, true, sense, f32::INFINITY).clicked() {
                clicked = Some(i);
            }
        }
    });
    response.on_hover_text(lines);
    clicked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accessible_text_of_a_figure_is_one_sentence() {
        let mut figure = LargeFigure {
            label: "gate".into(),
            value: "0.2000".into(),
            meaning: "open".into(),
            measured: "at step 150".into(),
            ..LargeFigure::default()
        };
        assert_eq!(figure.accessible_text(), "gate: 0.2000, open, at step 150");
        figure.owner = Some(FigureOwner { name: "coupled".into(), colour: Color32::WHITE });
        (figure.unit, figure.meaning) = ("nats".into(), String::new());
        assert_eq!(figure.accessible_text(), "gate: 0.2000 nats, coupled, at step 150");
    }

    #[test]
    fn a_small_change_is_a_small_part_of_a_trend() {
        let [low, high] = widened([0.974, 0.977]);
        assert!((0.003 / (high - low) - 0.0614).abs() < 1e-3, "{low} to {high}");
        assert_eq!(widened([0.2, 1.0]), [0.2, 1.0]);
        assert_eq!(widened([0.0, 0.0]), [0.0, 0.0]);
    }

    #[test]
    fn as_many_fit_as_have_room_and_always_the_first() {
        assert_eq!(count_that_fits(&[100.0, 100.0], 224.0), 2);
        assert_eq!(count_that_fits(&[100.0, 100.0, 100.0], 300.0), 2);
        assert_eq!(count_that_fits(&[100.0, 100.0, 100.0], 270.0), 1);
        assert_eq!(count_that_fits(&[100.0, 100.0], 50.0), 1);
        assert_eq!(count_that_fits(&[], 50.0), 0);
    }
}
