//! The phase plane: where the query and the key of a token go under either integrator, in the learned field or in one whose
//! geometry is known. It integrates by itself and sees no model.

use super::flow::{
    camera::Camera,
    streaks::{Background, Streaks},
};
use crate::ui::views::prelude::*;
use learned::Learned;
use plane::PlaneChoice;
use portrait::PhasePortrait;
use toy::{Toy, ToySettings};

mod controls;
mod learned;
mod numbers;
mod plane;
mod portrait;
mod scene;
mod tile;
mod toy;

/// The force on the points: that of a toy, or that of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Learned,
    Toy(Toy),
}

/// The inputs of a picture.
#[derive(Debug, Clone, Copy, PartialEq)]
enum PortraitSource {
    Toy(Toy, ToySettings),
    /// The number of what was read, the token, the steps, the plane.
    Token(u64, usize, (f64, usize), PlaneChoice),
}

/// A parsed measurement, with a number that identifies it.
struct ParsedMeasurement {
    payload: Arc<Payload>,
    number: u64,
    learned: Result<Arc<Learned>, String>,
}

pub struct PhasePlane {
    /// The user's choice; without one, the run's model, or a toy where there is no run.
    mode: Option<Mode>,
    /// The step size that replaces the model's own value.
    dt: Option<f64>,
    steps: Option<usize>,
    toys: [ToySettings; 2],
    plane: PlaneChoice,
    /// A text that the user typed; if it is empty, a held-out passage is read.
    text: String,
    read: Option<ParsedMeasurement>,
    shown: KeyedCache<PortraitSource, Option<Arc<PhasePortrait>>>,
    camera: Camera,
    /// The camera is fitted to the token in focus alone: tokens are far apart, and each moves only a little.
    close: bool,
    /// Size of the canvas when it was last shown, points.
    size: Vec2,
    /// True if every number is shown, not only the most important ones.
    has_details: bool,
    chosen: Option<Background>,
    background: Background,
    streaks: Streaks,
    /// The reason why the background shows no field.
    no_field: Option<String>,
    /// The source of the streaks, and their patch.
    field_of: Option<(PortraitSource, [f32; 4])>,
}

impl Default for PhasePlane {
    fn default() -> Self {
        Self {
            mode: None,
            dt: None,
            steps: None,
            toys: [Toy::Harmonic, Toy::DoubleWell].map(|toy| toy.system().settings),
            plane: PlaneChoice::Pair(None),
            text: String::new(),
            read: None,
            shown: KeyedCache::default(),
            camera: Camera::default(),
            close: false,
            size: vec2(480.0, 320.0),
            has_details: false,
            chosen: None,
            background: Background::Still,
            streaks: Streaks::quiet(),
            no_field: None,
            field_of: None,
        }
    }
}

impl PhasePlane {
    fn mode(&self, cx: &ViewCx<'_>) -> Mode {
        let usual = if cx.mirror.info.is_some() { Mode::Learned } else { Mode::Toy(Toy::Harmonic) };
        self.mode.unwrap_or(usual)
    }

    /// The answer of a variant or its scheduled measurement: that of the selected head, else the newer one.
    fn variant_paths<'a>(&self, cx: &ViewCx<'a>, variant: usize) -> Option<Measured<'a, QueryKeyPaths>> {
        let is_between = [Some(variant), None].into_iter().any(|of| cx.is_waiting_for::<QueryKeyPaths>(of));
        let sources = || cx.measurement_sources::<QueryKeyPaths>(variant);
        let typed = sources().find(|m| m.is_typed && !self.text.is_empty());
        if typed.is_some() || !self.text.is_empty() && !is_between {
            return typed;
        }
        let rank = |m: &Measured<'_, QueryKeyPaths>| ((m.layer, m.head) == selected_layer_and_head(cx), m.sample.step);
        sources().filter(|m| !m.is_typed).reduce(|a, b| if rank(&b) > rank(&a) { b } else { a })
    }

    /// The paths of the variant in focus, or of the first one whose queries and keys evolve.
    fn measured<'a>(&self, cx: &ViewCx<'a>) -> Option<Measured<'a, QueryKeyPaths>> {
        let evolving = cx.in_focus(|v| self.variant_paths(cx, v).filter(|m| evolves(m.value)));
        evolving.map(|(_, m)| m).or_else(|| self.variant_paths(cx, cx.selection.variant))
    }

    fn read(&mut self, measured: Option<Measured<'_, QueryKeyPaths>>) {
        let evolution = measured.and_then(|m| Some((&m.sample.payload, m.value.evolution.as_ref()?)));
        let Some((payload, evolution)) = evolution else { return self.read = None };
        if self.read.as_ref().is_none_or(|r| !Arc::ptr_eq(&r.payload, payload)) {
            let learned = Learned::new(evolution).map(Arc::new);
            self.read = Some(ParsedMeasurement { payload: payload.clone(), number: unique(), learned });
        }
    }

    fn learned(&self) -> Option<Arc<Learned>> {
        self.read.as_ref()?.learned.as_ref().ok().cloned()
    }

    /// dt and n for a model: its own unless the user moved them.
    fn stepping(&self, learned: &Learned) -> (f64, usize) {
        (self.dt.unwrap_or(learned.model_stepping.dt), self.steps.unwrap_or(learned.model_stepping.steps))
    }

    fn source(&self, cx: &ViewCx<'_>) -> Option<PortraitSource> {
        match self.mode(cx) {
            Mode::Toy(toy) => Some(PortraitSource::Toy(toy, self.toys[toy as usize])),
            Mode::Learned => {
                let (read, learned) = (self.read.as_ref()?, self.learned()?);
                let last = learned.starts.len().checked_sub(1)?;
                let token = cx.selection.token.filter(|t| *t <= last).unwrap_or(last);
                Some(PortraitSource::Token(read.number, token, self.stepping(&learned), self.plane))
            }
        }
    }

    /// The portrait to show, computed once for each source.
    fn portrait(&mut self, cx: &ViewCx<'_>) -> Option<Arc<PhasePortrait>> {
        let source = self.source(cx)?;
        if self.last_portrait(cx).is_none() {
            let portrait = match source {
                PortraitSource::Toy(toy, settings) => PhasePortrait::from_toy(toy, settings),
                PortraitSource::Token(..) => PhasePortrait::from_token(&*self.learned()?, source)?,
            };
            *self.shown.at(source) = Some(Arc::new(portrait));
        }
        self.shown.get(&source).cloned().flatten()
    }

    /// The portrait to show, if it is computed already.
    fn last_portrait(&self, cx: &ViewCx<'_>) -> Option<&PhasePortrait> {
        self.shown.get(&self.source(cx)?)?.as_deref()
    }
}

/// Layer and head that are selected, by their numbers.
fn selected_layer_and_head(cx: &ViewCx<'_>) -> (usize, usize) {
    let layer = cx.selection.layer.as_ref().and_then(|path| path.rsplit('.').find_map(|part| part.parse().ok()));
    (layer.unwrap_or(0), cx.selection.head.unwrap_or(0))
}

/// True where queries and keys of any layer evolve.
fn evolves(measured: &QueryKeyPaths) -> bool {
    measured.evolves.contains(&true)
}
