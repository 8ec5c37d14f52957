//! The error of a learned map to stationary distributions over a plane of controls, inside of the range that it was trained
//! on and beyond.

use super::control;
use crate::probe::prelude::*;

/// Held-out controls, drawn within the range of training.
const HELD_OUT: usize = 512;
/// The error is measured on controls up to this many times the range of training.
const EXTRAPOLATION: f64 = 2.0;

impl Probe for StationaryMapArgs {
    type Answer = StationaryMapError;
    type Subject<'m> = &'m dyn StationaryMap;

    fn ask(&self, map: &dyn StationaryMap, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let (cells, dims, range) = (self.cells, map.generator().dims(), map.range());
        let (reach, held) = (EXTRAPOLATION * range, control(map.generator(), [0.0, 0.0, self.y2, self.y3]));
        let rows = if dims > 1 { cells } else { 1 };
        let at = |i: usize| reach * (2.0 * i as f64 / (cells - 1) as f64 - 1.0);
        let plane: Vec<Vec<f64>> = (0..rows * cells)
            .map(|cell| {
                let mut y = held.clone();
                y[0] = at(cell % cells);
                if dims > 1 {
                    y[1] = at(cell / cells);
                }
                y
            })
            .collect();
        let over_plane = errors(map, &plane, &stationary_distributions(map, &plane)?)?;
        let mut rng = ChaCha8Rng::seed_from_u64(cx.seed ^ 0x6865_6C64);
        let inside: Vec<Vec<f64>> =
            (0..HELD_OUT).map(|_| (0..dims).map(|_| rng.random_range(-range..=range)).collect()).collect();
        let outside: Vec<Vec<f64>> = (0..HELD_OUT).map(|_| control_beyond(&mut rng, dims, range, reach)).collect();
        let inside_wanted = stationary_distributions(map, &inside)?;
        let within = errors(map, &inside, &inside_wanted)?;
        // The prediction of a map that ignores y.
        let middle = stationary_distributions(map, &[vec![0.0; dims]])?.swap_remove(0);
        let measured = StationaryMapError {
            range,
            reach,
            error: Array::new([rows, cells], over_plane.iter().map(|e| e.sum as f32).collect())?,
            held_out: mean_of(within.iter().map(|e| e.sum)),
            held_out_largest: mean_of(within.iter().map(|e| e.largest)),
            outside: mean_of(errors(map, &outside, &stationary_distributions(map, &outside)?)?.iter().map(|e| e.sum)),
            ignoring: mean_of(inside_wanted.iter().map(|p| MapError::new(&middle, p).sum)),
        };
        let about = format!("{} states, {HELD_OUT} held-out controls", map.generator().base().len());
        Ok(Answer::new(measured, about, vec![]))
    }
}

/// A control with a number beyond the range.
fn control_beyond(rng: &mut ChaCha8Rng, dims: usize, range: f64, reach: f64) -> Vec<f64> {
    loop {
        let y: Vec<f64> = (0..dims).map(|_| rng.random_range(-reach..=reach)).collect();
        if y.iter().any(|v| v.abs() > range) {
            return y;
        }
    }
}

struct MapError {
    /// sum_i |phi_i - p_i|
    sum: f64,
    /// max_i |phi_i - p_i|
    largest: f64,
}

impl MapError {
    fn new(phi: &[f64], p: &[f64]) -> Self {
        let apart = || phi.iter().zip(p).map(|(phi, p)| (phi - p).abs());
        Self { sum: apart().sum(), largest: apart().fold(0.0, f64::max) }
    }
}

fn stationary_distributions(map: &dyn StationaryMap, ys: &[Vec<f64>]) -> Result<Vec<Vec<f64>>> {
    ys.iter().map(|y| Ok(map.generator().uniform_limit(y)?)).collect()
}

fn errors(map: &dyn StationaryMap, ys: &[Vec<f64>], wanted: &[Vec<f64>]) -> Result<Vec<MapError>> {
    Ok(map.predict(ys)?.iter().zip(wanted).map(|(phi, p)| MapError::new(phi, p)).collect())
}
