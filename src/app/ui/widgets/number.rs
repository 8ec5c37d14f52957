//! Numbers as people read them.

pub use crate::{
    experiments::short_number::{grouped, grouped_by, p_label, short},
    labs::headline::{rounded, signed},
};

/// A difference with its sign, and a true minus sign instead of a hyphen.
pub fn difference(v: f64, decimals: usize) -> String {
    signed(v, decimals).replace('-', "\u{2212}")
}

/// A number shortened with a letter for thousands, millions and more.
pub fn abbreviated(v: f64) -> String {
    match v.abs() {
        a if a >= 1e9 => format!("{:.2} G", 1e-9 * v),
        a if a >= 1e6 => format!("{:.2} M", 1e-6 * v),
        a if a >= 1e4 => format!("{:.0} k", 1e-3 * v),
        a if a >= 100.0 => format!("{v:.0}"),
        a if a < 0.05 => "0.0".to_owned(),
        _ => format!("{v:.1}"),
    }
}

/// A share between 0 and 1 to draw with: of what is not a number, none.
pub fn share(v: f32) -> f32 {
    if v.is_nan() { 0.0 } else { v.clamp(0.0, 1.0) }
}

/// The smallest and the largest finite value; `None` where there is none.
pub fn finite_range(values: impl IntoIterator<Item = f64>) -> Option<[f64; 2]> {
    let finite = values.into_iter().filter(|v| v.is_finite());
    finite.fold(None, |range: Option<[f64; 2]>, v| Some(range.map_or([v; 2], |[a, b]| [a.min(v), b.max(v)])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([abbreviated(-0.01), abbreviated(-0.06), abbreviated(-0.0)], ["0.0", "-0.1", "0.0"]);
    }
}
