//! The colours of attention weights.

use crate::ui::views::prelude::*;

/// The two scales of the colours, logarithmic and linear, with their labels and tooltips.
pub const SCALES: [(bool, &str, &str); 2] =
    [(false, "log", "Colours by the logarithm of the weight."), (true, "linear", "Colours by the weight itself.")];
/// Differential weights of at least this size have the last colour.
const MAX_DIFFERENCE: f32 = 0.25;
/// Smallest weight with a colour of its own on the logarithmic scale.
const MIN_WEIGHT: f32 = 1e-3;

/// Colours of weights between 0 and 1, in `map`; of differential ones, which have no logarithm, around 0.
pub fn weight_colours(is_differential: bool, is_linear: bool, map: ColourMap, theme: &Theme) -> Colours {
    if is_differential {
        return around_zero(MAX_DIFFERENCE, theme);
    }
    let range = if is_linear { [0.0, 1.0] } else { [MIN_WEIGHT, 1.0] };
    Colours { map, range, log: !is_linear }
}

/// Colours that diverge from 0 and end at `max` on both sides.
pub fn around_zero(max: f32, theme: &Theme) -> Colours {
    Colours { map: ColourMap::Diverging { dark: theme.dark }, range: [-max, max], log: false }
}

/// The end of a colour scale for values up to a magnitude: the smallest of 1, 2 and 5 times a power of ten that is not
/// below it, and at least a thousandth.
pub fn rounded_up(magnitude: f32) -> f32 {
    let magnitude = f64::from(magnitude.max(1e-3));
    let power = 10f64.powf(magnitude.log10().floor());
    let ends = [1.0, 2.0, 5.0, 10.0].map(|end| end * power);
    ends.into_iter().find(|end| *end >= magnitude * (1.0 - 1e-6)).unwrap_or(10.0 * power) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_ends_at_a_round_number_above_what_it_shows() {
        for (max, end) in [(0.0, 1e-3), (0.001, 0.001), (0.03, 0.05), (0.05, 0.05), (0.0501, 0.1), (0.7, 1.0)] {
            assert!((rounded_up(max) - end).abs() < 1e-6, "{max}: {}", rounded_up(max));
        }
    }

    #[test]
    fn differential_weights_have_colours_on_both_sides_of_zero() {
        let theme = Theme::dark();
        let colours = weight_colours(true, false, ColourMap::Viridis, &theme);
        assert!(colours.range == [-MAX_DIFFERENCE, MAX_DIFFERENCE] && !colours.log);
        assert!(weight_colours(false, false, ColourMap::Viridis, &theme).log);
    }
}
