//! Particles over the plane: the field as the GPU takes it, the time of the particles, and the pointer that stirs them.

use super::field::{Field, Source};
use crate::{
    analysis::fast_slow_plane::Bounds,
    gpu::particles::{LIFE, Particles, Stepping, VectorField},
    ui::views::{
        flow::{
            sheet::Sheet,
            streaks::{FlowTime, STEP_RATE},
        },
        prelude::*,
    },
};

/// Samples of the field along each side.
const SIDE_SAMPLES: usize = 97;
/// The distance that the fastest slow motion crosses in a particle's life, as a share of the height.
const LIFE_DISTANCE: f64 = 0.5;
/// The largest movement along x in a step, as a share of the width: a faster motion is drawn slower, on its own path.
const MAX_STEP: f32 = 0.05;
/// The number of pixels per particle, on a graphics card and on the processor.
const PIXELS_PER_PARTICLE: f32 = 16.0;
const PIXELS_PER_PARTICLE_SOFTWARE: f32 = 34.0;
/// The maximum number of particles on a graphics card, on the processor, and on the processor if it must move all of them
/// at once.
const MAX_PARTICLES: u32 = 50_000;
const MAX_SOFTWARE: u32 = 5_000;
const MAX_SOFTWARE_STILL: u32 = 2_500;
/// Standard deviation of the pointer's influence, as a share of a side.
const STIR_RADIUS: f32 = 0.06;

/// A pointer among the particles: its place and velocity, in sides of the square and sides a unit of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stir {
    pub at: [f32; 2],
    pub velocity: [f32; 2],
}

#[derive(Debug, Clone, Default)]
pub struct ParticleLayer {
    made_for: Option<(Source, f64, Bounds)>,
    field: Arc<VectorField>,
    stirred: Arc<VectorField>,
    stir: Option<Stir>,
    revision: u64,
    /// Slow time of a step.
    dt: f64,
    time: FlowTime,
    /// Time of the last stirring, in seconds of the window.
    stirred_at: Option<f64>,
}

impl ParticleLayer {
    /// Takes a part of a system's plane at an eps, unless it has it.
    pub fn take(&mut self, field: &Field, epsilon: f64, bounds: &Bounds) {
        if self.made_for.as_ref().is_some_and(|(s, e, b)| *s == field.source && *e == epsilon && b == bounds) {
            return;
        }
        self.made_for = Some((field.source.clone(), epsilon, *bounds));
        self.field = Arc::new(sample_field(field, epsilon, bounds));
        self.dt = step_of(&self.field);
        (self.stirred, self.stir, self.revision) = (self.field.clone(), None, unique());
    }

    /// A pointer that moves through them with this velocity in points per second; `None` ends the stirring.
    pub fn stir(&mut self, ui: &Ui, sheet: &Sheet, pointer: Option<(Pos2, Vec2)>) {
        let stir = pointer.map(|(at, velocity)| {
            let (wide, high) = (sheet.rect.width(), sheet.rect.height());
            let passing = (STEP_RATE * self.dt) as f32;
            Stir {
                at: [(at.x - sheet.rect.left()) / wide, (sheet.rect.bottom() - at.y) / high],
                velocity: [velocity.x / wide / passing, -velocity.y / high / passing],
            }
        });
        if stir.is_some() {
            self.stirred_at = Some(ui.input(|i| i.time));
        }
        if stir == self.stir {
            return;
        }
        self.stirred = stir.map_or_else(|| self.field.clone(), |s| Arc::new(stirred_field(&self.field, s)));
        (self.stir, self.revision) = (stir, unique());
    }

    /// True while some particles are still where the pointer put them.
    pub fn is_stirred(&self, ui: &Ui) -> bool {
        let life = f64::from(LIFE) / STEP_RATE;
        self.time.is_flowing() && self.stirred_at.is_some_and(|at| ui.input(|i| i.time) - at < life)
    }

