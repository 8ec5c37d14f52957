//! Means along one axis of a sweep, and the cells that two axes make.

use std::collections::BTreeMap;

use super::{AxisKind, SweepResults, ValuesAtStep};
use crate::analysis::statistics::mean_sd;

/// Stretches of an axis over which values that do not repeat are averaged.
const N_BINS: usize = 8;

#[derive(Debug, Clone, PartialEq)]
pub struct MeanLine {
    /// Place on the axis and mean over all runs there, rising.
    pub points: Vec<[f64; 2]>,
    /// True if means are over bins of the axis, because nearly every point has a value of its own.
    pub is_binned: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    /// The positions of the cells on the first axis and on the second, each ascending.
    pub places: [Vec<f64>; 2],
    /// The index of the sweep's point at each (column, row); cells without a point are absent.
    pub points: BTreeMap<(usize, usize), usize>,
}

impl SweepResults {
    /// Distinct places on an axis, rising.
    pub fn places(&self, axis: usize) -> Vec<f64> {
        let known = self.points.iter().filter_map(|p| p.places.get(axis).copied());
        let mut places: Vec<f64> = known.filter(|v| !v.is_nan()).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }

    /// The mean over all runs at each value of an axis; over stretches of it where values do not repeat.
    pub fn mean_line(&self, values_at_step: &ValuesAtStep, axis: usize) -> MeanLine {
        let places = self.places(axis);
        let is_binned = self.axes.len() > 1 && 2 * places.len() > self.points.len();
        let is_log = self.axes.get(axis).is_some_and(|a| a.kind == AxisKind::Numbers { is_log: true });
        let along = |place: f64| if is_log { place.ln() } else { place };
        let ends = [places.first(), places.last()].map(|p| along(p.copied().unwrap_or(0.0)));
        let stretch = |place: f64| {
            let share = (along(place) - ends[0]) / (ends[1] - ends[0]).max(f64::MIN_POSITIVE);
            ((share * N_BINS as f64) as usize).min(N_BINS - 1)
        };
        let mut by_place: BTreeMap<usize, Vec<[f64; 2]>> = BTreeMap::new();
        for (point, value) in self.points.iter().zip(&values_at_step.values) {
            let (Some(place), Some(value)) = (point.places.get(axis).copied(), value) else { continue };
            let key = if is_binned { stretch(place) } else { places.partition_point(|p| *p < place) };
            let finite = value.each.iter().map(|(_, v)| *v).filter(|v| v.is_finite());
            by_place.entry(key).or_default().extend(finite.map(|v| [along(place), v]));
        }
        let mean = |all: Vec<[f64; 2]>| {
            let over = |i: usize| mean_sd(&all.iter().map(|p| p[i]).collect::<Vec<_>>()).0;
            [if is_log { over(0).exp() } else { over(0) }, over(1)]
        };
        let points = by_place.into_values().filter(|all| !all.is_empty()).map(mean).collect();
        MeanLine { points, is_binned }
    }

    /// The cells of a sweep over exactly two axes whose points make a grid.
    pub fn cells(&self) -> Option<Cells> {
        if self.axes.len() != 2 {
            return None;
        }
        let places = [self.places(0), self.places(1)];
        let count = places[0].len() * places[1].len();
        if count == 0 || count > 2 * self.points.len() {
            return None;
        }
        let at = |axis: usize, place: f64| places[axis].iter().position(|p| *p == place);
        let cell = |(i, point): (usize, &super::ResultPoint)| {
            Some(((at(0, *point.places.first()?)?, at(1, *point.places.get(1)?)?), i))
        };
        let points = self.points.iter().enumerate().filter_map(cell).collect();
        Some(Cells { places, points })
    }
}
