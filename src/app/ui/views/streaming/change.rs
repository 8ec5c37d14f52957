//! Changes of a perplexity as words and colours.

use crate::ui::{views::prelude::*, widgets::number::difference};

/// A change of this size takes at least half of the colour range; one of 100% takes all of it.
const VISIBLE: f64 = 0.01;

/// 0.045 becomes "+4.5%", more than a tenfold change a factor, and a value that is not a number "diverged".
pub fn change_label(change: f64) -> String {
    match change {
        c if !c.is_finite() => "diverged".to_owned(),
        c if c.abs() < 9.995 => format!("{}%", difference(100.0 * c, 1)),
        c => format!("\u{d7}{}", short(1.0 + c)),
    }
}

/// The label of a change, marked where its interval includes 0.
pub fn cell_label(change: f64, low: f64, high: f64) -> String {
    let is_told = !(low <= 0.0 && high >= 0.0);
    let words = change_label(change);
    if is_told || !change.is_finite() { words } else { format!("\u{2248} {words}") }
}

/// Cool where perplexity falls, warm where it rises, in logarithmic steps.
pub fn change_colour(change: f64, theme: &Theme) -> Color32 {
    let change = if change.is_nan() { f64::INFINITY } else { change };
    let size = ((1.0 + change.abs() / VISIBLE).ln() / (1.0 + 1.0 / VISIBLE).ln()).min(1.0);
    let place = 0.5 + 0.5 * size * change.signum();
    ColourMap::Diverging { dark: theme.dark }.colour(place as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_percent_factors_or_divergence() {
        for (change, words) in [
            (0.045, "+4.5%"),
            (-0.022, "\u{2212}2.2%"),
            (0.0, "0.0%"),
            (-0.0004, "0.0%"),
            (219.0, "\u{d7}220"),
            (f64::NAN, "diverged"),
            (f64::INFINITY, "diverged"),
        ] {
            assert_eq!(change_label(change), words);
        }
        assert_eq!(cell_label(0.01, -0.01, 0.03), "\u{2248} +1.0%");
        assert_eq!(cell_label(0.01, 0.005, 0.03), "+1.0%");
        assert_eq!(cell_label(0.01, f64::NAN, f64::NAN), "+1.0%", "one stream has no interval");
    }

    #[test]
    fn better_and_worse_differ_in_colour() {
        let theme = Theme::dark();
        let middle = change_colour(0.0, &theme);
        assert!(change_colour(0.1, &theme) != middle && change_colour(-0.1, &theme) != middle);
        assert_ne!(change_colour(0.1, &theme), change_colour(-0.1, &theme));
        assert_eq!(change_colour(f64::NAN, &theme), change_colour(5.0, &theme));
    }
}
