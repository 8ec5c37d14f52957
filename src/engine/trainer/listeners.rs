//! The listeners to a run's events: observers (a window's inbox, a progress bar), and the record. They differ in
//! what a failure means: an observer that fails is dropped with a notice, a record that fails must end the run.

use super::RunError;
use crate::{
    store::Writer,
    telemetry::{Event, Level, RunState, Sink},
};

pub(super) struct Listeners {
    observers: Vec<Box<dyn Sink>>,
    record: Option<Writer>,
    /// The reason why the record is no longer written.
    failure: Option<RunError>,
}

impl Listeners {
    pub fn new(observers: Vec<Box<dyn Sink>>, record: Option<Writer>) -> Self {
        Self { observers, record, failure: None }
    }

    /// Sets the writer that records all further events.
    pub fn set_record(&mut self, record: Writer) {
        self.record = Some(record);
    }

    /// Hands the event to everybody. If the record fails, nothing more is written to it, and
    /// [`Listeners::check`] says why.
    pub fn emit(&mut self, event: Event) {
        let mut troubles = vec![];
        self.observers.retain_mut(|sink| match sink.event(&event) {
            Ok(()) => true,
            Err(text) => {
                troubles.push(text);
                false
            }
        });
        if let Some(Err(e)) = self.record.as_ref().map(|r| r.record(&event)) {
            self.fail(e.into());
        }
        troubles.into_iter().for_each(|text| self.notice(Level::Error, text));
    }

    pub fn notice(&mut self, level: Level, text: impl Into<String>) {
        self.emit(Event::Notice { level, text: text.into() });
    }

    /// Ends the record with this error and stores it, because a run without a record must end too.
    pub fn fail(&mut self, why: RunError) {
        if let Some(record) = self.record.take() {
            // The disk may still have room for this last line. The checkpoint before it is kept in any case.
            let message = why.to_string();
            let _ = record.record(&Event::State(RunState::Failed { message }));
        }
        self.failure.get_or_insert(why);
    }

    /// True if the record has ended and [`Listeners::check`] has not given the error yet.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Checks that everything so far has been recorded; returns the error that ended the record once.
    pub fn check(&mut self) -> Result<(), RunError> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Forces the record to the disk.
    pub fn sync(&mut self) -> Result<(), RunError> {
        if let Some(Err(e)) = self.record.as_ref().map(Writer::sync) {
            self.fail(e.into());
        }
        self.check()
    }
}
