//! The phase portrait of one start by settings alone: both integrators' paths on the plane, and how they differ.

use super::{
    PortraitSource,
    learned::Learned,
    plane::Plane,
    toy::{Blob, Toy, ToySettings, level_lines},
};
use crate::analysis::query_key_flow::{Evolution, Integrator, PhasePoint};

/// One integrator's path from the start.
#[derive(Debug, Clone, PartialEq)]
pub struct IntegratorPath {
    pub integrator: Integrator,
    /// Positions on the plane from the start onwards; the list ends before f32 would overflow.
    pub places: Vec<[f64; 2]>,
    /// The step, from 1, that overflows; 0 where the start is not a number.
    pub overflows_at: Option<usize>,
    /// Determinant of the first step's Jacobian.
    pub determinant: f64,
    /// The factor by which a small volume at the start changes; `None` after overflow, as in the next two fields.
    pub volume: Option<f64>,
    /// The distance from the start after integrating forward and then back by as many steps of -dt.
    pub back: Option<f64>,
    /// The largest deviation of the energy from its initial value.
    pub drift: Option<f64>,
    pub blob: Option<Blob>,
}

impl IntegratorPath {
    fn new(plane: &Plane, evolution: &Evolution<'_>, start: &PhasePoint, steps: usize, blob: Option<&Blob>) -> Self {
        let path = evolution.path(start, steps);
        let is_whole = path.overflows_at.is_none();
        Self {
            integrator: evolution.integrator,
            places: path.points.iter().map(|p| plane.project(p)).collect(),
            overflows_at: path.overflows_at,
            determinant: evolution.step_determinant(start),
            volume: is_whole.then(|| evolution.volume_factor(&path)),
            back: evolution.reversibility_error(start, steps),
            drift: evolution.energy_drift(&path).filter(|_| is_whole),
            blob: blob.and_then(|b| b.evolved(evolution, steps)),
        }
    }

    pub fn end(&self) -> Option<[f64; 2]> {
        self.places.last().copied().filter(|_| self.overflows_at.is_none())
    }
}

/// The path of a token that is not in focus.
#[derive(Debug, Clone, PartialEq)]
pub struct UnfocusedPath {
    pub token: usize,
    pub places: Vec<[f64; 2]>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PhasePortrait {
    pub(super) source: PortraitSource,
    pub plane: Plane,
    pub tracks: [IntegratorPath; 2],
    pub others: Vec<UnfocusedPath>,
    /// The end of the model's own evolution.
    pub model_end: Option<[f64; 2]>,
    /// Lines of equal energy, and those of the start's own.
    pub levels: Vec<Vec<[f64; 2]>>,
    pub own_level: Vec<Vec<[f64; 2]>>,
    pub blob: Option<Blob>,
    /// The minimum extent of the picture: left, right, low, high.
    pub extent: [f64; 4],
}

impl PhasePortrait {
    pub fn from_toy(toy: Toy, settings: ToySettings) -> Self {
        let (plane, force) = (Plane::phase_space(), &toy.system().force);
        let [q, k] = settings.start;
        let start = PhasePoint::new([q], [k]);
        let blob = toy.blob(settings.start);
        let evolution = |integrator| Evolution { force, integrator, dt: settings.dt };
        let steps = settings.steps;
        let track = |integrator| IntegratorPath::new(&plane, &evolution(integrator), &start, steps, Some(&blob));
        let tracks = Integrator::ALL.map(track);
        let energy = evolution(Integrator::Leapfrog).energy(&start).unwrap_or(f64::NAN);
        Self {
            source: PortraitSource::Toy(toy, settings),
            tracks,
            others: vec![],
            model_end: None,
            levels: toy.levels(),
            own_level: level_lines(force, energy),
            blob: Some(blob),
            extent: toy.system().extent,
            plane,
        }
    }

    /// The portrait of a token of a text; `None` if the source is none of its tokens.
    pub(super) fn from_token(learned: &Learned, source: PortraitSource) -> Option<Self> {
        let PortraitSource::Token(_, token, (dt, steps), choice) = source else { return None };
        let plane = Plane::fit(&learned.points(), learned.width(), choice);
        let (force, start) = (&learned.force, learned.starts.get(token)?);
        let evolution = |integrator| Evolution { force, integrator, dt };
        let track = |integrator| IntegratorPath::new(&plane, &evolution(integrator), start, steps, None);
        let tracks = Integrator::ALL.map(track);
        let other = |(token, start): (usize, &PhasePoint)| {
            let path = evolution(learned.model_stepping.integrator).path(start, steps);
            UnfocusedPath { token, places: path.points.iter().map(|p| plane.project(p)).collect() }
        };
        let others = learned.starts.iter().enumerate().filter(|(t, _)| *t != token).map(other).collect();
        let model_end = learned.ends.get(token).filter(|end| end.is_finite()).map(|end| plane.project(end));
        let places = learned.points().into_iter().filter(|p| p.is_finite()).map(|p| plane.project(p));
        let (levels, own_level, extent) = (vec![], vec![], bounding_box(places));
        Some(Self { source, tracks, others, model_end, levels, own_level, blob: None, extent, plane })
    }

    /// The token of a text whose portrait it is.
    pub fn token(&self) -> Option<usize> {
        if let PortraitSource::Token(_, token, ..) = self.source { Some(token) } else { None }
    }

    /// dt, and the number of steps.
    pub fn stepping(&self) -> (f64, usize) {
        match self.source {
            PortraitSource::Toy(_, settings) => (settings.dt, settings.steps),
            PortraitSource::Token(_, _, stepping, _) => stepping,
        }
    }

    pub fn start(&self) -> Option<[f64; 2]> {
        self.tracks[0].places.first().copied()
    }

    /// The points that the camera is fitted to: the extent, and the paths clamped to its neighbourhood. With `close`,
    /// only the paths; this has no effect on a toy, which has no other tokens.
    pub fn camera_points(&self, close: bool) -> Vec<[f32; 3]> {
        let [x0, x1, y0, y1] = self.extent;
        if close && self.blob.is_none() {
            let all = self.tracks.iter().flat_map(|t| &t.places).chain(&self.model_end);
            return all.map(|[x, y]| [*x as f32, *y as f32, 0.0]).collect();
        }
        let (wide, high) = ((x1 - x0) / 2.0, (y1 - y0) / 2.0);
        let near = |[x, y]: &[f64; 2]| [x.clamp(x0 - wide, x1 + wide), y.clamp(y0 - high, y1 + high)];
        let paths = self.tracks.iter().flat_map(|t| &t.places).map(near);
        let all = [[x0, y0], [x1, y1]].into_iter().chain(paths);
        all.map(|[x, y]| [x as f32, y as f32, 0.0]).collect()
    }
}

/// The smallest box around places, with an extent in both directions.
fn bounding_box(places: impl Iterator<Item = [f64; 2]>) -> [f64; 4] {
    let none = [f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY];
    let all = places.fold(none, |[x0, x1, y0, y1], [x, y]| [x0.min(x), x1.max(x), y0.min(y), y1.max(y)]);
    if all.iter().any(|v| !v.is_finite()) {
        return [-1.0, 1.0, -1.0, 1.0];
    }
    let [x0, x1, y0, y1] = all;
    let widened = |a: f64, b: f64| if b - a > 1e-9 { (a, b) } else { (a - 0.5, b + 0.5) };
    let ((x0, x1), (y0, y1)) = (widened(x0, x1), widened(y0, y1));
    [x0, x1, y0, y1]
}
