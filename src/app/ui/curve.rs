//! A scalar over steps, with a min/max pyramid so that a million points draw without delay, and its smoothing.

use super::identity::DataId;

/// Points of one bucket of a level are this many buckets of the level below (or points).
const LEVEL_FACTOR: usize = 8;

/// Smallest and largest finite value of a stretch of points; both NaN when it has none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    pub min: f64,
    pub max: f64,
}

impl Extent {
    const NONE: Self = Self { min: f64::NAN, max: f64::NAN };

    fn new(value: f64) -> Self {
        if value.is_finite() { Self { min: value, max: value } } else { Self::NONE }
    }

    /// `f64::min` ignores a NaN operand, which is what a gap wants.
    fn join(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    pub fn is_gap(self) -> bool {
        self.min.is_nan()
    }
}

/// A stretch of a curve as drawn: the points with indices in a range, by their extremes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// Steps of the first and last point in it.
    pub first: u64,
    pub last: u64,
    pub extent: Extent,
}

/// A series of values at ascending steps.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    steps: Vec<u64>,
    values: Vec<f64>,
    /// `levels[k][i]` covers the points `i * LEVEL_FACTOR^(k+1) ..`; only complete buckets are stored.
    levels: Vec<Vec<Extent>>,
    /// Identifies this version of the curve; it changes whenever points are removed, so that derived curves start again.
    data_id: DataId,
}

impl Curve {
    /// The curve of means and, if there is a spread, those one standard deviation below and above, by rising step.
    pub fn mean_and_band(points: &[[f64; 3]]) -> (Self, Option<[Self; 2]>) {
        let curve = |y: fn(&[f64; 3]) -> f64| {
            let mut curve = Self::default();
            points.iter().for_each(|p| curve.push(p[0] as u64, y(p)));
            curve
        };
        // a step of one seed leaves a gap in the band: its standard deviation is NaN
        let has_band = points.iter().any(|p| p[2] > 0.0);
        (curve(|p| p[1]), has_band.then(|| [curve(|p| p[1] - p[2]), curve(|p| p[1] + p[2])]))
    }

    /// Appends in amortised constant time; a step at or before the last one (a resumed run) replaces all from it on.
    pub fn push(&mut self, step: u64, value: f64) {
        if self.steps.last().is_some_and(|last| *last >= step) {
            self.rewind(self.steps.partition_point(|s| *s < step));
        }
        self.steps.push(step);
        self.values.push(value);
        let mut below = self.values.len();
        let mut level = 0;
        while below.is_multiple_of(LEVEL_FACTOR) {
            let joined = self.extent_before(level, below);
            if self.levels.len() == level {
                self.levels.push(vec![]);
            }
            self.levels[level].push(joined);
            below = self.levels[level].len();
            level += 1;
        }
    }

    /// Inserts a value by its step, replacing one of the same step, because other programs may log in any order.
    /// Takes logarithmic time where it is the last or replaces one, and otherwise as much as there are later points.
    pub fn insert(&mut self, step: u64, value: f64) {
        let place = self.steps.partition_point(|s| *s < step);
        if self.steps.get(place) == Some(&step) {
            self.replace(place, value);
        } else {
            let later: Vec<(u64, f64)> = self.points(step, u64::MAX).collect();
            self.push(step, value);
            later.into_iter().for_each(|(step, value)| self.push(step, value));
        }
    }

    fn replace(&mut self, place: usize, value: f64) {
        self.values[place] = value;
        let mut bucket = place;
        for level in 0..self.levels.len() {
            bucket /= LEVEL_FACTOR;
            if bucket >= self.levels[level].len() {
                break;
            }
            self.levels[level][bucket] = self.extent_before(level, (bucket + 1) * LEVEL_FACTOR);
        }
        self.data_id = DataId::default();
    }

    /// Extent of the LEVEL_FACTOR entries below `level` that end before `end`.
    fn extent_before(&self, level: usize, end: usize) -> Extent {
        (end - LEVEL_FACTOR..end).map(|i| self.entry(level, i)).fold(Extent::NONE, Extent::join)
    }

    /// Entry `i` of a level of the pyramid; level 0 is the values themselves.
    fn entry(&self, level: usize, i: usize) -> Extent {
        if level == 0 { Extent::new(self.values[i]) } else { self.levels[level - 1][i] }
    }

    pub fn cut_after(&mut self, step: u64) {
        let keep = self.count_to(step);
        if keep < self.len() {
            self.rewind(keep);
        }
    }

