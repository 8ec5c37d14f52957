//! The two ends of a run that a window holds: commands to it, and a queue of its events, in which neither side waits.
//!
//! Step statistics and states queue up and are never lost; of unread samples on the same channel,
//! variant and request kind only the newest is kept.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, TryLockError},
};

use crossbeam::channel::{Sender, TrySendError};

use super::{Channel, Command, Event, Sample, Sink};

type WakeFn = Box<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct PendingEvents {
    /// All events but samples, in order.
    queue: Vec<Event>,
    /// The newest sample of each channel and variant, answers to questions (`true`) apart from what came by schedule.
    samples: HashMap<(Channel, usize, bool), Sample>,
}

/// Shared between the threads of one run and one reader.
#[derive(Default)]
pub struct Inbox {
    unread: Mutex<PendingEvents>,
    wake: Mutex<Option<WakeFn>>,
}

impl Inbox {
    /// `wake` is called after each delivery, on the thread that delivers (for example to ask for a repaint).
    pub fn set_wake(&self, wake: impl Fn() + Send + Sync + 'static) {
        *lock(&self.wake) = Some(Box::new(wake));
    }

    /// Delivers one event. Holds the lock for a push only.
    pub fn deliver(&self, event: Event) {
        {
            let mut unread = lock(&self.unread);
            match event {
                Event::Sample(s) | Event::Partial(s) => {
                    unread.samples.insert((s.channel.clone(), s.variant, s.request.is_some()), s);
                }
                other => unread.queue.push(other),
            }
        }
        if let Some(wake) = lock(&self.wake).as_ref() {
            wake();
        }
    }

    /// Delivers a recorded past, every sample of it, in order (a replay).
    pub fn deliver_recorded(&self, events: Vec<Event>) {
        lock(&self.unread).queue.extend(events);
        if let Some(wake) = lock(&self.wake).as_ref() {
            wake();
        }
    }

    /// Takes everything unread, samples last, or nothing if an event is being delivered this instant (the next frame
    /// will have it): the reader never waits.
    pub fn take(&self) -> Vec<Event> {
        let PendingEvents { mut queue, samples } = match self.unread.try_lock() {
            Ok(mut unread) => std::mem::take(&mut *unread),
            Err(TryLockError::Poisoned(p)) => std::mem::take(&mut *p.into_inner()),
            Err(TryLockError::WouldBlock) => return vec![],
        };
        let mut samples: Vec<Sample> = samples.into_values().collect();
        samples.sort_by(|a, b| {
            (a.step, &a.channel, a.variant, a.request).cmp(&(b.step, &b.channel, b.variant, b.request))
        });
        queue.extend(samples.into_iter().map(Event::Sample));
        queue
    }
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(|p| p.into_inner())
}

/// A sink that delivers into a shared inbox.
impl Sink for Arc<Inbox> {
    fn event(&mut self, event: &Event) -> Result<(), String> {
        self.deliver(event.clone());
        Ok(())
    }
}

/// Commands in, events out. Dropping it ends the run.
pub struct RunHandle {
    /// Commands to the run.
    pub commands: Sender<Command>,
    /// Events of the run.
    pub inbox: Arc<Inbox>,
}

impl RunHandle {
    /// Sends without waiting; says so if the run has ended or its queue is full.
    pub fn send(&self, command: Command) -> Result<(), &'static str> {
        self.commands.try_send(command).map_err(|e| match e {
            TrySendError::Full(_) => "the run is busy and its queue of commands is full; try again",
            TrySendError::Disconnected(_) => "the run has ended; reset to begin a new one",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{Payload, StepStats};

    fn sample(step: u64, request: Option<u64>) -> Event {
        Event::Sample(Sample {
            step,
            variant: 0,
            channel: "a/b".into(),
            about: String::new(),
            tokens: vec![],
            request,
            payload: Arc::new(Payload::Unknown(step.into())),
        })
    }

    fn sampled_steps(events: &[Event]) -> Vec<u64> {
        events.iter().filter_map(|e| if let Event::Sample(s) = e { Some(s.step) } else { None }).collect()
    }

    #[test]
    fn newest_partial_answer_is_kept() {
        let inbox = Inbox::default();
        let partial = |event| match event {
            Event::Sample(s) => Event::Partial(s),
            other => other,
        };
        (1..=500).for_each(|step| inbox.deliver(partial(sample(step, Some(4)))));
        assert_eq!(sampled_steps(&inbox.take()), [500]);
        inbox.deliver(partial(sample(501, Some(4))));
        inbox.deliver(sample(502, Some(4)));
        let events = inbox.take();
        assert_eq!((events.len(), sampled_steps(&events)), (1, vec![502]), "the answer itself");
    }

    #[test]
    fn steps_are_kept_and_samples_superseded() {
        let inbox = Inbox::default();
        for step in 1..=1000 {
            inbox.deliver(Event::Step(StepStats { step, variant: 0, scalars: vec![], wall_secs: 0.0 }));
            inbox.deliver(sample(step, None));
        }
        inbox.deliver(sample(1000, Some(4)));
        let events = inbox.take();
        assert_eq!(events.len(), 1002);
        assert_eq!(sampled_steps(&events[1000..]), [1000, 1000], "the newest scheduled sample and the answer");
        assert!(inbox.take().is_empty());
    }
}
