//! The entropy of the rows of an attention matrix, and their weight on the first position.

use super::statistics::{entropy, mean_of};

/// The meaning of the rows of an attention matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// The weights of a row are shares of one.
    Shares,
    /// Differences of shares, which may be negative and need not add up to one: no entropy is defined for these. Here
    /// it is that of |w| / sum |w|, and so is the weight of the first position.
    Differences,
}

impl Rows {
    /// The divisor of each weight of this row.
    fn divisor(self, row: &[f32]) -> f64 {
        match self {
            Self::Shares => 1.0,
            Self::Differences => row.iter().map(|w| f64::from(w.abs())).sum(),
        }
    }

    /// -sum w ln w of one row, nats; 0 for one without weights.
    pub fn entropy(self, row: &[f32]) -> f64 {
        let divisor = self.divisor(row);
        entropy(row.iter().map(|w| f64::from(w.abs()) / divisor))
    }

    /// Mean entropy of the rows of a matrix, nats.
    pub fn mean_entropy(self, weights: &[f32], cols: usize) -> f64 {
        let rows = weights.len() / cols.max(1);
        weights.chunks(cols.max(1)).map(|row| self.entropy(row)).sum::<f64>() / rows.max(1) as f64
    }

    /// Attention sink: mean weight of the first position over all rows but the first, which has no other to look at.
    /// NaN where there is but one.
    pub fn sink(self, weights: &[f32], cols: usize) -> f64 {
        let first = |row: &[f32]| {
            let weight = row.first().map_or(0.0, |w| f64::from(*w));
            let divisor = self.divisor(row);
            match self {
                Self::Shares => weight,
                Self::Differences if divisor > 0.0 => weight.abs() / divisor,
                Self::Differences => 0.0,
            }
        };
        mean_of(weights.chunks(cols.max(1)).skip(1).map(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sharp_row_has_no_entropy_and_a_level_one_ln_n() {
        assert_eq!(Rows::Shares.mean_entropy(&[1.0, 0.0, 0.0, 1.0], 2), 0.0);
        let level = [1.0, 0.0, 0.0, 0.5, 0.5, 0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0];
        assert!((Rows::Shares.mean_entropy(&level, 3) - (2f64.ln() + 3f64.ln()) / 3.0).abs() < 1e-7);
        assert_eq!(Rows::Shares.mean_entropy(&[], 0), 0.0);
    }

    #[test]
    fn the_sink_is_the_mean_of_the_first_column_without_its_first_row() {
        let weights = [1.0, 0.0, 0.0, 0.75, 0.25, 0.0, 0.5, 0.25, 0.25];
        assert_eq!(Rows::Shares.sink(&weights, 3), 0.625);
        assert!(Rows::Shares.sink(&[1.0], 1).is_nan());
    }

    #[test]
    fn differences_are_measured_by_their_sizes() {
        let weights = [0.2, 0.0, -0.1, 0.3];
        let of_last = 0.25 * 4f64.ln() + 0.75 * (4.0f64 / 3.0).ln();
        assert!((Rows::Differences.mean_entropy(&weights, 2) - of_last / 2.0).abs() < 1e-7);
        assert!((Rows::Differences.sink(&weights, 2) - 0.25).abs() < 1e-7);
        assert_eq!(Rows::Differences.sink(&[0.0; 4], 2), 0.0);
        assert!(Rows::Differences.mean_entropy(&[0.0; 4], 2).abs() == 0.0);
    }
}