    fn rewind(&mut self, keep: usize) {
        self.steps.truncate(keep);
        self.values.truncate(keep);
        let mut complete = keep;
        for level in &mut self.levels {
            complete /= LEVEL_FACTOR;
            level.truncate(complete);
        }
        self.data_id = DataId::default();
    }

    pub fn len(&self) -> usize {
        self.steps.len()
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub fn last_step(&self) -> Option<u64> {
        self.steps.last().copied()
    }

    pub fn last(&self) -> Option<f64> {
        self.values.last().copied()
    }

    /// The last value at or before `step`.
    pub fn value_at(&self, step: u64) -> Option<f64> {
        self.point_at(step).map(|(_, v)| v)
    }

    /// The value of [`Curve::value_at`], with its step.
    pub fn point_at(&self, step: u64) -> Option<(u64, f64)> {
        let i = self.count_to(step).checked_sub(1)?;
        Some((self.steps[i], self.values[i]))
    }

    /// The number of points at or before `step`.
    pub fn count_to(&self, step: u64) -> usize {
        self.steps.partition_point(|s| *s <= step)
    }

    pub fn point(&self, index: usize) -> Option<(u64, f64)> {
        Some((*self.steps.get(index)?, *self.values.get(index)?))
    }

    /// Stays the same while points are only added to this curve; no other curve of this process has it.
    pub fn data_id(&self) -> u64 {
        self.data_id.number()
    }

    /// Points with `from <= step <= to`.
    pub fn points(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, f64)> + '_ {
        let (a, b) = self.indices(from, to);
        self.steps[a..b].iter().copied().zip(self.values[a..b].iter().copied())
    }

    /// At most `n` buckets of equally many points over `from..=to`; if there are no more than `n` points, one bucket
    /// each.
    pub fn range(&self, from: u64, to: u64, n: usize) -> Vec<Bucket> {
        let (a, b) = self.indices(from, to);
        let count = b - a;
        if count == 0 || n == 0 {
            return vec![];
        }
        let n = n.min(count);
        (0..n).map(|i| self.bucket(a + i * count / n, a + (i + 1) * count / n)).collect()
    }

    /// One bucket for each gap between neighbouring `edges` (ascending steps) that holds points: for
    /// axes on which steps are not equally wide. The last edge is included.
    pub fn between(&self, edges: &[f64]) -> Vec<Bucket> {
        let Some((last, inner)) = edges.split_last() else { return vec![] };
        let Some(first) = inner.first() else { return vec![] };
        let end = self.steps.partition_point(|s| *s as f64 <= *last);
        let mut from = self.steps.partition_point(|s| (*s as f64) < *first);
        let mut out = Vec::with_capacity(inner.len());
        for edge in inner[1..].iter().copied().chain([f64::INFINITY]) {
            let to = (from + self.steps[from..end.max(from)].partition_point(|s| (*s as f64) < edge)).min(end);
            if to > from {
                out.push(self.bucket(from, to));
                from = to;
            }
        }
        out
    }

    pub fn extent(&self, from: u64, to: u64) -> Extent {
        let (a, b) = self.indices(from, to);
        self.extent_between(a, b)
    }

    fn indices(&self, from: u64, to: u64) -> (usize, usize) {
        let a = self.steps.partition_point(|s| *s < from);
        (a, self.count_to(to).max(a))
    }

    fn bucket(&self, a: usize, b: usize) -> Bucket {
        Bucket { first: self.steps[a], last: self.steps[b - 1], extent: self.extent_between(a, b) }
    }

