//! Brushing keeps the points whose values lie in a range on each brushed axis or number.

use std::collections::BTreeMap;

use super::{AsOf, NumberId, SweepResults};

/// An axis or number that can be brushed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dimension {
    /// A setting that varies, by its place.
    Axis(usize),
    Number(NumberId),
}

/// Ranges by dimension; all must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Brush {
    ranges: BTreeMap<Dimension, [f64; 2]>,
}

impl Brush {
    /// Both ends in any order.
    pub fn set(&mut self, dimension: Dimension, ends: [f64; 2]) {
        let [a, b] = ends;
        self.ranges.insert(dimension, [a.min(b), a.max(b)]);
    }

    /// Takes a range away; false if there was none.
    pub fn clear(&mut self, dimension: &Dimension) -> bool {
        self.ranges.remove(dimension).is_some()
    }

    pub fn clear_all(&mut self) {
        self.ranges.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub fn range(&self, dimension: &Dimension) -> Option<[f64; 2]> {
        self.ranges.get(dimension).copied()
    }

    /// Keeps the ranges of dimensions that are still there.
    pub fn retain(&mut self, is_there: impl Fn(&Dimension) -> bool) {
        self.ranges.retain(|dimension, _| is_there(dimension));
    }

    /// True if a point with these values stays; a point without a value of a brushed dimension does not.
    pub fn keeps(&self, value: impl Fn(&Dimension) -> Option<f64>) -> bool {
        let holds = |(dimension, [low, high]): (&Dimension, &[f64; 2])| {
            value(dimension).is_some_and(|v| (*low..=*high).contains(&v))
        };
        self.ranges.iter().all(holds)
    }

    /// The points that stay; `numbers` has the values of the numbers that are brushed.
    pub fn kept(&self, results: &SweepResults, numbers: &BTreeMap<NumberId, AsOf>) -> Vec<bool> {
        let value = |point: usize, dimension: &Dimension| match dimension {
            Dimension::Axis(axis) => results.points.get(point)?.places.get(*axis).copied(),
            Dimension::Number(id) => numbers.get(id)?.mean(point),
        };
        (0..results.points.len()).map(|point| self.keeps(|dimension| value(point, dimension))).collect()
    }
}
