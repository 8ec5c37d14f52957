//! The two ends of a run that a window holds.

use std::sync::Arc;

use crossbeam::channel::{Sender, TrySendError};

use super::{Command, Inbox};

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
