//! The events of a run on axes of training steps: live changes under their controls' names, and starts of stages.

use super::{mirror::Mirror, plot::StepEvent};
use crate::config::{Knob, Value};

/// Changes of one setting closer than this share of the run are one event: a slider that was dragged while it trained.
const MERGE_SHARE: f64 = 0.005;

/// The events of a run, oldest first.
pub fn from_mirror(mirror: &Mirror, knobs: &[Knob]) -> Vec<StepEvent> {
    let stages = mirror.info.iter().flat_map(|info| &info.stages);
    let mut events: Vec<StepEvent> =
        stages.map(|stage| StepEvent { step: stage.step, text: stage.label.clone() }).collect();
    let close = (MERGE_SHARE * mirror.step as f64).max(1.0) as u64;
    let mut last: Option<(&str, u64)> = None;
    for (step, key, value) in &mirror.changes {
        let event = StepEvent { step: *step, text: change_label(knobs, key, value) };
        let is_together = last.is_some_and(|(of, at)| of == key && step.saturating_sub(at) <= close);
        match events.last_mut().filter(|_| is_together) {
            Some(drag) => *drag = event,
            None => events.push(event),
        }
        last = Some((key, *step));
    }
    events.sort_by_key(|e| e.step);
    events
}

fn change_label(knobs: &[Knob], key: &str, value: &Value) -> String {
    let label = knobs.iter().find(|k| k.key == key).map_or(key, |k| k.label);
    format!("{label} {value}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Range, telemetry::Event};

    #[test]
    fn a_drag_is_one_event_under_its_controls_name() {
        let range = Range::Float { min: 1e-6, max: 1.0, log: false };
        let knobs = [Knob::new("train.lr", "Learning rate", range, Value::Float(1e-3))];
        let mut mirror = Mirror::default();
        for (step, value) in [(300, 0.1), (302, 0.2), (304, 0.5), (700, 0.25)] {
            mirror.apply(Event::Changed { step, key: "train.lr".into(), value: Value::Float(value) });
        }
        mirror.step = 1000;
        let labels: Vec<String> = from_mirror(&mirror, &knobs).iter().map(StepEvent::label).collect();
        assert_eq!(labels, ["step 304: Learning rate 0.5", "step 700: Learning rate 0.25"]);
    }
}
