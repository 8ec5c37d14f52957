//! Named bars with a mark for the earlier value of each.

use eframe::egui::{
    Align2, Color32, FontId, Rect, Response, Sense, Stroke, Ui, WidgetInfo, accesskit::Role, pos2, vec2,
};

use super::token_strip::visible_text;
use crate::{telemetry::measurements::LikelyToken, ui::theme::Theme};

#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    pub name: String,
    /// The meaning of the colour, repeated as a sign before the name.
    pub sign: &'static str,
    pub colour: Color32,
    pub value: f64,
    /// The earlier value, marked by a line across the bar.
    pub before: Option<f64>,
}

impl Bar {
    pub fn new(name: impl Into<String>, colour: Color32, value: f64) -> Self {
        Self { name: name.into(), sign: "", colour, value, before: None }
    }

    pub fn sign(self, sign: &'static str) -> Self {
        Self { sign, ..self }
    }

    pub fn before(self, before: impl Into<Option<f64>>) -> Self {
        Self { before: before.into(), ..self }
    }
}

/// A probability to four decimals, which are under one another.
fn share_label(p: f64) -> String {
    match p {
        p if p.is_nan() => "no value".to_owned(),
        p if p > 0.0 && p < 5e-5 => "<0.0001".to_owned(),
        p => format!("{p:.4}"),
    }
}

const ROW_HEIGHT: f32 = 19.0;
const FIGURE_WIDTH: f32 = 58.0;
const SIGN_WIDTH: f32 = 12.0;

/// Draws bars over the available width, which `max` fills. `title` names them for screen readers.
pub fn bars_ui(ui: &mut Ui, theme: &Theme, title: &str, bars: impl IntoIterator<Item = Bar>, max: f64) -> Response {
    let bars: Vec<Bar> = bars.into_iter().collect();
    let width = ui.available_width().max(160.0);
    let (rect, response) = ui.allocate_exact_size(vec2(width, ROW_HEIGHT * bars.len() as f32), Sense::hover());
    let painter = ui.painter_at(rect);
    let font = FontId::proportional(12.0);
    let words = |text: &str, colour| painter.layout_no_wrap(text.to_owned(), font.clone(), colour);
    let names: Vec<_> = bars.iter().map(|b| words(&b.name, theme.text)).collect();
    let widest = names.iter().map(|g| g.size().x).fold(0.0, f32::max).min(width * 0.34);
    let left = rect.left() + SIGN_WIDTH + widest + 8.0;
    let right = rect.right() - FIGURE_WIDTH;
    let across = |v: f64| left + ((v / max.max(1e-12)).clamp(0.0, 1.0) as f32) * (right - left).max(8.0);
    for (i, (bar, name)) in bars.iter().zip(names).enumerate() {
        let y = rect.top() + ROW_HEIGHT * (i as f32 + 0.5);
        painter.text(pos2(rect.left(), y), Align2::LEFT_CENTER, bar.sign, font.clone(), bar.colour);
        let clip = Rect::from_min_max(pos2(rect.left(), y - ROW_HEIGHT / 2.0), pos2(left - 6.0, y + ROW_HEIGHT / 2.0));
        let at = pos2(rect.left() + SIGN_WIDTH, y - name.size().y / 2.0);
        painter.with_clip_rect(clip).galley(at, name, theme.text);
        painter.hline(left..=right, y, Stroke::new(1.0, theme.line));
        if bar.value.is_finite() {
            let filled = Rect::from_min_max(pos2(left, y - 5.0), pos2(across(bar.value).max(left + 1.0), y + 5.0));
            painter.rect_filled(filled, 1.0, bar.colour);
        }
        if let Some(before) = bar.before.filter(|v| v.is_finite()) {
            // the mark is outlined in the background's colour, so that it is visible on the bar as well
            let x = across(before);
            painter.vline(x, y - 7.0..=y + 7.0, Stroke::new(4.0, theme.panel));
            painter.vline(x, y - 7.0..=y + 7.0, Stroke::new(2.0, theme.text));
        }
        let figure = share_label(bar.value);
        painter.text(pos2(rect.right(), y), Align2::RIGHT_CENTER, figure, FontId::monospace(12.0), theme.text);
    }
    response.widget_info(|| {
        let all: Vec<String> = bars.iter().map(|b| format!("{} {:.3}", b.name, b.value)).collect();
        WidgetInfo::labeled(Role::Canvas, true, format!("{title}: {}", all.join(", ")))
    });
    response
}

/// "the 0.31  a 0.12": each token with its probability.
pub fn likely_tokens_label(likely: &[LikelyToken]) -> String {
    likely.iter().map(|l| format!("{} {:.2}", l.token, l.probability)).collect::<Vec<_>>().join("  ")
}

/// A bar of a token's probability, marked with what it was `before` if it was among those.
pub fn likely_bar(likely: &LikelyToken, colour: Color32, before: &[LikelyToken]) -> Bar {
    let was = before.iter().find(|other| other.token == likely.token);
    Bar::new(visible_text(&likely.token), colour, likely.probability).before(was.map(|other| other.probability))
}
