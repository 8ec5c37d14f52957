//! A number as people read it.

use crate::labs::headline::Digits;

/// Writes at most four significant digits, without trailing zeros; powers of ten where they are shorter.
pub fn short(v: f64) -> String {
    short_to(v, 0)
}

/// A [`short`] number with at least this many decimals, as far as they are not zeros.
fn short_to(v: f64, least: usize) -> String {
    let a = v.abs();
    if v == 0.0 || !v.is_finite() {
        return if v == 0.0 { "0".into() } else { format!("{v}") };
    }
    if !(1e-3..1e6).contains(&a) {
        return scientific(v, 3);
    }
    let whole = a.log10().floor().max(0.0) as usize + 1;
    let leading = if a < 1.0 { (-a.log10()).ceil() as usize } else { 0 };
    let decimals = (4usize.saturating_sub(whole) + leading).max(least);
    trim_zeros(&format!("{v:.decimals$}")).to_owned()
}

/// Digits that a mean gets at most beyond those of its number, where the spread is small.
const MORE_DIGITS: usize = 2;

/// "1.50 ± 0.71": a mean over seeds and its standard deviation, as the number is written (without `digits` as a [`short`] one),
/// but with decimals up to the second digit of the spread, so that rounding does not move the mean by as much as the spread.
pub fn with_spread(mean: f64, sd: f64, digits: Option<Digits>) -> String {
    // a spread from 10 on has two digits before the point
    let second = if sd > 0.0 && sd < 10.0 { (1.0 - sd.log10().floor()) as usize } else { 0 };
    match digits {
        Some(Digits::Decimals(n)) => {
            let digits = Digits::Decimals(n.max(second.min(n + MORE_DIGITS)));
            format!("{} ± {}", digits.format(mean), digits.format(sd))
        }
        Some(digits) => format!("{} ± {}", digits.format(mean), digits.format(sd)),
        None => format!("{} ± {}", short_to(mean, second.min(4 + MORE_DIGITS)), short(sd)),
    }
}

/// A p value with two significant digits, which is never 0: "0.03", "1.2e-7", and "< 1e-300" where it is too small for a number.
pub fn p_label(p: f64) -> String {
    const MIN_SHOWN: f64 = 1e-300;
    if p < MIN_SHOWN { format!("< {}", short(MIN_SHOWN)) } else { short(format!("{p:.1e}").parse().unwrap_or(p)) }
}

/// A whole number in groups that no line break parts: 780 801.
pub fn grouped(n: u64) -> String {
    grouped_by(n, '\u{a0}')
}

/// A whole number with a separator between groups of three digits.
pub fn grouped_by(n: u64, separator: char) -> String {
    let digits = n.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(separator.to_string().as_str())
}

/// A number with a power of ten, and at most `digits` digits after the point.
pub fn scientific(v: f64, digits: usize) -> String {
    let text = format!("{v:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{}e{exponent}", trim_zeros(mantissa))
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        for (v, want) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (0.95, "0.95"),
            (0.001, "0.001"),
            (3e-4, "3e-4"),
            (1234.5, "1234"),
            (12_345.6, "12346"),
            (12.345, "12.35"),
            (-0.01234, "-0.01234"),
            (1.2e-7, "1.2e-7"),
            (2.5e7, "2.5e7"),
        ] {
            assert_eq!(short(v), want);
        }
    }

    #[test]
    fn whole_numbers_are_in_groups() {
        assert_eq!([780_801, 12].map(grouped), ["780\u{a0}801", "12"]);
    }

    #[test]
    fn a_mean_is_not_rounded_by_as_much_as_its_spread() {
        let decimals = |n| Some(Digits::Decimals(n));
        for (mean, sd, digits, want) in [
            (1.5, 0.5f64.sqrt(), decimals(0), "1.50 ± 0.71"),
            (1.5, 0.5f64.sqrt(), None, "1.5 ± 0.7071"),
            (57.5, 24.7, decimals(0), "58 ± 25"),
            (57.5, 0.0, decimals(1), "57.5 ± 0.0"),
            (5.55, 0.5, decimals(2), "5.55 ± 0.50"),
            (2.0, 2f64.sqrt(), decimals(4), "2.0000 ± 1.4142"),
            (2.5, 0.00012, decimals(3), "2.50000 ± 0.00012"),
            (2.5, 3e-9, decimals(3), "2.50000 ± 3.0e-9"),
            (2.5, f64::NAN, decimals(3), "2.500 ± NaN"),
            (1234.5, 0.3, None, "1234.5 ± 0.3"),
            (3.2e-9, 1e-9, Some(Digits::Scientific), "3.2e-9 ± 1.0e-9"),
        ] {
            assert_eq!(with_spread(mean, sd, digits), want);
        }
    }

    #[test]
    fn no_p_value_is_zero() {
        assert_eq!([0.03125, 1.31e-8, 1.0, 0.0].map(p_label), ["0.031", "1.3e-8", "1", "< 1e-300"]);
    }
}
