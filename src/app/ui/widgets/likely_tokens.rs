//! The likeliest next tokens in one line of text.

use crate::telemetry::measurements::LikelyToken;

/// "the 0.31  a 0.12": each token with its probability.
pub fn likely_tokens_label(likely: &[LikelyToken]) -> String {
    likely.iter().map(|l| format!("{} {:.2}", l.token, l.probability)).collect::<Vec<_>>().join("  ")
}
