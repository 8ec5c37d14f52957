//! The smoothing of a curve.

use super::Curve;

/// An exponential average over the values around each one, kept beside its source as that grows: a neighbour that is `d`
/// points away has the weight `w^d` for each step between it and the next point inwards, so that a point that was logged soon
/// after another pulls less. The average of both sides is read at the point's own step on the line through their means, so
/// that a straight line stays one however its points are spaced, and it counts as twice the lighter side. It reaches as far
/// to one side as to the other, and therefore less far towards both ends, where the line meets its source: an average over
/// one side would lag behind it. Values that are not finite pass through and are not averaged.
#[derive(Debug, Clone, Default)]
pub struct Smoothed {
    weight: f64,
    curve: Curve,
    /// The weighted sums over the values before each one.
    before: Vec<WeightedSum>,
    source: u64,
}

/// The values on one side of a point and their distances from it in steps, each by its weight, and the sum of these weights.
#[derive(Debug, Clone, Copy, Default)]
struct WeightedSum {
    values: f64,
    distances: f64,
    weights: f64,
}

impl WeightedSum {
    /// The sum seen from the next point, `gap` steps further on than the last one, whose value this is.
    fn next(self, weight: f64, gap: f64, value: f64) -> Self {
        let (own, value) = if value.is_finite() { (gap, value) } else { (0.0, 0.0) };
        let weights = self.weights + own;
        Self {
            values: weight * (self.values + own * value),
            distances: weight * (self.distances + gap * weights),
            weights: weight * weights,
        }
    }

    /// Subtracts the terms beyond the window: `far` is the sum at a point `steps` away, scaled by `weight`.
    fn without(self, weight: f64, steps: f64, far: Self) -> Self {
        Self {
            values: self.values - weight * far.values,
            distances: self.distances - weight * (far.distances + steps * far.weights),
            weights: self.weights - weight * far.weights,
        }
    }

    /// The mean value and the mean distance, which is one step or more.
    fn means(self) -> (f64, f64) {
        (self.values / self.weights, (self.distances / self.weights).max(1.0))
    }
}

/// A weight that changes no average, within rounding.
const NEGLIGIBLE: f64 = 1e-20;

impl Smoothed {
    /// Processes the new points of `source`, or all points if the weight or the source has changed or points were
    /// removed.
    pub fn follow(&mut self, source: &Curve, weight: f64) -> &Curve {
        let weight = weight.clamp(0.0, 0.9999);
        if self.weight != weight || self.source != source.data_id() {
            *self = Self { weight, source: source.data_id(), ..Self::default() };
        }
        let (taken, count) = (self.before.len(), source.len());
        if taken == count {
            return &self.curve;
        }
        let apart = |a: usize, b: usize| (source.steps[b] - source.steps[a]) as f64;
        for i in taken..count {
            let sum = i.checked_sub(1).map(|last| self.before[last].next(weight, apart(last, i), source.values[last]));
            self.before.push(sum.unwrap_or_default());
        }
        // the new values reach back this many points, and not into the first half, whose averages reach to the beginning
        let reach = if weight > 0.0 { (NEGLIGIBLE.ln() / weight.ln()) as usize } else { 0 };
        let from = taken.saturating_sub(reach).max(taken / 2);
        // the sums over the values after each one
        let mut after = vec![WeightedSum::default(); count - from];
        for i in (from + 1..count).rev() {
            after[i - 1 - from] = after[i - from].next(weight, apart(i - 1, i), source.values[i]);
        }
        for i in from..count {
            let value = source.values[i];
            let half = i.min(count - 1 - i);
            let shown = if half == 0 || !value.is_finite() {
                value
            } else {
                let (first, last) = (i - half, i + half);
                let falloff = weight.powf(half as f64);
                let left = self.before[i].without(falloff, apart(first, i), self.before[first]);
                let right = after[i - from].without(falloff, apart(i, last), after[last - from]);
                let own = apart(i - 1, i + 1) / 2.0;
                let mean = mean_with_sides(own, value, left, right);
                if !mean.is_finite() {
                    value
                } else if half < reach {
                    // A value that leaves the window must leave no rounding error behind, however large it is.
                    let around = source.extent_between(first, last + 1);
                    mean.clamp(around.min, around.max)
                } else {
                    mean
                }
            };
            self.curve.push(source.steps[i], shown);
        }
        &self.curve
    }

    pub fn curve(&self) -> &Curve {
        &self.curve
    }
}

/// The mean of a value of the weight `own` and of both sides of it, no number where a side has no value.
fn mean_with_sides(own: f64, value: f64, left: WeightedSum, right: WeightedSum) -> f64 {
    let sides = 2.0 * left.weights.min(right.weights);
    let ((before, back), (after, ahead)) = (left.means(), right.means());
    let between = (before * ahead + after * back) / (back + ahead);
    (own * value + sides * between) / (own + sides)
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
        // beside the missing value, the mean 1.625 of 1.375 steps before and 4 of 2 steps after, read in between
        let beside = (1.625 * 2.0 + 4.0 * 1.375) / 3.375;
        let want = [1.0, 6.2 / 2.2, (6.0 + 0.72 * beside) / 1.72, f64::NAN, 4.0];
        for (g, w) in got.iter().zip(want) {
            assert!((g - w).abs() < 1e-12 || (g.is_nan() && w.is_nan()), "{got:?}");
        }
    }

    fn curve_at(steps: impl IntoIterator<Item = u64>, value: impl Fn(u64) -> f64) -> Curve {
        let mut curve = Curve::default();
        steps.into_iter().for_each(|step| curve.push(step, value(step)));
        curve
    }

    #[test]
    fn uneven_steps_keep_a_line_and_a_constant() {
        let sparse_at_last = || (0..100).chain((100..1000).step_by(10)).chain([993, 999]);
        for slope in [0.0, 0.25] {
            let source = curve_at(sparse_at_last(), |step| 3.0 - slope * step as f64);
            let mut smoothed = Smoothed::default();
            for (a, b) in smoothed.follow(&source, 0.9).points(0, 999).zip(source.points(0, 999)) {
                assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-9, "{a:?}, {b:?}");
            }
        }
    }

    #[test]
    fn a_point_pulls_by_the_steps_it_stands_for() {
        let pull = |last: u64| {
            let source = curve_at((0..=990).step_by(10).chain([last]), |step| if step > 990 { 1.0 } else { 0.0 });
            let mut smoothed = Smoothed::default();
            let shown = smoothed.follow(&source, 0.9);
            [980, 990, last].map(|step| shown.value_at(step).unwrap())
        };
        let (soon, even) = (pull(991), pull(1000));
        assert!((even[1] - 0.9 / 2.8).abs() < 1e-12, "{even:?}");
        assert!((soon[1] - 1.8 / 7.3 * 10.0 / 11.0).abs() < 1e-12, "{soon:?}");
        assert!(soon[0] < 0.3 * even[0], "{soon:?}, {even:?}");
        assert_eq!([soon[2], even[2]], [1.0, 1.0], "the end is met");
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
