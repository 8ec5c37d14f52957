//! Linear and logarithmic axes: mapping, ticks and the text on them. Pure arithmetic.

use crate::{experiments::short_number::scientific, labs::headline::rounded};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    #[default]
    Linear,
    /// Base 10; values at or below zero cannot be shown on it.
    Log,
}

impl Scale {
    /// Value -> position on the axis; NaN where it has none.
    pub fn position(self, value: f64) -> f64 {
        match self {
            Scale::Linear if value.is_finite() => value,
            Scale::Log if value > 0.0 && value.is_finite() => value.log10(),
            _ => f64::NAN,
        }
    }

    /// Position on the axis -> value.
    pub fn value(self, place: f64) -> f64 {
        match self {
            Scale::Linear => place,
            Scale::Log => 10f64.powf(place),
        }
    }

    /// Ticks inside `[from, to]` (places), about `wanted` of them: (place, words).
    pub fn ticks(self, from: f64, to: f64, wanted: usize) -> Vec<(f64, String)> {
        if !(from.is_finite() && to.is_finite() && to > from) {
            return vec![];
        }
        let ticks = match self {
            Scale::Linear => linear_ticks(from, to, wanted),
            Scale::Log => log_ticks(from, to, wanted),
        };
        if !ticks.is_empty() {
            return ticks;
        }
        // No round number lies inside, or their labels are equal: the ends label the axis instead.
        [from, to].into_iter().map(|p| (p, value_label(self.value(p).min(f64::MAX)))).collect()
    }

    /// [`Scale::ticks`] at whole numbers alone.
    pub fn integer_ticks(self, from: f64, to: f64, wanted: usize) -> Vec<(f64, String)> {
        // no more numbers than whole ones, so that none needs a digit after the point
        let mut ticks = self.ticks(from, to, wanted.min(((to - from) as usize).max(1)));
        let count = ticks.len();
        ticks.retain(|t| (self.value(t.0) - self.value(t.0).round()).abs() < 1e-6);
        if ticks.len() < count {
            // a whole number alone has ticks beside it, whose digits it does not need
            let with_digits = ticks.iter_mut().filter(|tick| tick.1.contains('.'));
            with_digits.for_each(|(place, label)| *label = plain(self.value(*place), 0));
        }
        ticks
    }
}

/// Leaves only every n-th tick its words, for the smallest n at which none touch those before. `span` gives where the
/// words of a tick begin and end along the axis.
pub fn thin_tick_labels(ticks: &mut [(f64, String)], span: impl Fn(&(f64, String)) -> [f32; 2]) {
    let spans: Vec<[f32; 2]> = ticks.iter().map(span).collect();
    let are_apart = |every: &usize| {
        let shown: Vec<&[f32; 2]> = spans.iter().step_by(*every).collect();
        shown.windows(2).all(|pair| pair[0][1] <= pair[1][0])
    };
    let every = (1..=spans.len()).find(are_apart).unwrap_or(1);
    ticks.iter_mut().enumerate().filter(|(i, _)| !i.is_multiple_of(every)).for_each(|(_, tick)| tick.1.clear());
}

/// The largest span that is divided directly; a larger one is first divided by a thousand.
const MAX_PLAIN_SPAN: f64 = 1e300;
/// Numbers of this size and larger are written with a power of ten.
const MIN_POWER_OF_TEN: f64 = 1e12;

/// 1, 2 or 5 times a power of ten: the step whose number of ticks over `span` is nearest `wanted`.
fn nice_step(span: f64, wanted: usize) -> f64 {
    let rough = span / wanted.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let away = |m: &f64| ((span / (m * power)).ln() - (wanted.max(1) as f64).ln()).abs();
    let nearest = [1.0, 2.0, 5.0, 10.0].into_iter().min_by(|a, b| away(a).total_cmp(&away(b)));
    nearest.unwrap_or(10.0) * power
}

