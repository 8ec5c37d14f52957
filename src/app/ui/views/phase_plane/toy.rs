//! The two systems of known geometry, one query and one key: levels of energy, and a blob of starts with its area.

use std::f64::consts::TAU;

use crate::analysis::query_key_flow::{Evolution, Force, PhasePoint, enclosed_area};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Toy {
    Harmonic,
    DoubleWell,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToySettings {
    pub dt: f64,
    pub steps: usize,
    /// q and k of the start.
    pub start: [f64; 2],
}

const BLOB_CORNERS: usize = 720;
/// Points that fill the inside of a blob.
const POINTS_INSIDE: usize = 140;

/// Starts around a start, and their ends.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Blob {
    pub outline: Vec<[f64; 2]>,
    pub inside: Vec<[f64; 2]>,
}

/// A toy system with its formula and the settings that it opens with.
pub struct ToySystem {
    pub force: Force,
    pub label: &'static str,
    pub formula: &'static str,
    /// The default settings: enough steps for more than two periods, so that Euler's spiral visibly grows and, in the
    /// double well, leaves its well.
    pub settings: ToySettings,
    /// Half the width of the blob; small in the double well, so that all of it starts in one well.
    radius: f64,
    /// The minimum extent of the picture: left, right, low, high.
    pub extent: [f64; 4],
    /// Energies whose levels are drawn.
    energies: &'static [f64],
}

static HARMONIC: ToySystem = ToySystem {
    force: Force::Harmonic,
    label: "harmonic",
    formula: "V = q\u{b2}/2",
    settings: ToySettings { dt: 0.12, steps: 120, start: [1.0, 0.0] },
    radius: 0.3,
    extent: [-2.4, 2.4, -2.2, 2.2],
    energies: &[0.125, 0.5, 1.125, 2.0, 3.125, 4.5, 6.125, 8.0],
};
static DOUBLE_WELL: ToySystem = ToySystem {
    force: Force::DoubleWell,
    label: "double well",
    formula: "V = (q\u{b2} \u{2212} 1)\u{b2}/4",
    settings: ToySettings { dt: 0.1, steps: 110, start: [1.25, 0.0] },
    radius: 0.1,
    extent: [-2.0, 2.0, -1.5, 1.5],
    energies: &[0.05, 0.15, 0.25, 0.5, 1.0, 2.0, 4.0],
};

impl Toy {
    pub fn system(self) -> &'static ToySystem {
        match self {
            Toy::Harmonic => &HARMONIC,
            Toy::DoubleWell => &DOUBLE_WELL,
        }
    }

    pub fn blob(self, [q, k]: [f64; 2]) -> Blob {
        let radius = self.system().radius;
        let on = |angle: f64, share: f64| [q + radius * share * angle.cos(), k + radius * share * angle.sin()];
        let outline = (0..BLOB_CORNERS).map(|i| on(TAU * i as f64 / BLOB_CORNERS as f64, 1.0)).collect();
        // the spiral of sunflower seeds fills the disc evenly
        let seed = |i: usize| on(i as f64 * 2.399_963, ((i as f64 + 0.5) / POINTS_INSIDE as f64).sqrt());
        Blob { outline, inside: (0..POINTS_INSIDE).map(seed).collect() }
    }

    /// Lines of equal energy |k|²/2 + V(q), each closed.
    pub fn levels(self) -> Vec<Vec<[f64; 2]>> {
        self.system().energies.iter().flat_map(|energy| level_lines(&self.system().force, *energy)).collect()
    }
}

/// The level line of an energy in the plane of one q and one k: closed curves around each well, or around both.
pub fn level_lines(force: &Force, energy: f64) -> Vec<Vec<[f64; 2]>> {
    const LEVEL_EXTENT: f64 = 8.0;
    const LEVEL_SAMPLES: usize = 1600;
    let room = |q: f64| force.potential(&[q]).map_or(f64::NAN, |v| energy - v);
    let at = |i: usize| LEVEL_EXTENT * (2.0 * i as f64 / LEVEL_SAMPLES as f64 - 1.0);
    // bisects for the turning point between a q that motion can reach and one that it cannot
    let turn = |mut inside: f64, mut outside: f64| {
        for _ in 0..60 {
            let middle = f64::midpoint(inside, outside);
            if room(middle) >= 0.0 { inside = middle } else { outside = middle }
        }
        inside
    };
    let mut curves = vec![];
    let mut upper: Vec<[f64; 2]> = vec![];
    for i in 0..=LEVEL_SAMPLES {
        let (q, left) = (at(i), room(at(i)));
        if left >= 0.0 {
            if upper.is_empty() && i > 0 {
                upper.push([turn(q, at(i - 1)), 0.0]);
            }
            upper.push([q, (2.0 * left).sqrt()]);
        }
        if (left < 0.0 || i == LEVEL_SAMPLES) && !upper.is_empty() {
            upper.push([turn(at(i - 1), q), 0.0]);
            let lower: Vec<[f64; 2]> = upper.iter().rev().map(|[q, k]| [*q, -k]).collect();
            upper.extend(lower);
            curves.push(std::mem::take(&mut upper));
        }
    }
    curves
}

impl Blob {
    /// Every point after a number of steps; `None` if one overflows.
    pub fn evolved(&self, evolution: &Evolution<'_>, steps: usize) -> Option<Self> {
        let moved = |all: &[[f64; 2]]| -> Option<Vec<[f64; 2]>> {
            let end = |[q, k]: [f64; 2]| evolution.end(&PhasePoint::new([q], [k]), steps);
            all.iter().map(|p| end(*p).map(|p| [p.q[0], p.k[0]])).collect()
        };
        Some(Self { outline: moved(&self.outline)?, inside: moved(&self.inside)? })
    }

    pub fn area(&self) -> f64 {
        enclosed_area(&self.outline).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::query_key_flow::Integrator;

    #[test]
    fn levels_have_the_energy_they_are_of() {
        for (toy, energy, curves) in
            [(Toy::Harmonic, 2.0, 1), (Toy::DoubleWell, 0.1, 2), (Toy::DoubleWell, 0.5, 1), (Toy::DoubleWell, -1.0, 0)]
        {
            let force = &toy.system().force;
            let level = level_lines(force, energy);
            assert_eq!(level.len(), curves, "{toy:?} at {energy}");
            for [q, k] in level.into_iter().flatten() {
                let here = k * k / 2.0 + force.potential(&[q]).unwrap();
                assert!((here - energy).abs() < 1e-9, "{toy:?}: {here} at {q}, {k}");
            }
        }
    }

    #[test]
    fn a_blob_grows_under_euler_and_keeps_its_area_under_leapfrog() {
        for toy in [Toy::Harmonic, Toy::DoubleWell] {
            let (force, ToySettings { dt, steps, start }) = (&toy.system().force, toy.system().settings);
            let blob = toy.blob(start);
            let ratio = |integrator| {
                let evolution = Evolution { force, integrator, dt };
                blob.evolved(&evolution, steps).unwrap().area() / blob.area()
            };
            let (euler, leapfrog) = (ratio(Integrator::Euler), ratio(Integrator::Leapfrog));
            assert!((leapfrog - 1.0).abs() < 1e-3 && euler > 4.0, "{toy:?}: {euler} and {leapfrog}");
            if toy == Toy::Harmonic {
                let known = (1.0 + dt * dt).powi(steps as i32);
                assert!((leapfrog - 1.0).abs() < 1e-9 && (euler / known - 1.0).abs() < 1e-9);
            }
        }
    }
}