    /// Paints them, and lets their time pass while they flow; `Err` says why there are none.
    pub fn paint(&mut self, ui: &Ui, sheet: &Sheet, flowing: bool, theme: &Theme) -> Result<(), String> {
        self.time.advance(ui, flowing && self.dt != 0.0);
        if self.dt == 0.0 {
            return Ok(());
        }
        let target = gpu::target(ui.ctx()).ok_or("no graphics adapter, so no particles")?;
        let rect = sheet.rect;
        let (sparse, max) = match (target.software, flowing) {
            (false, _) => (PIXELS_PER_PARTICLE, MAX_PARTICLES),
            (true, true) => (PIXELS_PER_PARTICLE_SOFTWARE, MAX_SOFTWARE),
            (true, false) => (PIXELS_PER_PARTICLE_SOFTWARE, MAX_SOFTWARE_STILL),
        };
        let pixels = ui.pixels_per_point();
        let particles = Particles {
            key: ui.scope_id().with("slow manifold particles").value(),
            revision: self.revision,
            field: self.stirred.clone(),
            step: self.time.step(),
            settled: !flowing,
            dt: self.dt as f32,
            stepping: Stepping::StiffAlongX { longest: MAX_STEP },
            drawn: ((rect.area() * pixels * pixels / sparse) as u32).clamp(64, max),
            across: [rect.width(), 0.0],
            along: [0.0, -rect.height()],
            origin: [0.0, rect.height()],
            colour: [theme.secondary.r(), theme.secondary.g(), theme.secondary.b()],
            strength: if theme.dark { 0.5 } else { 0.6 },
            width: 1.2,
        };
        ui.painter().add(particles.shape(rect, target).map_err(|e| e.to_string())?);
        Ok(())
    }
}

/// (f / eps, g) in sides of the part that is shown a unit of slow time.
fn sample_field(field: &Field, epsilon: f64, bounds: &Bounds) -> VectorField {
    let share = |i: usize| i as f64 / (SIDE_SAMPLES - 1) as f64;
    let at = |i: usize| {
        let p = bounds.at(share(i % SIDE_SAMPLES), share(i / SIDE_SAMPLES));
        let across = field.plane.f(p) / epsilon / bounds.width();
        [across as f32, (field.plane.g(p) / bounds.height()) as f32]
    };
    VectorField { rows: SIDE_SAMPLES, cols: SIDE_SAMPLES, data: (0..SIDE_SAMPLES * SIDE_SAMPLES).map(at).collect() }
}

/// Slow time of a step, such that the quicker slow motion crosses [`LIFE_DISTANCE`] in a life; 0 where nothing moves.
fn step_of(field: &VectorField) -> f64 {
    let speeds = field.data.iter().map(|v| v[1].abs()).filter(|v| v.is_finite());
    let quick = upper_quantile(speeds.collect(), 0.9).unwrap_or(0.0);
    // Where y rests, only the fast motion can set the pace.
    if quick > 1e-9 { LIFE_DISTANCE / f64::from(quick) / f64::from(LIFE) } else { 1.0 / f64::from(LIFE) }
}

/// The field, with what is near the pointer carried along by it.
fn stirred_field(field: &VectorField, stir: Stir) -> VectorField {
    let mut field = field.clone();
    let share = |i: usize| i as f32 / (SIDE_SAMPLES - 1) as f32;
    for (i, v) in field.data.iter_mut().enumerate() {
        let (x, y) = (share(i % SIDE_SAMPLES) - stir.at[0], share(i / SIDE_SAMPLES) - stir.at[1]);
        let weight = (-(x * x + y * y) / (2.0 * STIR_RADIUS * STIR_RADIUS)).exp();
        if weight > 0.01 {
            // The weight saturates near the pointer, so that even a very fast flow does not leak into the dragged part.
            let held = (2.0 * weight).min(1.0);
            *v = std::array::from_fn(|k| v[k] * (1.0 - held) + stir.velocity[k] * held);
        }
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labs::equilibrium::slow_manifold::SlowManifoldSettings;

    #[test]
    fn stirring_changes_the_field_only_near_the_pointer() {
        let source = Source::new(&SlowManifoldSettings::default());
        let unstirred = Field::new(&source).unwrap();
        let field = sample_field(&unstirred, 0.05, &unstirred.bounds);
        let moved = stirred_field(&field, Stir { at: [0.5, 0.5], velocity: [3.0, -2.0] });
        assert_eq!(moved.data[SIDE_SAMPLES * (SIDE_SAMPLES / 2) + SIDE_SAMPLES / 2], [3.0, -2.0]);
        assert_eq!(moved.data[..SIDE_SAMPLES * 10], field.data[..SIDE_SAMPLES * 10], "far away nothing is changed");
    }

    #[test]
    fn smaller_eps_makes_only_x_faster() {
        let source = Source::new(&SlowManifoldSettings::default());
        let field = Field::new(&source).unwrap();
        let (one, tenth) = (sample_field(&field, 0.1, &field.bounds), sample_field(&field, 0.01, &field.bounds));
        for (a, b) in one.data.iter().zip(&tenth.data) {
            assert!((a[0] * 10.0 - b[0]).abs() <= 1e-4 * b[0].abs() && a[1] == b[1]);
        }
        assert_eq!(step_of(&one), step_of(&tenth));
    }
}
