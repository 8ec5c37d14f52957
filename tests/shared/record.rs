//! A sink that keeps every event, for tests that drive a run. It works for any run.

use std::sync::{Arc, Mutex};

use orrery::telemetry::{Event, Sink};

/// Clones share what is kept.
#[derive(Clone, Default)]
pub struct Record(Arc<Mutex<Vec<Event>>>);

impl Sink for Record {
    fn event(&mut self, event: &Event) -> Result<(), String> {
        self.0.lock().unwrap().push(event.clone());
        Ok(())
    }
}

impl Record {
    pub fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }
}
