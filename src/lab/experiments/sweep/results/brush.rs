//! Brushing keeps the points whose values lie in a range on each brushed axis or number.

use std::collections::BTreeMap;

use super::{NumberId, SweepResults, ValuesAtStep};

/// An axis or number that can be brushed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dimension {
    /// The index of a setting that varies.
    Axis(usize),
    Number(NumberId),
}

/// Ranges by dimension; all must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Brush {
    pub ranges: BTreeMap<Dimension, [f64; 2]>,
}

impl Brush {
    /// Brushes a range, whose ends may be in any order.
    pub fn set(&mut self, dimension: Dimension, ends: [f64; 2]) {
        let [a, b] = ends;
        self.ranges.insert(dimension, [a.min(b), a.max(b)]);
    }

    /// The points that stay; one without a value of a brushed dimension does not. `numbers` has the values of the numbers that are
    /// brushed.
    pub fn selected(&self, results: &SweepResults, numbers: &BTreeMap<NumberId, ValuesAtStep>) -> Vec<bool> {
        let value = |point: usize, dimension: &Dimension| match dimension {
            Dimension::Axis(axis) => results.points.get(point)?.places.get(*axis).copied(),
            Dimension::Number(id) => numbers.get(id)?.mean(point),
        };
        let holds = |point: usize, (dimension, [low, high]): (&Dimension, &[f64; 2])| {
            value(point, dimension).is_some_and(|v| (*low..=*high).contains(&v))
        };
        let stays = |point| self.ranges.iter().all(|range| holds(point, range));
        (0..results.points.len()).map(stays).collect()
    }
}
