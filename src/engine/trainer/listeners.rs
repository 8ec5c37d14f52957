//! The listeners to a run's events: observers (a window's inbox, a progress bar), and the record. They differ in
//! what a failure means: an observer that fails is dropped with a notice, a record that fails must end the run.
//! The worker and the threads that answer questions share them, so that no answer waits for the end of an update. A
//! panic of one is its failure, wherever the event comes from.

use std::sync::{Mutex, MutexGuard};

use crossbeam::channel::{Receiver, Sender, bounded};

use super::{
    RunError,
    thread::{catch_panic, guard},
};
use crate::{
    nn::kernels::threads::lock,
    store::Writer,
    telemetry::{Event, Level, RunState, Sink},
};

pub(super) struct Listeners {
    state: Mutex<ListenerState>,
    /// Has a message after the record has failed, for a worker that waits for a command.
    pub failures: Receiver<()>,
}

struct ListenerState {
    observers: Vec<Box<dyn Sink>>,
    record: Option<Writer>,
    /// The reason why the record is no longer written.
    failure: Option<RunError>,
    /// The other end of [`Listeners::failures`].
    failed: Sender<()>,
    /// The run is ending: answers are dropped.
    is_ending: bool,
}

impl Listeners {
    pub fn new(observers: Vec<Box<dyn Sink>>, record: Option<Writer>) -> Self {
        let (failed, failures) = bounded(1);
        let state = ListenerState { observers, record, failure: None, failed, is_ending: false };
        Self { state: Mutex::new(state), failures }
    }

    fn lock(&self) -> MutexGuard<'_, ListenerState> {
        lock(&self.state)
    }

    /// Sets the writer that records all further events.
    pub fn set_record(&self, record: Writer) {
        self.lock().record = Some(record);
    }

    /// Hands the event to all listeners. If the record fails, nothing more is written to it, and [`Listeners::check`]
    /// says why.
    pub fn emit(&self, event: Event) {
        self.lock().emit(&event);
    }

    /// Hands the event to the observers alone.
    pub fn show(&self, event: &Event) {
        self.lock().show(event);
    }

    /// Hands on an event of a thread that answers, unless the run is ending.
    pub fn emit_answer(&self, event: Event) {
        let mut state = self.lock();
        if !state.is_ending {
            state.emit(&event);
        }
    }

    pub fn notice(&self, level: Level, text: impl Into<String>) {
        self.emit(Event::Notice { level, text: text.into() });
    }

    /// Ends the record with this error and stores it, because a run without a record must end too.
    pub fn fail(&self, why: RunError) {
        self.lock().fail(why);
    }

    /// Checks that everything so far has been recorded; the first call after the record failed returns its error.
    pub fn check(&self) -> Result<(), RunError> {
        self.lock().check()
    }

    /// Forces the record to the disk.
    pub fn sync(&self) -> Result<(), RunError> {
        self.lock().sync()
    }

    /// Drops all further answers, so that the worker alone writes the end of the record.
    pub fn end_answers(&self) {
        self.lock().is_ending = true;
    }

    /// Releases all listeners once the run has ended: a thread that still answers does not keep the folder open.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_ending = true;
        state.observers.clear();
        state.record = None;
    }
}

/// Each of these is done as a whole while the lock is held: between the failure of a record and its end, no other thread
/// may write to it.
impl ListenerState {
    /// The record comes first, so that whatever an observer has seen, such as a checkpoint, can be read in the folder.
    fn emit(&mut self, event: &Event) {
        self.record(event);
        self.show(event);
    }

    fn record(&mut self, event: &Event) {
        if let Some(Err(e)) = self.record.as_ref().map(|record| write(record, event)) {
            self.fail(e);
        }
    }

    fn show(&mut self, event: &Event) {
        let mut problems = vec![];
        let broken = |panic: String| Err(format!("a listener of this run has ended by a bug: {panic}"));
        self.observers.retain_mut(|sink| match catch_panic(|| sink.event(event)).unwrap_or_else(broken) {
            Ok(()) => true,
            Err(text) => {
                problems.push(text);
                false
            }
        });
        problems.into_iter().for_each(|text| self.emit(&Event::Notice { level: Level::Error, text }));
    }

    fn fail(&mut self, why: RunError) {
        if let Some(record) = self.record.take() {
            // The disk may still have room for this last line. The checkpoint before it is kept in any case.
            let message = why.to_string();
            let _ = write(&record, &Event::State(RunState::Failed { message }));
        }
        self.failure.get_or_insert(why);
        // the channel is full while the worker has not received the previous failure
        let _ = self.failed.try_send(());
    }

    fn check(&mut self) -> Result<(), RunError> {
        self.failure.take().map_or(Ok(()), Err)
    }

    fn sync(&mut self) -> Result<(), RunError> {
        if let Some(Err(e)) = self.record.as_ref().map(Writer::sync) {
            self.fail(e.into());
        }
        self.check()
    }
}

fn write(record: &Writer, event: &Event) -> Result<(), RunError> {
    guard(|| Ok(record.record(event)?))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::telemetry::{Inbox, QuestionState};

    struct Broken;

    impl Sink for Broken {
        fn event(&mut self, _: &Event) -> Result<(), String> {
            panic!("it cannot count")
        }
    }

    #[test]
    fn an_observer_that_panics_is_dropped_with_a_notice() {
        let inbox = Arc::new(Inbox::default());
        let listeners = Listeners::new(vec![Box::new(Broken), Box::new(Arc::clone(&inbox))], None);
        let answered = Event::Question { request: 1, state: QuestionState::Answered };
        listeners.emit_answer(answered.clone());
        let events = inbox.take();
        let [first, Event::Notice { level: Level::Error, text }] = events.as_slice() else { panic!("{events:?}") };
        assert!(*first == answered && text.contains("it cannot count"), "{text}");
        listeners.emit(answered.clone());
        assert_eq!(inbox.take(), [answered]);
        assert!(listeners.check().is_ok() && listeners.failures.is_empty(), "the run goes on");
    }

    #[test]
    fn an_answer_after_the_end_reaches_nobody() {
        let inbox = Arc::new(Inbox::default());
        let listeners = Listeners::new(vec![Box::new(Arc::clone(&inbox))], None);
        let answered = || Event::Question { request: 1, state: QuestionState::Answered };
        let notice = || Event::Notice { level: Level::Info, text: "the last words of the worker".into() };
        listeners.emit_answer(answered());
        listeners.end_answers();
        listeners.emit_answer(answered());
        listeners.emit(notice());
        listeners.close();
        listeners.emit(notice());
        assert_eq!(inbox.take(), [answered(), notice()]);
        assert_eq!(Arc::strong_count(&inbox), 1, "its sink is released");
    }
}
