//! The points of a space of settings that are tried: all of a grid, or a quasi-random sequence.

use super::{Axis, AxisFile};
use crate::config::{Config, Value};

/// Every combination, the last axis fastest.
pub fn grid(axes: &[Axis], base: &Config) -> Vec<Vec<Value>> {
    axes.iter().fold(vec![vec![]], |points, axis| {
        let with = |point: &Vec<Value>, i| point.iter().cloned().chain([axis.at(i, base)]).collect();
        points.iter().flat_map(|point| (0..axis.len()).map(move |i| with(point, i))).collect()
    })
}

/// `count` points of an Owen-scrambled Sobol sequence (Burley, J. Comput. Graph. Tech. 9(4), 2020), which fill the space
/// evenly and any axis by itself too. The same sweep has the same points, and a longer one begins with those of a shorter.
pub fn quasi_random(axes: &[Axis], base: &Config, count: usize) -> Vec<Vec<Value>> {
    let value = |axis: &Axis, dimension: usize, i: usize| {
        let share = f64::from(sobol_burley::sample(i as u32, dimension as u32, 0));
        match &axis.values {
            AxisFile::List(values) => values[((share * values.len() as f64) as usize).min(values.len() - 1)].clone(),
            AxisFile::Range(range) => range.value(share, matches!(base.get(&axis.key), Some(Value::Int(_)))),
        }
    };
    let point = |i| axes.iter().enumerate().map(|(dimension, axis)| value(axis, dimension, i)).collect();
    (0..count).map(point).collect()
}
