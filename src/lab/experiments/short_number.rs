//! A number as people read it.

/// Writes at most four significant digits, without trailing zeros; powers of ten where they are shorter.
pub fn short(v: f64) -> String {
    let a = v.abs();
    if v == 0.0 || !v.is_finite() {
        return if v == 0.0 { "0".into() } else { format!("{v}") };
    }
    if !(1e-3..1e6).contains(&a) {
        return scientific(v, 3);
    }
    let whole = a.log10().floor().max(0.0) as usize + 1;
    let leading = if a < 1.0 { (-a.log10()).ceil() as usize } else { 0 };
    let decimals = 4usize.saturating_sub(whole) + leading;
    trimmed(&format!("{v:.decimals$}")).to_owned()
}

/// A p value, which is never 0: "0.03", "1.2e-7", and "< 1e-300" where it is too small for a number.
pub fn p_label(p: f64) -> String {
    const SMALLEST: f64 = 1e-300;
    if p < SMALLEST { format!("< {}", short(SMALLEST)) } else { short(p) }
}

/// A number with a power of ten, and at most `digits` digits after the point.
pub fn scientific(v: f64, digits: usize) -> String {
    let text = format!("{v:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{}e{exponent}", trimmed(mantissa))
}

fn trimmed(text: &str) -> &str {
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
    fn no_p_value_is_zero() {
        assert_eq!([0.03125, 1.31e-8, 1.0, 0.0].map(p_label), ["0.03125", "1.31e-8", "1", "< 1e-300"]);
    }
}
