//! The likeliest next tokens in one line of text, and as bars.

use eframe::egui::Color32;

use super::{bars::Bar, token_strip::visible_text};
use crate::telemetry::measurements::LikelyToken;

/// "the 0.31  a 0.12": each token with its probability.
pub fn likely_tokens_label(likely: &[LikelyToken]) -> String {
    likely.iter().map(|l| format!("{} {:.2}", l.token, l.probability)).collect::<Vec<_>>().join("  ")
}

/// A bar of a token's probability, marked with what it was `before` if it was among those.
pub fn likely_bar(likely: &LikelyToken, colour: Color32, before: &[LikelyToken]) -> Bar {
    let was = before.iter().find(|other| other.token == likely.token);
    Bar::new(visible_text(&likely.token), colour, likely.probability).before(was.map(|other| other.probability))
}
