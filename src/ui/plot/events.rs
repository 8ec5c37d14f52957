//! Events of a run on every axis of training steps: a live change, a stage that begins. A page says once a frame which
//! there are, and every chart over steps draws them: no view does. It does not know runs.

use std::sync::Arc;

use eframe::egui::{Align2, Context, Id, Pos2, Shape, Stroke, pos2};

use super::paint::Canvas;

/// Something that happened at a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepEvent {
    pub step: u64,
    /// What: "Coupling scale 0.5".
    pub words: String,
}

impl StepEvent {
    /// With its step: "step 300: Coupling scale 0.5".
    pub fn label(&self) -> String {
        format!("step {}: {}", self.step, self.words)
    }
}

/// The events of the run that is shown, oldest first.
pub type StepEvents = Arc<[StepEvent]>;

/// Half the width of the sign at the head of a line, points.
const SIGN: f32 = 3.0;
/// A pointer this near to a line reads its label, points.
const NEAR: f32 = 5.0;

fn id() -> Id {
    Id::unique("orrery step events")
}

/// Says which events the charts over steps draw from now on.
pub fn set_step_events(ctx: &Context, events: StepEvents) {
    ctx.data_mut(|d| d.insert_temp(id(), events));
}

/// What [`set_step_events`] said last.
pub(super) fn step_events(ctx: &Context) -> StepEvents {
    ctx.data(|d| d.get_temp(id())).unwrap_or_default()
}

/// The events in a place of so many points where the pointer is near one, in words.
pub fn near<'a>(events: &'a [StepEvent], x_of: impl Fn(u64) -> f32, x: f32) -> Vec<&'a StepEvent> {
    events.iter().filter(|e| (x_of(e.step) - x).abs() <= NEAR).collect()
}

impl Canvas<'_> {
    fn event_x(&self, step: u64) -> f32 {
        self.layout.x_at(self.layout.x_scale.place(step as f64)) + self.corner.x
    }

    /// A hairline with a sign at its head for each event in sight.
    pub(super) fn events(&self, events: &[StepEvent]) {
        let area = self.area();
        let colour = self.theme.secondary;
        for event in events {
            let x = self.event_x(event.step);
            if !area.x_range().contains(x) {
                continue;
            }
            let x = x.round() + 0.5;
            self.painter.vline(x, area.y_range(), Stroke::new(1.0, colour.gamma_multiply(0.55)));
            let head = [pos2(x - SIGN, area.top()), pos2(x + SIGN, area.top()), pos2(x, area.top() + 1.6 * SIGN)];
            self.painter.add(Shape::convex_polygon(head.to_vec(), colour, Stroke::NONE));
        }
    }

    /// The words of the events near the pointer.
    pub(super) fn event_words(&self, events: &[StepEvent], pointer: Pos2) {
        let area = self.area();
        for (i, event) in near(events, |step| self.event_x(step), pointer.x).into_iter().rev().take(4).enumerate() {
            let at = pos2(self.event_x(event.step) + 4.0, area.bottom() - 4.0 - i as f32 * super::layout::ROW);
            self.halo_text(at, Align2::LEFT_BOTTOM, &event.label());
        }
    }
}
