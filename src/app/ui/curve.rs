//! A scalar over steps, with a min/max pyramid so that a million points draw without delay, and its smoothing.

mod smoothed;

pub use smoothed::Smoothed;

use super::identity::DataId;

/// Points of one bucket of a level are this many buckets of the level below (or points).
const FACTOR: usize = 8;

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
    /// `levels[k][i]` covers the points `i * FACTOR^(k+1) ..`; only complete buckets are stored.
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
        while below.is_multiple_of(FACTOR) {
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
            bucket /= FACTOR;
            if bucket >= self.levels[level].len() {
                break;
            }
            self.levels[level][bucket] = self.extent_before(level, (bucket + 1) * FACTOR);
        }
        self.data_id = DataId::default();
    }

    /// Extent of the FACTOR entries below `level` that end before `end`.
    fn extent_before(&self, level: usize, end: usize) -> Extent {
        (end - FACTOR..end).map(|i| self.entry(level, i)).fold(Extent::NONE, Extent::join)
    }

    /// Entry `i` of a level of the pyramid; level 0 is the values themselves.
    fn entry(&self, level: usize, i: usize) -> Extent {
        if level == 0 { Extent::new(self.values[i]) } else { self.levels[level - 1][i] }
    }

    /// Removes the points after `step`.
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
            complete /= FACTOR;
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

    pub fn first_step(&self) -> Option<u64> {
        self.steps.first().copied()
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
        let i = self.steps.partition_point(|s| *s <= step).checked_sub(1)?;
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
        let b = self.steps.partition_point(|s| *s <= to);
        (a, b.max(a))
    }

    fn bucket(&self, a: usize, b: usize) -> Bucket {
        Bucket { first: self.steps[a], last: self.steps[b - 1], extent: self.extent_between(a, b) }
    }

    /// Extremes of the points `a..b`, climbing the pyramid where it helps: O(FACTOR log n).
    fn extent_between(&self, mut a: usize, mut b: usize) -> Extent {
        let mut all = Extent::NONE;
        let mut level = 0;
        while a < b {
            while a < b && !a.is_multiple_of(FACTOR) {
                all = all.join(self.entry(level, a));
                a += 1;
            }
            while a < b && !b.is_multiple_of(FACTOR) {
                b -= 1;
                all = all.join(self.entry(level, b));
            }
            a /= FACTOR;
            b /= FACTOR;
            level += 1;
        }
        all
    }
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
}
