//! Numbers with a bound on their rounding error, so that "equal to rounding" is a statement that can fail. The dynamics
//! are written once, generic over `f64` and the bounded number.

use std::{
    fmt::Debug,
    ops::{Add, AddAssign, Mul, Sub},
};

/// The unit roundoff of f64: the largest relative error of one operation.
pub const ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// A plain `f64`, or one with its error bound.
pub trait Number:
    Copy + Debug + PartialEq + Send + Sync + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + AddAssign
{
    /// The number 0, which is exact.
    const ZERO: Self;
    /// Returns a number that is exactly `value` because it is given, not computed.
    fn exact(value: f64) -> Self;
    /// Returns the computed value.
    fn value(self) -> f64;
    /// The bound of the value's distance from exact arithmetic.
    fn error(self) -> f64;
    /// (v)^+ = max(0, v).
    fn positive(self) -> Self;
}

impl Number for f64 {
    const ZERO: Self = 0.0;

    fn exact(value: f64) -> Self {
        value
    }

    fn value(self) -> f64 {
        self
    }

    /// The error of a plain float is unknown and reported as 0.
    fn error(self) -> f64 {
        0.0
    }

    fn positive(self) -> Self {
        self.max(0.0)
    }
}

/// A value with a running bound on its rounding error (Higham, Accuracy and Stability, section 3.3):
/// every operation adds what its operands were wrong by and half a unit of its own result. Overflow and
/// numbers below 1e-290 are not looked after.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bounded {
    value: f64,
    error: f64,
}

/// A factor on the bound that covers the rounding errors of computing the bound itself in f64.
const ROUNDING_MARGIN: f64 = 1.0 + 8.0 * ROUNDOFF;

impl Bounded {
    /// The rounded result of an operation, to whose error those of the operands contribute `carried`.
    fn rounded(value: f64, carried: f64) -> Self {
        Self { value, error: (carried + ROUNDOFF * value.abs()) * ROUNDING_MARGIN }
    }
}

impl Add for Bounded {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::rounded(self.value + other.value, self.error + other.error)
    }
}

impl Sub for Bounded {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::rounded(self.value - other.value, self.error + other.error)
    }
}

impl Mul for Bounded {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let carried = self.value.abs() * other.error + other.value.abs() * self.error + self.error * other.error;
        Self::rounded(self.value * other.value, carried)
    }
}

impl AddAssign for Bounded {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Number for Bounded {
    const ZERO: Self = Self { value: 0.0, error: 0.0 };

    fn exact(value: f64) -> Self {
        Self { value, error: 0.0 }
    }

    fn value(self) -> f64 {
        self.value
    }

    fn error(self) -> f64 {
        self.error
    }

    fn positive(self) -> Self {
        // Clamping at zero moves the exact value too, so the error bound still holds.
        Self { value: self.value.max(0.0), error: self.error }
    }
}

/// The difference between two computations of the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Discrepancy {
    /// The largest difference.
    pub error: f64,
    /// Largest difference that rounding could explain.
    pub bound: f64,
    /// Largest share that one number's difference has in its own bound: above 1 the two are not the same
    /// computation.
    pub share: f64,
    /// The largest compared value.
    pub size: f64,
}

impl Discrepancy {
    /// Compares two lists of equal length, entry by entry; lists of different lengths differ infinitely.
    pub fn between<N: Number>(a: &[N], b: &[N]) -> Self {
        let mut gap = Self { error: if a.len() == b.len() { 0.0 } else { f64::INFINITY }, ..Self::default() };
        for (a, b) in a.iter().zip(b) {
            let (difference, bound) = ((a.value() - b.value()).abs(), a.error() + b.error());
            gap.error = nan_max(gap.error, difference);
            gap.bound = nan_max(gap.bound, bound);
            gap.share = nan_max(gap.share, if difference > 0.0 { difference / bound } else { difference });
            gap.size = nan_max(gap.size, a.value().abs().max(b.value().abs()));
        }
        gap
    }

    /// Combines two comparisons; each field is the larger one of both.
    pub fn join(self, other: Self) -> Self {
        Self {
            error: nan_max(self.error, other.error),
            bound: nan_max(self.bound, other.bound),
            share: nan_max(self.share, other.share),
            size: nan_max(self.size, other.size),
        }
    }

    /// Returns true if rounding explains the whole difference; never for NaN.
    #[cfg(test)]
    pub(super) fn is_within_rounding(self) -> bool {
        self.share <= 1.0 && self.error.is_finite()
    }
}

/// The larger number; NaN if either is NaN.
fn nan_max(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_bound_covers_what_another_order_of_summing_gives(
            mut terms in prop::collection::vec((-1e3..1e3f64, -1e-3..1e3f64), 1..200),
        ) {
            let sum = |terms: &[(f64, f64)]| {
                terms.iter().fold(Bounded::ZERO, |s, (a, b)| s + Bounded::exact(*a) * Bounded::exact(*b))
            };
            let forwards = sum(&terms);
            terms.reverse();
            let backwards = sum(&terms);
            prop_assert!(Discrepancy::between(&[forwards], &[backwards]).is_within_rounding());
            let scale: f64 = terms.iter().map(|(a, b)| (a * b).abs()).sum();
            prop_assert!(forwards.error() <= 2.0 * (terms.len() as f64 + 2.0) * ROUNDOFF * scale, "far too wide");
        }
    }

    #[test]
    fn a_gap_that_rounding_does_not_explain_is_found() {
        let third = Bounded::exact(1.0) * Bounded::exact(1.0 / 3.0);
        assert!(Discrepancy::between(&[third], &[third]).is_within_rounding());
        assert!(!Discrepancy::between(&[third], &[third + Bounded::exact(1e-12)]).is_within_rounding());
        assert!(!Discrepancy::between(&[Bounded::exact(f64::NAN)], &[third]).is_within_rounding());
        assert!(!Discrepancy::between(&[third], &[]).is_within_rounding(), "unequal lengths are unequal");
    }
}
