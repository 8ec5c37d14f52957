//! The smoothing of a curve.

use super::Curve;

/// An exponential average over the values around each one, kept beside its source as that grows: a value that is `d` points
/// away has the weight `w^d`. It reaches as far to one side as to the other, and therefore less far towards both ends, where
/// the line meets its source: an average over one side would lag behind it. Values that are not finite pass through and are
/// not averaged.
#[derive(Debug, Clone, Default)]
pub struct Smoothed {
    weight: f64,
    curve: Curve,
    /// The sums over each value and those before it.
    before: Vec<WeightedSum>,
    /// Lineage of the source.
    source: u64,
}

/// A sum of values, each by its weight, and the sum of these weights.
#[derive(Debug, Clone, Copy, Default)]
struct WeightedSum {
    values: f64,
    weights: f64,
}

impl WeightedSum {
    /// The sum one point further on.
    fn next(self, weight: f64, value: f64) -> Self {
        let own = if value.is_finite() { Self { values: value, weights: 1.0 } } else { Self::default() };
        Self { values: weight * self.values + own.values, weights: weight * self.weights + own.weights }
    }

    /// The sum without its far end, which has this weight in it.
    fn without(self, weight: f64, far: Self) -> Self {
        Self { values: self.values - weight * far.values, weights: self.weights - weight * far.weights }
    }
}

/// A weight that changes no average, within rounding.
const NEGLIGIBLE: f64 = 1e-20;

impl Smoothed {
    /// Catches up with `source`. Starts again when the weight changed, when points were taken back, and
    /// for another source.
    pub fn follow(&mut self, source: &Curve, weight: f64) -> &Curve {
        let weight = weight.clamp(0.0, 0.9999);
        if self.weight != weight || self.source != source.lineage() {
            *self = Self { weight, source: source.lineage(), ..Self::default() };
        }
        let (taken, count) = (self.before.len(), source.len());
        if taken == count {
            return &self.curve;
        }
        let mut sum = self.before.last().copied().unwrap_or_default();
        for value in &source.values[taken..] {
            sum = sum.next(weight, *value);
            self.before.push(sum);
        }
        // the new values reach back this many points, and not into the first half, whose averages reach to the beginning
        let reach = if weight > 0.0 { (NEGLIGIBLE.ln() / weight.ln()) as usize } else { 0 };
        let from = taken.saturating_sub(reach).max(taken / 2);
        // the sums over each value and those after it
        let mut after = vec![WeightedSum::default(); count - from + 1];
        for i in (from..count).rev() {
            after[i - from] = after[i - from + 1].next(weight, source.values[i]);
        }
        for i in from..count {
            let half = i.min(count - 1 - i);
            let falloff = weight.powf(half as f64);
            let farther = i.checked_sub(half + 1).map(|far| self.before[far]).unwrap_or_default();
            let left = self.before[i].without(weight * falloff, farther);
            let right = after[i + 1 - from].without(falloff, after[i + 1 + half - from]);
            let mean = (left.values + weight * right.values) / (left.weights + weight * right.weights);
            let value = source.values[i];
            let shown = if !value.is_finite() {
                value
            } else if half < reach {
                // what is taken away again must leave nothing behind, however large it is
                let around = source.extent_between(i - half, i + half + 1);
                mean.clamp(around.min, around.max)
            } else {
                mean
            };
            self.curve.push(source.steps[i], shown);
        }
        &self.curve
    }

    pub fn curve(&self) -> &Curve {
        &self.curve
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: &[f64]) -> Curve {
        let mut curve = Curve::default();
        (1..).zip(values).for_each(|(step, value)| curve.push(step, *value));
        curve
    }

    #[test]
    fn smoothing_weighs_by_the_distance_on_both_sides() {
        let mut s = Smoothed::default();
        let c = s.follow(&curve(&[1.0, 2.0, 6.0, f64::NAN, 4.0]), 0.6).clone();
        let got: Vec<f64> = c.points(0, 9).map(|p| p.1).collect();
        let want = [1.0, 6.2 / 2.2, 9.0 / 2.32, f64::NAN, 4.0];
        for (g, w) in got.iter().zip(want) {
            assert!((g - w).abs() < 1e-12 || (g.is_nan() && w.is_nan()), "{got:?}");
        }
    }

    #[test]
    fn a_straight_line_is_smoothed_to_itself() {
        let source = curve(&(0..600).map(|i| 6.0 - 0.005 * f64::from(i)).collect::<Vec<_>>());
        let mut smoothed = Smoothed::default();
        let shown = smoothed.follow(&source, 0.9);
        for (step, value) in source.points(1, 600) {
            assert!((shown.value_at(step).unwrap() - value).abs() < 1e-9, "step {step}");
        }
    }

    #[test]
    fn a_huge_value_changes_only_averages_that_reach_it() {
        let mut values = vec![1.0; 50];
        values[25] = 1e30;
        let mut smoothed = Smoothed::default();
        let shown = smoothed.follow(&curve(&values), 0.9);
        let untouched = shown.points(0, 99).filter(|p| p.1 == 1.0).count();
        assert_eq!(untouched, 13 + 12, "the first 13 and the last 12");
    }

    #[test]
    fn smoothing_point_by_point_is_that_of_the_whole() {
        let values: Vec<f64> = (0..900).map(|i| (f64::from(i) * 0.37).sin() * 2.0 - 0.01 * f64::from(i)).collect();
        let (mut source, mut grown) = (Curve::default(), Smoothed::default());
        for (step, value) in (1..).zip(&values) {
            source.push(step, *value);
            grown.follow(&source, 0.9);
        }
        let mut whole = Smoothed::default();
        for (a, b) in grown.curve().points(0, 999).zip(whole.follow(&source, 0.9).points(0, 999)) {
            assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-12, "{a:?}, {b:?}");
        }
        assert_eq!(grown.curve().len(), 900);
    }

    #[test]
    fn smoothing_follows_growth_and_rewinding_as_if_done_at_once() {
        let mut source = curve(&[5.0, 1.0, 4.0, 2.0]);
        let mut grown = Smoothed::default();
        grown.follow(&source, 0.9);
        source.push(3, 8.0);
        source.push(4, 6.0);
        source.push(5, 7.0);
        let a: Vec<_> = grown.follow(&source, 0.9).points(0, 9).collect();
        let b: Vec<_> = Smoothed::default().follow(&source, 0.9).points(0, 9).collect();
        assert_eq!(a, b);
        assert_eq!(a.len(), 5);
    }

    #[test]
    fn a_curve_of_another_run_is_smoothed_from_its_own_beginning() {
        let (first, second) = (curve(&[5.0, 1.0, 4.0]), curve(&[1.0, 2.0, 3.0, 4.0, 5.0]));
        let mut smoothed = Smoothed::default();
        smoothed.follow(&first, 0.9);
        let shown: Vec<_> = smoothed.follow(&second, 0.9).points(0, 9).collect();
        assert_eq!(shown, Smoothed::default().follow(&second, 0.9).points(0, 9).collect::<Vec<_>>());
    }

    #[test]
    fn weight_zero_changes_nothing() {
        let source = curve(&[5.0, 1.0, 4.0]);
        let shown: Vec<_> = Smoothed::default().follow(&source, 0.0).points(0, 9).collect();
        assert_eq!(shown, source.points(0, 9).collect::<Vec<_>>());
    }
}
