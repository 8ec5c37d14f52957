//! A field of the plane as particles behind paths: takes the field, keeps the streaks' time, and hands the GPU both.

use super::camera::Frame;
use crate::{
    gpu::particles::{COUNT, LIFE, Particles, Stepping, VectorField},
    ui::views::painting::*,
};

/// Steps a second.
pub const STEP_RATE: f64 = 30.0;
/// The distance that a fast particle crosses in its life, as a share of the patch.
const LIFE_DISTANCE: f32 = 0.4;
/// Square points for each particle.
const PIXELS_PER_STREAK: f32 = 22.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    Nothing,
    Still,
    Flowing,
}

const BACKGROUNDS: [(Background, &str, &str); 3] = [
    (Background::Nothing, "none", "Only the paths."),
    (Background::Still, "still", "Streaks along the field, standing still."),
    (
        Background::Flowing,
        "flow",
        "Particles carried by the field. They begin still where the processor has to draw them, and stay still where \
         reduced motion is wanted.",
    ),
];

impl Background {
    /// The default background: it flows, unless the processor has to draw it.
    pub fn default_for(ui: &Ui) -> Self {
        let software = gpu::target(ui.ctx()).is_none_or(|t| t.software);
        if software { Background::Still } else { Background::Flowing }
    }

    pub fn label(self) -> &'static str {
        BACKGROUNDS.iter().find(|b| b.0 == self).map_or("", |b| b.1)
    }

    /// Shows all backgrounds side by side with this one selected; returns the one that was clicked.
    pub fn choice_ui(self, ui: &mut Ui) -> Option<Self> {
        choice_buttons(ui, &self, BACKGROUNDS)
    }
}

/// The field that was measured last, ready for the GPU.
#[derive(Debug, Clone, Default)]
pub struct Streaks {
    payload: Option<Arc<Payload>>,
    field: Arc<VectorField>,
    /// A number that no other field has, since data on the graphics card outlive the view.
    revision: u64,
    /// The bounds of the patch of the plane in which streaks are drawn: left, right, low, high.
    pub extent: [f32; 4],
    /// Streaks are fainter than usual, because they fill the whole picture.
    quiet: bool,
    /// Depth that passes in a step.
    pub dt: f32,
    time: FlowTime,
}

/// The time that particles have flowed.
#[derive(Debug, Clone, Default)]
pub struct FlowTime {
    seconds: f64,
    seen_at: Option<f64>,
}

impl FlowTime {
    /// Lets time pass, and asks for the next frame, while they flow.
    pub fn advance(&mut self, ui: &Ui, flowing: bool) {
        let now = ui.input(|i| i.time);
        if !flowing {
            self.seen_at = None;
            return;
        }
        if let Some(before) = self.seen_at.replace(now) {
            self.seconds += (now - before).clamp(0.0, 0.25);
        }
        ui.ctx().request_repaint_after(std::time::Duration::from_secs_f64(1.0 / STEP_RATE));
    }

    /// True if they flowed in the last frame.
    pub fn is_flowing(&self) -> bool {
        self.seen_at.is_some()
    }

    /// Steps of the particles so far.
    pub fn step(&self) -> u64 {
        u64::from(LIFE) + (self.seconds * STEP_RATE) as u64
    }
}

impl Streaks {
    pub fn quiet() -> Self {
        Self { quiet: true, ..Self::default() }
    }

    /// Takes an answer unless it is held already.
    pub fn take(&mut self, measured: Measured<'_, FlowField>) {
        let payload = &measured.sample.payload;
        if self.payload.as_ref().is_some_and(|p| Arc::ptr_eq(p, payload)) {
            return;
        }
        self.payload = Some(payload.clone());
        match read(measured.value) {
            Some((field, extent)) => self.set(field, extent),
            None => (self.field, self.revision) = (Arc::default(), unique()),
        }
    }

    /// Takes a field over a patch of the plane, in sides of the patch a unit of time; `extent`: as [`Streaks::extent`].
    pub fn set(&mut self, field: VectorField, extent: [f32; 4]) {
        self.revision = unique();
        let speeds = field.data.iter().map(|[x, y]| x.hypot(*y)).filter(|v| v.is_finite());
        let quick = upper_quantile(speeds.collect(), 0.9).unwrap_or(0.0);
        self.dt = if quick > 1e-9 { LIFE_DISTANCE / (quick * LIFE as f32) } else { 0.0 };
        (self.field, self.extent) = (Arc::new(field), extent);
    }

    pub fn is_empty(&self) -> bool {
        self.field.data.is_empty()
    }

    /// Paints them on the plane at height `z`, and lets their time pass while they flow; `Err` says why there are none.
    pub fn paint(
        &mut self,
        ui: &Ui,
        rect: Rect,
        frame: &Frame,
        z: f32,
        flowing: bool,
        theme: &Theme,
    ) -> Result<(), String> {
        self.time.advance(ui, flowing && !self.is_empty() && self.dt != 0.0);
        if self.is_empty() {
            return Ok(());
        }
        let (corner, across, along) = frame.patch(self.extent, z);
        let outline = [corner, corner + across, corner + across + along, corner + along, corner];
        let painter = ui.painter_at(rect);
        clip::paint_line(&painter, &outline, Stroke::new(1.0, theme.line));
        let target = gpu::target(ui.ctx()).ok_or("no graphics adapter, so no particles")?;
        let area = (across.x * along.y - across.y * along.x).abs();
        let pixels = ui.pixels_per_point();
        let particles = Particles {
            key: ui.scope_id().with("streaks").value(),
            revision: self.revision,
            field: self.field.clone(),
            step: self.time.step(),
            settled: !flowing,
            dt: self.dt,
            stepping: Stepping::Midpoint,
            drawn: ((area * pixels / PIXELS_PER_STREAK) as u32).clamp(64, COUNT),
            across: across.into(),
            along: along.into(),
            origin: (corner - rect.min).into(),
            colour: [theme.secondary.r(), theme.secondary.g(), theme.secondary.b()],
            strength: if theme.dark { 0.5 } else { 0.55 } * if self.quiet { 0.6 } else { 1.0 },
            width: 1.1,
        };
        painter.add(particles.shape(rect, target).map_err(|e| e.to_string())?);
        Ok(())
    }
}

/// The field over its patch, in sides of the patch a unit of depth.
fn read(field: &FlowField) -> Option<(VectorField, [f32; 4])> {
    let (dx, dy) = (field.dx.matrix(0)?, field.dy.matrix(0)?);
    let ends = &field.extent;
    let extent = [ends.x0, ends.x1, ends.y0, ends.y1].map(|v| v as f32);
    let (wide, high) = (extent[1] - extent[0], extent[3] - extent[2]);
    if (dx.rows, dx.cols) != (dy.rows, dy.cols) || !(wide > 0.0 && high > 0.0) {
        return None;
    }
    let data = dx.data.iter().zip(dy.data).map(|(x, y)| [x / wide, y / high]).collect();
    Some((VectorField { rows: dx.rows, cols: dx.cols, data }, extent))
}
