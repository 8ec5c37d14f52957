//! A sentence as a row of tokens that can be pointed at and clicked, wrapped to the width.

use eframe::egui::{
    Align2, Color32, FontId, Rect, Sense, Stroke, StrokeKind, Ui, WidgetInfo, accesskit::Role, pos2, vec2,
};

use super::truncated::text_width;
use crate::ui::{system_fonts::is_east_asian, theme::Theme};

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Mark {
    pub ground: Option<Color32>,
    pub outline: Option<Color32>,
}

impl Mark {
    /// A background in `tone` that shows a share of the largest value: it begins with the opacity `faintest`, to which the
    /// largest value adds `added`. A share of at most 2% has none.
    pub fn heat(tone: Color32, share: f32, faintest: f32, added: f32, outline: Option<Color32>) -> Self {
        let ground = (share > 0.02).then(|| tone.gamma_multiply(faintest + added * share));
        Self { ground, outline }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StripResponse {
    pub hovered: Option<usize>,
    pub clicked: Option<usize>,
}

const FONT_SIZE: f32 = 13.0;
const ROW_HEIGHT: f32 = 20.0;

/// Draws `tokens` in rows over the available width, marked by `mark`.
pub fn token_strip_ui(ui: &mut Ui, theme: &Theme, tokens: &[String], mark: impl Fn(usize) -> Mark) -> StripResponse {
    written_strip_ui(ui, theme, tokens, tokens.len(), mark)
}

/// Draws a strip like [`token_strip_ui`]; the tokens from `written` on, which a model wrote, are underlined.
pub fn written_strip_ui(
    ui: &mut Ui,
    theme: &Theme,
    tokens: &[String],
    written: usize,
    mark: impl Fn(usize) -> Mark,
) -> StripResponse {
    let font = FontId::monospace(FONT_SIZE);
    let advance = text_width(ui.painter(), "m", font.clone());
    let width = ui.available_width().max(advance * 8.0);
    let mut places: Vec<Rect> = Vec::with_capacity(tokens.len());
    let (mut x, mut row) = (0.0, 0.0);
    let apart = are_words(tokens);
    for token in tokens {
        let wide = match token.chars().count() {
            0 => narrow_token_width(advance),
            // these are wider than the others
            _ if token.contains(is_east_asian) => text_width(ui.painter(), &visible_text(token), font.clone()),
            n => advance * n as f32,
        };
        // Word tokens hold no spaces, so that they are drawn apart.
        if apart && x > 0.0 && !token.is_empty() && !token.starts_with(|c: char| c.is_ascii_punctuation()) {
            x += advance * 0.7;
        }
        if x + wide > width && x > 0.0 {
            (x, row) = (0.0, row + ROW_HEIGHT);
        }
        places.push(Rect::from_min_size(pos2(x, row), vec2(wide, ROW_HEIGHT)));
        x += wide;
    }
    let (rect, response) = ui.allocate_exact_size(vec2(width, row + ROW_HEIGHT), Sense::click());
    let corner = rect.min.to_vec2();
    let painter = ui.painter_at(rect.expand(1.0));
    for (i, (place, token)) in places.iter().zip(tokens).enumerate() {
        let at = place.translate(corner);
        let Mark { ground, outline } = mark(i);
        if let Some(ground) = ground {
            painter.rect_filled(at.shrink2(vec2(0.0, 1.0)), 0.0, ground);
        }
        if let Some(outline) = outline {
            painter.rect_stroke(at.shrink2(vec2(0.0, 1.0)), 2.0, Stroke::new(1.5, outline), StrokeKind::Inside);
        }
        if i >= written {
            painter.hline(at.x_range(), at.bottom() - 2.0, Stroke::new(1.0, theme.secondary));
        }
        let shown = visible_text(token);
        let colour = if shown == *token { theme.text } else { theme.secondary };
        painter.text(at.left_center(), Align2::LEFT_CENTER, shown, font.clone(), colour);
    }
    let under = |p: eframe::egui::Pos2| places.iter().position(|r| r.translate(corner).contains(p));
    let hovered = response.hover_pos().and_then(under);
    let words = || match written < tokens.len() {
        true => format!("tokens: {}; written: {}", tokens[..written].concat(), tokens[written..].concat()),
        false => format!("tokens: {}", tokens.concat()),
    };
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, words()));
    StripResponse { hovered, clicked: if response.clicked() { hovered } else { None } }
}

/// The width of a token that shows nothing, a byte inside a character whose first byte shows it.
pub fn narrow_token_width(advance: f32) -> f32 {
    0.3 * advance
}

/// True if the tokens are words without spaces between them. Spaces that are, or are in, tokens are visible.
pub fn are_words(tokens: &[String]) -> bool {
    let has_space = |t: &String| t.contains([' ', '\u{b7}', '\u{2581}', '\u{120}']);
    let long = tokens.iter().filter(|t| t.chars().filter(|c| c.is_alphabetic()).count() > 1).count();
    long * 2 > tokens.len() && !tokens.iter().any(has_space)
}

/// A token in quotation marks, its line ends as signs.
pub fn quoted(token: &str) -> String {
    format!("\u{201c}{}\u{201d}", token.replace('\n', "\u{ac}"))
}

/// The label of a position: its token, or the tokens of a block where a position stands for several.
pub fn position_label(tokens: &[String], tokens_per_position: usize, at: usize) -> String {
    match tokens.get(at) {
        Some(token) if tokens_per_position == 1 => format!("{at} {}", quoted(token)),
        _ if tokens_per_position > 1 => {
            format!("tokens {} to {}", at * tokens_per_position, (at + 1) * tokens_per_position - 1)
        }
        _ => at.to_string(),
    }
}

/// A token or a text with its spaces and line ends as unobtrusive signs.
pub fn visible_text(text: &str) -> String {
    let visible = |c: char| match c {
        ' ' => '\u{b7}',
        '\n' | '\r' | '\t' => '\u{ac}',
        c => c,
    };
    text.chars().map(visible).collect()
}

/// A text in one line: line ends as pilcrows, and the replacement character for what none of the installed fonts can draw.
pub fn drawable_text(ui: &Ui, text: &str) -> String {
    let font = FontId::proportional(FONT_SIZE);
    ui.fonts_mut(|fonts| {
        let drawn = |c: char| match c {
            '\n' => '\u{b6}',
            c if fonts.has_glyph(&font, c) => c,
            _ => char::REPLACEMENT_CHARACTER,
        };
        text.chars().map(drawn).collect()
    })
}