fn linear_ticks(from: f64, to: f64, wanted: usize) -> Vec<(f64, String)> {
    let half = to * 0.5 - from * 0.5;
    if half.is_finite() && half > MAX_PLAIN_SPAN {
        let ticks = linear_ticks(from / 1000.0, to / 1000.0, wanted).into_iter().map(|t| t.0 * 1000.0);
        return ticks.filter(|v| v.is_finite()).map(|v| (v, trim_exponent(v, 1))).collect();
    }
    let inside = |step: f64| ((from / step - 1e-9).ceil(), (to / step + 1e-9).floor());
    let mut step = nice_step(to - from, wanted);
    // a single tick, such as 0 in a range around zero, does not show the scale
    if inside(step).1 - inside(step).0 < 1.0 {
        step = nice_step(to - from, 2 * wanted.max(1));
    }
    let (first, last) = inside(step);
    if !(first.is_finite() && last.is_finite()) || last - first > 100.0 {
        return vec![];
    }
    let places: Vec<f64> = (0..=(last - first) as usize).map(|i| (first + i as f64) * step).collect();
    let largest = places.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    places.into_iter().map(|v| (v, tick_label(v, step, largest))).collect()
}

/// Mantissas of the ticks of a logarithmic axis, from few to many.
static MANTISSAS: [&[f64]; 4] =
    [&[1.0], &[1.0, 2.0, 5.0], &[1.0, 2.0, 3.0, 5.0, 7.0], &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]];

fn log_ticks(from: f64, to: f64, wanted: usize) -> Vec<(f64, String)> {
    let decades = to - from;
    let wanted = wanted.max(2);
    let even = || -> Vec<(f64, String)> {
        let (lo, hi) = (10f64.powf(from), 10f64.powf(to).min(f64::MAX));
        linear_ticks(lo, hi, wanted).into_iter().filter(|t| t.0 > 0.0).map(|(v, w)| (v.log10(), w)).collect()
    };
    if decades < 0.5 {
        // Less than half a decade: even steps read better than 1, 2, 5.
        return even();
    }
    let every = (decades / wanted as f64).round().max(1.0) as i64;
    let is_short = decades * 3.0 <= wanted as f64 * 1.5;
    let finest = if every == 1 { MANTISSAS.len() } else { 0 };
    let finer = MANTISSAS[..finest].iter().skip(usize::from(is_short));
    let finer = finer.map(|mantissas| decade_ticks([from, to], 1, mantissas));
    let strides = if is_short { vec![] } else { vec![every, (every / 2).max(1)] };
    let coarse = strides.into_iter().map(|every| decade_ticks([from, to], every, MANTISSAS[0]));
    // as many as wanted, as nearly as that goes; one alone gives no scale
    let away = |ticks: &Vec<(f64, String)>| (ticks.len() as f64 / wanted as f64).ln().abs();
    let several = coarse.chain(finer).filter(|ticks| ticks.len() > 1);
    several.min_by(|a, b| away(a).total_cmp(&away(b))).unwrap_or_else(even)
}

/// The powers of ten of a logarithmic axis in plain decimals; where one lies outside, all are written with their exponent.
const PLAIN_EXPONENTS: std::ops::RangeInclusive<i64> = -4..=4;

/// Ticks at these multiples of every n-th power of ten.
fn decade_ticks([from, to]: [f64; 2], every: i64, mantissas: &[f64]) -> Vec<(f64, String)> {
    let exponents = (from.floor() as i64..=to.ceil() as i64).filter(|exponent| exponent.rem_euclid(every) == 0);
    let tick = |exponent: i64, m: f64| {
        let value = m * 10f64.powi(exponent as i32);
        let place = value.log10();
        (place >= from - 1e-6 && place <= to + 1e-6).then_some((place, value, exponent, m))
    };
    let ticks = exponents.flat_map(|exponent| mantissas.iter().filter_map(move |m| tick(exponent, *m)));
    let ticks: Vec<(f64, f64, i64, f64)> = ticks.collect();
    let is_plain = ticks.iter().all(|(_, _, exponent, _)| PLAIN_EXPONENTS.contains(exponent));
    let label = |value: f64, exponent: i64, mantissa: f64| match is_plain {
        true => plain(value, (i64::from(mantissa.fract() != 0.0) - exponent).max(0) as usize),
        false => trim_exponent(value, 1),
    };
    ticks.into_iter().map(|(place, value, exponent, m)| (place, label(value, exponent, m))).collect()
}

