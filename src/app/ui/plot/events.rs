//! Events of a run on every axis of training steps: a live change, a stage that begins. The page sets them once a
//! frame, and every chart over steps draws them, so that no view does.

use std::sync::Arc;

use eframe::egui::{Context, Id};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepEvent {
    pub step: u64,
    /// The text of the event, such as "Coupling scale 0.5".
    pub text: String,
}

impl StepEvent {
    /// The event with its step: "step 300: Coupling scale 0.5".
    pub fn label(&self) -> String {
        format!("step {}: {}", self.step, self.text)
    }
}

/// The events of the run that is shown, oldest first.
pub type StepEvents = Arc<[StepEvent]>;

/// A pointer this near to a line reads its label, points.
const HIT_DISTANCE: f32 = 5.0;

const EVENTS_KEY: &str = "orrery step events";

/// Sets the events that charts over steps draw from now on.
pub fn set_step_events(ctx: &Context, events: StepEvents) {
    ctx.data_mut(|d| d.insert_temp(Id::unique(EVENTS_KEY), events));
}

/// The events of the last [`set_step_events`].
pub(super) fn step_events(ctx: &Context) -> StepEvents {
    ctx.data(|d| d.get_temp(Id::unique(EVENTS_KEY))).unwrap_or_default()
}

/// The events in a place of this many points where the pointer is near one, in words.
pub fn near(events: &[StepEvent], x_of: impl Fn(u64) -> f32, x: f32) -> Vec<&StepEvent> {
    events.iter().filter(|e| (x_of(e.step) - x).abs() <= HIT_DISTANCE).collect()
}
