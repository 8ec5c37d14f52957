//! The part of the worker that keeps the run's record: it resumes a folder, writes checkpoints, and ends the run if the
//! record fails.

use std::{path::Path, sync::Arc};

use super::Worker;
use crate::{
    config::Value,
    store::{StoreError, Writer},
    telemetry::{Event, Level},
    trainer::RunError,
};

impl Worker {
    /// A record that has failed ends a run that trains, and one without a window. One that is shown in a window can still be
    /// asked.
    pub(super) fn check_record(&mut self) -> Result<(), RunError> {
        let Err(why) = self.listeners.check() else { return Ok(()) };
        if self.running || !self.options.stay {
            return Err(why);
        }
        self.options.writer = None;
        self.forbid_training(format!("{why}. The models can still be asked, but not be trained on"));
        Ok(())
    }

    fn forbid_training(&mut self, words: String) {
        self.listeners.notice(Level::Error, words.clone());
        self.unrecorded = Some(words);
    }

    /// Returns true if an update may be made because the run's folder can be written.
    pub(super) fn may_train(&mut self) -> bool {
        self.resume_folder();
        if let Some(words) = self.unrecorded.clone() {
            self.listeners.notice(Level::Error, words);
        }
        self.unrecorded.is_none()
    }

    /// Makes a replayed run that continues use its own folder, or fails.
    fn resume_folder(&mut self) {
        let Some(folder) = self.options.replayed.take() else { return };
        match self.resumed(&folder) {
            Ok((writer, changes)) => {
                self.listeners.emit(Event::Resumed { step: self.run.step, wall_secs: self.run.wall_secs });
                // after `Resumed`, at which a mirror forgets the changes that no checkpoint holds
                changes.iter().for_each(|change| self.listeners.show(change));
                if let Some(words) = writer.lock_warning() {
                    self.listeners.notice(Level::Warning, words);
                }
                // the record has it already
                if let Some(words) = writer.set_aside() {
                    self.listeners.notice(Level::Info, words);
                }
                self.listeners.set_record(writer.clone());
                self.waiting_changes.clear();
                self.unrecorded = None;
                self.options.writer = Some(writer);
                self.find_snapshots();
            }
            Err(e) => {
                self.unrecorded = Some(format!("{e}. The models can be asked, but not be trained on"));
                self.options.replayed = Some(folder);
            }
        }
    }

    /// The writer of the run's own folder, and the changes that its record has now.
    fn resumed(&self, folder: &Path) -> Result<(Writer, Vec<Event>), StoreError> {
        let writer = Writer::resume(folder, self.options.from.as_ref())?;
        let info = self.run.info(self.threads, Some(folder.to_string_lossy().into_owned()));
        writer.record(&Event::Started(Arc::new(info)))?;
        let changes = self.changes_since_checkpoint();
        changes.iter().try_for_each(|change| writer.record(change))?;
        Ok((writer, changes))
    }

    /// The live settings that were changed before the folder was resumed, when there was no record.
    fn changes_since_checkpoint(&self) -> Vec<Event> {
        let recorded = |key: &str| self.options.from.as_ref().and_then(|from| from.live_settings.get(key));
        let is_new = |(key, value): &(&String, &Value)| recorded(key) != Some(*value);
        let step = self.run.step;
        let change = |(key, value): (&String, &Value)| Event::Changed { step, key: key.clone(), value: value.clone() };
        self.run.changed.iter().filter(is_new).map(change).collect()
    }

    /// True if listeners have yet to receive changes. A run that is only viewed keeps its record unchanged.
    pub(super) fn has_changes_to_record(&self) -> bool {
        self.options.replayed.is_none() && !self.waiting_changes.is_empty()
    }

    /// Emits the changes of live settings to the record and the observers, before anything is computed with them.
    pub(super) fn record_waiting_changes(&mut self) {
        if self.has_changes_to_record() {
            for (key, value) in std::mem::take(&mut self.waiting_changes) {
                self.listeners.emit(Event::Changed { step: self.run.step, key, value });
            }
        }
    }

    /// Writes a checkpoint of the current step, if there is a folder and none of this step yet.
    pub(super) fn checkpoint(&mut self) -> Result<(), RunError> {
        self.record_waiting_changes();
        // no checkpoint may hold a setting that is missing from the record
        self.listeners.check()?;
        let step = self.run.step;
        if let Some(writer) = self.options.writer.as_ref().filter(|_| step > 0 && self.last_checkpoint != Some(step)) {
            writer.checkpoint(self.run.checkpoint())?;
            self.last_checkpoint = Some(step);
            self.listeners.emit(Event::Checkpoint { step });
        }
        Ok(())
    }
}
