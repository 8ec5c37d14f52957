//! Passages one under another with the token that counts in one column (a concordance), tokens as bright as values.

use crate::ui::{
    views::painting::*,
    widgets::token_strip::{are_words, narrow_token},
};

const ROW: f32 = 20.0;
/// Room between two passages, points.
const GAP: f32 = 1.0;
const SIZE: f32 = 12.0;
/// Width of the value at the left, points.
const VALUE: f32 = 58.0;
/// Start of the token, as a share of the width that the value leaves.
const MIDDLE: f32 = 0.62;

/// Draws all; returns the one that was clicked.
pub fn passages_ui(ui: &mut Ui, theme: &Theme, contexts: &[TopContext]) -> Option<usize> {
    ui.spacing_mut().item_spacing.y = GAP;
    let max = contexts.iter().map(|c| c.value).fold(1e-12, f64::max);
    let mut clicked = None;
    for (k, context) in contexts.iter().enumerate() {
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::click());
        if !ui.is_rect_visible(rect) {
            continue;
        }
        let painter = ui.painter_at(rect);
        if response.hovered() {
            painter.rect_filled(rect, 2.0, theme.raised);
        }
        passage_painted(&painter, theme, rect, context, max);
        let token = context.tokens.get(context.token).map_or(String::new(), |t| visible_text(t));
        response.widget_info(|| {
            let words = format!("passage {}: {:.3} at {token}, position {}", k + 1, context.value, context.position);
            WidgetInfo::labeled(Role::Button, true, words)
        });
        let exact =
            if context.is_exact { "" } else { "\nIts first character is cut: read by itself, values differ a little." };
        let tip = format!(
            "{:.4} at \u{201c}{token}\u{201d}, layer {}, token {} of the text.\nClick to read this passage in all views.{exact}",
            context.value, context.layer, context.position
        );
        if response.on_hover_text(tip).clicked() {
            clicked = Some(k);
        }
    }
    clicked
}

fn passage_painted(painter: &Painter, theme: &Theme, rect: Rect, context: &TopContext, max: f64) {
    let (value, font) = (theme::numbers(), FontId::monospace(SIZE));
    let at = pos2(rect.left() + VALUE - 10.0, rect.center().y);
    painter.text(at, Align2::RIGHT_CENTER, format!("{:.3}", context.value), value, theme.text);
    let room = Rect::from_min_max(pos2(rect.left() + VALUE, rect.top()), rect.max);
    let advance = painter.layout_no_wrap("m".to_owned(), font.clone(), theme.text).size().x;
    let gap = if are_words(&context.tokens) { 0.7 * advance } else { 0.0 };
    let wide = |t: usize| match context.tokens[t].chars().count() {
        0 => narrow_token(advance),
        n => advance * n as f32,
    };
    let drawn = |t: usize, left: f32| {
        let place = Rect::from_min_size(pos2(left, rect.top() + 1.0), vec2(wide(t), ROW - 2.0));
        let share = share((context.values.get(t).copied().unwrap_or(0.0) / max) as f32);
        if share > 0.02 {
            painter.rect_filled(place, 0.0, theme.accent.gamma_multiply(0.1 + 0.6 * share));
        }
        let shown = visible_text(&context.tokens[t]);
        let colour =
            if shown.trim_matches(['\u{b7}', '\u{b6}', '\u{ac}']).is_empty() { theme.secondary } else { theme.text };
        painter.text(place.left_center(), Align2::LEFT_CENTER, shown, font.clone(), colour);
        if t == context.token {
            painter.rect_stroke(place.expand2(vec2(1.0, 0.0)), 2.0, Stroke::new(1.5, theme.text), StrokeKind::Inside);
        }
    };
    let middle = room.left() + MIDDLE * room.width();
    let mut right = middle;
    for t in context.token..context.tokens.len() {
        if right + wide(t) > room.right() {
            break;
        }
        drawn(t, right);
        right += wide(t) + gap;
    }
    let mut left = middle;
    for t in (0..context.token).rev() {
        left -= wide(t) + gap;
        if left < room.left() {
            break;
        }
        drawn(t, left);
    }
}
