//! The order of the points of a sweep in its table.

use super::{NumberId, RowState, SweepResults, ValuesAtStep};
use crate::experiments::run_table::order::SortKey;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Column {
    /// The points' own order.
    #[default]
    Point,
    Axis(usize),
    /// The number of its runs that have ended.
    Runs,
    Number(NumberId),
}

/// The order of points by a column, rising or falling.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PointOrder {
    pub column: Column,
    pub is_falling: bool,
}

impl PointOrder {
    /// Sorts by a column; a second click reverses the order.
    pub fn click(&mut self, column: Column) {
        self.is_falling = self.column == column && !self.is_falling;
        self.column = column;
    }

    /// The points in order; those without a value are last either way.
    pub fn sorted(&self, results: &SweepResults, values_at_step: Option<&ValuesAtStep>) -> Vec<usize> {
        let key = |point: usize| match &self.column {
            Column::Point => Some(point as f64),
            Column::Axis(axis) => results.points.get(point)?.places.get(*axis).copied(),
            Column::Runs => Some(results.finished(point) as f64),
            Column::Number(_) => values_at_step?.mean(point),
        };
        let keyed = |point: usize| (point, key(point).map_or(SortKey::None, SortKey::Number));
        let mut order: Vec<(usize, SortKey)> = (0..results.points.len()).map(keyed).collect();
        order.sort_by(|(i, a), (j, b)| a.compare(b, self.is_falling).then(i.cmp(j)));
        order.into_iter().map(|(point, _)| point).collect()
    }
}

impl SweepResults {
    /// The number of runs of a point, including those that are not made yet.
    pub fn run_count(&self, point: usize) -> usize {
        self.runs_of(point).count()
    }

    /// Runs of a point that have ended.
    pub fn finished(&self, point: usize) -> usize {
        let states = self.runs_of(point).filter_map(|(_, run)| Some(&run.made.as_ref()?.state));
        states.filter(|state| **state == RowState::Finished).count()
    }
}
