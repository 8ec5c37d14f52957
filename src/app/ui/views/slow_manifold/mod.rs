//! The slow manifold: particles of a planar fast-slow system that collapse on f = 0, a trajectory with its speed, and
//! how far the true motion is from it, or averaging and splitting from that, as eps shrinks. No model is needed.

use super::flow::streaks::Background;
use crate::{
    analysis::fast_slow_plane::{Bounds, MultiscaleErrors, Point},
    labs::equilibrium::slow_manifold::{PlanarSystem, SlowManifoldSettings},
    ui::views::prelude::*,
};
use field::{Field, Run, Source};
use particles::ParticleLayer;

mod charts;
mod field;
mod meanings;
mod particles;
mod scene;
pub(super) mod sheet;
mod tile;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SideChart {
    /// Distances to the manifold.
    #[default]
    Distance,
    /// Errors of averaging and of splitting.
    Multiscale,
}

#[derive(Default)]
pub struct SlowManifold {
    /// The start that the user chose, and its system.
    start: Option<(PlanarSystem, Point)>,
    /// The visible part of the plane and its system; `None` shows all of the plane.
    window: Option<(PlanarSystem, Bounds)>,
    fields: KeyedCache<Source, Option<Result<Arc<Field>, String>>>,
    runs: KeyedCache<(Source, f64, Point), Option<Arc<Run>>>,
    errors: KeyedCache<Source, Option<Option<MultiscaleErrors>>>,
    /// The last field that could be drawn; it stays visible while the user types a formula.
    made: Option<Arc<Field>>,
    chosen: Option<Background>,
    particles: ParticleLayer,
    chart: ChartState,
    side_chart: SideChart,
    /// The canvas where it was last shown, screen points.
    canvas: Option<Rect>,
}

impl SlowManifold {
    /// Computes what is shown, once for each source; a sentence where it cannot be.
    fn make_field(&mut self, settings: &SlowManifoldSettings) -> Option<String> {
        let source = Source::new(settings);
        let kept = self.fields.at(source.clone());
        match kept.get_or_insert_with(|| Field::new(&source).map(Arc::new).map_err(|e| sentence(&e))) {
            Ok(field) => {
                self.made = Some(field.clone());
                None
            }
            Err(words) => Some(words.clone()),
        }
    }

    fn start(&self, field: &Field) -> Point {
        let chosen = self.start.filter(|(system, _)| *system == field.source.system);
        chosen.map_or_else(|| field.default_start(), |(_, start)| start)
    }

    /// The part of the plane that is shown.
    fn bounds(&self, field: &Field) -> Bounds {
        let window = self.window.filter(|(system, _)| *system == field.source.system);
        window.map_or(field.bounds, |(_, bounds)| bounds)
    }

    /// The trajectory at this eps, solved once.
    fn run(&mut self, field: &Field, epsilon: f64) -> Arc<Run> {
        let start = self.start(field);
        let kept = self.runs.at((field.source.clone(), epsilon, start));
        kept.get_or_insert_with(|| Arc::new(Run::solve(field, epsilon, start))).clone()
    }

    fn errors(&self, field: &Field) -> Option<&MultiscaleErrors> {
        self.errors.get(&field.source)?.as_ref()?.as_ref()
    }

    fn last_run(&self, cx: &ViewCx<'_>) -> Option<(&Field, Arc<Run>)> {
        let field = self.made.as_deref()?;
        let key = (field.source.clone(), settings(cx).epsilon, self.start(field));
        Some((field, self.runs.get(&key)?.clone()?))
    }
}

/// An error with what caused it.
fn sentence(error: &dyn std::error::Error) -> String {
    error.source().map_or(format!("{error}."), |source| format!("{error} ({source})."))
}

/// The settings as they are in this frame; a lab without them has their defaults.
fn settings(cx: &ViewCx<'_>) -> SlowManifoldSettings {
    cx.config_now().group().unwrap_or_default()
}