fn tick_label(value: f64, step: f64, largest: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..MIN_POWER_OF_TEN).contains(&largest) {
        let digits = (largest.log10().floor() - (step.log10() + 1e-9).floor()).clamp(1.0, 12.0);
        return trim_exponent(value, digits as usize);
    }
    for (unit, letter) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if largest >= unit * if unit == 1e3 { 10.0 } else { 1.0 } {
            return format!("{}{letter}", plain(value / unit, decimals(step / unit)));
        }
    }
    plain(value, decimals(step))
}

/// The number of decimals that tells multiples of `step` apart.
fn decimals(step: f64) -> usize {
    (-(step.log10() + 1e-9).floor()).clamp(0.0, 12.0) as usize
}

/// A number in plain decimals, with a true minus sign instead of a hyphen.
fn plain(value: f64, decimals: usize) -> String {
    rounded(value, decimals).replace('-', "\u{2212}")
}

/// A number with a power of ten, and a true minus sign instead of a hyphen.
fn trim_exponent(value: f64, digits: usize) -> String {
    scientific(value, digits).replace('-', "\u{2212}")
}

/// A value for a readout: four significant digits, never more than nine characters.
pub fn value_label(value: f64) -> String {
    if value.is_nan() {
        return "no value".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "infinite".to_owned() } else { "\u{2212}infinite".to_owned() };
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let size = value.abs().log10().floor() as i64;
    match size {
        -4..=5 => plain(value, (3 - size).clamp(0, 7) as usize),
        _ => format!("{value:.3e}").replace('-', "\u{2212}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, from: f64, to: f64, wanted: usize) -> Vec<String> {
        scale.ticks(from, to, wanted).into_iter().map(|t| t.1.replace('\u{2212}', "-")).collect()
    }

    #[test]
    fn zero_has_no_sign() {
        assert_eq!([plain(-0.004, 1), plain(-0.0, 2), plain(-0.06, 1)], ["0.0", "0.00", "\u{2212}0.1"]);
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(labels(Scale::Linear, 0.0, 650.0, 3), ["0", "200", "400", "600"]);
        assert_eq!(labels(Scale::Linear, 1.0, 650.0, 6), ["100", "200", "300", "400", "500", "600"]);
        assert_eq!(labels(Scale::Linear, -0.012, 0.013, 3), ["-0.01", "0.00", "0.01"].map(|w| w.replace("0.00", "0")));
        assert_eq!(labels(Scale::Linear, -0.014, 0.014, 2), ["-0.01", "0", "0.01"], "never one number alone");
        assert_eq!(labels(Scale::Linear, 0.0, 60_000.0, 4), ["0", "20k", "40k", "60k"]);
        assert_eq!(labels(Scale::Linear, 0.0, 2.0e-4, 2), ["0", "1e-4", "2e-4"]);
        for wanted in 2..8 {
            for span in [0.37, 1.0, 42.0, 9.9e5] {
                let n = Scale::Linear.ticks(-span / 3.0, span, wanted).len();
                assert!(n >= 2 && n <= wanted * 2, "{n} ticks, {wanted} wanted");
            }
        }
    }

    #[test]
    fn whole_numbers_have_whole_labels() {
        let labels = |scale: Scale, [from, to]: [f64; 2]| {
            let ticks = scale.integer_ticks(from, to, 8).into_iter();
            ticks.map(|tick| tick.1).collect::<Vec<_>>()
        };
        for (cells, all) in [(1.0, "0"), (2.0, "0 1"), (3.0, "0 1 2"), (4.0, "0 1 2 3"), (6.0, "0 1 2 3 4 5")] {
            assert_eq!(labels(Scale::Linear, [0.0, cells - 0.5]).join(" "), all);
        }
        assert_eq!(labels(Scale::Linear, [6.5, 7.5]), ["7"]);
        assert_eq!(labels(Scale::Log, [6.5f64.log10(), 7.5f64.log10()]), ["7"]);
        assert_eq!(labels(Scale::Linear, [19_999.5, 20_000.5]), ["20000"]);
        assert_eq!(labels(Scale::Linear, [12_000.0, 14_000.0])[1], "12.2k", "as on other axes");
    }

    #[test]
    fn words_of_ticks_do_not_touch() {
        let shown = |width: f32| {
            let mut ticks = Scale::Linear.ticks(0.0, 800.0, 8);
            thin_tick_labels(&mut ticks, |(at, words)| {
                let (at, half) = (*at as f32 / 800.0 * width, words.len() as f32 * 3.5);
                [at - half, at + half + 4.0]
            });
            assert_eq!(ticks.len(), 9, "each keeps its place");
            ticks.into_iter().map(|t| t.1).filter(|words| !words.is_empty()).collect::<Vec<_>>()
        };
        assert_eq!(shown(400.0).len(), 9);
        assert_eq!(shown(120.0), ["0", "200", "400", "600", "800"]);
        assert_eq!(shown(10.0), ["0"]);
        thin_tick_labels(&mut [], |_| [0.0; 2]);
    }

    #[test]
    fn log_ticks_are_decades() {
        assert_eq!(labels(Scale::Log, -3.0, 1.0, 5), ["0.001", "0.01", "0.1", "1", "10"]);
        assert_eq!(labels(Scale::Log, -12.0, 0.0, 4), ["1e-12", "1e-9", "1e-6", "1e-3", "1e0"]);
        assert_eq!(labels(Scale::Log, 0.0, 4.0, 5), ["1", "10", "100", "1000", "10000"]);
        assert_eq!(labels(Scale::Log, 3.5, 5.1, 4), ["5e3", "1e4", "2e4", "5e4", "1e5"]);
        assert_eq!(labels(Scale::Log, 0.0, 1.0, 4), ["1", "2", "5", "10"]);
        assert!(labels(Scale::Log, 0.30, 0.48, 4).len() >= 2, "a third of a decade still has ticks");
        let places = |from: f64, to: f64, wanted| labels(Scale::Log, from.log10(), to.log10(), wanted);
        assert_eq!(places(1.1, 3.7, 3), ["1.5", "2", "3"]);
        assert_eq!(places(0.0027, 0.011, 4), ["0.003", "0.005", "0.007", "0.01"]);
        for wanted in 2..8 {
            for (from, to) in [(1.1, 3.7), (0.0027, 0.011), (6.0, 40.0), (0.3, 0.99), (2.5e-9, 9e-9), (0.2, 90.0)] {
                let ticks = places(from, to, wanted);
                assert!((2..=2 * wanted + 1).contains(&ticks.len()), "{from} to {to}, {wanted} wanted: {ticks:?}");
            }
        }
        assert!(Scale::Log.position(0.0).is_nan() && Scale::Log.position(-1.0).is_nan());
    }

    #[test]
    fn values_read_with_four_digits() {
        let w = |v| value_label(v).replace('\u{2212}', "-");
        assert_eq!(w(2.345678), "2.346");
        assert_eq!(w(-0.0123456), "-0.01235");
        assert_eq!(w(1234.56), "1235");
        assert_eq!(w(1.5e-9), "1.500e-9");
        assert_eq!(w(0.0), "0");
        assert_eq!(w(f64::NAN), "no value");
    }
}
