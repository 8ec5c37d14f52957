//! Tells a window of a run folder that another program writes, and of what is appended to it.

use std::{path::Path, sync::Arc, time::Duration};

use crossbeam::channel::{Receiver, RecvTimeoutError};

use crate::{
    store::{self, Look, Reader, StoreError},
    telemetry::{Command, Event, FOREIGN, Inbox, Level, RunState},
};

/// How often a folder is looked at. Size and content are compared, so that it works where no change is announced, as on
/// network file systems.
pub const POLL: Duration = Duration::from_millis(250);

/// Looks after which a run that may go on is said to be followed; one that is just ending is not.
const SOON: u32 = 4;

/// Events that are told at once.
const CHUNK: usize = 4096;

/// What becomes of a run that was told to a window.
pub(super) enum Told {
    /// It has ended, and its models may be stood up again.
    Whole,
    /// It was another program's, or nobody looks at it any more.
    Left,
}

/// What the window wants of a run that it is told of.
pub(super) struct Wishes<'a> {
    /// Disconnected when the window shows it no more.
    pub commands: &'a Receiver<Command>,
    /// True when the window closes.
    pub ends: &'a dyn Fn() -> bool,
    /// It is followed until it ends, though no process of this machine holds it.
    pub is_followed: bool,
}

/// Tells of a run: all that is there, and while another process writes it, all that is appended. A run that another
/// program has written is followed as long as the window shows it.
///
/// # Errors
/// If it is no run folder.
pub(super) fn tell(folder: &Path, inbox: &Arc<Inbox>, wishes: &Wishes<'_>) -> Result<Told, String> {
    let Wishes { commands, ends, is_followed } = *wishes;
    let mut followed = Followed::open(folder, inbox, is_followed)?;
    followed.tell();
    if !followed.is_whole {
        followed.begin();
    }
    let mut looks = 0;
    while followed.goes_on() {
        // nothing can be asked of it: its models are with the program that trains them
        match commands.recv_timeout(POLL) {
            Err(RecvTimeoutError::Disconnected) => return Ok(Told::Left),
            Ok(_) | Err(RecvTimeoutError::Timeout) if ends() => return Ok(Told::Left),
            Ok(_) | Err(RecvTimeoutError::Timeout) => followed.look(),
        }
        looks += 1;
        if looks == SOON {
            followed.say_so();
        }
    }
    if !followed.is_whole {
        followed.finish();
    }
    Ok(Told::Whole)
}

/// A folder and the window that is told of it.
struct Followed<'a> {
    folder: &'a Path,
    inbox: &'a Arc<Inbox>,
    reader: Reader,
    is_foreign: bool,
    /// It is read on until its end is recorded.
    is_followed: bool,
    /// Nobody writes it: it is read to its end.
    is_whole: bool,
    /// The trouble that was told last.
    trouble: String,
}

impl<'a> Followed<'a> {
    fn open(folder: &'a Path, inbox: &'a Arc<Inbox>, is_followed: bool) -> Result<Self, String> {
        let words = |e: StoreError| e.to_string();
        let reader = Reader::open(folder).map_err(words)?;
        let is_foreign = reader.info().is_some_and(|info| info.lab == FOREIGN);
        let is_whole = !is_foreign && !is_followed && !store::is_being_written(folder);
        let reader = if is_whole { reader } else { Reader::follow(folder).map_err(words)? };
        Ok(Self { folder, inbox, reader, is_foreign, is_followed, is_whole, trouble: String::new() })
    }

    /// True while more may be appended.
    fn goes_on(&self) -> bool {
        let is_written = || !self.reader.has_ended() && (self.is_followed || store::is_being_written(self.folder));
        !self.is_whole && (self.is_foreign || is_written())
    }

    /// Delivers what can be read now. The states of a run that trains elsewhere are left out, since it takes no commands
    /// and answers no questions; that it failed is told.
    fn tell(&mut self) {
        let (is_foreign, is_whole) = (self.is_foreign, self.is_whole);
        let is_told = |event: &Event| match event {
            Event::State(state) => is_whole || matches!(state, RunState::Failed { .. }),
            Event::Checkpoint { .. } => !is_foreign,
            _ => true,
        };
        let mut chunk = vec![];
        for event in self.reader.by_ref().filter(is_told) {
            chunk.push(event);
            if chunk.len() >= CHUNK {
                self.inbox.deliver_recorded(std::mem::take(&mut chunk));
            }
        }
        if !chunk.is_empty() {
            self.inbox.deliver_recorded(chunk);
        }
    }

    /// The window has what was there; the rest comes as it is written.
    fn begin(&self) {
        if !self.reader.has_failed() {
            self.inbox.deliver(Event::State(RunState::Stopped));
        }
    }

    /// Says that the run is followed, if it may go on.
    fn say_so(&self) {
        if !self.reader.has_ended() {
            self.notice(Level::Info, "this run is followed: what is appended to its folder shows here".to_owned());
        }
    }

    fn look(&mut self) {
        let trouble = match self.reader.look() {
            Ok(Look::Same) => {
                self.tell();
                String::new()
            }
            Ok(Look::Missing) => "the run's folder is not whole at the moment; it is looked for again".to_owned(),
            Ok(Look::Replaced) => return self.read_anew(),
            Err(e) => format!("{e}; it is tried again"),
        };
        if trouble != self.trouble && !trouble.is_empty() {
            self.notice(Level::Warning, trouble.clone());
        }
        self.trouble = trouble;
    }

    /// Another run is in the folder, or the same one from its beginning.
    fn read_anew(&mut self) {
        // what is not whole yet is tried again
        let Ok(other) = Self::open(self.folder, self.inbox, self.is_followed) else { return };
        (self.reader, self.is_foreign, self.is_whole) = (other.reader, other.is_foreign, other.is_whole);
        self.tell();
        if !self.reader.has_failed() {
            self.inbox.deliver(Event::State(RunState::Stopped));
        }
        self.notice(Level::Info, "the folder was written anew: it was read from its beginning".to_owned());
    }

    /// Says what only the end of a record tells.
    fn finish(&mut self) {
        self.reader.end_following();
        self.tell();
    }

    fn notice(&self, level: Level, text: String) {
        self.inbox.deliver(Event::Notice { level, text });
    }
}
