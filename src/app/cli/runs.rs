//! The runs of a window, for the end of the process: every run is stopped, writes its checkpoint, and is waited for.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use crossbeam::channel::{Receiver, Sender, bounded};

use super::interrupt;
use crate::trainer::Process;

/// The runs that were started. Nothing is sent on its channels; they signal by being disconnected.
pub struct Runs {
    /// Gone when the process is ending.
    open: Mutex<Option<OpenRuns>>,
    /// Disconnected when no run is alive any more.
    ended: Receiver<Infallible>,
}

struct OpenRuns {
    /// Cloned for every run.
    alive: Sender<Infallible>,
    /// Its other end is watched by every run.
    _shutdown: Sender<Infallible>,
    shutdown: Receiver<Infallible>,
}

impl Runs {
    pub fn new() -> Arc<Self> {
        let ((alive, ended), (_shutdown, shutdown)) = (bounded(0), bounded(0));
        Arc::new(Self { open: Mutex::new(Some(OpenRuns { alive, _shutdown, shutdown })), ended })
    }

    /// The handle for a run that begins; `None` while the process is ending.
    pub fn process(&self) -> Option<Process> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.as_ref().map(|g| Process { alive: g.alive.clone(), shutdown: g.shutdown.clone() })
    }

    /// Stops every run and waits until the record of each is complete.
    pub fn end(&self) {
        drop(self.open.lock().unwrap_or_else(PoisonError::into_inner).take());
        // returns with an error once the last run has dropped its sender, which is what this waits for
        let _ = self.ended.recv();
    }

    /// Ends the runs also when a library ends the process, as Xlib does where its server goes away.
    pub fn end_at_exit(self: &Arc<Self>) {
        #[cfg(unix)]
        if OPEN_RUNS.set(Arc::clone(self)).is_ok() {
            // SAFETY: the handler is a function without arguments that does not unwind.
            unsafe { libc::atexit(at_exit) };
        }
    }
}

static OPEN_RUNS: OnceLock<Arc<Runs>> = OnceLock::new();

#[cfg(unix)]
extern "C" fn at_exit() {
    if let Some(runs) = OPEN_RUNS.get().filter(|_| !interrupt::is_repeated()) {
        runs.end();
    }
}