    /// Extremes of the points `a..b`, climbing the pyramid where it helps: O(LEVEL_FACTOR log n).
    fn extent_between(&self, mut a: usize, mut b: usize) -> Extent {
        let mut all = Extent::NONE;
        let mut level = 0;
        while a < b {
            while a < b && !a.is_multiple_of(LEVEL_FACTOR) {
                all = all.join(self.entry(level, a));
                a += 1;
            }
            while a < b && !b.is_multiple_of(LEVEL_FACTOR) {
                b -= 1;
                all = all.join(self.entry(level, b));
            }
            a /= LEVEL_FACTOR;
            b /= LEVEL_FACTOR;
            level += 1;
        }
        all
    }
}

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
    use proptest::prelude::*;

    use super::*;

    fn curve(values: &[f64]) -> Curve {
        let mut c = Curve::default();
        values.iter().enumerate().for_each(|(i, v)| c.push(i as u64 + 1, *v));
        c
    }

    fn plain_extent(values: &[f64]) -> Option<(f64, f64)> {
        let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        let min = finite.iter().copied().reduce(f64::min)?;
        Some((min, finite.iter().copied().reduce(f64::max)?))
    }

    proptest! {
        #[test]
        fn the_pyramid_finds_what_a_plain_scan_finds(
            values in prop::collection::vec(prop_oneof![9 => -1e3..1e3f64, 1 => Just(f64::NAN)], 1..1500),
            cut in 0.0..1.0f64, again in prop::collection::vec(-1e3..1e3f64, 0..300),
            a in 0.0..1.0f64, b in 0.0..1.0f64,
        ) {
            // A run, taken back to `cut` and continued with other values.
            let mut c = curve(&values);
            let mut kept = values.clone();
            let from = (cut * values.len() as f64) as usize;
            if !again.is_empty() {
                kept.truncate(from);
                for (i, v) in again.iter().enumerate() {
                    c.push((from + i) as u64 + 1, *v);
                    kept.push(*v);
                }
            }
            prop_assert_eq!(c.len(), kept.len());
            let (lo, hi) = (a.min(b), a.max(b));
            let lo = (lo * kept.len() as f64) as usize;
            let hi = (hi * kept.len() as f64) as usize;
            let found = c.extent(lo as u64 + 1, hi as u64);
            match plain_extent(&kept[lo..hi]) {
                Some((min, max)) => prop_assert_eq!((found.min, found.max), (min, max)),
                None => prop_assert!(found.is_gap()),
            }
        }

        #[test]
        fn buckets_cover_every_point_once_and_are_never_too_many(
            values in prop::collection::vec(-1e3..1e3f64, 1..3000), n in 1usize..400,
        ) {
            let c = curve(&values);
            let buckets = c.range(0, u64::MAX, n);
            prop_assert!(buckets.len() <= n);
            prop_assert_eq!(buckets[0].first, 1);
            prop_assert_eq!(buckets[buckets.len() - 1].last, values.len() as u64);
            for pair in buckets.windows(2) {
                prop_assert_eq!(pair[0].last + 1, pair[1].first);
            }
            for b in &buckets {
                let stretch = &values[b.first as usize - 1..b.last as usize];
                prop_assert_eq!(Some((b.extent.min, b.extent.max)), plain_extent(stretch));
            }
            let edges: Vec<f64> = (0..=n).map(|i| 1.0 + i as f64 / n as f64 * (values.len() as f64 - 1.0)).collect();
            let by_edges = c.between(&edges);
            prop_assert!(by_edges.len() <= n.max(1));
            let points: u64 = by_edges.iter().map(|b| b.last - b.first + 1).sum();
            prop_assert_eq!(points, values.len() as u64);
        }
    }

    #[test]
    fn few_points_come_back_as_they_are() {
        let c = curve(&[3.0, 1.0, 2.0]);
        let all = c.range(0, 10, 100);
        assert_eq!(
            all.iter().map(|b| (b.first, b.extent.min, b.extent.max)).collect::<Vec<_>>(),
            [(1, 3.0, 3.0), (2, 1.0, 1.0), (3, 2.0, 2.0)]
        );
        assert_eq!(c.range(2, 2, 100).len(), 1);
        assert!(c.range(7, 9, 100).is_empty());
    }

    #[test]
    fn a_value_is_what_was_known_at_the_step() {
        let mut c = Curve::default();
        c.push(10, 1.0);
        c.push(20, 2.0);
        assert_eq!(c.value_at(9), None);
        assert_eq!(c.value_at(10), Some(1.0));
        assert_eq!(c.value_at(19), Some(1.0));
        assert_eq!(c.point_at(100), Some((20, 2.0)));
        c.push(15, 7.0);
        assert_eq!(c.len(), 2, "step 20 was taken back");
        assert_eq!(c.value_at(100), Some(7.0));
        let before = c.data_id();
        c.cut_after(15);
        assert_eq!((c.len(), c.data_id()), (2, before), "no point is later");
        c.cut_after(14);
        assert_eq!((c.len(), c.value_at(100)), (1, Some(1.0)));
    }

    #[test]
    fn a_value_is_put_in_its_place() {
        let mut c = Curve::default();
        [1, 3, 5, 7, 9, 11, 13, 15, 17].into_iter().for_each(|step| c.insert(step, step as f64));
        let before = c.data_id();
        c.insert(19, 19.0);
        assert_eq!(c.data_id(), before, "only what is put before others begins anew");
        c.insert(4, -4.0);
        c.insert(5, 50.0);
        let expected = [1.0, 3.0, -4.0, 50.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0, 19.0];
        assert_eq!(c.points(0, 99).map(|p| p.1).collect::<Vec<_>>(), expected);
        assert_eq!(c.extent(0, 99), Extent { min: -4.0, max: 50.0 });
        assert_ne!(c.data_id(), before);
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
